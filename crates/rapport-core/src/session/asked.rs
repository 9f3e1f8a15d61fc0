//! The rounds of a session, in the order they were asked. A session may ask for months, so an index finds a question,
//! and the open rounds, without scanning all rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::round::{Item, Round};
use crate::id::{CallId, QuestionId, RoundId, TurnId};

/// Up to this many rounds, capacity is reserved one by one: a host keeps thousands of waiting sessions in memory, and
/// most have one or two.
const FEW: usize = 4;

/// All rounds. Only this type changes them, so that the index stays correct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AskedRounds {
    all: Vec<Round>,
    /// The position of each question: the index of its round, and its index in the round.
    places: BTreeMap<QuestionId, (usize, usize)>,
    /// Rounds that are open, or whose asker still waits.
    current: BTreeSet<usize>,
    /// All rounds before this index have lost the process that asked them, if there was one.
    orphaned_before: usize,
}

impl Deref for AskedRounds {
    type Target = [Round];

    fn deref(&self) -> &[Round] {
        &self.all
    }
}

impl AskedRounds {
    pub(super) fn push(&mut self, round: Round) {
        if self.all.len() < FEW {
            self.all.reserve_exact(1);
        }
        let index = self.all.len();
        for (place, item) in round.items.iter().enumerate() {
            // A duplicate id refers to the first question.
            self.places.entry(item.question.id.clone()).or_insert((index, place));
        }
        self.all.push(round);
        self.look_at(index);
    }

    /// Rounds that are open, or whose asker still waits, oldest first.
    pub(super) fn current(&self) -> impl Iterator<Item = &Round> {
        self.current.iter().filter_map(|index| self.all.get(*index))
    }

    /// A question, and the round it belongs to.
    pub(super) fn item(&self, question: &QuestionId) -> Option<(&Round, &Item)> {
        let (round, place) = *self.places.get(question)?;
        let round = self.all.get(round)?;
        Some((round, round.items.get(place)?))
    }

    /// Changes the round with this id, if there is one.
    pub(super) fn with<T>(&mut self, id: RoundId, change: impl FnOnce(&mut Round) -> T) -> Option<T> {
        // Rounds are numbered from 1; a log that another program wrote may differ.
        let guess = (id.0 as usize).wrapping_sub(1);
        let is_there = self.all.get(guess).is_some_and(|round| round.id == id);
        let index = if is_there { guess } else { self.all.iter().position(|round| round.id == id)? };
        self.change(index, change)
    }

    pub(super) fn with_item(&mut self, question: &QuestionId, change: impl FnOnce(&mut Item)) {
        if let Some((index, place)) = self.places.get(question).copied() {
            self.change(index, |round| round.items.get_mut(place).map(change));
        }
    }

    /// Changes the last round of this call.
    pub(super) fn with_call(&mut self, call: &CallId, change: impl FnOnce(&mut Round)) {
        if let Some(index) = self.all.iter().rposition(|round| round.is_called(call)) {
            self.change(index, change);
        }
    }

    /// Records that the process of this turn is gone, whether or not it parked a call.
    pub(super) fn lose_process(&mut self, turn: TurnId, cut_off: bool, put_away: Option<&CallId>) {
        // Answers that the cut-off process had taken are in doubt, however old they are.
        let from = if cut_off { 0 } else { self.orphaned_before };
        self.orphaned_before = self.all.len();
        for index in from..self.all.len() {
            self.change(index, |round| {
                if round.is_of(turn) {
                    // A reply is sent as soon as it is known, but never to a parked call.
                    let was_told = !round.orphaned && (put_away.is_none() || round.call() != put_away);
                    round.spent |= was_told && !round.taken && round.allows_a_call();
                    round.orphaned = true;
                    round.doubtful |= cut_off && round.taken;
                }
            });
        }
    }

    fn change<T>(&mut self, index: usize, change: impl FnOnce(&mut Round) -> T) -> Option<T> {
        let changed = self.all.get_mut(index).map(change);
        self.look_at(index);
        changed
    }

    fn look_at(&mut self, index: usize) {
        let Some(round) = self.all.get(index) else { return };
        if round.is_open() || round.is_pending() {
            self.current.insert(index);
        } else {
            self.current.remove(&index);
        }
        if !round.orphaned && round.call().is_some() {
            self.orphaned_before = self.orphaned_before.min(index);
        }
    }
}
