//! Updates from people: whether the sender has access, and what their text means.

use jiff::SignedDuration;
use rapport_core::{Act, Aim, Refusal, SessionId, TurnCard, TurnCardKind};
use rapport_door::{DoorError, NewFile};

use super::button::Button;
use super::callbacks::{Tap, in_words};
use super::card::{self, Card, Waiting};
use super::cards::CardKey;
use super::chat_moves::in_new_chat;
use super::chat_state::{ChatState, Settings};
use super::commands::greeting;
use super::early_texts::{EarlyText, TOO_EARLY};
use super::effect::{
    AfterOps, Becomes, Effect, NewSession, NewUser, SessionOp, SessionStart, Ticket, TypedAnswer,
};
use super::incoming::{Incoming, Sender, What};
use super::notes::Notes;
use super::shown_sessions::{ShownSession, ShownSessions};
use super::step_effects::Effects;
use super::turns::answer_reply;
use super::work;
use crate::access::{REFUSAL, Verdict};
use crate::notice::Notice;
use crate::outgoing::{Outgoing, OutgoingMessage};
use crate::room::Room;
use crate::text::Text;
use crate::users::Paired;

/// The maximum number of messages that may be queued for the agent of a conversation.
const MOST_QUEUED: usize = 50;
/// The reply to somebody with the role `Look` who wants to do more.
const LOOKS: &str = "You may only look here: /status, /diff, /log, /export, /file, /project.";
const NOT_ASKED: &str = "That question is no longer open.";
const SOMEBODY_ELSES: &str =
    "This conversation is somebody else's. They can let you in: /allow in reply to a message of yours.";
/// The reply to a text if only buttons are accepted.
const USE_BUTTONS: &str = "Please use the buttons to answer ☝️";
const REPLY_TO_ONE: &str =
    "Several questions are open. Please send this as a reply to the one that it answers ☝️";
const EDITED: &str = "I have read that message as it was first. To change an answer, tap ← Back or ✏️ Edit Answers; \
     else please send it again.";
const EDITED_TOO_LATE: &str = "That came too late: the task is over. The answer stays as it was.";
const SOMEBODY_ELSES_ANSWER: &str = "Only whoever asked for this task can answer.";
const BEING_MADE: &str = "One moment, the next questions are being made. /cancel ends the planning.";
const ABOUT_TO_SHOW: &str = "I am about to show what waits for you here. Please send that again after it.";
const TOO_MANY: &str = "Too many pending messages. Please wait for the current ones to complete.";

/// The sender and room of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Visit {
    /// The id of the update.
    pub(super) update: String,
    pub(super) room: Room,
    pub(super) sender: Sender,
    /// The id of the message; 0 if the update is not a message.
    pub(super) message: i32,
    pub(super) ticket: Ticket,
    /// The files of the message, once they are fetched.
    pub(super) files: Vec<NewFile>,
    /// Whether it consists of several messages that were joined.
    pub(super) is_joined: bool,
}

/// Whether a command only shows something.
fn only_shows(name: &str, rest: &str) -> bool {
    match name {
        "status" | "diff" | "log" | "export" | "file" | "always" | "help" | "start" => true,
        "project" => rest.is_empty(),
        _ => false,
    }
}

impl ChatState {
    pub(super) fn on_update(&mut self, incoming: Incoming, ticket: Ticket) {
        let Incoming { id, room, topic, private, sender, message, what, files, is_joined } =
            in_new_chat(&self.notes, incoming);
        let words = match &what {
            What::Words { text, .. } if private => Some(text.clone()),
            What::Command { name, rest, .. } if private => Some(format!("/{name} {rest}")),
            What::Words { .. }
            | What::Command { .. }
            | What::Other { .. }
            | What::Edited { .. }
            | What::Press { .. } => None,
        };
        let verdict = self.access.judge(sender.id, words.as_deref(), self.now);
        if let Some(name) = topic.filter(|_| verdict == Verdict::Allowed) {
            self.projects.learn_topic(&mut self.notes, &mut self.effects, room, &name);
        }
        let is_guest = self.notes.is_any_guest(room, sender.id);
        match (verdict, what) {
            (Verdict::Paired, _) => {
                let user = Paired { id: sender.id, name: sender.name, since: self.now };
                self.effects.want(Effect::AddUser(NewUser { user, room, ticket }));
            }
            (Verdict::Allowed, what) => {
                let visit = Visit { update: id, room, sender, message, ticket, files: Vec::new(), is_joined };
                self.on_visit(visit, what, files);
                self.show_refused(room.chat);
            }
            // Only commands that change nothing; in a group, other people's conversation is not for the bot.
            (Verdict::Looks, What::Command { name, rest, about }) if only_shows(&name, &rest) => {
                let visit = Visit { update: id, room, sender, message, ticket, files: Vec::new(), is_joined };
                self.on_visit(visit, What::Command { name, rest, about }, files);
            }
            (Verdict::Looks, What::Press { query, .. }) => {
                self.effects.answer_tap(query, LOOKS);
                self.effects.finish(ticket);
            }
            (Verdict::Looks, what) => {
                if private || matches!(what, What::Command { .. }) {
                    let refusal = Card::plain(Text::new().plain(LOOKS)).message(room);
                    self.effects.send(room, Outgoing::Aside(refusal));
                }
                self.effects.finish(ticket);
            }
            // A guest may answer in this room, and do nothing else.
            (_, what @ (What::Press { .. } | What::Words { .. } | What::Edited { .. })) if is_guest => {
                let visit = Visit { update: id, room, sender, message, ticket, files: Vec::new(), is_joined };
                self.on_visit(visit, what, files);
                self.show_refused(room.chat);
            }
            (_, What::Press { query, .. }) => {
                self.effects.answer_tap(query, REFUSAL);
                self.effects.finish(ticket);
            }
            (
                Verdict::Refuse,
                What::Words { .. } | What::Command { .. } | What::Other { .. } | What::Edited { .. },
            ) => {
                if private {
                    let refusal = Card::plain(Text::new().plain(REFUSAL)).message(room);
                    self.effects.send(room, Outgoing::Aside(refusal));
                }
                self.effects.finish(ticket);
            }
            (
                Verdict::Ignore,
                What::Words { .. } | What::Command { .. } | What::Other { .. } | What::Edited { .. },
            ) => self.effects.finish(ticket),
        }
    }

    pub(super) fn on_what(&mut self, visit: Visit, what: What) {
        match what {
            What::Command { name, rest, about } => self.on_command(visit, &name, &rest, about),
            What::Press { query, data, message, keyboard, about } => {
                let Visit { room, sender, ticket, .. } = visit;
                let (by, seen, query) = (sender.id, keyboard, Some(query));
                self.on_tap(Tap { room, by, query, data, message, seen, about, ticket });
            }
            What::Words { text, message, reply_to } => self.on_text(visit, text, message, reply_to),
            What::Other { kind, .. } => self.on_wordless(visit, kind),
            What::Edited { text } => self.on_edited(&visit, text),
        }
    }

    /// Handles the outcome of operations on sessions: they are durable, or one was refused.
    pub(super) fn on_operated(&mut self, then: AfterOps, outcome: Result<(), DoorError>) {
        match (then, outcome) {
            (AfterOps::Request { room, ticket, thanks, becomes }, outcome) => {
                let is_done = outcome.is_ok();
                let is_refused = matches!(outcome, Err(DoorError::Refused(_)));
                match becomes.filter(|becomes| is_done || is_refused && *becomes == Becomes::Revision) {
                    Some(Becomes::Answer(TypedAnswer { message, card })) => {
                        self.notes.answered(
                            &mut self.effects,
                            room.chat,
                            message,
                            card.session,
                            card.question,
                        );
                    }
                    Some(Becomes::Queued { message }) => {
                        self.effects.want(Effect::React { chat: room.chat, message });
                    }
                    // This is recorded only now: after a kill before, the same message comes again, and must not begin
                    // a new conversation.
                    Some(Becomes::Revision) => self.notes.revised(&mut self.effects, room),
                    Some(Becomes::Told(words)) => self.effects.say(room, &words),
                    None => {}
                }
                if let Some(words) = outcome.err().and_then(|error| refusal(&error)) {
                    self.effects.say(room, &words);
                }
                if let Some(thanks) = thanks {
                    let words = if is_done { thanks.words } else { String::new() };
                    self.effects.want(Effect::AnswerTap { query: thanks.query, words });
                }
                self.effects.finish(ticket);
            }
            (AfterOps::Grow { session, seq, .. }, Ok(())) => self.on_announced(&session, seq, &[]),
            (AfterOps::Grow { room, .. }, Err(error)) => {
                self.effects.say(room, &format!("❌ The questions could not be stored: {error}"));
            }
            (AfterOps::Nothing, _) => {}
        }
    }

    /// Handles a text: it is a reply to a card, or else the answer to the room's open question, or else a message for
    /// the agent. What the lead of the room has asked comes before what other agents ask.
    pub(super) fn on_text(&mut self, visit: Visit, text: String, message: i32, reply_to: Option<i32>) {
        let room = visit.room;
        let replied = reply_to.and_then(|message| self.cards.by_message(room.chat, message).cloned());
        if let Some(card) = replied {
            return self.answer_words(visit, &card, text);
        }
        if let Some(id) = reply_to.and_then(|message| {
            self.sessions.at_work(room.chat, message, visit.sender.id, &self.notes).cloned()
        }) {
            return self.say_to(&visit, &id, text);
        }
        if work::is_reply_about_revision(&self.notes, room, reply_to) {
            return work::on_revision(&self.notes, &mut self.effects, &visit, text);
        }
        // A reply may arrive before Telegram's confirmation that its card was sent.
        let pending = reply_to.and_then(|_| {
            self.cards
                .pending_in(&self.sessions, room.chat)
                .cloned()
                .or_else(|| self.sessions.showing_work_in(room.chat))
        });
        if let Some(card) = pending.filter(|_| self.early.are_kept()) {
            return self.early.keep(EarlyText { card, visit, text, message, reply_to });
        }
        let waiting = self.sessions.open_questions(room, visit.sender.id, &self.notes);
        let waiting = self.leads.answerable(&self.sessions, waiting);
        match &waiting[..] {
            [] => {}
            [card] => {
                let (card, words) = (card.clone(), (text, message, reply_to));
                return self.answer_shown(visit, card, words);
            }
            cards => return self.ask_which(&visit, cards, message),
        }
        if self.works.is_asked_to_revise(&self.notes, &self.sessions, &visit) {
            return work::on_revision(&self.notes, &mut self.effects, &visit, text);
        }
        let turns = self.sessions.open_turns(room, visit.sender.id, &self.notes);
        if !turns.is_empty() {
            return self.on_unaddressed_text(visit, turns, (text, message, reply_to));
        }
        if room.chat > 0 && self.backlog.is_reading(room.chat) {
            // After a kill, a text may come again before the channel has read the session whose question it answers.
            return self.effects.only_say(&visit, ABOUT_TO_SHOW);
        }
        self.talk_unless_planning(visit, text);
    }

    pub(super) fn talk_unless_planning(&mut self, visit: Visit, text: String) {
        if let Some((_, shown)) = self.sessions.planning(visit.room)
            && shown.allows(visit.sender.id, &self.notes)
            && shown.presenter.is_thinking()
        {
            return self.effects.only_say(&visit, BEING_MADE);
        }
        self.talk(visit, text);
    }

    /// Handles a message with files and without text. The files go to the agent, if no question is open.
    fn on_wordless(&mut self, visit: Visit, kind: &str) {
        if visit.files.is_empty()
            || !self.sessions.open_questions(visit.room, visit.sender.id, &self.notes).is_empty()
        {
            return on_other(&self.sessions, &self.notes, &mut self.effects, &visit, kind);
        }
        self.talk_unless_planning(visit, String::new());
    }

    /// Takes a text as the answer to the only open question, if the person could see that question when writing.
    fn answer_shown(
        &mut self,
        visit: Visit,
        card: CardKey,
        (text, message, reply_to): (String, i32, Option<i32>),
    ) {
        if self.notes.is_shown_before(&card, message) {
            return self.answer_words(visit, &card, text);
        }
        if self.cards.is_pending(&card) && self.early.are_kept() {
            return self.early.keep(EarlyText { card, visit, text, message, reply_to });
        }
        // The card was not delivered. Handling this update retries that.
        if self.cards.is_refused(&card) {
            return self.effects.finish(visit.ticket);
        }
        self.effects.only_say(&visit, TOO_EARLY);
    }

    /// Asks which question a text answers. The message is a reply to that text, so that a tap on it can refer to the
    /// text.
    fn ask_which(&mut self, visit: &Visit, cards: &[CardKey], message: i32) {
        if visit.is_joined || !visit.files.is_empty() {
            // A tap could refer only to the first of several messages, and to no file.
            return self.effects.only_say(visit, REPLY_TO_ONE);
        }
        let waiting = cards.iter().filter_map(|key| {
            let shown = self.sessions.get(&key.session)?;
            let question = shown.question(&key.question)?.text.clone();
            let task = self.projects.titled(&self.notes, &key.session, shown, visit.room);
            let data = Button::Words.data(&key.tag());
            Some(Waiting { question, task, since: SignedDuration::ZERO, data })
        });
        let card = card::which(&waiting.collect::<Vec<_>>());
        let message = OutgoingMessage { reply_to: Some(message), ..card.message(visit.room) };
        self.effects.send(visit.room, Outgoing::Message(message));
        self.effects.finish(visit.ticket);
    }

    /// Handles the texts that waited for this card, now that it has arrived or failed.
    pub(super) fn look_at_early(&mut self, card: &CardKey) {
        for early in self.early.take(card) {
            self.on_text(early.visit, early.text, early.message, early.reply_to);
        }
    }

    /// Takes a text as the answer to a question.
    fn answer_words(&mut self, visit: Visit, card: &CardKey, text: String) {
        let Some(shown) = self.sessions.get(&card.session) else {
            return self.effects.only_say(&visit, NOT_ASKED);
        };
        if !shown.allows(visit.sender.id, &self.notes) {
            return self.effects.only_say(&visit, SOMEBODY_ELSES_ANSWER);
        }
        if !self.sessions.is_in_front(card) {
            let answer = card::answer(&shown.presenter, &card.question);
            let words = answer.map_or_else(
                || NOT_ASKED.to_owned(),
                |answer| format!("Already answered: {}", card::short(&answer, 200)),
            );
            return self.effects.only_say(&visit, &words);
        }
        if let Some(time) = shown.withheld(&card.question, visit.sender.id, self.now) {
            return self.effects.only_say(&visit, &card::withheld(time));
        }
        // A text in reply to a plan says what to do instead of the plan.
        if let Some(turn) = TurnCard::read(&card.question).filter(|turn| turn.kind == TurnCardKind::Review) {
            let act = Act::Skip { folder: turn.folder, message: Some(text) };
            return self.effects.carry_out(&visit, vec![visit.op(&card.session, act)]);
        }
        if let Some(turn) = TurnCard::read(&card.question).filter(|turn| turn.kind == TurnCardKind::Reply) {
            let act = answer_reply(turn.folder, text);
            return self.effects.carry_out(&visit, vec![visit.op(&card.session, act)]);
        }
        if !shown.takes_words(&card.question) {
            return self.effects.only_say(&visit, USE_BUTTONS);
        }
        let Some(question) = shown.question(&card.question) else {
            return self.effects.only_say(&visit, NOT_ASKED);
        };
        let reply = in_words(question, text);
        let act = Act::Answer { question: Some(card.question.clone()), reply };
        let (message, ops) = (visit.message, vec![visit.op(&card.session, act)]);
        // An edit contains only one of the joined messages, so it cannot change the whole answer.
        let answer = (!visit.is_joined).then(|| TypedAnswer { message, card: card.clone() });
        let becomes = answer.map(Becomes::Answer);
        self.effects.operate_for((visit.room, visit.sender.id), ops, None, visit.ticket, becomes);
    }

    /// Handles an edited message. If the message was an answer, the answer is changed, as long as that is possible.
    fn on_edited(&mut self, visit: &Visit, text: String) {
        let Some((session, question)) = self.notes.answer_by(visit.room.chat, visit.message).cloned() else {
            return self.effects.only_say(visit, EDITED);
        };
        let Some(shown) = self.sessions.get(&session) else {
            return self.effects.only_say(visit, EDITED_TOO_LATE);
        };
        if !shown.allows(visit.sender.id, &self.notes) {
            return self.effects.only_say(visit, SOMEBODY_ELSES_ANSWER);
        }
        let Some(asked) = shown.question(&question) else {
            return self.effects.only_say(visit, EDITED_TOO_LATE);
        };
        let act = Act::Change { reply: in_words(asked, text), question };
        self.effects.carry_out(visit, vec![visit.op(&session, act)]);
    }

    /// Takes a text as a message for the agent of this room.
    fn talk(&mut self, visit: Visit, text: String) {
        // After a kill, Telegram may deliver a message again that was already handled.
        if !self.access.allows(visit.sender.id) || self.dedup.requests.contains(&visit.update) {
            return self.effects.finish(visit.ticket);
        }
        if let Some(id) = self.sessions.stopped(visit.room, visit.sender.id, &self.notes).cloned() {
            return self.say_to(&visit, &id, text);
        }
        let project = self.projects.in_room(&self.notes, visit.room);
        let chat = self.sessions.conversation(visit.room, project);
        let Some((id, shown)) = chat.filter(|(_, shown)| !shown.presenter.session().is_over()) else {
            let new = NewSession::asked_by(&self.settings, &visit, text, Aim::Chat, project.path.clone());
            let start = if self.leads.are_wanted() { SessionStart::Lead } else { SessionStart::Usual };
            let new = NewSession { start, ..new };
            return self.effects.carry_out(&visit, vec![SessionOp::Create(Box::new(new), None)]);
        };
        if !shown.allows(visit.sender.id, &self.notes) {
            return self.effects.only_say(&visit, SOMEBODY_ELSES);
        }
        if shown.presenter.session().queued() >= MOST_QUEUED {
            return self.effects.only_say(&visit, TOO_MANY);
        }
        let id = id.clone();
        self.say_to(&visit, &id, text);
    }

    fn say_to(&mut self, visit: &Visit, id: &SessionId, text: String) {
        let say = Act::Say { text, id: Some(visit.update.clone()) };
        let is_at_work = |shown: &ShownSession| {
            let session = shown.presenter.session();
            session.has_turn() && !session.is_stopped()
        };
        let waits = self.sessions.get(id).is_some_and(is_at_work) && visit.message > 0;
        let becomes = waits.then_some(Becomes::Queued { message: visit.message });
        let (who, ops) = ((visit.room, visit.sender.id), vec![visit.op(id, say)]);
        self.effects.operate_for(who, ops, None, visit.ticket, becomes);
    }

    pub(super) fn on_user_added(&mut self, new: NewUser, outcome: Result<(), String>) {
        let NewUser { user: Paired { id, name, .. }, room, ticket } = new;
        match outcome {
            Ok(()) => {
                self.access.allow(id);
                self.settings.owner = self.settings.owner.or(Some(id));
                self.effects.want(Effect::Notify(Notice::LetIn { user: id, name }));
                self.effects.send_card(room, &greeting("You are in: this bot is yours now."));
                // The new user now owns the sessions that waited while no user had access.
                self.backlog.begin_again();
                self.effects.want(Effect::ReadAll);
            }
            Err(why) => self.effects.say(room, &format!("❌ You could not be let in: {why}")),
        }
        self.effects.finish(ticket);
    }
}

impl NewSession {
    /// The session that the sender of an update requests.
    pub(super) fn asked_by(
        settings: &Settings,
        visit: &Visit,
        task: String,
        aim: Aim,
        project: String,
    ) -> Self {
        let (room, owner, request) = (visit.room, visit.sender.id, Some(visit.update.clone()));
        let (is_of_other_user, files) = (settings.is_other_user(owner), visit.files.clone());
        let (grown_from, start) = (None, SessionStart::Usual);
        Self { task, aim, project, room, owner, is_of_other_user, request, grown_from, files, start }
    }
}

impl Visit {
    /// An act in a session, with the files of the message.
    pub(super) fn op(&self, session: &SessionId, act: Act) -> SessionOp {
        match &self.files[..] {
            [] => SessionOp::Act(session.clone(), act),
            files => SessionOp::ActWithFiles(session.clone(), act, files.to_vec()),
        }
    }
}

/// Replies to a photo or the like without text, which is never an answer.
pub(super) fn on_other(
    sessions: &ShownSessions,
    notes: &Notes,
    effects: &mut Effects,
    visit: &Visit,
    kind: &str,
) {
    let open = sessions.open_questions(visit.room, visit.sender.id, notes);
    let takes_words = |key: &CardKey| Some(sessions.get(&key.session)?.takes_words(&key.question));
    let question = open.first().and_then(takes_words);
    let words = match question {
        Some(true) => format!("I cannot accept {kind} as an answer. Please tap a button or type it ☝️"),
        Some(false) => format!("I cannot accept {kind} as an answer. {USE_BUTTONS}"),
        None => format!("I cannot read {kind}. Please write what you want to say."),
    };
    effects.only_say(visit, &words);
}

/// The reply to a refused operation, unless the card already shows the reason.
fn refusal(error: &DoorError) -> Option<String> {
    match error {
        DoorError::Refused(Refusal::OptionsOnly { .. }) => Some(USE_BUTTONS.to_owned()),
        DoorError::Refused(Refusal::AlreadyAnswered { .. }) => None,
        DoorError::Refused(Refusal::TooLateToChange { why, .. }) => {
            Some(format!("That came too late: {why}. The answer stays as it was."))
        }
        DoorError::Refused(refusal) => Some(format!("That was refused: {refusal}.")),
        error => Some(format!("❌ That failed: {error}. Please try again.")),
    }
}
