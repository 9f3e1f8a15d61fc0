//! Follows a session for a channel: which of its questions is in front of the person, and since when.
//!
//! This follows from the log alone, so all channels show the same, including a process that starts later.

use jiff::Timestamp;

use crate::aim::Aim;
use crate::created::Clarifier;
use crate::event::{Asker, Entry, Event};
use crate::id::{QuestionId, RoundId};
use crate::question::Purpose;
use crate::routing::Recipient;
use crate::session::{RoundView, Session};
use crate::turn_card::{TurnCard, TurnCardKind};
use crate::view::PhaseView;

/// A followed session.
#[derive(Clone, Debug)]
pub struct Presenter {
    session: Session,
    focus: Vec<Focus>,
}

/// A question that is in front of the person: the first open one of its round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Focus {
    /// Its round.
    pub round: RoundId,
    /// The question.
    pub question: QuestionId,
    /// The sequence number of the entry that put it in front.
    pub since: u64,
    /// The time of that entry.
    pub at: Timestamp,
}

/// How an entry relates to those applied before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// It was the next one, and was applied.
    Next,
    /// It was applied before; nothing changed.
    Old,
    /// Entries before it are missing; it was not applied.
    Gap,
}

impl Presenter {
    /// A session from the first entry of its log.
    pub fn open(first: &Entry) -> Option<Self> {
        let mut presenter = Self { session: Session::open(first)?, focus: Vec::new() };
        presenter.refocus(first);
        Some(presenter)
    }

    /// A session from its log, which begins with its first entry.
    pub fn replay(entries: &[Entry]) -> Option<Self> {
        let (first, rest) = entries.split_first()?;
        let mut presenter = Self::open(first)?;
        for entry in rest {
            presenter.apply(entry);
        }
        Some(presenter)
    }

    /// Applies the next entry.
    pub fn apply(&mut self, entry: &Entry) -> Followed {
        if entry.seq <= self.session.seq() {
            return Followed::Old;
        }
        if entry.seq > self.session.seq() + 1 {
            return Followed::Gap;
        }
        self.session.apply_entry(entry);
        let asked_again = |focus: &Focus| entry.facts.iter().any(|fact| reopens(fact, focus));
        self.focus.retain(|focus| !asked_again(focus));
        self.refocus(entry);
        Followed::Next
    }

    /// The session's state after the entries applied so far.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The questions that are in front of the person.
    pub fn focus(&self) -> &[Focus] {
        &self.focus
    }

    /// Whether a planner makes its questions.
    pub fn is_planned(&self) -> bool {
        let created = self.session.created();
        created.aim == Aim::Work && created.terms.clarifier == Clarifier::Planner
    }

    /// Whether it is a conversation.
    pub fn is_chat(&self) -> bool {
        self.session.created().aim == Aim::Chat
    }

    /// Whether it is planned and its answers are being collected or confirmed.
    pub fn is_interactive(&self) -> bool {
        let before_work = matches!(self.session.phase(), PhaseView::Clarifying | PhaseView::Confirming);
        self.is_planned() && before_work && !self.session.is_over()
    }

    /// The index of the planner's current question among all that it asked, from 0.
    pub fn collecting(&self) -> Option<(usize, &Focus)> {
        let planner = |round: &RoundView<'_>| *round.asker == Asker::Planner;
        let focus = self
            .focus
            .iter()
            .find(|focus| self.session.rounds().any(|round| round.id == focus.round && planner(&round)))?;
        self.number(&focus.question).map(|number| (number, focus))
    }

    /// The index of a clarifying question among all of them, from 0.
    pub fn number(&self, question: &QuestionId) -> Option<usize> {
        self.clarifying().position(|id| id == question)
    }

    /// The clarifying questions, in order.
    pub fn clarifying(&self) -> impl Iterator<Item = &QuestionId> {
        let clarifies = |round: &RoundView<'_>| !matches!(round.asker, Asker::Rapport);
        let items = self.session.rounds().filter(clarifies).flat_map(|round| round.items);
        items.filter(|item| item.question.purpose == Purpose::Clarify).map(|item| &item.question.id)
    }

    /// Whether a planner is making questions now.
    pub fn is_thinking(&self) -> bool {
        let clarifying = self.session.phase() == PhaseView::Clarifying && !self.session.is_failed();
        self.is_planned() && clarifying && self.focus.is_empty() && !self.session.has_turn()
    }

    fn refocus(&mut self, entry: &Entry) {
        let before = std::mem::take(&mut self.focus);
        let is_saved = self.session.plan_path().is_some();
        let changing = self.session.rounds().any(|round| round.is_open() && !confirms(&round));
        let shown = |round: &RoundView<'_>| round.is_open() && (!confirms(round) || is_saved && !changing);
        let now = self.session.rounds().filter(shown).filter_map(|round| {
            let open = round.items.iter().find(|item| item.given.is_none())?;
            let (round, question) = (round.id, open.question.id.clone());
            let known = before.iter().find(|focus| focus.round == round && focus.question == question);
            Some(known.cloned().unwrap_or(Focus { round, question, since: entry.seq, at: entry.at }))
        });
        let turn = TurnCard::in_front(&self.session).map(|card| {
            let (round, question) = (RoundId(0), card.id());
            let known = before.iter().find(|focus| focus.question == question);
            known.cloned().unwrap_or(Focus { round, question, since: entry.seq, at: entry.at })
        });
        self.focus = if self.session.is_over() { Vec::new() } else { now.chain(turn).collect() };
    }
}

fn confirms(round: &RoundView<'_>) -> bool {
    round.items.iter().any(|item| item.question.purpose == Purpose::Confirm)
}

/// Whether this fact puts the question in front of the person again.
fn reopens(fact: &Event, focus: &Focus) -> bool {
    match fact {
        Event::Reopened { question, .. } => *question == focus.question,
        // The others are asked now, whoever saw the card before.
        Event::Routed { question, to: Recipient::Others, .. } => *question == focus.question,
        // The shown card lacks the draft.
        Event::Drafted { question, .. } => *question == focus.question,
        // The person has not seen the file's new content yet.
        Event::PlanDiffers { folder, .. } => TurnCard::read(&focus.question)
            .is_some_and(|card| card.kind == TurnCardKind::Differs && card.folder == *folder),
        _ => false,
    }
}
