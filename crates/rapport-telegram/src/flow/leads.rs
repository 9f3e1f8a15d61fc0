//! The leads of rooms. A lead is the conversation that people have with the bot; it plans tasks, starts sessions, and is
//! asked first what their agents want to know. The sessions that it leads are shown in its room.

use std::collections::HashMap;

use jiff::Timestamp;
use rapport_core::{Created, Entry, Event, Purpose, QuestionId, Session, SessionId};

use super::cards::CardKey;
use super::projects::Project;
use super::shown_sessions::ShownSessions;
use crate::room::Room;

/// The leads of rooms, and what they have asked about.
#[derive(Debug, Default)]
pub(super) struct Leads {
    /// Whether a new conversation is a lead.
    are_wanted: bool,
    /// The room and the owner of every lead that began in Telegram, whether or not it is over.
    places: HashMap<SessionId, (Room, u64)>,
    /// When each lead last said something in its room.
    said: HashMap<SessionId, Timestamp>,
    /// When a lead was told of a question for which it has drafted nothing yet.
    told: HashMap<(SessionId, QuestionId), Timestamp>,
}

impl Leads {
    pub(super) fn new(are_wanted: bool) -> Self {
        Self { are_wanted, ..Self::default() }
    }

    /// Whether a new conversation is a lead.
    pub(super) fn are_wanted(&self) -> bool {
        self.are_wanted
    }

    /// Records the place of a session, if it is a lead that began in Telegram.
    pub(super) fn note_place(&mut self, id: &SessionId, created: &Created, place: (Room, u64)) {
        if created.is_lead && created.origin.as_ref().and_then(Room::of).is_some() {
            self.places.insert(id.clone(), place);
        }
    }

    /// The room and the owner of a lead.
    pub(super) fn place(&self, lead: &SessionId) -> Option<(Room, u64)> {
        self.places.get(lead).copied()
    }

    /// The room and the owner of a session's lead, if the session has no room of its own.
    pub(super) fn place_of_led(&self, created: &Created) -> Option<(Room, u64)> {
        let is_elsewhere = created.origin.as_ref().and_then(Room::of).is_none();
        created.lead.as_ref().filter(|_| is_elsewhere).and_then(|lead| self.place(lead))
    }

    /// Records what an entry says about a lead: what it said, and of which questions it was told.
    pub(super) fn note(&mut self, id: &SessionId, session: &Session, entry: &Entry) {
        for fact in &entry.facts {
            match fact {
                Event::TurnEnded { result, .. } if session.created().is_lead && !result.trim().is_empty() => {
                    self.said.insert(id.clone(), entry.at);
                }
                Event::LeadTold { question } => {
                    self.told.insert((id.clone(), question.clone()), entry.at);
                }
                Event::Drafted { question, .. } | Event::Answered { question, .. } => {
                    self.told.remove(&(id.clone(), question.clone()));
                }
                _ => {}
            }
        }
    }

    /// Forgets the questions of a session that is over. Its place is kept, because the sessions that it leads may go on.
    pub(super) fn forget(&mut self, id: &SessionId) {
        self.told.retain(|(session, _), _| session != id);
        self.said.remove(id);
    }

    /// Those of the open questions that a text without a reply may answer. While a lead has asked something, that is its
    /// own question: the text is a message to the lead, and must not become the answer to an agent. A lead may also ask
    /// in its words, after it was told of a question; then the text goes to the lead, and answers nothing else.
    pub(super) fn answerable(&self, sessions: &ShownSessions, open: Vec<CardKey>) -> Vec<CardKey> {
        let is_asked_by_lead = |key: &CardKey| {
            sessions.get(&key.session).is_some_and(|shown| {
                let asks = |purpose: &Purpose| matches!(purpose, Purpose::Clarify | Purpose::Elicit(_));
                let question = shown.question(&key.question);
                shown.presenter.session().created().is_lead
                    && question.is_some_and(|question| asks(&question.purpose))
            })
        };
        if open.iter().any(is_asked_by_lead) {
            return open.into_iter().filter(is_asked_by_lead).collect();
        }
        open.into_iter().filter(|key| !self.has_asked_about(sessions, key)).collect()
    }

    /// Whether the lead of a session said something after it was told of this question.
    fn has_asked_about(&self, sessions: &ShownSessions, key: &CardKey) -> bool {
        let told = self.told.get(&(key.session.clone(), key.question.clone()));
        let lead =
            sessions.get(&key.session).and_then(|shown| shown.presenter.session().created().lead.as_ref());
        let said = lead.and_then(|lead| self.said.get(lead));
        told.zip(said).is_some_and(|(told, said)| told < said)
    }

    /// The lead of a room for a project, if there is one that has not ended.
    pub(super) fn here(sessions: &ShownSessions, room: Room, project: &Project) -> Option<SessionId> {
        let (id, shown) = sessions.conversation(room, project)?;
        let session = shown.presenter.session();
        (session.created().is_lead && !session.is_over()).then(|| id.clone())
    }

    /// Moves the leads of a chat to another chat.
    pub(super) fn move_chat(&mut self, from: i64, to: i64) {
        for (room, _) in self.places.values_mut().filter(|(room, _)| room.chat == from) {
            room.chat = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use rapport_core::{
        Aim, Answer, Asker, By, CallId, ConversationId, Presenter, Question, RoundId, TurnId, TurnKind,
    };

    use super::*;

    const HOME: Room = Room { chat: 42, topic: None };
    const LEAD: &str = "lead";
    const WORKER: &str = "worker";

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 0).unwrap()
    }

    fn id(name: &str) -> SessionId {
        SessionId::new(name)
    }

    fn created(aim: Aim) -> Created {
        let by = By::Person { channel: "telegram".into(), id: "42".into() };
        let created = Created::new("hello".into(), "/app".into(), ConversationId::new("c"), by);
        Created { aim, ..created }
    }

    fn lead() -> Created {
        Created { is_lead: true, origin: Some(HOME.into()), ..created(Aim::Chat) }
    }

    fn led() -> Created {
        Created { lead: Some(id(LEAD)), ..created(Aim::Work) }
    }

    fn asked(question: &str) -> Event {
        let question = Question {
            id: QuestionId::new(question),
            text: "?".into(),
            header: None,
            options: Vec::new(),
            multi: false,
            free_text: true,
            purpose: Purpose::Clarify,
        };
        let asker = Asker::Agent { turn: TurnId(1), call: CallId::new("call"), parkable: true };
        Event::Asked { round: RoundId(1), asker, questions: vec![question] }
    }

    fn turn(kind: TurnKind) -> Event {
        Event::TurnStarted { turn: TurnId(1), kind, prompt: "hello".into(), mends: false }
    }

    /// Both sessions, shown in their room: the lead, and the worker that asks q1.
    fn shown(lead_asks: bool) -> ShownSessions {
        let mut sessions = ShownSessions::default();
        let mut show = |name: &str, facts: Vec<Event>| {
            let entry = Entry { seq: 1, at: at(0), facts };
            sessions.show(&id(name), Presenter::open(&entry).unwrap(), (HOME, 42), at(0));
        };
        let question = lead_asks.then(|| asked("q9"));
        let lead = [Event::Created(lead()), turn(TurnKind::Chat)].into_iter().chain(question);
        show(LEAD, lead.collect());
        show(WORKER, vec![Event::Created(led()), turn(TurnKind::Plan), asked("q1")]);
        sessions
    }

    fn key(session: &str, question: &str) -> CardKey {
        CardKey { session: id(session), question: QuestionId::new(question), since: 1 }
    }

    fn note(leads: &mut Leads, sessions: &ShownSessions, name: &str, second: i64, fact: Event) {
        let session = sessions.get(&id(name)).unwrap().presenter.session();
        leads.note(&id(name), session, &Entry { seq: 2, at: at(second), facts: vec![fact] });
    }

    fn lead_told() -> Event {
        Event::LeadTold { question: QuestionId::new("q1") }
    }

    fn said(result: &str) -> Event {
        Event::TurnEnded { turn: TurnId(1), result: result.into() }
    }

    #[test]
    fn a_led_session_is_where_its_lead_is() {
        let mut leads = Leads::new(true);
        leads.note_place(&id(LEAD), &lead(), (HOME, 42));
        assert_eq!(leads.place_of_led(&led()), Some((HOME, 42)));
        let elsewhere = Room { chat: -7, topic: Some(3) };
        let own = Created { origin: Some(elsewhere.into()), ..led() };
        assert_eq!(leads.place_of_led(&own), None, "it has a room of its own");
        let at_terminal = Created { origin: None, ..lead() };
        leads.note_place(&id("other"), &at_terminal, (HOME, 42));
        assert_eq!(leads.place(&id("other")), None);
        leads.move_chat(42, 43);
        assert_eq!(leads.place(&id(LEAD)), Some((Room { chat: 43, topic: None }, 42)));
    }

    /// LEAD-13: the lead's own question comes first.
    #[test]
    fn lead_13_a_text_is_for_the_lead_while_the_lead_asks() {
        let (leads, sessions) = (Leads::new(true), shown(true));
        let open = vec![key(WORKER, "q1"), key(LEAD, "q9")];
        assert_eq!(leads.answerable(&sessions, open), [key(LEAD, "q9")]);
    }

    /// A lead that asks in words has no card of its own, so the text must not become the answer to the agent.
    #[test]
    fn lead_13_a_text_after_words_of_the_lead_answers_no_agent() {
        let sessions = shown(false);
        let open = || vec![key(WORKER, "q1")];
        let mut leads = Leads::new(true);
        assert_eq!(leads.answerable(&sessions, open()), open(), "the lead knows nothing of it");
        note(&mut leads, &sessions, LEAD, 1, said("Hello."));
        note(&mut leads, &sessions, WORKER, 2, lead_told());
        assert_eq!(leads.answerable(&sessions, open()), open(), "it has said nothing since");
        note(&mut leads, &sessions, LEAD, 3, said(" "));
        assert_eq!(leads.answerable(&sessions, open()), open(), "it has said nothing in words");
        note(&mut leads, &sessions, LEAD, 4, said("I would take cookies. Is that right?"));
        assert_eq!(leads.answerable(&sessions, open()), []);
        let (answer, by) = (Answer { values: vec!["a".into()], text: None }, By::Lead { name: LEAD.into() });
        let drafted = Event::Drafted { question: QuestionId::new("q1"), answer, by, because: None };
        note(&mut leads, &sessions, WORKER, 5, drafted);
        assert_eq!(leads.answerable(&sessions, open()), open(), "the lead has done its part");
    }
}
