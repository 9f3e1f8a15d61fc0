//! The flow's one owner of state: which session is where, what is shown of it, who may do what. Everything that happens
//! comes in through one list, and nothing here waits.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::room::Room;
use jiff::{SignedDuration, Timestamp};
use rapport_core::{
    Aim, By, Created, Entry, Event, Focus, Followed, Presenter, QuestionId, Session, SessionId, TurnId,
    TurnKind,
};

use super::button::Tag;
use super::incoming::Incoming;
use super::messages::Early;
use super::notes::Notes;
use super::outbound::{Done, Outbound};
use super::progress::Busy;
use super::writer::Writer;
use crate::access::Access;
use crate::api_error::ApiError;
use crate::notice::{Notice, Notices};
use crate::outgoing::Sent;
use crate::pairing::Pairing;
use crate::users::Users;
use crate::{CHANNEL, Now};
use rapport_door::{Seen, Update};

/// Stands for the question whether to try again.
pub(super) const FAILED: &str = "failed";

/// What a session of this chat starts from: its task and what it is for.
pub type Template = Arc<dyn Fn(String, Aim) -> Created + Send + Sync>;

/// Something that inputs.
pub(super) enum Input {
    /// Somebody did something.
    Came(Box<Incoming>, Done),
    /// A session went on, here or in another process.
    Seen(Seen),
    /// A log was read.
    Read(SessionId, Vec<Entry>),
    /// A card arrived, or was not taken.
    Posted { card: CardKey, sent: Result<Sent, ApiError> },
    /// A request for words arrived.
    Prompted { card: CardKey, message: i32 },
    /// The file with all of what a card is about arrived, or was not taken.
    Whole { card: CardKey, message: Option<i32>, sent: Result<Sent, ApiError> },
    /// The messages of a card say that it is over.
    Stripped(CardKey),
    /// What an entry meant was told; all of it, or Telegram does not take it.
    Told { session: SessionId, seq: u64, untold: Option<ApiError> },
    /// The message that says what the agent does arrived, or never will.
    Working(SessionId, Option<i32>),
    /// The bot may write in a chat again.
    Opened(i64),
    /// A chat became another.
    Moved { from: i64, to: i64 },
    /// Somebody was let in.
    Paired { user: u64, name: String, room: Room, outcome: Result<(), String>, done: Done },
}

/// One showing of a question.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CardKey {
    pub(super) session: SessionId,
    pub(super) question: QuestionId,
    pub(super) since: u64,
}

/// A session as the desk has it.
pub(super) struct ShownSession {
    pub(super) presenter: Presenter,
    pub(super) room: Room,
    pub(super) owner: u64,
    /// When it began.
    pub(super) began: Timestamp,
    /// Whether its room is named in its log, rather than found.
    pub(super) at_home: bool,
    /// What somebody last said to it, where it is a conversation.
    pub(super) said: String,
    /// The entry that says it failed, if it did.
    pub(super) failed_at: u64,
    /// Options chosen so far, where there can be several.
    pub(super) chosen: HashMap<CardKey, BTreeSet<usize>>,
    /// Cards of which everything was shown that did not fit them.
    pub(super) read: HashSet<CardKey>,
}

/// What there is in a room.
#[derive(Clone, Debug, Default)]
pub(super) struct RoomState {
    /// The task that was planned here last, until it is over, and when it began.
    pub(super) plan: Option<(Timestamp, SessionId)>,
    /// The conversation.
    pub(super) chat: Option<(Timestamp, SessionId)>,
}

impl RoomState {
    /// The task that was planned here last, until it is over.
    pub(super) fn plan(&self) -> Option<&SessionId> {
        self.plan.as_ref().map(|(_, id)| id)
    }

    /// The conversation.
    pub(super) fn chat(&self) -> Option<&SessionId> {
        self.chat.as_ref().map(|(_, id)| id)
    }
}

/// The state.
pub(super) struct ChatState {
    pub(super) outbound: Outbound,
    pub(super) access: Access,
    /// Whose the sessions are that began elsewhere.
    pub(super) owner: Option<u64>,
    pub(super) users: Users,
    pub(super) remind: SignedDuration,
    pub(super) now: Now,
    pub(super) notices: Notices,
    pub(super) writer: Writer,
    pub(super) notes: Notes,
    /// Where the files of sessions are, for people and tools.
    pub(super) folder: PathBuf,
    pub(super) sessions: HashMap<SessionId, ShownSession>,
    pub(super) rooms: HashMap<Room, RoomState>,
    pub(super) tags: HashMap<(i64, Tag), CardKey>,
    pub(super) messages: HashMap<(i64, i32), CardKey>,
    /// Cards on their way,
    pub(super) pending: HashSet<CardKey>,
    /// what was written meanwhile,
    pub(super) early: Vec<Early>,
    /// and cards that were not taken. They are sent again when their chat opens, or somebody does something there.
    pub(super) refused: HashSet<CardKey>,
    /// How much is being told of a session.
    pub(super) telling: HashMap<SessionId, usize>,
    /// Sessions of which something could not be told, and the host knows.
    pub(super) untold: HashSet<SessionId>,
    /// Cards whose messages are being told that they are over.
    pub(super) closing: HashSet<CardKey>,
    /// Turns of conversations that became sessions of their own.
    pub(super) grown: HashSet<(SessionId, TurnId)>,
    /// What sessions were begun for.
    pub(super) requests: HashSet<String>,
    /// When to remind of what.
    pub(super) reminders: BTreeSet<(Timestamp, SessionId, QuestionId, u64)>,
    pub(super) busy: HashMap<SessionId, Busy>,
    /// Whether the program is about to end.
    pub(super) is_stopping: bool,
    /// Taps that were answered, so that none is answered twice.
    pub(super) answered: HashSet<String>,
}

impl ChatState {
    /// Takes one thing in.
    pub(super) fn take(&mut self, inputs: Input) {
        match inputs {
            Input::Came(incoming, done) => self.came(*incoming, done),
            Input::Seen(seen) => self.seen(seen),
            Input::Read(session, entries) => self.entries(&session, &entries),
            Input::Posted { card, sent } => {
                self.posted(card.clone(), sent);
                self.look_at_early(&card);
            }
            Input::Prompted { card, message } => {
                if let Some(shown) = self.sessions.get(&card.session) {
                    self.messages.insert((shown.room.chat, message), card.clone());
                    self.notes.prompted(&card.session, &card.question, card.since, message);
                }
            }
            Input::Whole { card, message, sent } => self.read_whole(&card, message, sent),
            Input::Stripped(card) => {
                self.closing.remove(&card);
                if self.sessions.contains_key(&card.session) {
                    self.notes.closed(&card.session, &card.question, card.since);
                    self.finish_if_over(&card.session);
                }
            }
            Input::Told { session, seq, untold } => self.told(&session, seq, untold),
            Input::Working(session, message) => self.working(&session, message),
            Input::Opened(chat) => self.show_refused(chat),
            Input::Moved { from, to } => self.moved(from, to),
            Input::Paired { user, name, room, outcome, done } => {
                self.paired((user, name), room, outcome, done);
            }
        }
    }

    fn seen(&mut self, seen: Seen) {
        let mut entries = Vec::with_capacity(seen.updates.len());
        for update in seen.updates {
            match (update, self.busy.get_mut(&seen.session)) {
                (Update::Entry(entry), _) => entries.push(entry),
                (Update::Progress(progress), Some(busy)) => busy.note(progress),
                (Update::Progress(_), None) | (Update::Action(_), _) => {}
                (Update::Lost(why), _) => {
                    let session = seen.session.to_string();
                    let _ = self.notices.send(Notice::Lost { session, why });
                }
            }
        }
        self.entries(&seen.session, &entries);
    }

    /// Takes entries of one session in, and shows what follows from them.
    pub(super) fn entries(&mut self, id: &SessionId, entries: &[Entry]) {
        if !self.sessions.contains_key(id) && !self.is_news(id, entries) {
            return;
        }
        let mut changed = false;
        for entry in entries {
            match self.entry(id, entry) {
                Followed::Next => changed = true,
                Followed::Old => {}
                Followed::Gap => return self.read(id),
            }
        }
        if changed {
            self.refresh(id);
        }
    }

    /// Whether anything of a session is to be shown that is not shown here. What was never shown of one that has been going
    /// on is not told afterwards; its open questions are.
    fn is_news(&mut self, id: &SessionId, entries: &[Entry]) -> bool {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return false };
        // It is read from its beginning, and looked at then.
        if first.seq > 1 {
            return true;
        }
        let Some(session) = Session::replay(entries) else { return false };
        // There may be nobody yet to show it to.
        if self.place(session.created()).is_none() {
            return false;
        }
        if self.notes.of(id).is_some() {
            return true;
        }
        if session.is_over() {
            return false;
        }
        self.notes.told(id, if entries.len() == 1 { 0 } else { last.seq });
        true
    }

    /// Reads what is not known yet of a session.
    fn read(&self, id: &SessionId) {
        let after = self.sessions.get(id).map_or(0, |shown| shown.presenter.session().seq());
        let (outbound, id) = (self.outbound.clone(), id.clone());
        tokio::spawn(async move {
            // A directory that is no session, or a log that is damaged: there is nothing to show of it.
            if let Ok(entries) = outbound.sessions.entries(&id, after).await
                && !entries.is_empty()
            {
                let _ = outbound.back.send(Input::Read(id, entries));
            }
        });
    }

    fn entry(&mut self, id: &SessionId, entry: &Entry) -> Followed {
        let step = match self.sessions.get_mut(id) {
            Some(shown) => shown.presenter.apply(entry),
            None if entry.seq > 1 => Followed::Gap,
            None => self.begin(id, entry),
        };
        if step == Followed::Next {
            self.remember(id, entry);
            let told = self.notes.of(id).map_or(0, |noted| noted.told);
            if entry.seq > told {
                self.announce(id, entry);
            }
        }
        step
    }

    /// A session that is new here.
    fn begin(&mut self, id: &SessionId, entry: &Entry) -> Followed {
        let Some(presenter) = Presenter::open(entry) else { return Followed::Old };
        let Some((room, owner)) = self.place(presenter.session().created()) else { return Followed::Old };
        let at_home = presenter.session().created().origin.as_ref().and_then(Room::of).is_some();
        let shown = ShownSession {
            presenter,
            room,
            owner,
            began: entry.at,
            at_home,
            said: String::new(),
            failed_at: 0,
            chosen: HashMap::new(),
            read: HashSet::new(),
        };
        self.sessions.insert(id.clone(), shown);
        Followed::Next
    }

    /// Where a session is shown, and whose it is. What began elsewhere is the first person's who may use the bot.
    fn place(&self, created: &Created) -> Option<(Room, u64)> {
        let owner = telegram_id(&created.by).or(self.owner)?;
        Some((self.notes.now(created.origin.as_ref().and_then(Room::of).or_else(|| private(owner))?), owner))
    }

    fn remember(&mut self, id: &SessionId, entry: &Entry) {
        let Some(shown) = self.sessions.get_mut(id) else { return };
        for fact in &entry.facts {
            match fact {
                Event::Created(created) => {
                    if let Some(seed) = &created.grown_from {
                        self.grown.insert((seed.session.clone(), seed.turn));
                    }
                    self.requests.extend(created.request.clone());
                    let room = self.rooms.entry(shown.room).or_default();
                    let began = (entry.at, id.clone());
                    if shown.at_home && shown.presenter.is_planned() {
                        room.plan = room.plan.take().max(Some(began));
                    } else if shown.at_home && shown.presenter.is_chat() {
                        room.chat = room.chat.take().max(Some(began));
                    }
                }
                Event::TurnStarted { kind: TurnKind::Chat, prompt, .. } => shown.said = prompt.clone(),
                Event::Failed { .. } => shown.failed_at = entry.seq,
                _ => {}
            }
        }
    }

    /// Shows a session as it stands: its cards, its file, what it does.
    pub(super) fn refresh(&mut self, id: &SessionId) {
        if let Some(shown) = self.sessions.get(id).filter(|shown| shown.presenter.session().is_failed()) {
            let key =
                CardKey { session: id.clone(), question: QuestionId::new(FAILED), since: shown.failed_at };
            self.tags.insert((shown.room.chat, Tag::of(id, &key.question, key.since)), key);
        }
        self.show_cards(id);
        self.file(id);
        self.look_busy(id);
        self.finish_if_over(id);
        self.release_at_rest(id);
    }

    /// The key of what is in front of the person.
    pub(super) fn key(id: &SessionId, focus: &Focus) -> CardKey {
        CardKey { session: id.clone(), question: focus.question.clone(), since: focus.since }
    }

    /// Lets go of a session that is over, once everything about it is told.
    pub(super) fn finish_if_over(&mut self, id: &SessionId) {
        let Some(shown) = self.sessions.get(id) else { return };
        let session = shown.presenter.session();
        if !session.is_over() {
            return;
        }
        let noted = self.notes.of(id);
        let cards_open = noted.is_some_and(|noted| noted.cards.iter().any(|card| !card.closed));
        let is_told = self.telling.get(id).is_none_or(|telling| *telling == 0);
        let on_their_way = self.pending.iter().any(|card| card.session == *id);
        if cards_open || on_their_way || !is_told {
            return;
        }
        let cards = noted.map(|noted| noted.cards.clone()).unwrap_or_default();
        let answers = cards.iter().map(|card| {
            let tag = Tag::of(id, &card.question, card.since);
            (tag, super::card::answer(&shown.presenter, &card.question))
        });
        let (answers, room): (Vec<_>, _) = (answers.collect(), shown.room);
        self.notes.over(id, room.chat, answers);
        self.sessions.remove(id);
        self.busy.remove(id);
        self.telling.remove(id);
        self.untold.remove(id);
        self.refused.retain(|card| card.session != *id);
        self.tags.retain(|_, card| card.session != *id);
        self.messages.retain(|_, card| card.session != *id);
        if let Some(state) = self.rooms.get_mut(&room) {
            state.plan.take_if(|(_, plan)| plan == id);
            state.chat.take_if(|(_, chat)| chat == id);
        }
        let (sessions, id) = (self.outbound.sessions.clone(), id.clone());
        tokio::spawn(async move { sessions.release(&id).await });
    }

    /// Whether somebody may answer and steer a session.
    pub(super) fn may(&self, user: u64, shown: &ShownSession) -> bool {
        shown.owner == user || self.notes.is_guest(shown.room, shown.owner, user)
    }

    /// Has the host show a code, where nobody may use the bot yet and no code is open.
    pub(super) fn offer_code(&mut self) {
        let now = self.time();
        if !self.access.is_empty() || self.access.pairing_is_open(now) {
            return;
        }
        if let Some(pairing) = self.access.code(Pairing::chance(), now) {
            let notice = Notice::Code { code: pairing.code().to_owned(), until: pairing.until() };
            let _ = self.notices.send(notice);
        }
    }

    /// What time it is.
    pub(super) fn time(&self) -> Timestamp {
        (self.now)()
    }
}

/// A person in Telegram, by their id.
pub(super) fn person(id: u64) -> By {
    By::Person { channel: CHANNEL.into(), id: id.to_string() }
}

/// The chat with one person alone.
pub(super) fn private(owner: u64) -> Option<Room> {
    i64::try_from(owner).ok().map(|chat| Room { chat, topic: None })
}

fn telegram_id(by: &By) -> Option<u64> {
    match by {
        By::Person { channel, id } if channel == CHANNEL => id.parse().ok(),
        By::Person { .. } | By::Lead { .. } | By::Model { .. } | By::Rule { .. } => None,
    }
}
