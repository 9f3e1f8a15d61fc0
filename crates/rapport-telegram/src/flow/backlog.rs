//! The questions that were open before the channel started, in sessions that began elsewhere. There may be thousands of
//! them, and a chat accepts about one message a second, so a new question would wait behind all of them. Therefore each
//! chat shows only the newest few, and the next one when one of those is answered. Of the other sessions, only ids and
//! a few numbers are in memory.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rapport_core::{Presenter, SessionId};

use super::cards::CardKey;
use super::commands::waits_for;
use super::effect::Effect;
use super::notes::Notes;
use super::shown_sessions::{ShownSession, ShownSessions};
use super::step_effects::Effects;
use crate::room::Room;

/// How many open questions a chat shows before older ones are held back.
const SHOWN_AT_ONCE: usize = 5;

/// The sessions that are held back.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// The sessions of each chat, ordered by the time since which they wait.
    waiting: BTreeMap<i64, BTreeSet<(Timestamp, SessionId)>>,
    /// What is known about each of these sessions.
    known: BTreeMap<SessionId, HeldBack>,
    /// Sessions whose logs are being read so that they can be shown, and their chats.
    reading: BTreeMap<SessionId, i64>,
    /// Whether all sessions have been found. Only then is it known which ones are the newest.
    is_complete: bool,
}

/// A session that is held back.
#[derive(Clone, Copy, Debug)]
struct HeldBack {
    chat: i64,
    since: Timestamp,
    owner: u64,
    updated_at: Timestamp,
    cost_micros: u64,
}

impl Backlog {
    fn insert(&mut self, id: &SessionId, held: HeldBack) {
        self.waiting.entry(held.chat).or_default().insert((held.since, id.clone()));
        self.known.insert(id.clone(), held);
    }

    /// Removes the newest session of a chat, whose log is read next.
    fn take_newest(&mut self, chat: i64) -> Option<SessionId> {
        let (_, id) = self.waiting.get_mut(&chat)?.pop_last()?;
        self.known.remove(&id);
        self.reading.insert(id.clone(), chat);
        Some(id)
    }

    /// Stops holding a session back. Returns the chat in which another session may be shown instead.
    pub(super) fn forget(&mut self, id: &SessionId) -> Option<i64> {
        if let Some(held) = self.known.remove(id)
            && let Some(waiting) = self.waiting.get_mut(&held.chat)
        {
            waiting.remove(&(held.since, id.clone()));
        }
        self.reading.remove(id)
    }

    /// The channel is about to look for all sessions once more.
    pub(super) fn begin_again(&mut self) {
        self.is_complete = false;
    }

    /// Whether the log of a session is being read that this chat shows next.
    pub(super) fn is_reading(&self, chat: i64) -> bool {
        self.reading.values().any(|of| *of == chat)
    }

    /// The number of sessions that are held back in a chat.
    pub(super) fn len(&self, chat: i64) -> usize {
        self.waiting.get(&chat).map_or(0, BTreeSet::len)
    }

    /// The cost of a user's sessions that were active since then, in millionths of a dollar.
    pub(super) fn spent(&self, user: u64, since: Timestamp) -> u64 {
        let counts = |held: &&HeldBack| held.owner == user && held.updated_at > since;
        self.known.values().filter(counts).map(|held| held.cost_micros).sum()
    }

    /// Holds back a session that was found at the start, if it waits for an answer, began elsewhere, and no chat shows
    /// anything of it. Returns whether it did.
    pub(super) fn hold_back(
        &mut self,
        notes: &Notes,
        id: &SessionId,
        presenter: &Presenter,
        (room, owner): (Room, u64),
    ) -> bool {
        let session = presenter.session();
        let at_home = session.created().origin.as_ref().and_then(Room::of).is_some();
        let asked = presenter.focus().iter().filter(|focus| waits_for(session, focus).is_some());
        let Some(since) = asked.map(|focus| focus.at).max() else { return false };
        let is_known = presenter.focus().iter().any(|focus| notes.is_known(&CardKey::of(id, focus)));
        // If an older question still has buttons, the session has to be shown so that they are removed.
        let is_open = notes.of(id).is_some_and(|noted| noted.cards.iter().any(|card| !card.closed));
        if at_home || is_known || is_open {
            return false;
        }
        let view = session.view(id);
        let (updated_at, cost_micros) = (view.updated_at, view.usage.cost_micros);
        self.insert(id, HeldBack { chat: room.chat, since, owner, updated_at, cost_micros });
        true
    }

    /// All sessions are found: shows the newest ones in every chat with free places, and says how many more there are.
    pub(super) fn begin(&mut self, sessions: &ShownSessions, effects: &mut Effects) {
        self.is_complete = true;
        let chats: Vec<_> = self.waiting.keys().copied().collect();
        for chat in chats {
            let is_any_shown = self.show_next(sessions, effects, chat);
            let more = self.len(chat);
            // If no more are shown than before, this message was already sent.
            if is_any_shown && more > 0 {
                let words = format!(
                    "⏳ {more} more {} for you. The next comes when one of these is answered. /status",
                    if more == 1 { "question waits" } else { "questions wait" }
                );
                effects.say(Room { chat, topic: None }, &words);
            }
        }
    }

    /// Shows more sessions of a chat, if it has free places. Returns whether it showed any.
    pub(super) fn show_next(&mut self, sessions: &ShownSessions, effects: &mut Effects, chat: i64) -> bool {
        if !self.is_complete || self.len(chat) == 0 {
            return false;
        }
        let waits = |shown: &&ShownSession| {
            let session = shown.presenter.session();
            shown.presenter.focus().iter().any(|focus| waits_for(session, focus).is_some())
        };
        let here = sessions.values().filter(|shown| shown.room.chat == chat).filter(waits);
        let reading = self.reading.values().filter(|of| **of == chat);
        let free = SHOWN_AT_ONCE.saturating_sub(here.count() + reading.count());
        let next: Vec<_> = (0..free).map_while(|_| self.take_newest(chat)).collect();
        for session in &next {
            effects.want(Effect::Read { session: session.clone(), after: 0 });
        }
        !next.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: i64) -> SessionId {
        SessionId::new(format!("s{n}"))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::new(second, 0).unwrap()
    }

    /// A backlog of sessions, each of which waits since the second of its number.
    fn waiting(numbers: impl IntoIterator<Item = i64>) -> Backlog {
        let mut backlog = Backlog::default();
        for n in numbers {
            let held = HeldBack { chat: 42, since: at(n), owner: 42, updated_at: at(n), cost_micros: 10 };
            backlog.insert(&id(n), held);
        }
        backlog
    }

    fn read(backlog: &mut Backlog) -> Vec<SessionId> {
        let mut effects = Effects::default();
        backlog.show_next(&ShownSessions::default(), &mut effects, 42);
        let reads = effects.take(|_| false).into_iter().map(|effect| match effect {
            Effect::Read { session, after: 0 } => session,
            other => panic!("{other:?}"),
        });
        reads.collect()
    }

    #[test]
    fn the_newest_few_are_read_and_the_next_when_one_of_them_is_out_of_the_way() {
        let mut backlog = waiting(1..=7);
        assert_eq!(read(&mut backlog), [], "the newest are not known before all are found");
        backlog.is_complete = true;
        assert_eq!(read(&mut backlog), [id(7), id(6), id(5), id(4), id(3)]);
        assert_eq!(read(&mut backlog), []);
        assert!(backlog.is_reading(42) && !backlog.is_reading(43));
        assert_eq!(backlog.forget(&id(6)), Some(42));
        assert_eq!(read(&mut backlog), [id(2)]);
        assert_eq!(backlog.len(42), 1);
    }

    #[test]
    fn how_many_more_there_are_is_said_once() {
        let (mut backlog, mut effects) = (waiting(1..=7), Effects::default());
        let mut begun = || {
            backlog.begin(&ShownSessions::default(), &mut effects);
            effects.take(|_| false).iter().filter(|effect| matches!(effect, Effect::Send { .. })).count()
        };
        assert_eq!([begun(), begun()], [1, 0]);
    }

    #[test]
    fn what_acted_by_itself_is_not_held_back_and_has_no_cost_here() {
        let mut backlog = waiting(1..=2);
        assert_eq!(backlog.spent(42, at(0)), 20);
        assert_eq!((backlog.spent(42, at(1)), backlog.spent(43, at(0))), (10, 0));
        assert_eq!(backlog.forget(&id(2)), None, "it was not being read");
        assert_eq!((backlog.len(42), backlog.spent(42, at(0))), (1, 10));
    }
}
