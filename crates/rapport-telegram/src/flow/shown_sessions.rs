//! The sessions that are shown, and their rooms: the plan, the conversations and the newest session of each room, and
//! which of them wait for a person.

use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};
use rapport_core::{Act, Aim, FileTurn, Presenter, Question, QuestionId, SessionId, TurnCard};

use super::announcements::Announcements;
use super::card;
use super::cards::CardKey;
use super::notes::Notes;
use super::progress::{Busy, stop_key};
use super::projects::Project;
use crate::room::Room;

/// A session that is shown in a room.
#[derive(Debug)]
pub(super) struct ShownSession {
    /// Boxed, because a hash map of large values reserves twice the memory that they use.
    pub(super) presenter: Box<Presenter>,
    pub(super) room: Room,
    pub(super) owner: u64,
    pub(super) began: Timestamp,
    /// Whether the log of the session names this room. If not, the session began elsewhere and is shown only to its
    /// owner.
    pub(super) at_home: bool,
    /// The last message to the agent, if the session is a conversation.
    pub(super) said: String,
    /// The entry that records the failure of the session, if it failed.
    pub(super) failed_at: u64,
    /// Whether the session failed before its first question. That failure was already announced.
    pub(super) is_without_questions: bool,
    pub(super) announcements: Announcements,
    /// Whether a person answered a question of the session in Telegram.
    pub(super) is_answered_here: bool,
    /// Whether the channel has looked for other sessions at work in the same directory.
    pub(super) is_looked_beside: bool,
    /// The activity of the agent, while it works.
    pub(super) busy: Option<Busy>,
    /// The entry and the room for which the file of the session was last written.
    pub(super) filed: Option<(u64, Room)>,
}

impl ShownSession {
    fn new(presenter: Presenter, (room, owner): (Room, u64), began: Timestamp) -> Self {
        let at_home = presenter.session().created().origin.as_ref().and_then(Room::of).is_some();
        Self {
            presenter: Box::new(presenter),
            room,
            owner,
            began,
            at_home,
            said: String::new(),
            failed_at: 0,
            is_without_questions: false,
            announcements: Announcements::default(),
            is_answered_here: false,
            is_looked_beside: false,
            busy: None,
            filed: None,
        }
    }

    /// A question of the session, answered or not.
    pub(super) fn question(&self, id: &QuestionId) -> Option<&Question> {
        let mut items = self.presenter.session().rounds().flat_map(|round| round.items);
        items.find(|item| item.question.id == *id).map(|item| item.question)
    }

    /// Whether a user may answer and steer the session.
    pub(super) fn allows(&self, user: u64, notes: &Notes) -> bool {
        notes.may(user, self.room, self.owner)
    }

    /// How long a user is not asked a question yet, because it is the turn of whoever began the session; `None` if the
    /// user is asked.
    pub(super) fn withheld(
        &self,
        question: &QuestionId,
        user: u64,
        now: Timestamp,
    ) -> Option<SignedDuration> {
        let way = self.presenter.session().way(question).filter(|_| user != self.owner)?;
        let until = way.withheld_until?;
        Some(now.duration_until(until)).filter(SignedDuration::is_positive)
    }

    /// Whether a question accepts free text.
    pub(super) fn takes_words(&self, id: &QuestionId) -> bool {
        self.question(id).is_some_and(|question| question.free_text || card::is_listed(question))
    }
}

/// The sessions of a room, each with its creation time.
#[derive(Clone, Debug, Default)]
struct RoomState {
    /// The newest planned task that is not over.
    plan: Option<(Timestamp, SessionId)>,
    /// The conversations, by the directory of their project.
    chats: BTreeMap<String, (Timestamp, SessionId)>,
    /// The newest session, whether or not it is over.
    newest: Option<Newest>,
}

/// The newest session of a room, ordered by creation time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Newest {
    pub(super) began: Timestamp,
    pub(super) id: SessionId,
    pub(super) owner: u64,
    pub(super) task: String,
}

impl RoomState {
    /// Records a conversation about the project in this directory, if it is the newest one.
    fn began_chat(&mut self, project: String, began: (Timestamp, SessionId)) {
        let newest = self.chats.entry(project).or_insert_with(|| began.clone());
        *newest = began.max(newest.clone());
    }
}

/// All sessions that are shown, by id, and their rooms.
#[derive(Debug, Default)]
pub(super) struct ShownSessions {
    sessions: BTreeMap<SessionId, ShownSession>,
    rooms: HashMap<Room, RoomState>,
}

impl ShownSessions {
    pub(super) fn get(&self, id: &SessionId) -> Option<&ShownSession> {
        self.sessions.get(id)
    }

    pub(super) fn get_mut(&mut self, id: &SessionId) -> Option<&mut ShownSession> {
        self.sessions.get_mut(id)
    }

    pub(super) fn contains_key(&self, id: &SessionId) -> bool {
        self.sessions.contains_key(id)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&SessionId, &ShownSession)> {
        self.sessions.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (&SessionId, &mut ShownSession)> {
        self.sessions.iter_mut()
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &ShownSession> {
        self.sessions.values()
    }

    /// Whether a session is shown in this chat.
    pub(super) fn is_in_chat(&self, id: &SessionId, chat: i64) -> bool {
        self.get(id).is_some_and(|shown| shown.room.chat == chat)
    }

    /// The sessions of a room that a user may answer and steer.
    fn theirs(
        &self,
        room: Room,
        user: u64,
        notes: &Notes,
    ) -> impl Iterator<Item = (&SessionId, &ShownSession)> {
        self.iter().filter(move |(_, shown)| shown.room == room && shown.allows(user, notes))
    }

    /// Shows a session in its room.
    pub(super) fn show(
        &mut self,
        id: &SessionId,
        presenter: Presenter,
        place: (Room, u64),
        began: Timestamp,
    ) {
        let task = card::title(presenter.session().created()).to_owned();
        self.note_newest(place.0, Newest { began, id: id.clone(), owner: place.1, task });
        self.sessions.insert(id.clone(), ShownSession::new(presenter, place, began));
    }

    /// Forgets a session that is over. It may remain the newest session of its room.
    pub(super) fn forget(&mut self, id: &SessionId) {
        let Some(shown) = self.sessions.remove(id) else { return };
        if let Some(state) = self.rooms.get_mut(&shown.room) {
            state.plan.take_if(|(_, plan)| plan == id);
            state.chats.retain(|_, (_, chat)| chat != id);
        }
    }

    /// Records a session, if it is the newest of its room.
    pub(super) fn note_newest(&mut self, room: Room, newest: Newest) {
        let state = self.rooms.entry(room).or_default();
        state.newest = state.newest.take().max(Some(newest));
    }

    /// The newest session of a room, whether or not it is over.
    pub(super) fn newest(&self, room: Room) -> Option<&Newest> {
        self.rooms.get(&room)?.newest.as_ref()
    }

    /// The newest session of a room, if a user may see its content. If not, the error says why.
    pub(super) fn newest_for(&self, room: Room, user: u64, notes: &Notes) -> Result<&Newest, &'static str> {
        match self.newest(room) {
            None => Err("There is no session in this chat yet."),
            Some(newest) if notes.may(user, room, newest.owner) => Ok(newest),
            Some(_) => Err("Only whoever asked for this task can see that."),
        }
    }

    /// The newest planned task of a room that is not over.
    pub(super) fn plan(&self, room: Room) -> Option<&SessionId> {
        self.rooms.get(&room)?.plan.as_ref().map(|(_, id)| id)
    }

    /// The conversation of a room about this project.
    pub(super) fn conversation(&self, room: Room, project: &Project) -> Option<(&SessionId, &ShownSession)> {
        let (_, id) = self.rooms.get(&room)?.chats.get(&project.path)?;
        self.sessions.get_key_value(id)
    }

    /// The plan of a room that is being clarified or waits for confirmation.
    pub(super) fn planning(&self, room: Room) -> Option<(&SessionId, &ShownSession)> {
        let plan = self.sessions.get_key_value(self.plan(room)?);
        plan.filter(|(_, shown)| shown.presenter.is_interactive())
    }

    /// The tasks of a room that are not over, whether or not work on them has begun.
    pub(super) fn tasks(&self, room: Room) -> impl Iterator<Item = (&SessionId, &ShownSession)> {
        let is_task = |shown: &ShownSession| shown.presenter.session().created().aim == Aim::Work;
        let is_here = move |shown: &ShownSession| shown.room == room && shown.at_home && is_task(shown);
        self.iter().filter(move |(_, shown)| is_here(shown) && !shown.presenter.session().is_over())
    }

    /// The act that ends the current plan of a room when another plan replaces it.
    pub(super) fn replaced(&self, room: Room) -> Option<(SessionId, Act)> {
        let reason = Some("another task replaces it".to_owned());
        self.planning(room).map(|(id, _)| (id.clone(), Act::Cancel { reason }))
    }

    /// The open questions of a room that a user may answer, the oldest first. Plans to review are not among them,
    /// because a text may be about something else; see [`Self::open_turns`].
    pub(super) fn open_questions(&self, room: Room, user: u64, notes: &Notes) -> Vec<CardKey> {
        self.open_cards(room, user, notes, |question| TurnCard::read(question).is_none())
    }

    /// The cards about turns that are in front of a user in a private chat, the oldest first. If the user has stopped
    /// an agent, there are none, because the next text is a message for that agent.
    pub(super) fn open_turns(&self, room: Room, user: u64, notes: &Notes) -> Vec<CardKey> {
        if room.chat < 0 || self.stopped(room, user, notes).is_some() {
            return Vec::new();
        }
        self.open_cards(room, user, notes, |question| TurnCard::read(question).is_some())
    }

    fn open_cards(
        &self,
        room: Room,
        user: u64,
        notes: &Notes,
        is_one: fn(&QuestionId) -> bool,
    ) -> Vec<CardKey> {
        let theirs = self.theirs(room, user, notes);
        let focus =
            theirs.flat_map(|(id, shown)| shown.presenter.focus().iter().map(move |focus| (id, focus)));
        let mut open: Vec<_> = focus.filter(|(_, focus)| is_one(&focus.question)).collect();
        open.sort_by_key(|(_, focus)| focus.at);
        open.into_iter().map(|(id, focus)| CardKey::of(id, focus)).collect()
    }

    /// Whether the question of a card is in front of the person.
    pub(super) fn is_in_front(&self, key: &CardKey) -> bool {
        let mut focus = self.get(&key.session).into_iter().flat_map(|shown| shown.presenter.focus());
        focus.any(|focus| CardKey::of(&key.session, focus) == *key)
    }

    /// The newest session of a room whose agent is stopped and that a user may continue.
    pub(super) fn stopped(&self, room: Room, user: u64, notes: &Notes) -> Option<&SessionId> {
        let rests = |shown: &ShownSession| shown.at_home && shown.presenter.session().is_stopped();
        let stopped = self.theirs(room, user, notes).filter(|(_, shown)| rests(shown));
        stopped.max_by_key(|(_, shown)| shown.began).map(|(id, _)| id)
    }

    /// The sessions of a room whose agents work, the newest first.
    pub(super) fn working(&self, room: Room) -> Vec<(&SessionId, &ShownSession)> {
        let here = self.iter().filter(|(_, shown)| shown.room == room && shown.at_home);
        let mut working: Vec<_> = here.filter(|(_, shown)| shown.presenter.session().has_turn()).collect();
        working.sort_by_key(|(id, shown)| std::cmp::Reverse((shown.began, (*id).clone())));
        working
    }

    /// The session whose activity this message of a chat shows, if a user may steer it.
    pub(super) fn at_work(&self, chat: i64, message: i32, user: u64, notes: &Notes) -> Option<&SessionId> {
        let shows = |id: &SessionId| notes.of(id).is_some_and(|noted| noted.progress == Some(message));
        let mut here = self.iter().filter(|(id, shown)| shown.room.chat == chat && shows(id));
        here.find(|(_, shown)| shown.allows(user, notes)).map(|(id, _)| id)
    }

    /// The key of an activity message that is being sent to a chat.
    pub(super) fn showing_work_in(&self, chat: i64) -> Option<CardKey> {
        let is_sent = |shown: &ShownSession| shown.busy.as_ref().is_some_and(Busy::is_on_its_way);
        let mut here = self.iter().filter(|(_, shown)| shown.room.chat == chat && is_sent(shown));
        here.next().map(|(id, _)| stop_key(id))
    }

    /// A turn of a session, by the name of its directory.
    pub(super) fn turn(&self, id: &SessionId, folder: &str) -> Option<&FileTurn> {
        self.get(id)?.presenter.session().file_turn(folder)
    }

    /// Moves all sessions and rooms of a chat to another chat. Returns the sessions, and the rooms before the move.
    pub(super) fn move_chat(&mut self, from: i64, to: i64) -> (Vec<SessionId>, Vec<Room>) {
        let mut moved = Vec::new();
        for (id, shown) in self.sessions.iter_mut().filter(|(_, shown)| shown.room.chat == from) {
            shown.room.chat = to;
            shown.busy.iter_mut().for_each(Busy::forget_message);
            moved.push(id.clone());
        }
        let rooms: Vec<_> = self.rooms.keys().filter(|room| room.chat == from).copied().collect();
        for room in &rooms {
            let Some(state) = self.rooms.remove(room) else { continue };
            let new = self.rooms.entry(Room { chat: to, ..*room }).or_default();
            new.plan = new.plan.take().max(state.plan);
            state.chats.into_iter().for_each(|(project, began)| new.began_chat(project, began));
            new.newest = new.newest.take().max(state.newest);
        }
        (moved, rooms)
    }

    /// Records the creation of a session that is shown. `project` is the directory of its project.
    pub(super) fn began(&mut self, id: &SessionId, at: Timestamp, project: &str) {
        let Some(shown) = self.sessions.get(id).filter(|shown| shown.at_home) else { return };
        let room = self.rooms.entry(shown.room).or_default();
        if shown.presenter.is_planned() {
            room.plan = room.plan.take().max(Some((at, id.clone())));
        } else if shown.presenter.is_chat() {
            room.began_chat(project.to_owned(), (at, id.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use rapport_core::{Aim, By, Clarifier, ConversationId, Created, Entry, Event, Terms};

    use super::*;
    use crate::flow::notes::Guest;
    use crate::flow::step_effects::Effects;

    const ANNA: u64 = 42;
    const BERT: u64 = 43;
    const GROUP: Room = Room { chat: -7, topic: None };

    fn id(name: &str) -> SessionId {
        SessionId::new(name)
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 0).unwrap()
    }

    fn project(path: &str) -> Project {
        Project { name: path.into(), path: path.into(), has_quick_tasks: false }
    }

    /// Sessions in the group that Anna began at these seconds, with these aims, about these projects.
    fn began(all: &[(&str, i64, Aim, &str)]) -> ShownSessions {
        let mut sessions = ShownSessions::default();
        for (name, second, aim, project) in all {
            let by = By::Person { channel: "telegram".into(), id: "42".into() };
            let created = Created::new((*name).into(), (*project).into(), ConversationId::new("c"), by);
            let terms = Terms { clarifier: Clarifier::Planner, ..Terms::default() };
            let created = Created { aim: aim.clone(), terms, origin: Some(GROUP.into()), ..created };
            let first = Entry { seq: 1, at: at(*second), facts: vec![Event::Created(created)] };
            sessions.show(&id(name), Presenter::open(&first).unwrap(), (GROUP, ANNA), first.at);
            sessions.began(&id(name), first.at, project);
        }
        sessions
    }

    fn conversation<'a>(sessions: &'a ShownSessions, room: Room, path: &str) -> Option<&'a str> {
        sessions.conversation(room, &project(path)).map(|(id, _)| id.as_str())
    }

    #[test]
    fn a_room_has_its_newest_plan_and_a_conversation_per_project() {
        let mut sessions = began(&[
            ("newer plan", 5, Aim::Work, "/a"),
            ("older plan", 4, Aim::Work, "/a"),
            ("newer chat", 3, Aim::Chat, "/a"),
            ("older chat", 2, Aim::Chat, "/a"),
            ("chat about b", 1, Aim::Chat, "/b"),
        ]);
        assert_eq!(sessions.plan(GROUP), Some(&id("newer plan")));
        assert_eq!(sessions.newest(GROUP).unwrap().id, id("newer plan"));
        assert_eq!(conversation(&sessions, GROUP, "/a"), Some("newer chat"));
        assert_eq!(conversation(&sessions, GROUP, "/b"), Some("chat about b"));
        assert_eq!(conversation(&sessions, GROUP, "/c"), None);
        assert_eq!(sessions.tasks(GROUP).count(), 2);
        sessions.forget(&id("newer plan"));
        assert_eq!(sessions.plan(GROUP), None, "the older one was replaced");
        assert_eq!(sessions.newest(GROUP).unwrap().id, id("newer plan"), "it can still be looked at");
    }

    #[test]
    fn a_chat_that_moves_takes_its_sessions_and_rooms_along() {
        let mut sessions = began(&[("plan", 2, Aim::Work, "/a"), ("chat", 1, Aim::Chat, "/a")]);
        let new = Room { chat: -100, ..GROUP };
        assert_eq!(sessions.move_chat(-7, -100), (vec![id("chat"), id("plan")], vec![GROUP]));
        assert!(sessions.is_in_chat(&id("plan"), -100) && !sessions.is_in_chat(&id("plan"), -7));
        assert_eq!(sessions.plan(new), Some(&id("plan")));
        assert_eq!(conversation(&sessions, new, "/a"), Some("chat"));
        assert!(sessions.newest(GROUP).is_none());
        assert_eq!(sessions.move_chat(-7, -100), (Vec::new(), Vec::new()));
    }

    #[test]
    fn a_session_is_steered_by_its_owner_and_by_guests_of_the_room() {
        let sessions = began(&[("plan", 1, Aim::Work, "/a")]);
        let (shown, mut notes) = (sessions.get(&id("plan")).unwrap(), Notes::default());
        assert!(shown.allows(ANNA, &notes) && !shown.allows(BERT, &notes));
        notes.guest(&mut Effects::default(), GROUP, ANNA, BERT, Guest::May);
        assert!(shown.allows(BERT, &notes));
    }

    #[test]
    fn nothing_is_found_of_what_is_not_shown() {
        let (sessions, notes) = (ShownSessions::default(), Notes::default());
        let key = CardKey { session: id("gone"), question: QuestionId::new("q"), since: 1 };
        assert!(!sessions.is_in_front(&key) && !sessions.is_in_chat(&id("gone"), -7));
        assert!(sessions.planning(GROUP).is_none() && sessions.replaced(GROUP).is_none());
        assert!(sessions.open_questions(GROUP, ANNA, &notes).is_empty());
        assert!(sessions.stopped(GROUP, ANNA, &notes).is_none() && sessions.working(GROUP).is_empty());
    }
}
