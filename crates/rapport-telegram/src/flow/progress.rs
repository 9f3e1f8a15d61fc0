//! Shows that an agent is working: a "typing" indicator, and one message about the agent's activity that is edited in
//! place.

use std::collections::VecDeque;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rapport_core::{Progress, QuestionId, SeenFrom, SessionId, signal};

use super::button::Button;
use super::card::{self, Card};
use super::cards::CardKey;
use super::chat_state::{ChatState, STOP};
use super::effect::AfterSend;
use super::notes::Notes;
use super::shown_sessions::{ShownSession, ShownSessions};
use super::step_effects::Effects;
use crate::api_error::ApiError;
use crate::outgoing::{Edit, Outgoing, OutgoingMessage, Sent};
use crate::text::Text;

/// The interval at which the "typing" indicator is repeated and the elapsed time is updated.
pub(super) const EVERY: Duration = Duration::from_secs(5);
/// The minimum time between two edits, if the agent said or did something. Telegram allows one edit a second per chat,
/// and cards need some of these.
const PAUSE: SignedDuration = SignedDuration::from_millis(1500);
/// The same in a group, in which Telegram allows twenty a minute.
const PAUSE_IN_GROUP: SignedDuration = SignedDuration::from_secs(7);
/// The minimum time between two edits if only the elapsed time has changed. It is a little shorter than the interval,
/// because the interval is not exact.
const IDLE: SignedDuration = SignedDuration::from_secs(4);
const IDLE_IN_GROUP: SignedDuration = SignedDuration::from_secs(20);
/// Shown while a planner looks for more questions.
const CHECKING: &str = "Checking for follow-up questions...";
/// The number of recent tool calls to show.
const MOST_STEPS: usize = 5;

/// The activity of a working agent, and the message that shows it.
#[derive(Debug)]
pub(super) struct Busy {
    since: Timestamp,
    doing: Option<String>,
    cost_micros: u64,
    /// The last tool calls of the agent.
    steps: VecDeque<String>,
    /// The last text of the agent.
    words: String,
    /// Whether the agent said or did something that is not shown yet.
    is_changed: bool,
    /// The message that shows the activity.
    message: Option<i32>,
    /// Whether that message is being sent.
    sending: bool,
    /// Whether that message was refused.
    refused: bool,
    /// When the message was last sent or edited, whether or not that succeeded.
    edited: Timestamp,
    /// When the message was last sent or edited successfully.
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

    /// Records what the agent does, which may be its last text. Questions in it are left out, as in [`Self::said`].
    fn does(&mut self, doing: String) {
        if signal::detect(&doing).is_some() {
            return;
        }
        self.is_changed |= self.doing.as_ref() != Some(&doing);
        self.doing = Some(doing);
    }

    /// Records the agent's last text. Questions are left out: they are shown as cards when the turn ends, and never as
    /// JSON.
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

    /// Whether the message is being sent, so that it may arrive at any moment.
    pub(super) fn is_on_its_way(&self) -> bool {
        self.sending && !self.refused
    }

    /// Forgets the message, which can no longer be edited.
    pub(super) fn forget_message(&mut self) {
        self.message = None;
    }
}

/// The activity of a session's agent, if it can be shown now.
fn to_show(shown: &ShownSession) -> Option<&Busy> {
    let is_thinking = shown.presenter.is_thinking();
    shown.busy.as_ref().filter(|busy| !is_thinking && !busy.sending && !busy.refused)
}

/// When a change of an agent's activity has to be shown, if there is a change.
fn due_at(shown: &ShownSession) -> Option<Timestamp> {
    let pause = if shown.room.is_group() { PAUSE_IN_GROUP } else { PAUSE };
    let changed = to_show(shown).filter(|busy| busy.is_changed)?;
    changed.edited.checked_add(pause).ok()
}

/// Whether enough time has passed to update the elapsed time in the message.
fn is_outdated(shown: &ShownSession, now: Timestamp) -> bool {
    let idle = if shown.room.is_group() { IDLE_IN_GROUP } else { IDLE };
    to_show(shown).is_some_and(|busy| busy.message.is_none() || now.duration_since(busy.edited) >= idle)
}

/// What to send about a working agent.
enum Show {
    Edit(Edit),
    New(Box<OutgoingMessage>),
}

/// The schedule of the messages about working agents: when a change of an activity has to be shown next. [`Busy`] holds
/// the activity itself.
#[derive(Debug, Default)]
pub(super) struct ProgressMessages {
    due: Option<Timestamp>,
}

impl ProgressMessages {
    /// When a change has to be shown next, if there is a change.
    pub(super) fn due(&self) -> Option<Timestamp> {
        self.due
    }

    /// Schedules the change of an agent's activity, if there is a change.
    pub(super) fn note_change(&mut self, sessions: &ShownSessions, id: &SessionId) {
        let due = sessions.get(id).and_then(due_at);
        self.due = self.due.into_iter().chain(due).min();
    }

    /// Repeats "typing" for all working agents, and updates the messages about them.
    pub(super) fn show_all(&mut self, sessions: &mut ShownSessions, effects: &mut Effects, now: Timestamp) {
        let rooms = sessions.values().filter(|shown| shown.busy.is_some()).map(|shown| shown.room);
        // "Typing" comes first: the outbox drops it while anything else is queued.
        rooms.for_each(|room| effects.type_for(room));
        self.show_if(sessions, effects, now, is_outdated);
    }

    /// Shows the changes that are due.
    pub(super) fn show_due(&mut self, sessions: &mut ShownSessions, effects: &mut Effects, now: Timestamp) {
        if self.due.is_some_and(|due| due <= now) {
            self.show_if(sessions, effects, now, |_, _| false);
        }
    }

    /// Shows each activity that has changed and is due, and each one for which `holds` is true.
    fn show_if(
        &mut self,
        sessions: &mut ShownSessions,
        effects: &mut Effects,
        now: Timestamp,
        holds: fn(&ShownSession, Timestamp) -> bool,
    ) {
        let is_due = |shown: &ShownSession| due_at(shown).is_some_and(|due| due <= now) || holds(shown, now);
        let due = sessions.iter().filter(|(_, shown)| is_due(shown));
        let mut due: Vec<_> =
            due.filter_map(|(id, shown)| Some((shown.busy.as_ref()?.shown, id.clone()))).collect();
        // The rate limit may not allow all of these messages, so the one that is most out of date comes first.
        due.sort();
        for (_, id) in due {
            let Some(shown) = sessions.get_mut(&id) else { continue };
            let room = shown.room;
            match show(&id, shown, now) {
                Some(Show::Edit(edit)) => {
                    effects.send_then(room, Outgoing::Progress(edit), AfterSend::ProgressEdit(id));
                }
                Some(Show::New(message)) => {
                    effects.send_then(room, Outgoing::Aside(*message), AfterSend::Progress(id));
                }
                None => {}
            }
        }
        self.due = sessions.values().filter_map(due_at).min();
    }

    /// Handles the outcome of an edit. The outbox drops an edit while something more urgent is queued.
    pub(super) fn on_edited(
        &mut self,
        sessions: &mut ShownSessions,
        id: &SessionId,
        sent: Option<Result<Sent, ApiError>>,
        now: Timestamp,
    ) {
        let Some(busy) = sessions.get_mut(id).and_then(|shown| shown.busy.as_mut()) else { return };
        match sent {
            Some(Ok(Sent::Dropped)) => busy.is_changed = true,
            Some(Ok(Sent::Done | Sent::Posted(_)) | Err(_)) | None => busy.shown = now,
        }
        self.note_change(sessions, id);
    }

    /// Handles the arrival, or the failure, of a new message about an agent.
    pub(super) fn on_sent(
        &mut self,
        sessions: &mut ShownSessions,
        (notes, effects): (&mut Notes, &mut Effects),
        id: &SessionId,
        sent: Option<Result<Sent, ApiError>>,
        now: Timestamp,
    ) {
        let Some(shown) = sessions.get_mut(id) else { return };
        let message = match sent {
            Some(Ok(Sent::Posted(message))) => message,
            // The outbox sent something more urgent instead, so this message is sent again later.
            Some(Ok(Sent::Dropped)) => {
                if let Some(busy) = &mut shown.busy {
                    (busy.sending, busy.is_changed) = (false, true);
                }
                return self.note_change(sessions, id);
            }
            Some(Ok(Sent::Done) | Err(_)) | None => {
                return shown.busy.iter_mut().for_each(|busy| busy.refused = true);
            }
        };
        match &mut shown.busy {
            Some(busy) => {
                busy.message = Some(message);
                (busy.sending, busy.shown) = (false, now);
                notes.progress(effects, id, Some(message));
                self.note_change(sessions, id);
            }
            // The agent finished before the message arrived.
            None => effects.send(shown.room, Outgoing::Delete { message }),
        }
    }
}

impl ChatState {
    /// Updates the activity of a session's agent. When the agent no longer works, the message about it is removed; after
    /// a failure, it says so instead (LEAD-16).
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
                // The message with the button may be from an earlier process.
                self.cards.know_tag(room.chat, &stop_key(id));
                self.effects.type_for(room);
            }
            if is_new && is_told {
                let checking = Card::plain(Text::new().plain(CHECKING)).message(room);
                let checking = OutgoingMessage { silent: true, ..checking };
                self.effects.send_then(room, Outgoing::Message(checking), AfterSend::Progress(id.clone()));
            }
            return self.progress.note_change(&self.sessions, id);
        }
        let ended = session.failure().map(|reason| {
            let busy = shown.busy.as_ref();
            let time = busy.map_or(SignedDuration::ZERO, |busy| self.now.duration_since(busy.since));
            Card::plain(card::broken_off(reason, time, busy.map_or(0, |busy| busy.cost_micros)))
        });
        shown.busy = None;
        if let Some(message) = known {
            let last = ended.map_or(Outgoing::Delete { message }, |card| Outgoing::Edit(card.edit(message)));
            self.effects.send(room, last);
            self.notes.progress(&mut self.effects, id, None);
        }
    }
}

/// The message or edit that shows the agent's activity now.
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

#[cfg(test)]
mod tests {
    use rapport_core::{Aim, By, ConversationId, Created, Entry, Event, Presenter};

    use super::*;
    use crate::flow::effect::Effect;
    use crate::room::Room;

    const ROOM: Room = Room { chat: -7, topic: None };

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 0).unwrap()
    }

    fn id() -> SessionId {
        SessionId::new("chat")
    }

    /// A session in a group whose agent has worked since second 0 and has just said something.
    fn working() -> ShownSessions {
        let by = By::Person { channel: "telegram".into(), id: "42".into() };
        let created = Created::new("hello".into(), "/app".into(), ConversationId::new("c"), by);
        let created = Created { aim: Aim::Chat, origin: Some(ROOM.into()), ..created };
        let first = Entry { seq: 1, at: at(0), facts: vec![Event::Created(created)] };
        let mut sessions = ShownSessions::default();
        sessions.show(&id(), Presenter::open(&first).unwrap(), (ROOM, 42), first.at);
        let mut busy = Busy::new(None, at(0));
        busy.said("Looking at the tests.");
        sessions.get_mut(&id()).unwrap().busy = Some(busy);
        sessions
    }

    fn kinds(effects: &mut Effects) -> Vec<String> {
        let sent = effects.take(|_| false).into_iter().flat_map(|effect| match effect {
            Effect::Send { messages, .. } => messages,
            other => panic!("{other:?}"),
        });
        sent.map(|message| rapport_door::variant(&message)).collect()
    }

    #[test]
    fn a_change_is_shown_after_the_pause_and_then_edited_in_place() {
        let (mut messages, mut sessions) = (ProgressMessages::default(), working());
        let (mut notes, mut effects) = (Notes::default(), Effects::default());
        messages.note_change(&sessions, &id());
        assert_eq!(messages.due(), Some(at(7)), "a group allows fewer messages");
        messages.show_due(&mut sessions, &mut effects, at(6));
        assert_eq!(kinds(&mut effects), Vec::<String>::new());
        messages.show_due(&mut sessions, &mut effects, at(7));
        assert_eq!(kinds(&mut effects), ["Aside"]);
        assert_eq!(messages.due(), None, "the message is being sent");
        let posted = Some(Ok(Sent::Posted(5)));
        messages.on_sent(&mut sessions, (&mut notes, &mut effects), &id(), posted, at(8));
        effects.take(|_| false);
        assert_eq!(notes.of(&id()).and_then(|noted| noted.progress), Some(5));
        sessions.get_mut(&id()).unwrap().busy.as_mut().unwrap().used("Read", "a.rs");
        messages.note_change(&sessions, &id());
        messages.show_due(&mut sessions, &mut effects, at(14));
        assert_eq!(kinds(&mut effects), ["Progress"]);
    }

    /// The outbox drops such a message while something more urgent is queued. The change still has to be shown.
    #[test]
    fn a_dropped_message_is_due_again() {
        let (mut messages, mut sessions) = (ProgressMessages::default(), working());
        let (mut notes, mut effects) = (Notes::default(), Effects::default());
        messages.show_all(&mut sessions, &mut effects, at(10));
        assert_eq!(kinds(&mut effects), ["Action", "Aside"]);
        let dropped = Some(Ok(Sent::Dropped));
        messages.on_sent(&mut sessions, (&mut notes, &mut effects), &id(), dropped, at(11));
        assert_eq!(messages.due(), Some(at(17)));
        messages.on_edited(&mut sessions, &id(), Some(Ok(Sent::Done)), at(12));
        assert_eq!(sessions.get(&id()).unwrap().busy.as_ref().unwrap().shown, at(12));
    }

    #[test]
    fn a_message_that_arrives_after_the_agent_finished_is_deleted() {
        let (mut messages, mut sessions) = (ProgressMessages::default(), working());
        let (mut notes, mut effects) = (Notes::default(), Effects::default());
        sessions.get_mut(&id()).unwrap().busy = None;
        let posted = Some(Ok(Sent::Posted(5)));
        messages.on_sent(&mut sessions, (&mut notes, &mut effects), &id(), posted, at(8));
        let delete = Outgoing::Delete { message: 5 };
        assert_eq!(
            effects.take(|_| false),
            [Effect::Send { chat: ROOM.chat, messages: vec![delete], then: None }]
        );
    }
}
