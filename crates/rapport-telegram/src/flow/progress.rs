//! Shows that an agent works: "typing", and one message about its activity that is edited in place.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rapport_core::{Progress, QuestionId, SeenFrom, SessionId, signal};

use super::button::Button;
use super::card::{self, Card};
use super::cards::CardKey;
use super::chat_state::{ChatState, STOP};
use super::effect::AfterSend;
use super::shown_sessions::ShownSession;
use crate::api_error::ApiError;
use crate::outgoing::{Edit, Outgoing, OutgoingMessage, Sent};
use crate::text::Text;

/// The interval at which "typing" is repeated and the time that has passed is updated.
pub(super) const EVERY: Duration = Duration::from_secs(5);
/// The minimum time between two edits, if the agent said or did something. Telegram allows one a second, and the edits of
/// cards need some of them.
const PAUSE: SignedDuration = SignedDuration::from_millis(1500);
/// The same in a group, which allows twenty a minute.
const PAUSE_IN_GROUP: SignedDuration = SignedDuration::from_secs(7);
/// The minimum time between two edits if only time has passed; a little less than the interval, which is not exact.
const IDLE: SignedDuration = SignedDuration::from_secs(4);
const IDLE_IN_GROUP: SignedDuration = SignedDuration::from_secs(20);
/// Shown while a planner looks for more questions.
const CHECKING: &str = "Checking for follow-up questions...";
/// The number of tools to show.
const MOST_STEPS: usize = 5;

/// The activity of a working agent, and where it is shown.
#[derive(Debug)]
pub(super) struct Busy {
    since: Timestamp,
    doing: Option<String>,
    cost_micros: u64,
    /// The last tools it used.
    steps: VecDeque<String>,
    /// Its last text.
    words: String,
    /// Whether it said or did something that is not shown yet.
    is_changed: bool,
    /// The message that shows the activity.
    message: Option<i32>,
    /// Whether that message is being sent.
    sending: bool,
    /// Whether that message was refused.
    refused: bool,
    /// When the message was last sent or edited, or was to be.
    edited: Timestamp,
    /// When that last succeeded.
    shown: Timestamp,
}

impl Busy {
    fn new(message: Option<i32>, now: Timestamp) -> Self {
        Self {
            since: now,
            doing: None,
            cost_micros: 0,
            steps: VecDeque::new(),
            words: String::new(),
            is_changed: false,
            message,
            sending: false,
            refused: false,
            edited: now,
            shown: now,
        }
    }

    /// Records the agent's current activity.
    pub(super) fn note(&mut self, progress: Progress, seen_from: SeenFrom<'_>) {
        if let Some(doing) = progress.doing {
            self.does(seen_from.activity(&doing));
        }
        self.cost_micros = progress.usage.cost_micros;
    }

    /// Records what it does, which may be its last text; a signal is left out as in [`Self::said`].
    fn does(&mut self, doing: String) {
        if signal::detect(&doing).is_some() {
            return;
        }
        self.is_changed |= self.doing.as_ref() != Some(&doing);
        self.doing = Some(doing);
    }

    /// Records its last text. Questions are shown as cards when the turn ends, and never as the JSON that they came in.
    pub(super) fn said(&mut self, text: &str) {
        if signal::detect(text).is_some() {
            return;
        }
        text.clone_into(&mut self.words);
        self.is_changed = true;
    }

    pub(super) fn used(&mut self, tool: &str, what: &str) {
        self.steps.push_back(format!("{tool} {what}"));
        if self.steps.len() > MOST_STEPS {
            self.steps.pop_front();
        }
        self.is_changed = true;
    }

    /// Whether its message may arrive at any moment.
    pub(super) fn is_on_its_way(&self) -> bool {
        self.sending && !self.refused
    }

    /// Forgets a message that can no longer be edited.
    pub(super) fn forget_message(&mut self) {
        self.message = None;
    }
}

/// The activity of a session's agent, if it can be shown now.
fn to_show(shown: &ShownSession) -> Option<&Busy> {
    let is_thinking = shown.presenter.is_thinking();
    shown.busy.as_ref().filter(|busy| !is_thinking && !busy.sending && !busy.refused)
}

/// When a change of the activity is to be shown, if there is one.
fn due_at(shown: &ShownSession) -> Option<Timestamp> {
    let pause = if shown.room.is_group() { PAUSE_IN_GROUP } else { PAUSE };
    let changed = to_show(shown).filter(|busy| busy.is_changed)?;
    changed.edited.checked_add(pause).ok()
}

/// Whether so much time has passed that the message about the activity should say so.
fn is_outdated(shown: &ShownSession, now: Timestamp) -> bool {
    let idle = if shown.room.is_group() { IDLE_IN_GROUP } else { IDLE };
    to_show(shown).is_some_and(|busy| busy.message.is_none() || now.duration_since(busy.edited) >= idle)
}

/// What to send about a working agent.
enum Show {
    Edit(Edit),
    New(Box<OutgoingMessage>),
}

impl ChatState {
    /// Records whether an agent of a session works, and removes the message about it when it stops.
    pub(super) fn look_busy(&mut self, id: &SessionId) {
        let known = self.notes.of(id).and_then(|noted| noted.progress);
        let Some(shown) = self.sessions.get_mut(id) else { return };
        let (room, session) = (shown.room, shown.presenter.session());
        let is_working = session.has_turn() || shown.presenter.is_thinking();
        if shown.at_home && shown.presenter.focus().is_empty() && is_working {
            let seen_from = session.seen_from(id);
            let doing = session.last_doing().map(|doing| seen_from.activity(doing));
            let is_new = shown.busy.is_none();
            let busy = shown.busy.get_or_insert_with(|| Busy::new(known, self.now));
            if let Some(doing) = doing {
                busy.does(doing);
            }
            let is_checking = shown.presenter.is_thinking() && shown.presenter.clarifying().next().is_some();
            busy.sending |= is_new && is_checking && known.is_none();
            let is_told = busy.sending;
            if is_new {
                // Its message may be from an earlier process.
                self.cards.know_tag(room.chat, &stop_key(id));
                self.effects.type_for(room);
            }
            if is_new && is_told {
                let checking = Card::plain(Text::new().plain(CHECKING)).message(room);
                let checking = OutgoingMessage { silent: true, ..checking };
                self.effects.send_then(room, Outgoing::Message(checking), AfterSend::Progress(id.clone()));
            }
            return self.show_soon(id);
        }
        shown.busy = None;
        if let Some(message) = known {
            self.effects.send(room, Outgoing::Delete { message });
            self.notes.progress(&mut self.effects, id, None);
        }
    }

    /// Has the change of an agent's activity shown soon, if there is one.
    pub(super) fn show_soon(&mut self, id: &SessionId) {
        let due = self.sessions.get(id).and_then(due_at);
        self.progress_due = self.progress_due.into_iter().chain(due).min();
    }

    /// Repeats "typing" for all working agents, and updates the messages about them.
    pub(super) fn show_progress(&mut self) {
        let rooms = self.sessions.values().filter(|shown| shown.busy.is_some()).map(|shown| shown.room);
        // "Typing" comes first: the outbox drops it while anything else is queued.
        for room in rooms.collect::<Vec<_>>() {
            self.effects.type_for(room);
        }
        self.show_progress_if(is_outdated);
    }

    /// Shows the changes that are due.
    pub(super) fn show_changes(&mut self) {
        if self.progress_due.is_some_and(|due| due <= self.now) {
            self.show_progress_if(|_, _| false);
        }
    }

    /// Shows the activity of agents where a change is due, or where this holds.
    fn show_progress_if(&mut self, holds: fn(&ShownSession, Timestamp) -> bool) {
        let now = self.now;
        let is_due = |shown: &ShownSession| due_at(shown).is_some_and(|due| due <= now) || holds(shown, now);
        let due = self.sessions.iter().filter(|(_, shown)| is_due(shown));
        let mut due: Vec<_> =
            due.filter_map(|(id, shown)| Some((shown.busy.as_ref()?.shown, id.clone()))).collect();
        // If not all of them can be shown, those that were shown longest ago come first.
        due.sort();
        for (_, id) in due {
            let Some(shown) = self.sessions.get_mut(&id) else { continue };
            let room = shown.room;
            match show(&id, shown, now) {
                Some(Show::Edit(edit)) => {
                    self.effects.send_then(room, Outgoing::Progress(edit), AfterSend::ProgressEdit(id));
                }
                Some(Show::New(message)) => {
                    self.effects.send_then(room, Outgoing::Aside(*message), AfterSend::Progress(id));
                }
                None => {}
            }
        }
        self.progress_due = self.sessions.values().filter_map(due_at).min();
    }

    /// An edit about an agent's activity was made, or dropped because there was something more urgent.
    pub(super) fn on_progress_edited(&mut self, id: &SessionId, sent: Option<Result<Sent, ApiError>>) {
        let Some(busy) = self.sessions.get_mut(id).and_then(|shown| shown.busy.as_mut()) else { return };
        match sent {
            Some(Ok(Sent::Dropped)) => busy.is_changed = true,
            Some(Ok(Sent::Done | Sent::Posted(_)) | Err(_)) | None => busy.shown = self.now,
        }
        self.show_soon(id);
    }

    /// The message about an agent's activity arrived or failed.
    pub(super) fn on_progress_sent(&mut self, id: &SessionId, sent: Option<Result<Sent, ApiError>>) {
        let Some(shown) = self.sessions.get_mut(id) else { return };
        let message = match sent {
            Some(Ok(Sent::Posted(message))) => message,
            // Something more urgent was sent; it is tried again.
            Some(Ok(Sent::Dropped)) => {
                if let Some(busy) = &mut shown.busy {
                    (busy.sending, busy.is_changed) = (false, true);
                }
                return self.show_soon(id);
            }
            Some(Ok(Sent::Done) | Err(_)) | None => {
                return shown.busy.iter_mut().for_each(|busy| busy.refused = true);
            }
        };
        match &mut shown.busy {
            Some(busy) => {
                busy.message = Some(message);
                (busy.sending, busy.shown) = (false, self.now);
                self.notes.progress(&mut self.effects, id, Some(message));
                self.show_soon(id);
            }
            // The agent was done before the message arrived.
            None => {
                let room = shown.room;
                self.effects.send(room, Outgoing::Delete { message });
            }
        }
    }
}

/// What to send about the agent of a session now.
fn show(id: &SessionId, shown: &mut ShownSession, now: Timestamp) -> Option<Show> {
    let busy = shown.busy.as_mut()?;
    let text = card::working(busy.doing.as_deref(), now.duration_since(busy.since), busy.cost_micros);
    let text = text.text(&card::steps(busy.steps.make_contiguous(), &busy.words));
    let rows = vec![vec![("⏹ Stop".to_owned(), Button::Stop.data(&stop_key(id).tag()))]];
    let card = Card { rows, ..Card::plain(text) };
    (busy.is_changed, busy.edited) = (false, now);
    let Some(message) = busy.message else {
        busy.sending = true;
        return Some(Show::New(Box::new(OutgoingMessage { silent: true, ..card.message(shown.room) })));
    };
    Some(Show::Edit(card.edit(message)))
}

/// The key of the button that stops the agent of a session.
pub(super) fn stop_key(id: &SessionId) -> CardKey {
    CardKey { session: id.clone(), question: QuestionId::new(STOP), since: 0 }
}
