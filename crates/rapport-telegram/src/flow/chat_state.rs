//! The state of the channel. Only `step` changes it: `step` takes an input and the time, and returns effects. It does
//! no I/O, reads no clock and never waits. The other files of this folder handle the individual inputs.

use std::collections::HashSet;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use rapport_core::{By, Created, SessionId, TurnId};

use super::backlog::Backlog;
use super::cards::Cards;
use super::claude_command::on_projects_reply;
use super::digest::{on_branched, on_digest};
use super::early_texts::EarlyTexts;
use super::effect::{AfterSend, Effect, Input};
use super::lead_lines::LeadLines;
use super::leads::Leads;
use super::notes::Notes;
use super::progress::{ProgressMessages, stop_key};
use super::projects::Projects;
use super::quiet_hours::QuietTimes;
use super::recent_work::RecentWork;
use super::reminders::Reminders;
use super::session_updates::{Found, on_beside};
use super::shown_sessions::ShownSessions;
use super::step_effects::Effects;
use super::work::{Works, on_revision_prompted};
use crate::CHANNEL;
use crate::access::Access;
use crate::api_error::ApiError;
use crate::notice::Notice;
use crate::outgoing::Sent;
use crate::room::Room;

/// The pseudo question whether to retry after a failure.
pub(super) const FAILED: &str = "failed";
/// The pseudo question whether to stop the agent.
pub(super) const STOP: &str = "stop";

/// The settings of the channel.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// The owner of sessions that began elsewhere.
    pub(super) owner: Option<u64>,
    /// The time after which a person is reminded; zero for never.
    pub(super) remind: SignedDuration,
    /// The directory for the files of planned tasks, for people and tools.
    pub(super) folder: PathBuf,
    /// Whether voice messages can be transcribed.
    pub(super) can_hear: bool,
    pub(super) quiet: QuietTimes,
    /// The daily budget, in millionths of a dollar, if set.
    pub(super) budget: Option<u64>,
    /// Whether the conversation with the bot is a lead.
    pub(super) has_lead: bool,
}

impl Settings {
    /// Whether a user is another person than the one whose machine this is.
    pub(super) fn is_other_user(&self, user: u64) -> bool {
        self.owner.is_some_and(|owner| owner != user)
    }
}

/// Ids of finished requests, for de-duplication: after a kill, the same input may come again.
#[derive(Debug, Default)]
pub(super) struct Dedup {
    /// Turns of conversations that became planned tasks.
    pub(super) grown: HashSet<(SessionId, TurnId)>,
    /// Updates for which sessions were begun.
    pub(super) requests: HashSet<String>,
}

impl Dedup {
    /// Records the request, or the turn of a conversation, for which a session was begun.
    pub(super) fn note(&mut self, created: &Created) {
        let seed = created.grown_from.as_ref().map(|seed| (seed.session.clone(), seed.turn));
        self.grown.extend(seed);
        self.requests.extend(created.request.clone());
    }
}

#[derive(Debug)]
pub(super) struct ChatState {
    pub(super) settings: Settings,
    pub(super) projects: Projects,
    pub(super) access: Access,
    /// The state besides the logs that survives a restart.
    pub(super) notes: Notes,
    pub(super) sessions: ShownSessions,
    pub(super) cards: Cards,
    pub(super) reminders: Reminders,
    pub(super) dedup: Dedup,
    pub(super) early: EarlyTexts,
    pub(super) leads: Leads,
    pub(super) lead_lines: LeadLines,
    pub(super) recent: RecentWork,
    /// Work that waits for a decision, and decisions whose outcome is not known yet.
    pub(super) works: Works,
    /// The sessions found at the start, until all of them are found.
    pub(super) found: Found,
    /// Questions that were open before the start and are not shown yet.
    pub(super) backlog: Backlog,
    pub(super) progress: ProgressMessages,
    /// The time of the current step.
    pub(super) now: Timestamp,
    /// The effects of the current step so far.
    pub(super) effects: Effects,
}

impl ChatState {
    /// When the next reminder or the next change of an agent's activity is due.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.reminders.next().into_iter().chain(self.progress.due()).min()
    }

    /// The initial state: it knows the notes, and no session yet.
    pub(super) fn new(settings: Settings, projects: Projects, access: Access, notes: Notes) -> Self {
        let (reminders, leads) = (Reminders::new(settings.remind), Leads::new(settings.has_lead));
        Self {
            settings,
            projects,
            access,
            notes,
            sessions: ShownSessions::default(),
            cards: Cards::default(),
            reminders,
            dedup: Dedup::default(),
            early: EarlyTexts::default(),
            leads,
            lead_lines: LeadLines::default(),
            recent: RecentWork::default(),
            works: Works::default(),
            found: Found::default(),
            backlog: Backlog::default(),
            progress: ProgressMessages::default(),
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
            Input::TopicNamed { room, by, name } if self.access.allows(by) => {
                let room = self.notes.now(room);
                self.projects.on_topic_named(&mut self.notes, &mut self.effects, room, &name);
            }
            Input::TopicNamed { .. } => {}
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
            Input::Beside(session, others) => on_beside(&self.sessions, &mut self.effects, &session, others),
            Input::Rules(then, rules) => self.on_rules(then, rules),
            Input::Projects(then, reply) => on_projects_reply(&mut self.effects, then, reply),
            Input::Digest(then, digest) => on_digest(self, then, digest),
            Input::Branched(then, branched) => on_branched(&mut self.effects, then, branched),
            Input::Fetched(then, fetched) => self.on_fetched(*then, fetched),
            Input::Heard(then, heard) => self.on_heard(&then, heard),
            Input::UserAdded(new, outcome) => self.on_user_added(new, outcome),
            Input::Tick { chance } => {
                offer_code(&mut self.access, &mut self.effects, chance, now);
                self.progress.show_all(&mut self.sessions, &mut self.effects, now);
                let outdated = self.lead_lines.outdated_in_all(&self.sessions, &self.notes, now);
                self.redraw(outdated);
                for chat in self.cards.retry(&self.sessions, now) {
                    self.show_refused(chat);
                }
            }
            Input::DeadlinePassed => {
                while let Some(key) = self.reminders.take_due(now) {
                    self.remind(&key);
                }
                self.progress.show_due(&mut self.sessions, &mut self.effects, now);
            }
            Input::Stopping => self.early.stop(&mut self.effects),
        }
        let (settings, notes) = (&self.settings, &self.notes);
        self.effects.take(|chat| settings.quiet.until(notes.quiet(chat), now).is_some())
    }

    fn on_sent(&mut self, then: AfterSend, mut results: Vec<Result<Sent, ApiError>>) {
        match then {
            AfterSend::Announce { session, seq } => self.on_announced(&session, seq, &results),
            AfterSend::Close(card) => self.on_closed(&card),
            // The following kinds concern a single message.
            AfterSend::Card(card) => {
                if let Some(sent) = results.pop() {
                    self.on_card_sent(&card, sent);
                    self.look_at_early(&card);
                }
            }
            AfterSend::Prompt(card) => self.on_prompted(&card, posted(results)),
            AfterSend::RevisionPrompt(room) => {
                on_revision_prompted(&mut self.notes, &mut self.effects, room, posted(results));
            }
            AfterSend::Before(card) => self.on_shown_before(&card, results.into_iter().find_map(Result::err)),
            AfterSend::ProgressEdit(session) => {
                self.progress.on_edited(&mut self.sessions, &session, results.pop(), self.now);
            }
            AfterSend::Progress(session) => {
                let written = (&mut self.notes, &mut self.effects);
                self.progress.on_sent(&mut self.sessions, written, &session, results.pop(), self.now);
                self.look_at_early(&stop_key(&session));
            }
        }
    }
}

/// Has the host show a pairing code, if no user has access and no code is valid.
fn offer_code(access: &mut Access, effects: &mut Effects, chance: [u8; 8], now: Timestamp) {
    if !access.is_empty() || access.pairing_is_open(now) {
        return;
    }
    if let Some(pairing) = access.code(chance, now) {
        let notice = Notice::Code { code: pairing.code().to_owned(), until: pairing.until() };
        effects.want(Effect::Notify(notice));
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

/// The message id, if the results are those of one message that was posted.
fn posted(results: Vec<Result<Sent, ApiError>>) -> Option<i32> {
    match results.into_iter().next() {
        Some(Ok(Sent::Posted(message))) => Some(message),
        Some(Ok(Sent::Done | Sent::Dropped) | Err(_)) | None => None,
    }
}
