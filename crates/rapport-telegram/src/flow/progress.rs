//! Shows that an agent works: "typing", and one message about its activity that is edited in place.

use std::collections::VecDeque;
use std::time::Duration;

use crate::bot_api::ChatAction;
use jiff::{SignedDuration, Timestamp};
use rapport_core::{Progress, QuestionId, SessionId};

use super::button::Button;
use super::card::{self, Card, thread};
use super::cards::CardKey;
use super::chat_state::{ChatState, STOP, ShownSession};
use super::effect::AfterSend;
use crate::api_error::ApiError;
use crate::outgoing::{Edit, Message, Outgoing, Sent};
use crate::room::Room;

/// The interval of updates.
pub(super) const EVERY: Duration = Duration::from_secs(5);
/// The interval of edits in a group, where the rate limit is low.
const EVERY_IN_GROUP: SignedDuration = SignedDuration::from_secs(20);
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
    /// The message that shows the activity.
    message: Option<i32>,
    /// Whether that message is being sent.
    sending: bool,
    /// Whether that message was refused.
    refused: bool,
    edited: Timestamp,
}

impl Busy {
    fn new(message: Option<i32>, now: Timestamp) -> Self {
        Self {
            since: now,
            doing: None,
            cost_micros: 0,
            steps: VecDeque::new(),
            words: String::new(),
            message,
            sending: false,
            refused: false,
            edited: now,
        }
    }

    /// Records the agent's current activity.
    pub(super) fn note(&mut self, progress: Progress) {
        self.doing = progress.doing.or(self.doing.take());
        self.cost_micros = progress.usage.cost_micros;
    }

    pub(super) fn said(&mut self, text: &str) {
        text.clone_into(&mut self.words);
    }

    pub(super) fn used(&mut self, tool: &str, what: &str) {
        self.steps.push_back(format!("{tool} {what}"));
        if self.steps.len() > MOST_STEPS {
            self.steps.pop_front();
        }
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

/// What to send about a working agent.
enum Show {
    Edit(Edit),
    New(Box<Message>),
}

impl ChatState {
    /// Shows "typing" in a room.
    pub(super) fn type_for(&mut self, room: Room) {
        self.send(room, Outgoing::Action { action: ChatAction::Typing, thread: thread(room) });
    }

    /// Records whether an agent of a session works, and removes the message about it when it stops.
    pub(super) fn look_busy(&mut self, id: &SessionId) {
        let known = self.notes.of(id).and_then(|noted| noted.progress);
        let Some(shown) = self.sessions.get_mut(id) else { return };
        let (room, session) = (shown.room, shown.presenter.session());
        let is_working = session.has_turn() || shown.presenter.is_thinking();
        if shown.at_home && shown.presenter.focus().is_empty() && is_working {
            let doing = session.last_doing().map(str::to_owned);
            let is_new = shown.busy.is_none();
            let busy = shown.busy.get_or_insert_with(|| Busy::new(known, self.now));
            busy.doing = doing.or(busy.doing.take());
            if is_new {
                // Its message may be from an earlier process.
                self.cards.know_tag(room.chat, &stop_key(id));
                self.type_for(room);
            }
            return;
        }
        shown.busy = None;
        if let Some(message) = known {
            self.send(room, Outgoing::Delete { message });
            self.notes.progress(id, None);
        }
    }

    /// Updates the messages about all working agents.
    pub(super) fn show_progress(&mut self) {
        let rooms = self.sessions.values().filter(|shown| shown.busy.is_some()).map(|shown| shown.room);
        // "Typing" comes first: the outbox drops it while anything else is queued.
        for room in rooms.collect::<Vec<_>>() {
            self.type_for(room);
        }
        let now = self.now;
        let about = |(id, shown): (&SessionId, &mut ShownSession)| {
            Some((id.clone(), shown.room, show(id, shown, now)?))
        };
        for (id, room, show) in self.sessions.iter_mut().filter_map(about).collect::<Vec<_>>() {
            match show {
                Show::Edit(edit) => self.send(room, Outgoing::Progress(edit)),
                Show::New(message) => {
                    self.send_then(room, Outgoing::Aside(*message), AfterSend::Progress(id));
                }
            }
        }
    }

    /// The message about an agent's activity arrived or failed.
    pub(super) fn on_progress_sent(&mut self, id: &SessionId, sent: Option<Result<Sent, ApiError>>) {
        let Some(shown) = self.sessions.get_mut(id) else { return };
        let message = match sent {
            Some(Ok(Sent::Posted(message))) => message,
            // Something more urgent was sent; the next tick retries.
            Some(Ok(Sent::Dropped)) => {
                return shown.busy.iter_mut().for_each(|busy| busy.sending = false);
            }
            Some(Ok(Sent::Done) | Err(_)) | None => {
                return shown.busy.iter_mut().for_each(|busy| busy.refused = true);
            }
        };
        match &mut shown.busy {
            Some(busy) => {
                busy.message = Some(message);
                busy.sending = false;
                self.notes.progress(id, Some(message));
            }
            // The agent was done before the message arrived.
            None => {
                let room = shown.room;
                self.send(room, Outgoing::Delete { message });
            }
        }
    }
}

/// What to send about the agent of a session now, if anything.
fn show(id: &SessionId, shown: &mut ShownSession, now: Timestamp) -> Option<Show> {
    let busy = shown.busy.as_mut().filter(|busy| !shown.presenter.is_thinking() && !busy.sending)?;
    let text = card::working(busy.doing.as_deref(), now.duration_since(busy.since), busy.cost_micros);
    let text = text.text(&card::steps(busy.steps.make_contiguous(), &busy.words));
    let rows = vec![vec![("⏹ Stop".to_owned(), Button::Stop.data(&stop_key(id).tag()))]];
    let card = Card { rows, ..Card::plain(text) };
    let Some(message) = busy.message else {
        busy.sending = true;
        return Some(Show::New(Box::new(Message { silent: true, ..card.message(shown.room) })));
    };
    if shown.room.chat < 0 && now.duration_since(busy.edited) < EVERY_IN_GROUP {
        return None;
    }
    busy.edited = now;
    Some(Show::Edit(card.edit(message)))
}

/// The key of the button that stops the agent of a session.
pub(super) fn stop_key(id: &SessionId) -> CardKey {
    CardKey { session: id.clone(), question: QuestionId::new(STOP), since: 0 }
}
