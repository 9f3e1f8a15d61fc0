//! Tests of single steps of the chat state as tables: an input on the left, the expected effects on the right. No
//! network, clock or disk.

use crate::bot_api::{InlineKeyboardButton, InlineKeyboardMarkup, ReplyMarkup};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rapport_core::routing::{Class, Ground, Grounding, Hop, Policy, Recipient};
use rapport_core::{
    Act, Aim, Answer, Asker, By, CallId, Choice, Clarifier, ConversationId, Created, Digest, DigestLine,
    EarlierAnswer, Entry, Event, LeadDid, Part, Permission, Purpose, Question, QuestionId, QuietHours,
    Refusal, RoundId, Seed, SessionId, Terms, TurnId, TurnKind,
};
use rapport_door::{DoorError, Holder, Seen, StoreError, Update};

use super::button::{Button, Pick};
use super::cards::CardKey;
use super::chat_state::{ChatState, Settings, person};
use super::effect::{
    AfterContent, AfterOps, AfterProjects, AfterSend, Becomes, CHANGES, ContentForm, Effect, Input, NewUser,
    ProjectsReply, SessionOp, SessionStart, Ticket, TypedAnswer,
};
use super::incoming::{Incoming, Quoted, Sender, What};
use super::notes::Notes;
use super::projects::{Project, Projects};
use super::quiet_hours::QuietTimes;
use super::step_effects::Effects;
use crate::access::Access;
use crate::api_error::ApiError;
use crate::outgoing::{Outgoing, Sent};
use crate::room::Room;

const ANNA: u64 = 42;
const STRANGER: u64 = 99;
const HOME: Room = Room { chat: 42, topic: None };
const GROUP: Room = Room { chat: -7, topic: None };
const START: Timestamp = Timestamp::UNIX_EPOCH;

/// The chat state without anything that executes its effects.
struct Stage {
    state: ChatState,
    now: Timestamp,
    seq: u64,
    updates: u64,
}

impl Stage {
    fn new() -> Self {
        Self::with(Access::new([ANNA]), Notes::default())
    }

    fn with(access: Access, notes: Notes) -> Self {
        let settings = Settings {
            owner: access.allows(ANNA).then_some(ANNA),
            remind: SignedDuration::from_hours(1),
            folder: "/plans".into(),
            can_hear: false,
            quiet: QuietTimes::new(None, TimeZone::UTC),
            budget: None,
            has_lead: true,
        };
        let projects = Projects::new(project("app"), Vec::new());
        Self { state: ChatState::new(settings, projects, access, notes), now: START, seq: 0, updates: 0 }
    }

    /// The effects of an input, in brief.
    fn put(&mut self, input: Input) -> Vec<String> {
        self.state.step(input, self.now).iter().flat_map(brief).collect()
    }

    /// The session stores these facts.
    fn happens(&mut self, facts: Vec<Event>) -> Vec<String> {
        let entry = self.entry(facts);
        self.put(Input::Seen(Seen { session: id(), updates: vec![Update::Entry(entry)] }))
    }

    fn entry(&mut self, facts: Vec<Event>) -> Entry {
        self.seq += 1;
        Entry { seq: self.seq, at: self.now, facts }
    }

    fn comes(&mut self, user: u64, room: Room, what: What) -> Vec<String> {
        self.updates += 1;
        let sender = Sender { id: user, name: "Somebody".into() };
        let id = format!("update {}", self.updates);
        let incoming = Incoming {
            id,
            room,
            topic: None,
            private: room.chat > 0,
            sender,
            message: 0,
            what,
            files: Vec::new(),
            is_joined: false,
        };
        self.put(Input::Update(Box::new(incoming), Ticket(self.updates)))
    }

    fn writes(&mut self, text: &str, message: i32) -> Vec<String> {
        self.comes(ANNA, HOME, What::Words { text: text.into(), message, reply_to: None })
    }

    fn taps(&mut self, user: u64, button: Button, key: &CardKey) -> Vec<String> {
        let (query, data) = (format!("tap {}", self.updates + 1), button.data(&key.tag()));
        self.comes(user, HOME, What::Press { query, data, message: Some(7), keyboard: None, about: None })
    }

    /// A card arrives as a message with this id.
    fn arrives(&mut self, key: &CardKey, message: i32) -> Vec<String> {
        self.put(Input::Sent(AfterSend::Card(key.clone()), vec![Ok(Sent::Posted(message))]))
    }

    /// A plan in which these questions are asked, and the card of the first shown as message 7.
    fn asked(&mut self) -> CardKey {
        self.happens(vec![created(HOME), asked(&["q1", "q2"])]);
        let key = key("q1", 1);
        self.arrives(&key, 7);
        key
    }
}

fn id() -> SessionId {
    SessionId::new("s")
}

fn key(question: &str, since: u64) -> CardKey {
    CardKey { session: id(), question: QuestionId::new(question), since }
}

fn created(room: Room) -> Event {
    let by = person(ANNA);
    Event::Created(Created {
        terms: Terms { clarifier: Clarifier::Planner, max_rounds: 3, ..Terms::default() },
        origin: Some(room.into()),
        request: Some("update 0".into()),
        ..Created::new("add dark mode".into(), "/app".into(), ConversationId::new("c"), by)
    })
}

fn asked(questions: &[&str]) -> Event {
    let question = |id: &&str| Question {
        id: QuestionId::new(*id),
        text: format!("{id}?"),
        header: None,
        options: vec![Choice::plain("Yes"), Choice::plain("No")],
        multi: false,
        free_text: true,
        purpose: Default::default(),
    };
    let questions = questions.iter().map(question).collect();
    Event::Asked { round: RoundId(1), asker: Asker::Planner, questions }
}

fn answered(question: &str) -> Event {
    let answer = Answer { values: vec!["Yes".into()], text: None };
    Event::Answered { question: QuestionId::new(question), answer, by: person(ANNA) }
}

fn cancelled(reason: &str) -> Event {
    Event::Cancelled { by: person(ANNA), reason: Some(reason.into()), is_unnoted: false }
}

fn started(kind: TurnKind, prompt: &str) -> Event {
    Event::TurnStarted { turn: TurnId(1), kind, prompt: prompt.into(), mends: false }
}

fn failed() -> Event {
    Event::Failed { reason: "no model".into() }
}

/// An effect in a few words.
fn brief(effect: &Effect) -> Vec<String> {
    match effect {
        Effect::Send { chat, messages, then } => {
            let then = match then {
                Some(AfterSend::Card(key)) => format!(", card {}", key.question),
                Some(AfterSend::Close(key)) => format!(", close {}", key.question),
                Some(AfterSend::Announce { seq, .. }) => format!(", announces {seq}"),
                Some(other) => format!(", {other:?}"),
                None => String::new(),
            };
            messages.iter().map(|what| format!("{} in {chat}{then}", sent(what))).collect()
        }
        Effect::AnswerTap { query, words } => vec![format!("answer {query}: {words}")],
        Effect::Operate { ops, .. } => ops.iter().map(op).collect(),
        Effect::Read { session, after } => vec![format!("read {session} after {after}")],
        Effect::Note(line) => {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            vec![format!("note {}", line.as_object().unwrap().keys().next().unwrap())]
        }
        Effect::Write { path, content } => {
            vec![format!("{} {}", if content.is_some() { "write" } else { "remove" }, path.display())]
        }
        Effect::AddUser(new) => vec![format!("add user {}", new.user.id)],
        Effect::Notify(notice) => vec![format!("notify: {notice}")],
        Effect::Finish(ticket) => vec![format!("finish {}", ticket.0)],
        other => vec![format!("{other:?}")],
    }
}

fn sent(what: &Outgoing) -> String {
    match what {
        Outgoing::Message(message) | Outgoing::Aside(message) => {
            format!("send \"{}\"", last_line(&message.text))
        }
        Outgoing::Edit(edit) => format!("edit {} \"{}\"", edit.message, last_line(&edit.text)),
        Outgoing::Progress(edit) => format!("edit {}", edit.message),
        Outgoing::Buttons { message, keyboard: None } => format!("strip {message}"),
        Outgoing::Buttons { message, keyboard: Some(_) } => format!("buttons {message}"),
        Outgoing::Document(document) => format!("file {}", document.name),
        Outgoing::Action { .. } => "type".into(),
        Outgoing::Delete { message } => format!("delete {message}"),
    }
}

fn op(op: &SessionOp) -> String {
    match op {
        SessionOp::Act(_, Act::Answer { question, reply }) => {
            format!("act: answer {} {reply:?}", question.as_ref().unwrap())
        }
        SessionOp::Act(id, act) => format!("act in {id}: {act:?}"),
        SessionOp::ActWithFiles(id, act, files) => format!("act in {id} with {files:?}: {act:?}"),
        SessionOp::TryAct(id, act) => format!("try in {id}: {act:?}"),
        SessionOp::Create(new, first) => {
            format!(
                "create \"{}\" with {} questions",
                new.task,
                first.as_ref().map_or(0, |b| b.questions.len())
            )
        }
    }
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or_default()
}

fn request(ticket: u64) -> AfterOps {
    AfterOps::Request { room: HOME, ticket: Ticket(ticket), thanks: None, becomes: None }
}

/// CHAT-24, and the rule that an answer is on disk before the tap is confirmed: from the question to the card that
/// shows its answer, step by step.
#[test]
fn a_question_is_shown_once_and_a_tap_is_thanked_when_its_answer_is_durable() {
    let mut stage = Stage::new();
    let first = stage.happens(vec![created(HOME), asked(&["q1", "q2"])]);
    assert_eq!(first, ["note told", "send \"q1?\" in 42, card q1", "write /plans/42-interactive.json"]);
    // While the card is being sent, it is not sent again.
    let nothing_new = stage.happens(vec![]);
    assert_eq!(nothing_new, ["write /plans/42-interactive.json"]);
    let q1 = key("q1", 1);
    assert_eq!(stage.arrives(&q1, 7), ["note shown"], "its file is as it was");

    let tapped = stage.state.step(tap(&q1), START);
    let Some(Effect::Operate { by, then, .. }) = tapped.first() else { panic!("{tapped:?}") };
    assert_eq!(*by, person(ANNA));
    assert_eq!(tapped.iter().flat_map(brief).collect::<Vec<_>>(), ["act: answer q1 Choices([0])"]);
    let thanked = stage.put(Input::Operated(then.clone(), Ok(())));
    assert_eq!(thanked, ["answer tap: ✓ Yes", "finish 1"]);

    let next = stage.happens(vec![answered("q1")]);
    let file = "write /plans/42-interactive.json";
    assert_eq!(next, ["send \"q2?\" in 42, card q2", "edit 7 \"✅ Yes\" in 42, close q1", file]);
    let closed = stage.put(Input::Sent(AfterSend::Close(q1), vec![Ok(Sent::Done)]));
    assert_eq!(closed, ["note closed"]);
}

/// CHAT-9: the channel says so while the next round is being made, and not before the last answer of this round.
#[test]
fn chat_9_who_answered_all_is_told_that_more_is_looked_for() {
    const CHECKING: &str = "Checking for follow-up questions...";
    let mut stage = Stage::new();
    stage.asked();
    let says = |wanted: &[String]| wanted.iter().filter(|wanted| wanted.contains(CHECKING)).count();
    assert_eq!(says(&stage.happens(vec![answered("q1")])), 0);
    let wanted = stage.happens(vec![answered("q2")]);
    assert_eq!(says(&wanted), 1, "{wanted:?}");
    assert_eq!(says(&stage.put(Input::Tick { chance: [0; 8] })), 0, "once");
    stage.put(Input::Sent(AfterSend::Progress(id()), vec![Ok(Sent::Posted(8))]));
    let Event::Asked { asker, questions, .. } = asked(&["q3"]) else { unreachable!() };
    let next = stage.happens(vec![Event::Asked { round: RoundId(2), asker, questions }]);
    assert!(next.contains(&"delete 8 in 42".into()), "{next:?}");
}

fn tap(key: &CardKey) -> Input {
    let data = Button::Answer(0, 0).data(&key.tag());
    let what = What::Press { query: "tap".into(), data, message: Some(7), keyboard: None, about: None };
    let sender = Sender { id: ANNA, name: "Anna".into() };
    let incoming = Incoming {
        id: "1".into(),
        room: HOME,
        topic: None,
        private: true,
        sender,
        message: 7,
        what,
        files: Vec::new(),
        is_joined: false,
    };
    Input::Update(Box::new(incoming), Ticket(1))
}

/// The sender decides who may answer. A refused tap is answered at once, and does not reach the session.
#[test]
fn taps_that_change_nothing_are_answered_and_finished() {
    let answer = Button::Answer(0, 0);
    let cases = [
        (STRANGER, answer, key("q1", 1), "This bot is private."),
        (ANNA, answer, key("q1", 5), "Session expired. Use /plan to start again."),
        (ANNA, Button::Answer(0, 9), key("q1", 1), "There is no such option."),
        (ANNA, Button::Done, key("q1", 1), "Choose at least one option first."),
    ];
    for (user, button, key, words) in cases {
        let mut stage = Stage::new();
        stage.asked();
        let wanted = stage.taps(user, button, &key);
        let said: Vec<_> = wanted.into_iter().filter(|wanted| !wanted.starts_with("strip")).collect();
        assert_eq!(said, [format!("answer tap 1: {words}"), "finish 1".into()], "{button:?}");
    }
    // The same tap, delivered twice, is answered once.
    let mut stage = Stage::new();
    let q1 = stage.asked();
    stage.happens(vec![answered("q1")]);
    let press = What::Press {
        query: "t".into(),
        data: answer.data(&q1.tag()),
        message: None,
        keyboard: None,
        about: None,
    };
    assert_eq!(stage.comes(ANNA, HOME, press.clone()), ["answer t: Already answered: Yes", "finish 1"]);
    assert_eq!(stage.comes(ANNA, HOME, press), ["finish 2"]);
}

/// The outcome of an operation is reported in the room of the request.
#[test]
fn operations_that_are_not_taken_are_told_in_their_room() {
    let already = Refusal::AlreadyAnswered {
        question: QuestionId::new("q1"),
        answer: "Yes".into(),
        by: By::Person { channel: "terminal".into(), id: "bo".into() },
    };
    let closed = "❌ That failed: Rapport is shutting down. Please try again.";
    let cases = [
        (Ok(()), None),
        // By then the card shows that the question is answered.
        (Err(DoorError::Refused(already)), None),
        (Err(DoorError::Closed), Some(closed)),
    ];
    for (outcome, said) in cases {
        let mut wanted = Stage::new().put(Input::Operated(request(3), outcome));
        assert_eq!(wanted.pop().as_deref(), Some("finish 3"));
        let said: Vec<_> = said.into_iter().map(|words| format!("send \"{words}\" in 42")).collect();
        assert_eq!(wanted, said);
    }
}

/// A text answers only a card that the person could see: the card must have been in the chat before the text.
#[test]
fn words_wait_for_the_card_they_may_answer() {
    let early = "send \"You wrote that before you could see this question, so it does not count as its answer. Please answer it now ☝️\" in 42";
    for (arrives_as, expected) in [(5, "act: answer q1 Text(\"blue\")"), (15, early)] {
        let mut stage = Stage::new();
        stage.happens(vec![created(HOME), asked(&["q1"])]);
        // The card is being sent: nothing is decided yet, and the update is not finished.
        assert_eq!(stage.writes("blue", 10), Vec::<String>::new());
        let wanted = stage.arrives(&key("q1", 1), arrives_as);
        assert!(wanted.contains(&expected.to_owned()), "{wanted:?}");
    }
    // When the channel stops, the person is told that the text does not count.
    let mut stage = Stage::new();
    stage.happens(vec![created(HOME), asked(&["q1"])]);
    stage.writes("blue", 10);
    assert_eq!(stage.put(Input::Stopping), [early, "finish 1"]);
}

/// A reply may arrive before the id of its card's message is known. It is still an answer, and not a message for an
/// agent.
#[test]
fn a_reply_waits_for_the_card_it_answers() {
    let mut stage = Stage::new();
    let created = Event::Created(Created { aim: Aim::Work, ..chat_created() });
    stage.happens(vec![created, asked(&["q1"])]);
    let reply = |to| What::Words { text: "blue".into(), message: 8, reply_to: Some(to) };
    assert_eq!(stage.comes(ANNA, HOME, reply(7)), Vec::<String>::new());
    let wanted = stage.arrives(&key("q1", 1), 7);
    assert!(wanted.contains(&"act: answer q1 Text(\"blue\")".to_owned()), "{wanted:?}");
    // A reply to another message is an ordinary text, once that is known.
    let mut stage = Stage::new();
    stage.happens(vec![Event::Created(chat_created()), asked(&["q1"])]);
    stage.comes(ANNA, HOME, reply(3));
    let wanted = stage.arrives(&key("q1", 1), 7);
    assert!(wanted.contains(&"act: answer q1 Text(\"blue\")".to_owned()), "{wanted:?}");
}

/// A text answers the open question, whichever session asks it. If several are open, the bot asks which one, and the
/// tap refers to the text.
#[test]
fn words_answer_the_question_that_waits() {
    let terminal = Created { origin: None, ..chat_created() };
    let other = |facts| Entry { seq: 1, at: START, facts };
    let more = |stage: &mut Stage, created: Created| {
        let facts = vec![Event::Created(created), asked(&["q9"])];
        let (session, updates) = (SessionId::new("t"), vec![Update::Entry(other(facts))]);
        stage.put(Input::Seen(Seen { session: session.clone(), updates }));
        let key = CardKey { session, ..key("q9", 1) };
        stage.arrives(&key, 8);
        key
    };
    let mut stage = Stage::new();
    more(&mut stage, terminal.clone());
    assert_eq!(stage.writes("9000", 10), ["act: answer q9 Text(\"9000\")"]);

    let mut stage = Stage::new();
    stage.asked();
    let q9 = more(&mut stage, terminal);
    let which = stage.writes("9000", 10);
    assert_eq!(which, ["send \"Several questions are open. Which one does this answer?\" in 42", "finish 1"]);
    let tap = |about: Option<&str>| What::Press {
        query: "t".into(),
        data: Button::Words.data(&q9.tag()),
        message: Some(11),
        keyboard: None,
        about: about.map(|text| Quoted { message: 5, text: text.to_owned() }),
    };
    let wanted = stage.comes(ANNA, HOME, tap(Some("9000")));
    assert_eq!(wanted, ["strip 11 in 42", "act: answer q9 Text(\"9000\")"]);
    let gone = stage.comes(ANNA, HOME, tap(None));
    assert_eq!(gone.last().unwrap(), "finish 3");
    assert!(!gone.iter().any(|one| one.starts_with("act")), "{gone:?}");
    // Of several joined messages, a tap refers only to the first, even if they are short.
    let (sender, what) = (
        Sender { id: ANNA, name: "Anna".into() },
        What::Words { text: "x".into(), message: 12, reply_to: None },
    );
    let (id, files) = ("joined".into(), Vec::new());
    let joined = Incoming {
        id,
        room: HOME,
        topic: None,
        private: true,
        sender,
        message: 12,
        what,
        files,
        is_joined: true,
    };
    let long = stage.put(Input::Update(Box::new(joined), Ticket(9)));
    assert!(long[0].contains("Please send this as a reply to the one that it answers"), "{long:?}");
}

/// One reminder, an hour after the question came to the front, and never a second one.
#[test]
fn somebody_is_reminded_once() {
    let mut stage = Stage::new();
    let q1 = stage.asked();
    let due = START + SignedDuration::from_hours(1);
    assert_eq!(stage.state.deadline(), Some(due));
    // Nothing happens before the reminder is due.
    assert_eq!(stage.put(Input::DeadlinePassed), Vec::<String>::new());
    stage.now = due;
    assert_eq!(stage.put(Input::DeadlinePassed), ["note reminded", "send \"q1?\" in 42, card q1"]);
    stage.arrives(&q1, 9);
    assert_eq!(stage.state.deadline(), None);
}

/// A tap on a message of the bot whose id it does not know yet: that message loses its buttons as well.
#[test]
fn a_message_that_is_known_too_late_is_closed() {
    let mut stage = Stage::new();
    let q1 = stage.asked();
    stage.now = START + SignedDuration::from_hours(1);
    assert_eq!(stage.put(Input::DeadlinePassed), ["note reminded", "send \"q1?\" in 42, card q1"]);
    let answered = stage.happens(vec![answered("q1")]);
    assert!(answered.contains(&"edit 7 \"✅ Yes\" in 42, close q1".to_owned()), "{answered:?}");
    let late = stage.arrives(&q1, 9);
    assert!(late.contains(&"edit 9 \"✅ Yes\" in 42".to_owned()), "{late:?}");
}

/// The "typing" indicator at once, a message at the first tick, then edits; after a failure the message says so.
#[test]
fn a_working_agent_is_shown_until_it_asks() {
    let mut stage = Stage::new();
    let work = started(TurnKind::Work, "do it");
    let began = stage.happens(vec![created(HOME), work]);
    assert!(began.contains(&"type in 42".to_owned()), "{began:?}");
    let tick = || Input::Tick { chance: [0; 8] };
    let ticked = stage.put(tick());
    assert_eq!(ticked[0], "type in 42");
    assert!(ticked[1].ends_with("Progress(SessionId(\"s\"))"), "{ticked:?}");
    // The message is being sent, so no second one is sent.
    assert_eq!(stage.put(tick()), ["type in 42"]);
    let sent = stage.put(Input::Sent(AfterSend::Progress(id()), vec![Ok(Sent::Posted(8))]));
    assert_eq!(sent, ["note progress"]);
    stage.now = START + SignedDuration::from_secs(5);
    assert_eq!(stage.put(tick()), ["type in 42", EDIT]);
    let ended = stage.happens(vec![failed()]);
    assert!(ended.contains(&"edit 8 \"no model\" in 42".to_owned()), "{ended:?}");
}

const EDIT: &str = "edit 8 in 42, ProgressEdit(SessionId(\"s\"))";

/// An agent at work, whose activity message has the id 8.
fn working(room: Room) -> Stage {
    let mut stage = Stage::new();
    stage.happens(vec![created(room), started(TurnKind::Work, "do it")]);
    stage.put(Input::Tick { chance: [0; 8] });
    stage.put(Input::Sent(AfterSend::Progress(id()), vec![Ok(Sent::Posted(8))]));
    stage
}

fn said(text: &str) -> Event {
    Event::Said { turn: TurnId(1), text: text.into() }
}

/// The activity of an agent is shown within two seconds, however fast it changes: there are never more than four edits
/// in six seconds, and none without a change. An edit that was dropped for something more urgent is made afterwards.
#[test]
fn words_are_shown_within_two_seconds() {
    let mut stage = working(HOME);
    let step = SignedDuration::from_millis(100);
    let (mut edits, mut waiting) = (Vec::new(), None);
    for n in 0..200 {
        stage.now += step;
        if n % 3 == 0 {
            stage.happens(vec![said(&format!("step {n}"))]);
            waiting = waiting.or(Some(stage.now));
        }
        if stage.state.deadline().is_some_and(|due| due <= stage.now) {
            assert_eq!(stage.put(Input::DeadlinePassed), [EDIT]);
            let waited = stage.now.duration_since(waiting.take().unwrap());
            assert!(waited <= SignedDuration::from_secs(2), "{waited}");
            edits.push(stage.now);
        }
    }
    assert!(edits.len() >= 10, "{}", edits.len());
    for at in &edits {
        let within = edits.iter().filter(|other| *other >= at && other.duration_since(*at).as_secs() < 6);
        assert!(within.count() <= 4);
    }
    stage.put(Input::Sent(AfterSend::ProgressEdit(id()), vec![Ok(Sent::Done)]));
    stage.now += SignedDuration::from_secs(2);
    stage.put(Input::DeadlinePassed);
    stage.now += SignedDuration::from_secs(2);
    assert_eq!(stage.state.deadline(), None, "nothing is new");
    stage.put(Input::Sent(AfterSend::ProgressEdit(id()), vec![Ok(Sent::Dropped)]));
    assert!(stage.state.deadline().is_some_and(|due| due <= stage.now), "it is tried again");
    assert_eq!(stage.put(Input::DeadlinePassed), [EDIT]);
}

/// The first text of an agent does not wait for the next tick either. In a group, which allows fewer edits, later texts
/// wait longer.
#[test]
fn first_words_come_soon_and_groups_get_fewer_edits() {
    let mut stage = Stage::new();
    stage.happens(vec![created(HOME), started(TurnKind::Work, "do it")]);
    stage.happens(vec![said("I look around.")]);
    stage.now += SignedDuration::from_secs(2);
    let first = stage.put(Input::DeadlinePassed);
    assert!(first[0].ends_with("Progress(SessionId(\"s\"))"), "{first:?}");
    assert_eq!(stage.state.deadline(), None, "the message is on its way");

    let mut stage = working(GROUP);
    stage.happens(vec![said("I look around.")]);
    let due = stage.state.deadline().unwrap().duration_since(stage.now);
    assert!((3..=10).contains(&due.as_secs()), "{due}");
}

/// CHAT-32: a reply that consists of questions becomes cards when its turn ends. Until then, the activity message does
/// not show its JSON.
#[test]
fn chat_32_the_signal_is_not_shown_as_the_words_of_an_agent_at_work() {
    let signal = r#"{"interactive": true, "questions": [{"question": "Which bug?"}]}"#;
    for (words, is_shown) in [("Which bug, I wonder", true), (signal, false)] {
        let mut stage = working(HOME);
        stage.happens(vec![said(words)]);
        stage.now += SignedDuration::from_secs(5);
        let shown = [Input::DeadlinePassed, Input::Tick { chance: [0; 8] }]
            .map(|input| format!("{:?}", stage.state.step(input, stage.now)));
        assert_eq!(shown.concat().contains("Which bug"), is_shown, "{shown:?}");
    }
}

/// An edit of a message changes the answer that it gave, and the bot says so. Once the session is over, it is too late.
#[test]
fn an_edited_message_changes_its_answer() {
    let mut stage = Stage::new();
    stage.asked();
    let edited = |stage: &mut Stage, message: i32, text: &str| {
        let what = What::Edited { text: text.into() };
        stage.updates += 1;
        let (id, sender) = (format!("update {}", stage.updates), Sender { id: ANNA, name: "Anna".into() });
        let (files, is_joined) = (Vec::new(), false);
        let incoming =
            Incoming { id, room: HOME, topic: None, private: true, sender, message, what, files, is_joined };
        stage.put(Input::Update(Box::new(incoming), Ticket(stage.updates)))
    };
    let then = AfterOps::Request {
        room: HOME,
        ticket: Ticket(1),
        thanks: None,
        becomes: Some(Becomes::Answer(TypedAnswer { message: 10, card: key("q1", 1) })),
    };
    // A refused answer is not an answer.
    stage.put(Input::Operated(then.clone(), Err(DoorError::Closed)));
    let unknown = edited(&mut stage, 10, "green");
    assert!(unknown[0].contains("I have read that message as it was first"), "{unknown:?}");
    assert_eq!(stage.put(Input::Operated(then, Ok(()))), ["note answered", "finish 1"]);
    stage.happens(vec![answered("q1")]);
    stage.put(Input::Sent(AfterSend::Close(key("q1", 1)), vec![Ok(Sent::Done)]));
    let wanted = edited(&mut stage, 10, "green");
    let change = "act in s: Change { question: QuestionId(\"q1\"), reply: Text(\"green\") }";
    assert_eq!(wanted, [change]);
    let reopened = Event::Reopened { question: QuestionId::new("q1"), by: person(ANNA) };
    let changed = stage.happens(vec![reopened, answered("q1")]);
    assert!(changed.contains(&"send \"✏️ Changed: q1? → Yes\" in 42, announces 3".to_owned()), "{changed:?}");
    assert!(changed.contains(&"edit 7 \"✅ Yes\" in 42".to_owned()), "{changed:?}");
    let late = Refusal::TooLateToChange { question: QuestionId::new("q1"), why: "the agent works".into() };
    let told = stage.put(Input::Operated(request(4), Err(DoorError::Refused(late))));
    assert_eq!(told[0], "send \"That came too late: the agent works. The answer stays as it was.\" in 42");
    let notes: Vec<_> = stage.state.notes.text().lines().map(str::to_owned).collect();
    let mut later = Stage::with(Access::new([ANNA]), Notes::parse(&notes.join("\n")));
    let gone = edited(&mut later, 10, "blue");
    assert!(gone[0].contains("That came too late"), "{gone:?}");
}

/// kill -9: the notes and the logs are enough to continue. A card that was shown is not shown again and still works; a
/// message whose arrival was not noted is sent once more.
#[test]
fn after_a_kill_notes_and_logs_are_enough() {
    let mut before = Stage::new();
    let entry = before.entry(vec![created(HOME), asked(&["q1"])]);
    let mut lines = Vec::new();
    let mut keep = |effects: Vec<Effect>| {
        lines.extend(effects.into_iter().filter_map(|effect| match effect {
            Effect::Note(line) => Some(line),
            _ => None,
        }));
        lines.join("\n")
    };
    let seen = Input::Seen(Seen { session: id(), updates: vec![Update::Entry(entry.clone())] });
    let unshown = keep(before.state.step(seen, START));
    let sent = Input::Sent(AfterSend::Card(key("q1", 1)), vec![Ok(Sent::Posted(7))]);
    let shown = keep(before.state.step(sent, START));
    // The last line of the notes was cut off.
    let cut = format!("{shown}\n{{\"closed\":{{\"sess");
    let card = "send \"q1?\" in 42, card q1";
    for (notes, is_sent) in [(&unshown, true), (&shown, false), (&cut, false)] {
        let mut after = Stage::with(Access::new([ANNA]), Notes::parse(notes));
        let mut wanted = after.put(Input::Found(id(), Ok(vec![entry.clone()])));
        wanted.extend(after.put(Input::AllFound));
        assert_eq!(wanted.contains(&card.to_owned()), is_sent, "{wanted:?}");
        let tapped = after.state.step(tap(&key("q1", 1)), START);
        assert_eq!(tapped.iter().flat_map(brief).collect::<Vec<_>>(), ["act: answer q1 Choices([0])"]);
        // The command that began the session is recognized if it comes again.
        let again = Incoming {
            id: "update 0".into(),
            room: HOME,
            topic: None,
            private: true,
            sender: Sender { id: ANNA, name: "Anna".into() },
            message: 1,
            what: What::Command { name: "plan".into(), rest: "add dark mode".into(), about: None },
            files: Vec::new(),
            is_joined: false,
        };
        assert_eq!(after.put(Input::Update(Box::new(again), Ticket(9))), ["finish 9"]);
    }
}

/// The channel cancels a plan without questions. It recognizes such a plan by its facts, not by the words of the
/// reason.
#[test]
fn a_plan_without_questions_is_cancelled_in_silence() {
    let mut stage = Stage::new();
    stage.happens(vec![created(HOME)]);
    let wanted = stage.happens(vec![failed()]);
    assert!(wanted[0].starts_with("send") && wanted[0].ends_with("announces 2"), "{wanted:?}");
    assert_eq!(wanted[1], "try in s: Cancel { reason: Some(\"no questions could be made\") }");
    let said =
        |wanted: Vec<String>| wanted.into_iter().filter(|one| one.starts_with("send")).collect::<Vec<_>>();
    assert_eq!(said(stage.happens(vec![cancelled("whatever it says")])), Vec::<String>::new());

    let mut stage = Stage::new();
    stage.asked();
    let told = said(stage.happens(vec![cancelled("no questions could be made")]));
    assert_eq!(told, ["send \"❌ Planning cancelled. (no questions could be made)\" in 42, announces 2"]);
}

/// A card that Telegram refuses is reported once, and shown as soon as the chat accepts messages again.
#[test]
fn a_card_that_was_not_taken_is_shown_when_the_chat_opens() {
    let mut stage = Stage::new();
    stage.happens(vec![created(GROUP), asked(&["q1"])]);
    let q1 = key("q1", 1);
    let blocked = || Input::Sent(AfterSend::Card(q1.clone()), vec![Err(ApiError::Blocked("kicked".into()))]);
    let told = stage.put(blocked());
    assert!(told[0].starts_with("send") && told[0].ends_with("in 42"), "{told:?}");
    assert!(told[1].starts_with("notify: a question of s cannot be shown"), "{told:?}");
    // The card is not sent by itself, and the refusal is not reported twice.
    assert_eq!(stage.happens(vec![]), ["write /plans/-7-interactive.json"]);
    assert_eq!(stage.put(Input::Opened(GROUP.chat)), ["send \"q1?\" in -7, card q1"]);
    assert_eq!(stage.put(blocked()), Vec::<String>::new());
}

/// Events from the time while the bot was blocked are announced when the chat accepts messages again, and after a
/// restart. A message that Telegram would always refuse counts as announced.
#[test]
fn what_could_not_be_told_is_told_when_the_chat_opens() {
    let announced = |result| Input::Sent(AfterSend::Announce { session: id(), seq: 2 }, vec![result]);
    let blocked = || Err(ApiError::Blocked("blocked".into()));
    let mut stage = Stage::new();
    stage.asked();
    let told = "send \"❌ Planning cancelled. (over)\" in 42, announces 2";
    assert!(stage.happens(vec![cancelled("over")]).contains(&told.to_owned()));
    let closed = Input::Sent(AfterSend::Close(key("q1", 1)), vec![Ok(Sent::Done)]);
    stage.put(closed);
    // The host is told once. An entry whose announcement failed is not noted as announced, and the session is not
    // forgotten.
    let untold = stage.put(announced(blocked()));
    assert!(untold[0].starts_with("notify: what happened in s"), "{untold:?}");
    assert_eq!(untold[1..], ["note told"], "up to the entry before");
    assert_eq!(stage.state.notes.of(&id()).unwrap().told, 1);
    assert_eq!(stage.put(Input::Opened(HOME.chat)), [told]);
    assert_eq!(stage.put(announced(blocked())), Vec::<String>::new());
    // The announcement is retried from time to time without any other trigger.
    stage.now = START + SignedDuration::from_mins(10);
    assert_eq!(stage.put(Input::Tick { chance: [0; 8] }), [told]);
    let over = stage.put(announced(Ok(Sent::Posted(9))));
    assert!(over.starts_with(&["note told".to_owned()]) && over.contains(&"note over".into()), "{over:?}");

    let mut stage = Stage::new();
    stage.asked();
    stage.happens(vec![cancelled("over")]);
    let refused = ApiError::Refused { code: 400, description: "no".into() };
    assert!(stage.put(announced(Err(refused))).contains(&"note told".to_owned()));
    assert!(!stage.put(Input::Opened(HOME.chat)).contains(&told.to_owned()));
}

/// The end of a session that began at a terminal is announced where its questions were answered.
#[test]
fn sessions_of_a_terminal_tell_their_end_where_they_were_answered() {
    let reported = || Event::Reported { changes: None };
    for (answered_here, ends) in [(true, 1), (false, 0)] {
        let mut stage = Stage::new();
        let created = Created { origin: None, ..chat_created() };
        let created = Event::Created(Created { aim: Aim::Work, ..created });
        stage.happens(vec![created, asked(&["q1"])]);
        stage.arrives(&key("q1", 1), 7);
        let answer = Answer { values: vec!["Yes".into()], text: None };
        let by = match answered_here {
            true => person(ANNA),
            false => By::Person { channel: "terminal".into(), id: "anna".into() },
        };
        stage.happens(vec![Event::Answered { question: QuestionId::new("q1"), answer, by }]);
        let done = stage.happens(vec![reported()]);
        assert_eq!(done.iter().filter(|one| one.ends_with("announces 3")).count(), ends, "{done:?}");
    }
}

/// A message has at most a hundred buttons. If there are more options, the person types a number.
#[test]
fn more_options_than_buttons_are_chosen_by_number() {
    let Event::Asked { round, asker, mut questions } = asked(&["q1"]) else { unreachable!() };
    questions[0].options = (1..=150).map(|n| Choice::plain(format!("Option {n}"))).collect();
    questions[0].free_text = false;
    questions[0].multi = true;
    let mut stage = Stage::new();
    let entry = stage.entry(vec![created(HOME), Event::Asked { round, asker, questions }]);
    let seen = Input::Seen(Seen { session: id(), updates: vec![Update::Entry(entry)] });
    let wanted = stage.state.step(seen, START);
    let card = wanted.iter().find_map(|effect| match effect {
        Effect::Send { messages, then: Some(AfterSend::Card(_)), .. } => messages.first(),
        _ => None,
    });
    let Some(Outgoing::Message(card)) = card else { panic!("{wanted:?}") };
    assert!(card.text.contains("Type the numbers:") && card.text.contains("\n1. Option 1"), "{}", card.text);
    let Some(ReplyMarkup::InlineKeyboardMarkup(buttons)) = &card.keyboard else { panic!("{card:?}") };
    assert!(buttons.inline_keyboard.iter().flatten().count() < 10);
    stage.arrives(&key("q1", 1), 7);
    assert_eq!(stage.writes("3, 150", 9), ["act: answer q1 Words([\"3\", \"150\"])"]);
}

/// A group that becomes a supergroup has none of the messages there, so open questions are shown again.
#[test]
fn open_cards_follow_a_chat_that_moves() {
    let mut stage = Stage::new();
    stage.happens(vec![created(GROUP), asked(&["q1"])]);
    stage.arrives(&key("q1", 1), 7);
    let wanted = stage.put(Input::Moved { from: GROUP.chat, to: -100 });
    let file = |verb: &str, chat: i64| format!("{verb} /plans/{chat}-interactive.json");
    let notes = ["note moved".to_owned(), "note left".into()];
    let shown = "send \"q1?\" in -100, card q1".to_owned();
    assert_eq!(wanted, [&notes[..], &[file("remove", -7), shown, file("write", -100)]].concat());
    // The same move, reported twice, changes nothing.
    assert_eq!(stage.put(Input::Moved { from: GROUP.chat, to: -100 }), Vec::<String>::new());
}

/// Missing entries are read from the log.
#[test]
fn a_gap_is_read() {
    let mut stage = Stage::new();
    stage.happens(vec![created(HOME), asked(&["q1"])]);
    stage.seq += 1;
    assert_eq!(stage.happens(vec![answered("q1")]), ["read s after 1"]);
    let mut late = Stage::new();
    late.seq = 4;
    assert_eq!(late.happens(vec![answered("q1")]), ["read s after 0"]);
}

/// The first user gets access by a code, once that is durable.
#[test]
fn the_first_person_gets_in_by_a_code() {
    let mut stage = Stage::with(Access::default(), Notes::default());
    let offered = stage.put(Input::Tick { chance: [1; 8] });
    let [notice] = &offered[..] else { panic!("{offered:?}") };
    let code = notice.rsplit(' ').next().unwrap();
    // There is one code at a time.
    assert_eq!(stage.put(Input::Tick { chance: [2; 8] }), Vec::<String>::new());
    let refused = stage.comes(STRANGER, HOME, What::Other { kind: "a photo", reply_to: None });
    assert_eq!(refused, ["send \"This bot is private.\" in 42", "finish 1"]);
    assert_eq!(stage.writes(code, 3), ["add user 42"]);
    let user = crate::users::Paired { id: ANNA, name: "Anna".into(), since: START };
    let new = NewUser { user, room: HOME, ticket: Ticket(2) };
    let mut wanted = stage.put(Input::UserAdded(new, Ok(())));
    wanted.retain(|one| !one.starts_with("send"));
    assert_eq!(wanted, ["notify: Anna (42) may use this bot from now on", "ReadAll", "finish 2"]);
}

/// A new plan replaces the previous one in one request. A text without a command begins a conversation.
#[test]
fn words_and_commands_become_operations() {
    let plan = || What::Command { name: "plan".into(), rest: "paint it".into(), about: None };
    let mut stage = Stage::new();
    let wanted = stage.comes(ANNA, HOME, plan());
    assert_eq!(wanted, ["type in 42", "create \"paint it\" with 0 questions"]);
    stage.asked();
    let replace = "act in s: Cancel { reason: Some(\"another task replaces it\") }";
    let wanted = stage.comes(ANNA, HOME, plan());
    assert_eq!(wanted, ["type in 42", replace, "create \"paint it\" with 0 questions"]);
    let mut stage = Stage::new();
    assert_eq!(stage.writes("hello", 3), ["create \"hello\" with 0 questions"]);
    let nothing = What::Command { name: "cancel".into(), rest: String::new(), about: None };
    let wanted = stage.comes(ANNA, HOME, nothing);
    assert_eq!(wanted, ["send \"There is nothing to cancel here.\" in 42", "finish 2"]);
}

/// A turn of a conversation that consists only of questions becomes a plan, once. Reading the log again changes
/// nothing.
#[test]
fn a_turn_of_questions_becomes_a_plan_once() {
    let mut stage = Stage::new();
    let says = started(TurnKind::Chat, "make it nice");
    let begins = vec![Event::Created(Created { aim: Aim::Chat, ..chat_created() }), says];
    stage.happens(begins.clone());
    let result = r#"{"interactive": true, "questions": [{"id": "a", "question": "Dark?", "options": [{"label": "Yes"}, {"label": "No"}]}]}"#;
    let ended = Event::TurnEnded { turn: TurnId(1), result: result.into() };
    let wanted = stage.happens(vec![ended.clone()]);
    assert_eq!(wanted[0], "create \"make it nice\" with 1 questions");
    let grown = AfterOps::Grow { room: HOME, session: id(), seq: 2 };
    assert_eq!(stage.put(Input::Operated(grown, Ok(()))), ["note told"]);

    // After a kill in between, the plan records the turn that it came from.
    let mut after = Stage::new();
    let log = vec![after.entry(begins), after.entry(vec![ended])];
    let plan = Created { grown_from: Some(Seed { session: id(), turn: TurnId(1) }), ..chat_created() };
    let grown = Entry { seq: 1, at: START, facts: vec![Event::Created(plan)] };
    after.state.notes.note_announced(&mut Effects::default(), &id(), 1);
    after.put(Input::Found(id(), Ok(log)));
    after.put(Input::Found(SessionId::new("plan"), Ok(vec![grown])));
    let wanted = after.put(Input::AllFound);
    assert!(!wanted.iter().any(|one| one.starts_with("create")), "{wanted:?}");
}

fn chat_created() -> Created {
    let by = person(ANNA);
    let created = Created::new("hello".into(), "/app".into(), ConversationId::new("c"), by);
    Created { origin: Some(HOME.into()), ..created }
}

/// Options are selected one by one and answered together. After a restart, the notes define the selection, whichever
/// buttons the person saw when tapping. Without a note, the buttons define it.
#[test]
fn several_options_are_chosen_on_the_buttons() {
    let Event::Asked { round, asker, mut questions } = asked(&["q1"]) else { unreachable!() };
    questions[0].multi = true;
    let asked = Event::Asked { round, asker, questions };
    let q1 = key("q1", 1);
    let mut stage = Stage::new();
    stage.happens(vec![created(HOME), asked]);
    stage.arrives(&q1, 7);
    let take_in = |option| Button::Pick(Pick::TakeIn, 0, option);
    let toggled = stage.taps(ANNA, take_in(1), &q1);
    assert_eq!(toggled, ["note picked", "buttons 7 in 42", "answer tap 1: ", "finish 1"]);
    let noted = stage.state.notes.text();
    // A second tap on the same old button has the same meaning, and deselects nothing.
    stage.taps(ANNA, take_in(1), &q1);
    assert_eq!(stage.taps(ANNA, Button::Done, &q1), ["act: answer q1 Choices([1])"]);
    assert_eq!(stage.taps(ANNA, take_in(2), &q1), ["answer tap 4: There is no such option.", "finish 4"]);

    // The data of the buttons encodes the selection, whatever their labels are.
    stage.state.notes.picked(&mut Effects::default(), &q1, None);
    let button = |label: &str, pick, option| {
        let data = Button::Pick(pick, 0, option).data(&q1.tag());
        InlineKeyboardButton::new(label, data)
    };
    let row = vec![button("☐ Yes", Pick::LeaveOut, 0), button("☑ No", Pick::TakeIn, 1)];
    let keyboard = InlineKeyboardMarkup { inline_keyboard: vec![row] };
    let (query, data) = ("t".into(), Button::Done.data(&q1.tag()));
    let press = What::Press { query, data, message: Some(7), keyboard: Some(keyboard), about: None };
    assert_eq!(stage.comes(ANNA, HOME, press.clone()), ["act: answer q1 Choices([0])"]);
    stage.state.notes = Notes::parse(&noted);
    assert_eq!(stage.comes(ANNA, HOME, press), ["act: answer q1 Choices([1])"]);
}

fn block(title: &str) -> ContentForm {
    ContentForm::Block { title: title.into(), file: "preview.txt" }
}

fn file() -> ContentForm {
    ContentForm::File { caption: "hello".into(), file: "log.jsonl".into() }
}

/// The changes and the log of the newest session are available in its chat, even after the session is over, to those
/// who may see them.
#[test]
fn the_newest_session_of_a_chat_can_be_looked_at() {
    let command = |name: &str| What::Command { name: name.into(), rest: String::new(), about: None };
    let mut stage = Stage::new();
    let none = stage.comes(ANNA, HOME, command("diff"));
    assert_eq!(none[0], "send \"There is no session in this chat yet.\" in 42");
    stage.asked();
    stage.happens(vec![cancelled("over")]);
    stage.put(Input::Sent(AfterSend::Close(key("q1", 1)), vec![Ok(Sent::Done)]));
    let announced = AfterSend::Announce { session: id(), seq: 2 };
    stage.put(Input::Sent(announced, vec![Ok(Sent::Posted(9))]));
    assert_eq!(stage.state.sessions.iter().count(), 0);
    for (name, content) in [("diff", "Diff"), ("log", "Log")] {
        let wanted = stage.comes(ANNA, HOME, command(name));
        assert!(wanted[0].starts_with("ReadContent") && wanted[0].contains(content), "{wanted:?}");
    }
    // After a restart, this is known from the log.
    let mut after = Stage::with(Access::new([ANNA, STRANGER]), Notes::default());
    let log = vec![after.entry(vec![created(GROUP)]), after.entry(vec![cancelled("over")])];
    after.put(Input::Found(id(), Ok(log)));
    after.put(Input::AllFound);
    assert!(after.comes(ANNA, GROUP, command("log"))[0].starts_with("ReadContent"));
    let other = after.comes(STRANGER, GROUP, command("log"));
    assert_eq!(other[0], "send \"Only whoever asked for this task can see that.\" in -7");
}

/// The content of a session is sent to the room of the request, and so is the reason if it cannot be read.
#[test]
fn content_is_sent_where_it_was_asked_for() {
    let cases = [
        (ContentForm::Markdown, Ok("All **done**.".to_owned()), "send \"All done.\""),
        (block("Create a.txt"), Ok("hello".to_owned()), "send \"hello\""),
        (block("Create a.txt"), Ok("\n".to_owned()), "send \"It is empty.\""),
        (
            ContentForm::Block { title: "Changes".into(), file: CHANGES },
            Ok("\n".to_owned()),
            "send \"No changes so far.\"",
        ),
        (file(), Ok("{}".to_owned()), "file log.jsonl"),
        (
            ContentForm::Markdown,
            Err(DoorError::Closed),
            "send \"It cannot be shown now: Rapport is shutting down\"",
        ),
    ];
    for (form, read, said) in cases {
        let then = AfterContent { room: GROUP, ticket: Ticket(4), form, work: None };
        let wanted = Stage::new().put(Input::Content(then, read.map(String::into_bytes)));
        assert_eq!(wanted, [format!("{said} in -7"), "finish 4".into()]);
    }
}

/// A file name may come from anyone: neither the name nor the content is interpreted as markup, and hidden characters
/// in them are visible.
#[test]
fn a_preview_is_shown_as_it_is() {
    let title = "CREATE: [see](https://evil.example) **a**\u{202e}.txt".to_owned();
    let then = AfterContent { room: HOME, ticket: Ticket(4), form: block(&title), work: None };
    let content = Ok("```\n[in](https://evil.example)\u{202e}".to_owned());
    let wanted = Stage::new().state.step(Input::Content(then, content.map(String::into_bytes)), START);
    let Some(Effect::Send { messages, .. }) = wanted.first() else { panic!("{wanted:?}") };
    let [Outgoing::Message(message)] = &messages[..] else { panic!("{messages:?}") };
    let title = "CREATE: [see](https://evil.example) **a**<U+202E>.txt";
    assert_eq!(message.text, format!("{title}\n\n```\n[in](https://evil.example)<U+202E>"));
    assert!(message.entities.iter().all(|entity| entity.url.is_none()), "{:?}", message.entities);
}

/// A person is asked for a permission only after seeing all of it: the card is sent when the text that does not fit on
/// it has arrived, and not sent if that text was refused.
#[test]
fn a_card_waits_for_what_does_not_fit_it() {
    let long = (1..=400).map(|n| format!("echo {n}\n")).collect::<String>();
    let permission = Permission { parts: vec![Part::Command(long)], ..Permission::new("Bash", "echo 1") };
    let asked = || {
        let Event::Asked { round, mut questions, .. } = asked(&["q1"]) else { unreachable!() };
        questions[0].purpose = Purpose::Permission(permission.clone());
        let asker = Asker::Agent { turn: TurnId(1), call: CallId::new("c1"), parkable: true };
        vec![created(HOME), Event::Asked { round, asker, questions }]
    };
    let (file, q1) = (
        "file q1.txt in 42, Before(CardKey { session: SessionId(\"s\"), question: QuestionId(\"q1\"), since: 1 })",
        key("q1", 1),
    );
    let mut stage = Stage::new();
    let first = stage.happens(asked());
    assert!(
        first.contains(&file.to_owned()) && !first.iter().any(|one| one.starts_with("send")),
        "{first:?}"
    );
    // While the file is being sent, nothing is sent again.
    assert!(!stage.happens(vec![]).iter().any(|one| one.starts_with("file")));
    let before = |result| Input::Sent(AfterSend::Before(q1.clone()), vec![result]);
    let card = stage.put(before(Ok(Sent::Posted(6))));
    assert!(card.len() == 1 && card[0].ends_with("in 42, card q1"), "{card:?}");
    // A card of an earlier version had a button for the file, and none to allow the call. It is shown again, with the
    // file.
    stage.arrives(&q1, 7);
    let again = stage.taps(ANNA, Button::Whole, &q1);
    assert_eq!(again[..2], ["strip 7 in 42", file], "{again:?}");

    let mut stage = Stage::new();
    stage.happens(asked());
    let refused = stage.put(before(Err(ApiError::Blocked("kicked".into()))));
    assert!(
        refused.iter().all(|one| one.starts_with("notify: a question of s cannot be shown")),
        "{refused:?}"
    );
    assert!(stage.put(Input::Opened(HOME.chat)).contains(&file.to_owned()));
    // The question was answered elsewhere, so the card is no longer shown.
    stage.happens(vec![answered("q1")]);
    let late = stage.put(before(Ok(Sent::Posted(9))));
    assert!(!late.iter().any(|one| one.contains("card q1")), "{late:?}");
}

/// Sessions that cannot be read, run or listed are reported. A session that another process runs is left to that
/// process.
#[test]
fn sessions_that_cannot_be_followed_are_told() {
    let io = || StoreError::Io { what: "read", place: "log".into(), source: std::io::Error::other("EIO") };
    let told = "notify: session s cannot be followed: cannot read log: EIO";
    let unfollowed = Input::Unfollowed(id(), DoorError::Store(io()));
    assert_eq!(Stage::new().put(unfollowed), [told]);
    assert_eq!(Stage::new().put(Input::Found(id(), Err(DoorError::Store(io())))), [told]);
    let unlisted = Stage::new().put(Input::Unlisted(DoorError::Store(io())));
    assert_eq!(unlisted, ["notify: the sessions cannot be listed: cannot read log: EIO"]);
    let busy = StoreError::Busy { id: id(), holder: Holder::UNKNOWN };
    assert!(unfollowed_input(DoorError::Store(busy)).is_none());
    assert!(unfollowed_input(DoorError::Closed).is_some());
}

fn unfollowed_input(error: DoorError) -> Option<Input> {
    super::outbound::unfollowed(id(), error)
}

/// No reminder is sent during quiet hours. All of them are sent afterwards, including those that were put off.
#[test]
fn reminders_wait_for_the_end_of_quiet_hours() {
    let mut stage = Stage::new();
    stage.state.settings.quiet = QuietTimes::new(QuietHours::parse("00:30-02:00"), TimeZone::UTC);
    let key = stage.asked();
    let due = |stage: &Stage| stage.state.deadline().unwrap().duration_since(START).as_mins();
    assert_eq!(due(&stage), 60);
    stage.now = START + SignedDuration::from_mins(60);
    assert_eq!(stage.put(Input::DeadlinePassed), Vec::<String>::new());
    assert_eq!(due(&stage), 120, "held until the end");
    stage.now = START + SignedDuration::from_mins(120);
    let reminded = stage.put(Input::DeadlinePassed);
    assert!(reminded.iter().any(|effect| effect.starts_with("send")), "{reminded:?}");
    let snoozed = stage.taps(ANNA, Button::Snooze, &key);
    assert_eq!(snoozed[..1], ["note snoozed"]);
    assert_eq!(due(&stage), 180);
    // The reminder is sent at the promised time, and not before.
    stage.now = START + SignedDuration::from_mins(179);
    assert_eq!(stage.put(Input::DeadlinePassed), Vec::<String>::new());
    stage.now = START + SignedDuration::from_mins(180);
    let reminded = stage.put(Input::DeadlinePassed);
    assert!(reminded.iter().any(|effect| effect.starts_with("send")), "{reminded:?}");
}

/// The log of a session that began at a terminal and has waited for an answer since the minute `n`.
fn asked_elsewhere(n: usize) -> (SessionId, Vec<Entry>) {
    let by = By::Person { channel: "terminal".into(), id: "anna".into() };
    let task = format!("task {n}");
    let created = Created::new(task, "/app".into(), ConversationId::new(format!("c{n}")), by);
    let at = START + SignedDuration::from_mins(n as i64);
    let begun = vec![Event::Created(created), started(TurnKind::Plan, "task")];
    let questions = match asked(&["q1"]) {
        Event::Asked { questions, .. } => questions,
        other => panic!("{other:?}"),
    };
    let asker = Asker::Agent { turn: TurnId(1), call: CallId::new("call"), parkable: true };
    let asks = vec![Event::Asked { round: RoundId(1), asker, questions }];
    let entries = vec![Entry { seq: 1, at, facts: begun }, Entry { seq: 2, at, facts: asks }];
    (SessionId::new(format!("s{n:04}")), entries)
}

/// Of a thousand sessions that wait at the start, a few are in memory and shown. The others follow one by one, and a
/// new question does not wait behind them.
#[test]
fn what_waited_before_comes_bit_by_bit() {
    const WAITING: usize = 1_000;
    let mut stage = Stage::new();
    for n in 0..WAITING {
        let (id, entries) = asked_elsewhere(n);
        assert_eq!(
            stage.put(Input::Found(id, Ok(entries))),
            [""; 0],
            "nothing is shown before all are found"
        );
    }
    assert_eq!(stage.state.sessions.iter().count(), 0, "none is held in memory");
    let mut wanted: Vec<_> = (995..WAITING).rev().map(|n| format!("read s{n:04} after 0")).collect();
    wanted.push(
        r#"send "⏳ 995 more questions wait for you. The next comes when one of these is answered. /status" in 42"#
            .into(),
    );
    assert_eq!(stage.put(Input::AllFound), wanted);
    for n in (995..WAITING).rev() {
        let (id, entries) = asked_elsewhere(n);
        let shown = stage.put(Input::Read(id, entries));
        assert!(shown.iter().any(|what| what.ends_with("in 42, card q1")), "{shown:?}");
        assert!(!shown.iter().any(|what| what.starts_with("read")), "five are enough: {shown:?}");
    }
    assert_eq!(stage.state.sessions.iter().count(), 5);

    let status =
        stage.comes(ANNA, HOME, What::Command { name: "status".into(), rest: String::new(), about: None });
    assert!(status.iter().any(|what| what.contains("and 995 more; the next comes when")), "{status:?}");

    let (new, entries) = (SessionId::new("new"), asked_elsewhere(5_000).1);
    let shown = stage.put(Input::Seen(Seen {
        session: new.clone(),
        updates: entries.into_iter().map(Update::Entry).collect(),
    }));
    assert!(shown.iter().any(|what| what.ends_with("card q1")), "what is new is shown at once: {shown:?}");

    let answer = |id: SessionId| {
        let entry = Entry { seq: 3, at: START, facts: vec![answered("q1")] };
        Input::Seen(Seen { session: id, updates: vec![Update::Entry(entry)] })
    };
    let shown = stage.put(answer(new));
    assert!(!shown.iter().any(|what| what.starts_with("read")), "five still wait: {shown:?}");
    let shown = stage.put(answer(SessionId::new("s0997")));
    assert!(shown.contains(&"read s0994 after 0".to_owned()), "{shown:?}");

    // A session that cannot be read makes room for the next one.
    let gone = DoorError::Store(StoreError::NotFound(SessionId::new("s0994")));
    let shown = stage.put(Input::Unfollowed(SessionId::new("s0994"), gone));
    assert!(shown.contains(&"read s0993 after 0".to_owned()), "{shown:?}");

    // A session that is held back is shown at once when it gets a new entry, however many others wait.
    assert_eq!(stage.put(answer(SessionId::new("s0100"))), ["read s0100 after 0"]);
    assert_eq!(stage.state.backlog.len(42), WAITING - 5 - 3);
}

/// A text that arrives before the questions from before the start are shown, as after a kill, does not start an agent,
/// because it may be an answer.
#[test]
fn words_before_what_waits_is_shown_begin_nothing() {
    let mut stage = Stage::new();
    let (id, entries) = asked_elsewhere(0);
    stage.put(Input::Found(id.clone(), Ok(entries.clone())));
    assert_eq!(stage.put(Input::AllFound), ["read s0000 after 0"]);
    let told = "send \"I am about to show what waits for you here. Please send that again after it.\" in 42";
    assert_eq!(stage.writes("Yes", 8), [told, "finish 1"]);
    stage.put(Input::Read(id.clone(), entries));
    let key = CardKey { session: id, question: QuestionId::new("q1"), since: 2 };
    stage.arrives(&key, 9);
    let answered = stage.writes("Yes", 10);
    assert!(answered.iter().any(|what| what.starts_with("act: answer q1")), "{answered:?}");
}

fn project(name: &str) -> Project {
    Project { name: name.into(), path: format!("/{name}"), has_quick_tasks: false }
}

/// The state of a channel that serves two projects, with these notes.
fn of_two_projects(notes: &str) -> Stage {
    let mut stage = Stage::with(Access::new([ANNA]), Notes::parse(notes));
    stage.state.projects = Projects::new(project("app"), vec![project("blog")]);
    stage
}

/// A topic that a user with access creates or renames is about the project of the same name.
#[test]
fn a_topic_gets_its_project_by_its_name() {
    let room = Room { chat: -7, topic: Some(3) };
    let named = |by, name: &str| Input::TopicNamed { room, by, name: name.into() };
    let now = "send \"📁 This topic is about blog now: /plan and messages go to its agents.\" in -7";
    let mut stage = of_two_projects("");
    let about = |stage: &Stage, room| stage.state.projects.in_room(&stage.state.notes, room).name.clone();
    assert!(stage.put(named(STRANGER, "blog")).is_empty());
    assert!(stage.put(named(ANNA, "blogs")).is_empty());
    assert_eq!(about(&stage, room), "app");
    assert_eq!(stage.put(named(ANNA, " Blog")), ["note about", now]);
    assert_eq!(about(&stage, room), "blog");
    assert_eq!(about(&stage, GROUP), "app");
    // A group that becomes a supergroup keeps the project of its topic.
    stage.put(Input::Moved { from: -7, to: -100 });
    assert_eq!(about(&stage, Room { chat: -100, ..room }), "blog");
    let mut only = Stage::new();
    assert!(only.put(named(ANNA, "app")).is_empty(), "with one project there is nothing to choose");
}

/// A session that began at a terminal is shown only to its owner, in the topic of their private chat that is about its
/// project.
#[test]
fn a_project_has_a_topic_of_its_own_in_a_private_chat() {
    let about = r#"{"about":{"room":{"chat":42,"topic":5},"project":"/blog"}}"#;
    let in_group = r#"{"about":{"room":{"chat":-7,"topic":6},"project":"/blog"}}"#;
    let elsewhere = Event::Created(Created {
        terms: Terms { clarifier: Clarifier::Planner, max_rounds: 3, ..Terms::default() },
        ..Created::new(
            "x".into(),
            "/blog".into(),
            ConversationId::new("c"),
            By::Person { channel: "terminal".into(), id: "anna".into() },
        )
    });
    for (notes, session, topic) in
        [(about, "blog:s", Some(5)), (in_group, "blog:s", None), (about, "s", None), ("", "blog:s", None)]
    {
        let mut stage = of_two_projects(notes);
        let entry = stage.entry(vec![elsewhere.clone(), asked(&["q1"])]);
        let seen = Seen { session: SessionId::new(session), updates: vec![Update::Entry(entry)] };
        let effects = stage.state.step(Input::Seen(seen), START);
        let thread = effects.iter().find_map(|effect| match effect {
            Effect::Send { chat: 42, messages, then: Some(AfterSend::Card(_)) } => match &messages[..] {
                [Outgoing::Message(message)] => Some(message.thread),
                _ => None,
            },
            _ => None,
        });
        assert_eq!(thread, Some(topic), "{notes} {session}");
    }
}

/// LEAD-18, LEAD-21: the card says that the lead is looking at the question. The lead's draft comes with a button that
/// sends it, on a card of its own; an answer of the lead shows its ground.
#[test]
fn lead_18_a_draft_of_the_lead_is_sent_with_one_tap() {
    let Event::Created(planned) = created(HOME) else { panic!("a session begins with that") };
    let lead = SessionId::new("20260124-hello");
    let mut terms = planned.terms.clone();
    terms.questions = Policy::Auto;
    let led = Event::Created(Created { lead: Some(lead.clone()), terms, ..planned });
    let routed =
        |to, why| Event::Routed { question: QuestionId::new("q1"), to, class: Class::Clarification, why };
    let mut stage = Stage::new();
    let shown = stage.happens(vec![led, asked(&["q1"]), routed(Recipient::Lead, Hop::First)]);
    let looking = "send \"👀 The lead is looking, 60 s. You can answer it at any time.\" in 42, card q1";
    assert!(shown.contains(&looking.to_owned()), "{shown:?}");
    let first = key("q1", 1);
    stage.arrives(&first, 7);
    let by = By::Lead { name: lead.to_string() };
    let answer = Answer { values: vec!["Yes".into()], text: None };
    let ground = Ground::Preference("p1".into());
    let because = Some(Grounding { ground, quote: "Dark, always.".into() });
    let drafted = Event::Drafted { question: QuestionId::new("q1"), answer, by, because };
    let shown = stage.happens(vec![drafted, routed(Recipient::Person, Hop::Drafted)]);
    let card = "send \"📎 preference:p1: Dark, always.\" in 42, card q1";
    assert!(shown.contains(&card.to_owned()), "{shown:?}");
    let second = key("q1", 2);
    stage.arrives(&second, 8);
    let tapped = stage.taps(ANNA, Button::SendDraft, &second);
    let sent = "act in s: SendDraft { question: QuestionId(\"q1\") }";
    assert_eq!(tapped.last().map(String::as_str), Some(sent), "{tapped:?}");
    // The previous card is closed, and its buttons have no effect.
    let old = stage.taps(ANNA, Button::Answer(0, 0), &first);
    assert!(old.iter().all(|effect| !effect.starts_with("act")), "{old:?}");
}

/// A guest of a group is asked after whoever began the session: until then their taps and texts answer nothing, and
/// they are told when it is their turn.
#[test]
fn a_guest_is_asked_after_whoever_began_the_session() {
    const BERT: u64 = 77;
    let Event::Created(planned) = created(GROUP) else { panic!("a session begins with that") };
    let mut terms = planned.terms.clone();
    terms.routing.person_time = Some(SignedDuration::from_mins(30));
    let created = Event::Created(Created { terms, ..planned });
    let mut stage = Stage::with(Access::new([ANNA, BERT]), Notes::default());
    stage.state.notes.guest(&mut Effects::default(), GROUP, ANNA, BERT, super::notes::Guest::May);
    stage.happens(vec![created, asked(&["q1"]), routed("q1", Recipient::Person, Hop::First)]);
    let first = key("q1", 1);
    stage.arrives(&first, 7);
    let press = |key: &CardKey, button: Button| {
        let data = button.data(&key.tag());
        What::Press { query: "tap".into(), data, message: Some(7), keyboard: None, about: None }
    };
    let text = || What::Words { text: "Yes".into(), message: 8, reply_to: Some(7) };
    let refused = "Whoever asked for this task is asked first. You are asked in 30 min, if it is still open.";
    for what in [press(&first, Button::Answer(0, 0)), text()] {
        let effects = stage.comes(BERT, GROUP, what);
        assert!(effects.iter().any(|effect| effect.contains(refused)), "{effects:?}");
        assert!(effects.iter().all(|effect| !effect.starts_with("act")), "{effects:?}");
    }
    let looks = stage.comes(BERT, GROUP, press(&first, Button::Jump));
    assert!(
        looks.iter().any(|effect| effect.contains("card q1")),
        "whoever is not asked may look: {looks:?}"
    );
    let answers = |effects: &[String]| effects.iter().any(|effect| effect.starts_with("act: answer q1"));
    let person = stage.comes(ANNA, GROUP, press(&first, Button::Answer(0, 0)));
    assert!(answers(&person), "the person is asked: {person:?}");
    stage.now = START + SignedDuration::from_mins(30);
    let shown = stage.happens(vec![routed("q1", Recipient::Others, Hop::TimeOver)]);
    assert!(shown.iter().any(|effect| effect.contains("card q1")), "it is shown anew: {shown:?}");
    let second = key("q1", 2);
    stage.arrives(&second, 9);
    let guest = stage.comes(BERT, GROUP, press(&second, Button::Answer(0, 0)));
    assert!(answers(&guest), "{guest:?}");
}

/// What another user than the owner of the machine begins is theirs: the page asks its people later.
#[test]
fn a_session_of_another_user_is_known_as_theirs() {
    const BERT: u64 = 77;
    let mut stage = Stage::with(Access::new([ANNA, BERT]), Notes::default());
    for (user, is_of_other_user) in [(ANNA, false), (BERT, true)] {
        let room = Room { chat: i64::try_from(user).unwrap(), topic: None };
        let effects = stage.state.step(update(user, room, 1, command("plan", "paint")), START);
        let new = effects.into_iter().find_map(|effect| match effect {
            Effect::Operate { mut ops, .. } => match ops.pop() {
                Some(SessionOp::Create(new, _)) => Some(new),
                _ => None,
            },
            _ => None,
        });
        assert_eq!(new.map(|new| new.is_of_other_user), Some(is_of_other_user), "{user}");
    }
}

const LEAD: &str = "lead";
const WORKER: &str = "worker";

fn session(name: &str) -> SessionId {
    SessionId::new(name)
}

/// Another session than the usual one stores these facts.
fn also_happens(stage: &mut Stage, name: &str, seq: u64, facts: Vec<Event>) -> Vec<String> {
    let updates = vec![Update::Entry(Entry { seq, at: stage.now, facts })];
    stage.put(Input::Seen(Seen { session: session(name), updates }))
}

fn lead_created(room: Room) -> Event {
    Event::Created(Created {
        aim: Aim::Chat,
        is_lead: true,
        origin: Some(room.into()),
        request: Some("update of the lead".into()),
        ..chat_created()
    })
}

/// A session that the lead began, as its tools begin one.
fn led_created() -> Event {
    let by = By::Lead { name: LEAD.into() };
    let origin = Some(rapport_core::Origin { channel: "mcp".into(), key: LEAD.into() });
    Event::Created(Created { by, origin, lead: Some(session(LEAD)), request: None, ..chat_created() })
}

fn asked_by_agent(question: &str) -> Event {
    let Event::Asked { questions, .. } = asked(&[question]) else { unreachable!() };
    let asker = Asker::Agent { turn: TurnId(1), call: CallId::new("call"), parkable: true };
    Event::Asked { round: RoundId(1), asker, questions }
}

fn routed(question: &str, to: Recipient, why: Hop) -> Event {
    Event::Routed { question: QuestionId::new(question), to, class: Class::Clarification, why }
}

fn key_of(name: &str, question: &str, since: u64) -> CardKey {
    CardKey { session: session(name), question: QuestionId::new(question), since }
}

/// A lead in this room that has said hello, and a session that it began, whose question is with it. The card of the
/// question is shown as message 7.
fn led(room: Room) -> Stage {
    let mut stage = Stage::new();
    also_happens(&mut stage, LEAD, 1, vec![lead_created(room), started(TurnKind::Chat, "hello")]);
    also_happens(&mut stage, LEAD, 2, vec![Event::TurnEnded { turn: TurnId(1), result: "Hi.".into() }]);
    stage.now = START + SignedDuration::from_secs(1);
    let facts = vec![
        led_created(),
        started(TurnKind::Plan, "auth"),
        asked_by_agent("q1"),
        routed("q1", Recipient::Lead, Hop::First),
    ];
    also_happens(&mut stage, WORKER, 1, facts);
    let told = vec![Event::LeadTold { question: QuestionId::new("q1") }];
    also_happens(&mut stage, WORKER, 2, told);
    stage.arrives(&key_of(WORKER, "q1", 1), 7);
    stage
}

fn command(name: &str, rest: &str) -> What {
    What::Command { name: name.into(), rest: rest.into(), about: None }
}

/// How the sessions begin that these effects create.
fn starts(effects: &[Effect]) -> Vec<SessionStart> {
    let ops = effects.iter().filter_map(|effect| match effect {
        Effect::Operate { ops, .. } => Some(ops),
        _ => None,
    });
    let created = ops.flatten().filter_map(|op| match op {
        SessionOp::Create(new, _) => Some(new.start.clone()),
        _ => None,
    });
    created.collect()
}

fn update(user: u64, room: Room, number: u64, what: What) -> Input {
    let incoming = Incoming {
        id: format!("update {number}"),
        room,
        topic: None,
        private: room.chat > 0,
        sender: Sender { id: user, name: "Somebody".into() },
        message: 0,
        what,
        files: Vec::new(),
        is_joined: false,
    };
    Input::Update(Box::new(incoming), Ticket(number))
}

/// LEAD-1, LEAD-17: the conversation with the bot is a lead, one per room, which is found again by its room.
#[test]
fn lead_17_the_conversation_of_a_room_is_its_lead() {
    let words = || What::Words { text: "hello".into(), message: 9, reply_to: None };
    let mut stage = Stage::new();
    let begun = stage.state.step(update(ANNA, HOME, 1, words()), START);
    assert_eq!(starts(&begun), [SessionStart::Lead]);
    stage.state.settings.has_lead = false;
    stage.state.leads = crate::flow::leads::Leads::new(false);
    let begun = stage.state.step(update(ANNA, HOME, 2, words()), START);
    assert_eq!(starts(&begun), [SessionStart::Usual], "the setting telegram.lead");
    // After a restart, the logs say which session is the lead of the room.
    let mut stage = Stage::new();
    let entry = |seq, facts| Entry { seq, at: START, facts };
    let ended = Event::TurnEnded { turn: TurnId(1), result: "Hi.".into() };
    let log =
        vec![entry(1, vec![lead_created(HOME), started(TurnKind::Chat, "hello")]), entry(2, vec![ended])];
    stage.put(Input::Found(session(LEAD), Ok(log)));
    stage.put(Input::AllFound);
    let said = stage.writes("and now?", 10);
    assert!(said.iter().any(|did| did.starts_with("act in lead: Say")), "{said:?}");
    let elsewhere = stage.state.step(update(ANNA, GROUP, 9, words()), START);
    assert_eq!(starts(&elsewhere), [SessionStart::Lead], "another room has a lead of its own");
}

/// A session that a lead began is shown where its lead is, even if it is found first after a restart.
#[test]
fn lead_17_a_led_session_is_shown_in_the_room_of_its_lead() {
    let mut stage = Stage::new();
    also_happens(&mut stage, LEAD, 1, vec![lead_created(GROUP), started(TurnKind::Chat, "hello")]);
    let asks = vec![led_created(), started(TurnKind::Plan, "auth"), asked_by_agent("q1")];
    let shown = also_happens(&mut stage, WORKER, 1, asks.clone());
    assert!(shown.iter().any(|sent| sent.ends_with("in -7, card q1")), "{shown:?}");

    let mut stage = Stage::new();
    let entry = |facts| Ok(vec![Entry { seq: 1, at: START, facts }]);
    stage.put(Input::Found(session(WORKER), entry(asks)));
    let facts = vec![lead_created(GROUP), started(TurnKind::Chat, "hello")];
    stage.put(Input::Found(session(LEAD), entry(facts)));
    let shown = stage.put(Input::AllFound);
    assert!(shown.iter().any(|sent| sent.ends_with("in -7, card q1")), "{shown:?}");
    let resumed = |id: &str| shown.contains(&format!("{:?}", Effect::Resume(session(id))));
    assert!(resumed(LEAD) && resumed(WORKER), "{shown:?}");
}

/// LEAD-13: a plain text answers the question that is shown, unless the lead has asked something.
#[test]
fn lead_13_plain_text_goes_to_the_lead_while_it_asks() {
    let mut stage = led(HOME);
    assert_eq!(stage.writes("cookies", 10), ["act: answer q1 Text(\"cookies\")"]);

    // It asks with its question tool.
    let mut stage = led(HOME);
    let again = started(TurnKind::Chat, "hello");
    let Event::TurnStarted { kind, prompt, mends, .. } = again else { unreachable!() };
    let asks = vec![Event::TurnStarted { turn: TurnId(2), kind, prompt, mends }, asked_by_agent("q9")];
    also_happens(&mut stage, LEAD, 3, asks);
    stage.arrives(&key_of(LEAD, "q9", 3), 8);
    assert_eq!(stage.writes("yes", 10), ["act: answer q9 Text(\"yes\")"]);
    // A reply, like a tap, goes to the worker's question all the same.
    let reply = What::Words { text: "cookies".into(), message: 11, reply_to: Some(7) };
    assert_eq!(stage.comes(ANNA, HOME, reply), ["act: answer q1 Text(\"cookies\")"]);

    // It asks in words.
    let mut stage = led(HOME);
    stage.now = START + SignedDuration::from_secs(2);
    let says = Event::TurnEnded { turn: TurnId(2), result: "I would take cookies. Is that right?".into() };
    also_happens(&mut stage, LEAD, 3, vec![started(TurnKind::Chat, "asked"), says]);
    let said = stage.writes("yes", 10);
    assert!(said.iter().any(|did| did.starts_with("act in lead: Say { text: \"yes\"")), "{said:?}");
}

/// LEAD-2, LEAD-22, LEAD-25: a task goes to the lead as a planning request, and starts nothing by itself.
#[test]
fn lead_22_a_task_goes_to_the_lead_for_planning() {
    let task = || command("claude", "app implement dark mode");
    let mut stage = Stage::new();
    let begun = stage.state.step(update(ANNA, HOME, 1, task()), START);
    assert_eq!(starts(&begun), [SessionStart::Lead]);
    let created = begun.iter().flat_map(brief).find(|did| did.starts_with("create")).unwrap();
    let head =
        "create \"[Claude Code Planning Request]\nAction: start\nProject: app\nTask: implement dark mode\n";
    assert!(created.starts_with(head), "{created}");

    let mut stage = led(HOME);
    let asked = stage.comes(ANNA, HOME, task());
    let says = asked.iter().find(|did| did.starts_with("act in lead: Say")).unwrap();
    assert!(says.contains("[Claude Code Planning Request]") && says.contains("project_context"), "{says}");
    // The person is told when that is durable.
    let told = Some(Becomes::Told("planned".into()));
    let then = AfterOps::Request { room: HOME, ticket: Ticket(3), thanks: None, becomes: told };
    assert_eq!(stage.put(Input::Operated(then, Ok(()))), ["send \"planned\" in 42", "finish 3"]);
    // A resumed session goes through planning if there is a new task, and on at once if there is none.
    let planned = stage.comes(ANNA, HOME, command("claude", "resume worker add tests"));
    let says = planned.iter().find(|did| did.starts_with("act in lead: Say")).unwrap();
    assert!(says.contains("Action: resume") && says.contains("Resume token: worker"), "{says}");
    for (typed, expected) in [
        ("resume worker add tests --quick", "act in worker: Say { text: \"add tests\""),
        ("resume worker", "Resume(SessionId(\"worker\"))"),
        ("say work use tabs", "act in worker: Say { text: \"use tabs\""),
        ("cancel worker", "act in worker: Cancel { reason: None }"),
        ("cancel other", "send \"There is no session other here. /claude list names them.\""),
    ] {
        let done = stage.comes(ANNA, HOME, command("claude", typed));
        assert!(done.iter().any(|did| did.starts_with(expected)), "{typed}: {done:?}");
        assert!(!done.iter().any(|did| did.contains("Planning Request")), "{typed}: {done:?}");
    }
}

/// LEAD-26: `--quick` begins at once; its questions still go to the lead first, if there is one.
#[test]
fn lead_26_quick_work_begins_without_planning() {
    let quick = || command("claude", "app @worktree fix typo --quick");
    let start = |lead: Option<&str>| SessionStart::Quick { lead: lead.map(session), worktree: true };
    let begun = Stage::new().state.step(update(ANNA, HOME, 1, quick()), START);
    assert_eq!(starts(&begun), [start(None)]);
    let mut stage = led(HOME);
    let begun = stage.state.step(update(ANNA, HOME, 50, quick()), stage.now);
    assert_eq!(starts(&begun), [start(Some(LEAD))]);
}

/// LEAD-26: where the setting says so, an obvious task begins at once; any other one goes to the lead, and so does one
/// for which the project is to be explored.
#[test]
fn lead_26_an_obvious_task_begins_without_planning_where_the_setting_says_so() {
    for (is_on, typed, is_quick) in [
        (true, "app fix typo in README.md", true),
        (true, "app implement dark mode", false),
        (true, "app fix typo in README.md --refresh", false),
        (false, "app fix typo in README.md", false),
    ] {
        let mut stage = Stage::new();
        let app = Project { has_quick_tasks: is_on, ..project("app") };
        stage.state.projects = Projects::new(app, Vec::new());
        let begun = stage.state.step(update(ANNA, HOME, 1, command("claude", typed)), START);
        let quick = SessionStart::Quick { lead: None, worktree: false };
        let expected = if is_quick { quick } else { SessionStart::Lead };
        assert_eq!(starts(&begun), [expected], "{typed}");
    }
}

/// LEAD-25: only people with access reach the lead; everybody else is refused, and unknown input gets help.
#[test]
fn lead_25_only_people_with_access_may_use_it() {
    for typed in
        ["app implement dark mode", "cancel worker", "say worker rm -rf", "register a /b", "projects"]
    {
        let mut stage = led(HOME);
        for room in [HOME, GROUP] {
            let done = stage.comes(STRANGER, room, command("claude", typed));
            let acts = |did: &String| {
                did.starts_with("act") || did.starts_with("create") || did.contains("AskProjects")
            };
            assert!(!done.iter().any(acts), "{typed}: {done:?}");
        }
    }
    for typed in ["", "nonsense", "app @elsewhere x"] {
        let done = Stage::new().comes(ANNA, HOME, command("claude", typed));
        let usage = "send \"A session is named by its name, or by a part that fits only one.\" in 42";
        assert_eq!(done, [usage, "finish 1"], "{typed}");
    }
    let unknown = Stage::new().comes(ANNA, HOME, command("claude", "juzi do it"));
    assert!(unknown[0].contains("/claude projects lists those that I know"), "{unknown:?}");
}

/// LEAD-18: the card counts down while the lead looks, and its button has the person asked instead.
#[test]
fn lead_18_the_card_says_how_long_the_lead_looks() {
    let mut stage = led(HOME);
    let tick = || Input::Tick { chance: [0; 8] };
    assert!(!stage.put(tick()).iter().any(|did| did.starts_with("edit 7")), "nothing has changed");
    stage.now = START + SignedDuration::from_secs(20);
    let edited = stage.put(tick());
    let left = "edit 7 \"👀 The lead is looking, 50 s. You can answer it at any time.\" in 42";
    assert!(edited.contains(&left.to_owned()), "{edited:?}");
    assert!(!stage.put(tick()).iter().any(|did| did.starts_with("edit 7")), "once");
    let asks = also_happens(&mut stage, WORKER, 3, vec![Event::LeadAsks { question: QuestionId::new("q1") }]);
    let asking = "edit 7 \"💬 The lead asks you about this, 10 min. You can also answer it here.\" in 42";
    assert!(asks.contains(&asking.to_owned()), "{asks:?}");
    let tapped = stage.taps(ANNA, Button::Myself, &key_of(WORKER, "q1", 1));
    let passed = "act in worker: PassOn { question: QuestionId(\"q1\"), class: None, reason: \"the person answers it\" }";
    assert_eq!(tapped, [passed]);
    let hop = Hop::PassedOn { reason: "the person answers it".into() };
    let theirs = also_happens(&mut stage, WORKER, 4, vec![routed("q1", Recipient::Person, hop)]);
    let yours = "edit 7 \"⤴️ The lead passed it on: the person answers it\" in 42";
    assert!(theirs.contains(&yours.to_owned()), "{theirs:?}");
}

/// A lead's answer shows its ground, and is overruled by a branch at its question: by those who may, whoever taps.
#[test]
fn lead_12_an_answer_of_the_lead_shows_its_ground_and_can_be_overruled() {
    let mut stage = led(HOME);
    let (answer, by) = (Answer { values: vec!["Yes".into()], text: None }, By::Lead { name: LEAD.into() });
    let because = Grounding { ground: Ground::Preference("p1".into()), quote: "Always.".into() };
    let question = QuestionId::new("q1");
    let facts = vec![
        Event::Grounded { question: question.clone(), because: because.clone() },
        Event::Answered { question: question.clone(), answer, by: by.clone() },
    ];
    let entry = Entry { seq: 3, at: stage.now, facts };
    let seen = Seen { session: session(WORKER), updates: vec![Update::Entry(entry)] };
    let closed = stage.state.step(Input::Seen(seen), stage.now);
    let edit = closed.iter().find_map(|effect| match effect {
        Effect::Send { messages, then: Some(AfterSend::Close(_)), .. } => match &messages[..] {
            [Outgoing::Edit(edit)] => Some(edit.clone()),
            _ => None,
        },
        _ => None,
    });
    let edit = edit.unwrap();
    assert!(edit.text.ends_with("📎 preference:p1: Always."), "{}", edit.text);
    let rows = edit.keyboard.unwrap().inline_keyboard;
    assert_eq!(rows[0][0].text, "↩️ Try the other way");
    let data = rows[0][0].callback_data.clone().unwrap();

    let line = DigestLine {
        session: session(WORKER),
        question,
        text: "q1?".into(),
        at: START,
        what: LeadDid::Answered { answer: "Yes".into(), by, because: Some(because) },
    };
    let digest = Digest { since: START, lines: vec![line], usage: Default::default() };
    for (user, is_done) in [(ANNA, true), (7, false)] {
        stage.state.access = Access::new([ANNA, 7]);
        let (query, data) = (format!("tap of {user}"), data.clone());
        let press = What::Press { query, data, message: Some(7), keyboard: None, about: None };
        let read = stage.state.step(update(user, HOME, 60 + user, press), stage.now);
        let then = read.iter().find_map(|effect| match effect {
            Effect::ReadDigest { then, .. } => Some(then.clone()),
            _ => None,
        });
        let branched = stage.state.step(Input::Digest(then.unwrap(), Ok(digest.clone())), stage.now);
        let is_branch =
            |effect: &Effect| matches!(effect, Effect::Branch { session, .. } if session.as_str() == WORKER);
        assert_eq!(branched.iter().any(is_branch), is_done, "{user}: {branched:?}");
    }
}

/// An overrule proposes a learning: what the person answers in the branch, once, and for a person to keep.
#[test]
fn lead_28_an_overrule_proposes_a_learning() {
    let mut stage = led(HOME);
    let Event::Created(created) = led_created() else { unreachable!() };
    let point = rapport_core::BranchPoint::at_question(session(WORKER), QuestionId::new("q1"));
    let branch = Event::Created(Created { branched_from: Some(point), ..created });
    let facts = vec![branch, started(TurnKind::Plan, "auth"), asked_by_agent("q1")];
    also_happens(&mut stage, "branch", 1, facts);
    let answered = also_happens(&mut stage, "branch", 2, vec![answered("q1")]);
    let proposed = answered.iter().find(|did| did.contains("AskProjects")).unwrap();
    assert!(proposed.contains("text: \"When asked \\\"q1?\\\": Yes\""), "{proposed}");
    let then = AfterProjects { room: HOME, ticket: None };
    let reply = ProjectsReply::Proposed("/app".into(), Some(("l1".into(), "When asked".into())));
    let asked = stage.state.step(Input::Projects(then, Ok(reply)), stage.now);
    let Some(Effect::Send { messages, .. }) = asked.first() else { panic!("{asked:?}") };
    let [Outgoing::Message(message)] = &messages[..] else { panic!("{messages:?}") };
    let Some(ReplyMarkup::InlineKeyboardMarkup(keyboard)) = &message.keyboard else { panic!("{message:?}") };
    let data = keyboard.inline_keyboard[0][0].callback_data.clone().unwrap();
    let press = |query: &str| What::Press {
        query: query.into(),
        data: data.clone(),
        message: Some(9),
        keyboard: None,
        about: None,
    };
    let kept = stage.comes(ANNA, HOME, press("keep"));
    assert!(kept.iter().any(|did| did.contains("Decide") && did.contains("keeps: true")), "{kept:?}");
    let refused = stage.comes(STRANGER, HOME, press("steal"));
    assert!(!refused.iter().any(|did| did.contains("Decide")), "{refused:?}");
}

/// LEAD-5: `/queue` sets how messages reach the working lead, and only for those who may steer it.
#[test]
fn lead_5_the_queue_of_the_lead_is_set_by_a_command() {
    let mut stage = led(HOME);
    let shown = stage.comes(ANNA, HOME, command("queue", ""));
    assert_eq!(
        shown[0],
        "send \"Messages to the working agent: steer debounce:1s cap:20 drop:summarize\" in 42"
    );
    let typed = command("queue", "collect debounce:2s cap:25 drop:old");
    let set = stage.state.step(update(ANNA, HOME, 70, typed), stage.now);
    let Some(Effect::Operate { ops, then, .. }) = set.first() else { panic!("{set:?}") };
    let [SessionOp::Act(id, Act::ChangeTerms { change })] = &ops[..] else { panic!("{ops:?}") };
    assert_eq!(
        (id.as_str(), change.queue.unwrap().to_string()),
        (LEAD, "messages to the working agent: collect debounce:2s cap:25 drop:old".to_owned())
    );
    let told = stage.put(Input::Operated(then.clone(), Ok(())));
    assert_eq!(
        told[0],
        "send \"👍 messages to the working agent: collect debounce:2s cap:25 drop:old\" in 42"
    );
    let wrong = stage.comes(ANNA, HOME, command("queue", "loud"));
    assert!(wrong[0].contains("is not understood here") && !wrong[0].starts_with("act"), "{wrong:?}");
    stage.state.access = Access::new([ANNA, 7]);
    let others = stage.comes(7, HOME, command("queue", "interrupt"));
    assert_eq!(others[0], "send \"Only whoever began this conversation can set that.\" in 42");
    let none = Stage::new().comes(ANNA, HOME, command("queue", "collect"));
    assert!(none[0].contains("There is no conversation here yet."), "{none:?}");
}

/// LEAD-28: an earlier answer is offered on the card, and given only by a tap; a second button makes it a rule.
#[test]
fn lead_28_an_earlier_answer_is_offered_and_never_given_in_silence() {
    let earlier = EarlierAnswer {
        text: "q1?".into(),
        answer: Answer { values: vec!["Yes".into()], text: None },
        by: person(ANNA),
        session: session("20260101-other"),
        question: QuestionId::new("q3"),
        at: START,
    };
    let mut stage = Stage::new();
    let Event::Created(created) = led_created() else { unreachable!() };
    let created = Created { lead: None, origin: Some(HOME.into()), by: person(ANNA), ..created };
    let offered = Event::Offered { question: QuestionId::new("q1"), earlier: Box::new(earlier) };
    let facts = vec![Event::Created(created), started(TurnKind::Plan, "auth"), asked_by_agent("q1"), offered];
    let shown = also_happens(&mut stage, WORKER, 1, facts);
    let card = "send \"🕘 You were asked this before: Yes (20260101-other, ";
    assert!(shown.iter().any(|sent| sent.starts_with(card)), "{shown:?}");
    assert!(!shown.iter().any(|did| did.starts_with("act")), "{shown:?}");
    let key = key_of(WORKER, "q1", 1);
    stage.arrives(&key, 7);
    let take = "act in worker: TakeOffer { question: QuestionId(\"q1\") }";
    assert_eq!(stage.taps(ANNA, Button::TakeOffer, &key), [take]);
    let always = "act in worker: AlwaysAnswer { question: QuestionId(\"q1\") }";
    assert_eq!(stage.taps(ANNA, Button::AlwaysOffer, &key), [take, always]);
}
