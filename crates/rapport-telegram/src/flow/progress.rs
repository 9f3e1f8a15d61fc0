//! Shows that an agent works: "typing" while it does, and one message with what it does, edited in place.

use std::time::Duration;

use crate::room::Room;
use frankenstein::types::ChatAction;
use jiff::{SignedDuration, Timestamp};
use rapport_core::{Progress, SessionId};

use super::card::{self, Card, thread};
use super::cards::posted;
use super::chat_state::{ChatState, Input};
use crate::outgoing::{Edit, Message, Outgoing};

/// How often it is shown.
pub(super) const EVERY: Duration = Duration::from_secs(5);
/// How often the message is edited in a group, where little may be sent.
const EVERY_IN_GROUP: SignedDuration = SignedDuration::from_secs(20);

/// A session whose agent works.
pub(super) struct Busy {
    since: Timestamp,
    doing: Option<String>,
    cost_micros: u64,
    /// The message that says so, and whether it is on its way.
    message: Option<i32>,
    sending: bool,
    edited: Timestamp,
}

impl Busy {
    /// What its agent is at just now.
    pub(super) fn note(&mut self, progress: Progress) {
        self.doing = progress.doing.or(self.doing.take());
        self.cost_micros = progress.usage.cost_micros;
    }

    /// The message that says so cannot be reached any more.
    pub(super) fn forget_message(&mut self) {
        self.message = None;
    }
}

impl ChatState {
    /// Shows "typing" in a room.
    pub(super) fn type_for(&self, room: Room) {
        let action = Outgoing::Action { action: ChatAction::Typing, thread: thread(room) };
        drop(self.outbound.outbox.send(room.chat, action));
    }

    /// Notes whether an agent of a session works, and cleans up when it does no more.
    pub(super) fn look_busy(&mut self, id: &SessionId) {
        let now = self.time();
        let Some(shown) = self.sessions.get(id) else { return };
        let session = shown.presenter.session();
        let is_busy = shown.at_home
            && shown.presenter.focus().is_empty()
            && (session.has_turn() || shown.presenter.is_thinking());
        if is_busy {
            let room = shown.room;
            let known = self.notes.of(id).and_then(|noted| noted.progress);
            let doing = session.last_doing().map(str::to_owned);
            let is_new = !self.busy.contains_key(id);
            let busy = self.busy.entry(id.clone()).or_insert(Busy {
                since: now,
                doing: None,
                cost_micros: 0,
                message: known,
                sending: false,
                edited: now,
            });
            busy.doing = doing.or(busy.doing.take());
            if is_new {
                self.type_for(room);
            }
            return;
        }
        let left = self.notes.of(id).and_then(|noted| noted.progress);
        let room = shown.room;
        self.busy.remove(id);
        if let Some(message) = left {
            drop(self.outbound.outbox.send(room.chat, Outgoing::Delete { message }));
            self.notes.progress(id, None);
        }
    }

    /// Time has passed: whoever works is shown to.
    pub(super) fn tick(&mut self) {
        self.offer_code();
        let now = self.time();
        // First: where anything waits to be sent, it would be left out.
        for room in self.busy.keys().filter_map(|id| Some(self.sessions.get(id)?.room)) {
            self.type_for(room);
        }
        for (id, busy) in &mut self.busy {
            let Some(shown) = self.sessions.get(id) else { continue };
            let room = shown.room;
            if shown.presenter.is_thinking() || busy.sending {
                continue;
            }
            let text = card::working(busy.doing.as_deref(), now.duration_since(busy.since), busy.cost_micros);
            match busy.message {
                Some(message) => {
                    if room.chat < 0 && now.duration_since(busy.edited) < EVERY_IN_GROUP {
                        continue;
                    }
                    busy.edited = now;
                    drop(self.outbound.outbox.send(room.chat, Outgoing::Progress(Edit::new(message, &text))));
                }
                None => {
                    busy.sending = true;
                    let message = Message { silent: true, ..Card::plain(text).message(room) };
                    let id = id.clone();
                    self.outbound.send_then(room, Outgoing::Message(message), move |sent| {
                        Input::Working(id, sent.ok().and_then(posted))
                    });
                }
            }
        }
    }

    /// The message is there.
    pub(super) fn working(&mut self, id: &SessionId, message: Option<i32>) {
        let Some(message) = message else { return };
        match (self.busy.get_mut(id), self.sessions.get(id)) {
            (Some(busy), _) => {
                busy.message = Some(message);
                busy.sending = false;
                self.notes.progress(id, Some(message));
            }
            // It was over before it arrived.
            (None, Some(shown)) => {
                drop(self.outbound.outbox.send(shown.room.chat, Outgoing::Delete { message }));
            }
            (None, None) => {}
        }
    }
}
