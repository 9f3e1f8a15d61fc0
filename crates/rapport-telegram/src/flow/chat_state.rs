//! The state of the channel. Its only way to change is `step`, which takes an input and the time and returns effects.
//! It does no I/O, reads no clock and never waits. The other files of this folder handle the single inputs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rapport_core::{By, Presenter, Question, QuestionId, SessionId, TurnId};

use super::announcements::Announcements;
use super::backlog::Backlog;
use super::card;
use super::cards::CardIndex;
use super::effect::{AfterSend, Effect, Input};
use super::messages::Early;
use super::notes::Notes;
use super::progress::{Busy, stop_key};
use super::projects::Project;
use super::quiet_hours::QuietHours;
use super::recent_work::EndedWork;
use super::session_updates::Found;
use super::step_effects::Effects;
use super::work::Works;
use crate::CHANNEL;
use crate::access::Access;
use crate::api_error::ApiError;
use crate::notice::Notice;
use crate::outgoing::Sent;
use crate::room::Room;

/// The pseudo question whether to retry.
pub(super) const FAILED: &str = "failed";
/// The pseudo question whether to stop the agent.
pub(super) const STOP: &str = "stop";

/// The settings of the channel.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// The project that is served, or the first of several.
    pub(super) project: Project,
    /// The other projects that are served.
    pub(super) others: Vec<Project>,
    /// The owner of sessions that began elsewhere.
    pub(super) owner: Option<u64>,
    /// The time after which a person is reminded; zero for never.
    pub(super) remind: SignedDuration,
    /// The directory for the files of planned tasks, for people and tools.
    pub(super) folder: PathBuf,
    /// Whether voice messages can be transcribed.
    pub(super) can_hear: bool,
    /// The default quiet hours of chats.
    pub(super) quiet: Option<QuietHours>,
    /// The time zone of the quiet hours.
    pub(super) zone: TimeZone,
    /// The daily budget, in millionths of a dollar, if set.
    pub(super) budget: Option<u64>,
}

/// A session that is shown in a room.
#[derive(Debug)]
pub(super) struct ShownSession {
    /// Boxed, because a hash map of large values reserves twice the memory that they use.
    pub(super) presenter: Box<Presenter>,
    pub(super) room: Room,
    pub(super) owner: u64,
    pub(super) began: Timestamp,
    /// Whether its log names the room. If not, it began elsewhere and is shown to its owner only.
    pub(super) at_home: bool,
    /// The last message to it, if it is a conversation.
    pub(super) said: String,
    /// The entry that records its failure, if it failed.
    pub(super) failed_at: u64,
    /// Whether it failed before its first question. That was announced at the time.
    pub(super) is_without_questions: bool,
    pub(super) announcements: Announcements,
    /// Whether somebody answered one of its questions here.
    pub(super) is_answered_here: bool,
    /// Whether it was looked for others at work in its directory.
    pub(super) is_looked_beside: bool,
    /// The activity of its agent, while it works.
    pub(super) busy: Option<Busy>,
    /// The entry and the room that its file was last written for.
    pub(super) filed: Option<(u64, Room)>,
}

impl ShownSession {
    pub(super) fn new(presenter: Presenter, (room, owner): (Room, u64), began: Timestamp) -> Self {
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

    /// A question of its rounds, answered or not.
    pub(super) fn question(&self, id: &QuestionId) -> Option<&Question> {
        let mut items = self.presenter.session().rounds().flat_map(|round| round.items);
        items.find(|item| item.question.id == *id).map(|item| item.question)
    }

    /// Whether a user may answer and steer it.
    pub(super) fn allows(&self, user: u64, notes: &Notes) -> bool {
        notes.may(user, self.room, self.owner)
    }

    /// Whether a question accepts free text.
    pub(super) fn takes_words(&self, id: &QuestionId) -> bool {
        self.question(id).is_some_and(|question| question.free_text || card::is_listed(question))
    }
}

/// The sessions of a room, each with its creation time.
#[derive(Clone, Debug, Default)]
pub(super) struct RoomState {
    /// The newest planned task, until it is over.
    pub(super) plan: Option<(Timestamp, SessionId)>,
    /// The conversations, by the directory of their project.
    pub(super) chats: BTreeMap<String, (Timestamp, SessionId)>,
    /// The newest session, over or not.
    pub(super) newest: Option<Newest>,
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
    pub(super) fn plan(&self) -> Option<&SessionId> {
        self.plan.as_ref().map(|(_, id)| id)
    }

    /// The conversation about this project.
    pub(super) fn chat(&self, project: &Project) -> Option<&SessionId> {
        self.chats.get(&project.path).map(|(_, id)| id)
    }

    /// A conversation began about the project in this directory. The newest one counts.
    pub(super) fn began_chat(&mut self, project: String, began: (Timestamp, SessionId)) {
        let newest = self.chats.entry(project).or_insert_with(|| began.clone());
        *newest = began.max(newest.clone());
    }
}

/// Ids of what was done already, for de-duplication: after a kill the same input may come again.
#[derive(Debug, Default)]
pub(super) struct Dedup {
    /// Turns of conversations that became planned tasks.
    pub(super) grown: HashSet<(SessionId, TurnId)>,
    /// Updates for which sessions were begun.
    pub(super) requests: HashSet<String>,
}

#[derive(Debug)]
pub(super) struct ChatState {
    pub(super) settings: Settings,
    pub(super) access: Access,
    /// What survives a restart besides the logs.
    pub(super) notes: Notes,
    pub(super) sessions: BTreeMap<SessionId, ShownSession>,
    pub(super) rooms: HashMap<Room, RoomState>,
    pub(super) cards: CardIndex,
    pub(super) dedup: Dedup,
    /// Messages that came while the card they may answer was being sent.
    pub(super) early: Vec<Early>,
    /// Recently ended sessions, the oldest first.
    pub(super) ended: BTreeMap<(Timestamp, SessionId), EndedWork>,
    /// Work that waits for a decision, and whose outcome is being waited for.
    pub(super) works: Works,
    /// The sessions found at the start, until all are.
    pub(super) found: Found,
    /// What waited already then and is not shown yet.
    pub(super) backlog: Backlog,
    /// When a change of an agent's activity is to be shown.
    pub(super) progress_due: Option<Timestamp>,
    /// When what Telegram did not take was last sent again.
    pub(super) retried: Timestamp,
    pub(super) is_stopping: bool,
    /// The time of the current step.
    pub(super) now: Timestamp,
    /// The effects of the current step so far.
    pub(super) effects: Effects,
}

impl ChatState {
    /// When the next reminder or the next change of an agent's activity is due.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.reminder_due().into_iter().chain(self.progress_due).min()
    }

    /// The initial state, with nothing but the notes.
    pub(super) fn new(settings: Settings, access: Access, notes: Notes) -> Self {
        Self {
            settings,
            access,
            notes,
            sessions: BTreeMap::new(),
            rooms: HashMap::new(),
            cards: CardIndex::default(),
            dedup: Dedup::default(),
            early: Vec::new(),
            ended: BTreeMap::new(),
            works: Works::default(),
            found: Found::default(),
            backlog: Backlog::default(),
            progress_due: None,
            retried: Timestamp::UNIX_EPOCH,
            is_stopping: false,
            now: Timestamp::UNIX_EPOCH,
            effects: Effects::default(),
        }
    }

    /// Handles an input, and returns the effects.
    pub(super) fn step(&mut self, input: Input, now: Timestamp) -> Vec<Effect> {
        self.now = now;
        match input {
            Input::Update(incoming, ticket) => self.on_update(*incoming, ticket),
            Input::Opened(chat) => self.show_refused(chat),
            Input::Moved { from, to } => self.on_moved(from, to),
            Input::TopicNamed { room, by, name } => self.on_topic_named(self.notes.now(room), by, &name),
            Input::Found(session, entries) => self.on_found(session, entries),
            Input::AllFound => self.on_all_found(),
            Input::Seen(seen) => self.on_seen(seen),
            Input::Read(session, entries) => self.on_entries(&session, &entries),
            Input::Unfollowed(session, error) => self.on_unfollowed(&session, error),
            Input::Unlisted(error) => {
                let why = error.to_string();
                self.effects.want(Effect::Notify(Notice::Unlisted { why }));
            }
            Input::Sent(then, results) => self.on_sent(then, results),
            Input::Operated(then, outcome) => self.on_operated(then, outcome),
            Input::Content(then, read) => self.on_content(then, read),
            Input::Changes { session, seq, diff } => self.on_changes(&session, seq, diff),
            Input::Beside(session, others) => self.on_beside(&session, others),
            Input::Rules(then, rules) => self.on_rules(then, rules),
            Input::Fetched(then, fetched) => self.on_fetched(*then, fetched),
            Input::Heard(then, heard) => self.on_heard(&then, heard),
            Input::UserAdded(new, outcome) => self.on_user_added(new, outcome),
            Input::Tick { chance } => {
                self.offer_code(chance);
                self.show_progress();
                self.retry_refused();
            }
            Input::DeadlinePassed => {
                self.remind_now();
                self.show_changes();
            }
            Input::Stopping => self.stop_waiting(),
        }
        let (settings, notes) = (&self.settings, &self.notes);
        self.effects.take(|chat| settings.quiet_until(notes.quiet(chat), now).is_some())
    }

    fn on_sent(&mut self, then: AfterSend, mut results: Vec<Result<Sent, ApiError>>) {
        match then {
            AfterSend::Announce { session, seq } => self.on_announced(&session, seq, &results),
            AfterSend::Close(card) => self.on_closed(&card),
            // The other kinds concern a single message.
            AfterSend::Card(card) => {
                if let Some(sent) = results.pop() {
                    self.on_card_sent(&card, sent);
                    self.look_at_early(&card);
                }
            }
            AfterSend::Prompt(card) => self.on_prompted(card, posted(results)),
            AfterSend::RevisionPrompt(room) => self.on_revision_prompted(room, posted(results)),
            AfterSend::Before(card) => self.on_shown_before(&card, results.into_iter().find_map(Result::err)),
            AfterSend::ProgressEdit(session) => self.on_progress_edited(&session, results.pop()),
            AfterSend::Progress(session) => {
                self.on_progress_sent(&session, results.pop());
                self.look_at_early(&stop_key(&session));
            }
        }
    }

    /// Makes the host show a pairing code, if nobody has access and no code is valid.
    fn offer_code(&mut self, chance: [u8; 8]) {
        if !self.access.is_empty() || self.access.pairing_is_open(self.now) {
            return;
        }
        if let Some(pairing) = self.access.code(chance, self.now) {
            let notice = Notice::Code { code: pairing.code().to_owned(), until: pairing.until() };
            self.effects.want(Effect::Notify(notice));
        }
    }
}

/// A person in Telegram, by their id.
pub(super) fn person(id: u64) -> By {
    By::Person { channel: CHANNEL.into(), id: id.to_string() }
}

/// The private chat with a person.
pub(super) fn private(owner: u64) -> Option<Room> {
    i64::try_from(owner).ok().map(|chat| Room { chat, topic: None })
}

/// The message id of a single delivery.
fn posted(results: Vec<Result<Sent, ApiError>>) -> Option<i32> {
    match results.into_iter().next() {
        Some(Ok(Sent::Posted(message))) => Some(message),
        Some(Ok(Sent::Done | Sent::Dropped) | Err(_)) | None => None,
    }
}
