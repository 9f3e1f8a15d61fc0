//! The rounds of a session, in the order they were asked. A session may ask for months, so an index finds a question,
//! and the open rounds, without scanning all rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::agent_turns::{Process, Turn};
use super::round::{Given, Round, RoundItem};
use crate::event::{Beside, Ending, Event};
use crate::id::{CallId, QuestionId, RoundId, TurnId};
use crate::question::{Purpose, Question};

/// Up to this many rounds, capacity is reserved one by one: a host keeps thousands of waiting sessions in memory, and
/// most have one or two.
const FEW: usize = 4;

/// All rounds. Only this type changes them, so that the index stays correct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct AskedRounds {
    all: Vec<Round>,
    /// The position of each question: the index of its round, and its index in the round.
    positions: BTreeMap<QuestionId, (usize, usize)>,
    /// The indices of rounds that are open, or whose asker still waits.
    current: BTreeSet<usize>,
    /// Questions whose answer holds for the whole project and is saved there.
    pub(super) granted: Vec<QuestionId>,
    /// All rounds before this index are already marked as orphaned, if a process asked them.
    orphaned_before: usize,
}

impl Deref for AskedRounds {
    type Target = [Round];

    fn deref(&self) -> &[Round] {
        // A caller that asks for all rounds may read each.
        effort::looked(self.all.len());
        &self.all
    }
}

impl AskedRounds {
    pub(super) fn push(&mut self, round: Round) {
        if self.all.len() < FEW {
            self.all.reserve_exact(1);
        }
        let index = self.all.len();
        for (position, item) in round.items.iter().enumerate() {
            // A duplicate id refers to the first question.
            self.positions.entry(item.question.id.clone()).or_insert((index, position));
        }
        self.all.push(round);
        self.look_at(index);
    }

    /// Rounds that are open, or whose asker still waits, oldest first.
    pub(super) fn current(&self) -> impl Iterator<Item = &Round> {
        self.current.iter().filter_map(|index| self.all.get(*index))
    }

    /// A question, and the round it belongs to.
    pub(crate) fn item(&self, question: &QuestionId) -> Option<(&Round, &RoundItem)> {
        let (round, position) = *self.positions.get(question)?;
        let round = self.all.get(round)?;
        Some((round, round.items.get(position)?))
    }

    /// Changes the round with this id, if there is one.
    pub(super) fn with<T>(&mut self, id: RoundId, change: impl FnOnce(&mut Round) -> T) -> Option<T> {
        // Rounds are numbered from 1, but a log that another program wrote may differ.
        let guess = (id.0 as usize).wrapping_sub(1);
        let is_there = self.all.get(guess).is_some_and(|round| round.id == id);
        let index = if is_there { guess } else { self.iter().position(|round| round.id == id)? };
        self.change(index, change)
    }

    pub(super) fn with_item(&mut self, question: &QuestionId, change: impl FnOnce(&mut RoundItem)) {
        if let Some((index, position)) = self.positions.get(question).copied() {
            self.change(index, |round| round.items.get_mut(position).map(change));
        }
    }

    /// Changes the last round of this call.
    pub(super) fn with_call(&mut self, call: &CallId, change: impl FnOnce(&mut Round)) {
        let called = self.all.iter().rposition(|round| round.is_called(call));
        effort::looked(self.all.len() - called.unwrap_or_default());
        if let Some(index) = called {
            self.change(index, change);
        }
    }

    /// Records that the process of this turn has ended, whether or not it parked a call.
    pub(super) fn lose_process(&mut self, turn: TurnId, cut_off: bool, put_away: Option<&CallId>) {
        // Answers that the cut-off process had taken are in doubt, however old they are.
        let from = if cut_off { 0 } else { self.orphaned_before };
        self.orphaned_before = self.all.len();
        for index in from..self.all.len() {
            self.change(index, |round| {
                if round.is_of(turn) {
                    // A reply is sent as soon as it is known, except to a parked call.
                    let was_told = !round.orphaned && (put_away.is_none() || round.call() != put_away);
                    round.spent |= was_told && !round.taken && round.allows_a_call();
                    round.orphaned = true;
                    round.doubtful |= cut_off && round.taken;
                }
            });
        }
    }

    pub(crate) fn open(&self) -> impl Iterator<Item = &Round> {
        self.current().filter(|round| round.is_open())
    }

    pub(super) fn open_of(&self, turn: TurnId) -> impl Iterator<Item = &Round> {
        self.open().filter(move |round| round.is_of(turn))
    }

    pub(super) fn pending_of(&self, turn: TurnId) -> impl Iterator<Item = &Round> {
        self.current().filter(move |round| round.is_of(turn) && round.is_pending())
    }

    /// Rounds whose answer the agent waits for. An agent that was cut off and then restarted without an answer no
    /// longer waits.
    pub(crate) fn waited_for(&self, turn: &Turn) -> impl Iterator<Item = &Round> {
        let is_there = turn.process == Process::Running;
        self.open_of(turn.id).filter(move |round| !(is_there && round.orphaned))
    }

    /// The round that a reply to this call of this turn answers.
    pub(super) fn of_call(&self, turn: TurnId, call: &CallId) -> Option<&Round> {
        self.iter().find(|round| round.is_of(turn) && round.is_called(call))
    }

    pub(super) fn next_id(&self) -> RoundId {
        RoundId(self.len() as u32 + 1)
    }

    /// Clarifying questions with their last answers, oldest first.
    pub(crate) fn clarified(&self) -> impl Iterator<Item = (&Question, &Given)> {
        self.clarifying().filter_map(|(_, item)| Some((&item.question, item.given()?)))
    }

    /// Clarifying questions with their current answers, oldest first. A plan is made from these.
    pub(crate) fn standing(&self) -> impl Iterator<Item = (&Question, &Given)> {
        self.clarifying().filter_map(|(round, item)| Some((&item.question, round.standing(item)?)))
    }

    pub(super) fn clarifying(&self) -> impl Iterator<Item = (&Round, &RoundItem)> {
        let items = self.iter().flat_map(|round| round.items.iter().map(move |item| (round, item)));
        items.filter(|(_, item)| item.question.purpose == Purpose::Clarify)
    }

    pub(super) fn withdraw_open(&self, which: impl Fn(&Round) -> bool, why: &str) -> Vec<Event> {
        let open = self.open().filter(|round| which(round));
        open.map(|round| Event::Closed { round: round.id, how: Ending::Withdrawn(why.into()) }).collect()
    }

    pub(crate) fn kept_by(&self, turn: &Turn) -> Option<Beside> {
        let mut waiting = self.open().filter(|round| round.is_of(turn.id));
        let server =
            waiting.any(|round| round.items.iter().any(|item| item.question.purpose.field().is_some()));
        let alone = self.only_waiting(turn);
        let otherwise = || match alone {
            None => Some(Beside::Call),
            Some(round) => (!round.is_parkable() && round.call().is_some()).then_some(Beside::Nothing),
        };
        turn.kept_by.or(server.then_some(Beside::Server)).or_else(otherwise)
    }

    fn change<T>(&mut self, index: usize, change: impl FnOnce(&mut Round) -> T) -> Option<T> {
        let changed = self.all.get_mut(index).map(change);
        self.look_at(index);
        changed
    }

    fn look_at(&mut self, index: usize) {
        effort::looked(1);
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

/// Counts in tests how many rounds are read.
mod effort {
    #[cfg(test)]
    thread_local! {
        pub(super) static LOOKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    pub(super) fn looked(rounds: usize) {
        #[cfg(test)]
        LOOKED.set(LOOKED.get() + rounds);
        #[cfg(not(test))]
        let _ = rounds;
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::effort::LOOKED;
    use crate::answer::{Answer, By};
    use crate::created::Created;
    use crate::event::{Asker, Entry, Event};
    use crate::id::{CallId, ConversationId, QuestionId, RoundId, SessionId, TurnId};
    use crate::question::{Purpose, Question};
    use crate::session::Session;

    /// The maximum number of times that each round may be read.
    const OFTEN: usize = 20;

    fn ann() -> By {
        By::Person { channel: "terminal".into(), id: "ann".into() }
    }

    /// A log of one turn with this many questions, each answered and taken; the last one waits. The process is lost
    /// in between.
    fn log(questions: usize) -> Vec<Entry> {
        let conversation = ConversationId::new("8e6a6a3c-0000-4000-8000-000000000001");
        let created = Created::new("Ask".into(), "/app".into(), conversation.clone(), ann());
        let mut facts = vec![Session::begin(created).unwrap()];
        let connected = Event::Connected { turn: TurnId(1), conversation, model: None };
        facts.push(vec![connected.clone()]);
        for number in 1..=questions {
            let (id, call) = (QuestionId::new(format!("q{number}")), CallId::new(format!("call{number}")));
            let question = Question {
                id: id.clone(),
                text: format!("What about {number}?"),
                header: None,
                options: Vec::new(),
                multi: false,
                free_text: true,
                purpose: Purpose::Clarify,
            };
            let asker = Asker::Agent { turn: TurnId(1), call: call.clone(), parkable: true };
            let round = RoundId(number as u32);
            facts.push(vec![Event::Asked { round, asker, questions: vec![question] }]);
            if number % 100 == 0 {
                facts.push(vec![Event::Parked { turn: TurnId(1), call: call.clone() }]);
            }
            if number < questions {
                let answer = Answer { values: Vec::new(), text: Some("yes".into()) };
                facts.push(vec![Event::Answered { question: id, answer, by: ann() }]);
                if number % 100 == 0 {
                    facts.push(vec![connected.clone()]);
                }
                facts.push(vec![Event::Taken { call }]);
            }
        }
        let entry = |(n, facts)| Entry { seq: n as u64 + 1, at: Timestamp::UNIX_EPOCH, facts };
        facts.into_iter().enumerate().map(entry).collect()
    }

    /// The effort to read a whole log and show it once, as `status` and `run --resume` do.
    #[test]
    fn a_log_is_read_in_linear_time_however_many_questions_it_has() {
        for questions in [500, 5_000] {
            let entries = log(questions);
            LOOKED.set(0);
            let session = Session::replay(&entries).unwrap();
            let read = LOOKED.replace(0);
            assert!(read < OFTEN * questions, "{read} rounds were looked at to read {questions}");
            assert_eq!(session.view(&SessionId::new("x")).questions.len(), 1);
            drop((session.wants(), session.deadline()));
            let shown = LOOKED.get();
            assert!(shown < OFTEN * questions, "{shown} rounds were looked at to show {questions}");
        }
    }
}
