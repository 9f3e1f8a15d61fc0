//! The cards, and which one is on top. The current card stays until its question is settled, whatever else is asked,
//! and keeps its typed text when it comes up again.

use std::time::Duration;

use crossterm::event::KeyEvent;
use rapport_core::{OpenQuestion, Purpose, QuestionId, View};

use super::confirmation_card::ConfirmationCard;
use super::keys::Intent;
use super::question_card::QuestionCard;

/// How long a card that came up by itself, or that could do harm, ignores keys: they were meant for something else.
const GUARD: Duration = Duration::from_millis(300);
/// The same for a permission. A key that is pressed meanwhile prolongs it.
pub(crate) const LONG_GUARD: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Card {
    Ask(QuestionCard),
    /// Confirms the plan.
    Confirm(ConfirmationCard),
}

/// Where the text of a question is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextAt {
    Card,
    /// In the history above, because it is too long for a card.
    History,
}

/// The card on top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub card: Card,
    pub since: Duration,
    /// Where the text of the question is shown.
    pub text: TextAt,
    /// Whether part of the permission has not been visible yet.
    pub unread: bool,
    armed_at: Duration,
}

/// The latest changes that decide which card comes up.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// The question whose answer the person at this terminal wanted to change. It may have been answered again in the
    /// same entry.
    pub reopened: Option<&'a QuestionId>,
    /// Whether an answer was given, which a summary has to show.
    pub answered: bool,
    /// Whether the person at this terminal caused it, and so expects a card.
    pub by_me: bool,
    /// The question that is in front of people in all channels.
    pub in_front: Option<&'a QuestionId>,
}

#[derive(Debug, Default)]
pub struct Cards {
    shown: Option<Shown>,
    aside: Vec<Card>,
}

impl Card {
    fn new(question: OpenQuestion, view: &View) -> Self {
        match question.purpose {
            Purpose::Confirm => {
                let answers = view.answers.iter().map(|given| given.id.clone()).collect();
                Card::Confirm(ConfirmationCard::new(question, answers))
            }
            Purpose::Clarify
            | Purpose::Elicit(_)
            | Purpose::Permission { .. }
            | Purpose::LeavePlanMode { .. }
            | Purpose::Budget { .. }
            | Purpose::Idle => Card::Ask(QuestionCard::new(question)),
        }
    }

    pub fn question(&self) -> &OpenQuestion {
        match self {
            Card::Ask(card) => &card.question,
            Card::Confirm(card) => &card.question,
        }
    }

    /// Updates the question's route and the lead's draft. What the person typed stays.
    fn follow(&mut self, now: &OpenQuestion) {
        let question = match self {
            Card::Ask(card) => &mut card.question,
            Card::Confirm(card) => &mut card.question,
        };
        (question.way, question.draft) = (now.way.clone(), now.draft.clone());
        question.offer = now.offer.clone();
    }

    /// Whether it is a permission, or consent to spend more.
    fn decides(&self) -> bool {
        match self.question().purpose {
            Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } | Purpose::Budget { .. } => true,
            Purpose::Clarify | Purpose::Elicit(_) | Purpose::Confirm | Purpose::Idle => false,
        }
    }

    pub fn key(&mut self, key: KeyEvent) -> Intent {
        match self {
            Card::Ask(card) => card.key(key),
            Card::Confirm(card) => card.key(key),
        }
    }

    pub fn paste(&mut self, text: &str) -> Intent {
        match self {
            Card::Ask(card) => card.paste(text),
            Card::Confirm(card) => card.paste(text),
        }
    }
}

impl Shown {
    /// When it starts to accept keys.
    pub(crate) fn armed_at(&self) -> Duration {
        self.armed_at
    }

    /// Handles a key that was pressed too early: a key that is held down must not decide when the time is over.
    pub(crate) fn pressed_ahead(&mut self, now: Duration) {
        if self.card.decides() {
            self.armed_at = self.armed_at.max(now + LONG_GUARD / 2);
        }
    }

    /// Restarts the guard after the card was hidden, because keys may still be meant for something else.
    pub(crate) fn guard(&mut self, now: Duration) {
        self.armed_at = now + LONG_GUARD;
    }
}

impl Cards {
    /// The card on top.
    pub fn shown(&self) -> Option<&Shown> {
        self.shown.as_ref()
    }

    /// The card on top, to change it.
    pub(crate) fn shown_mut(&mut self) -> Option<&mut Shown> {
        self.shown.as_mut()
    }

    /// Puts the right card on top, and returns whether another one came up.
    pub fn settle(&mut self, view: &View, news: News<'_>, now: Duration) -> bool {
        let is_open = |id: &QuestionId| view.questions.iter().any(|question| question.id == *id);
        self.aside.retain(|card| is_open(&card.question().id));
        for card in self.aside.iter_mut().chain(self.shown.as_mut().map(|shown| &mut shown.card)) {
            let now = view.questions.iter().find(|question| question.id == card.question().id);
            now.into_iter().for_each(|now| card.follow(now));
        }
        let current =
            self.shown.as_ref().map(|shown| &shown.card).filter(|card| is_open(&card.question().id));
        let outdated = matches!(current, Some(Card::Confirm(_))) && news.answered;
        let reopened = news.reopened.filter(|id| is_open(id));
        if current.is_some() && reopened.is_none() && !outdated {
            return false;
        }
        let next = reopened.or(news.in_front);
        let next = next.and_then(|id| view.questions.iter().find(|question| question.id == *id));
        let left = self.shown.take().map(|shown| shown.card).filter(|card| is_open(&card.question().id));
        self.aside.extend(left);
        let Some(question) = next else { return false };
        let guarded = question.purpose != Purpose::Clarify || !news.by_me;
        let card = self.card_for(question, view);
        let guard = match guarded {
            true if card.decides() => LONG_GUARD,
            true => GUARD,
            false => Duration::ZERO,
        };
        self.shown =
            Some(Shown { card, since: now, text: TextAt::Card, unread: false, armed_at: now + guard });
        true
    }

    fn card_for(&mut self, question: &OpenQuestion, view: &View) -> Card {
        let fresh = Card::new(question.clone(), view);
        let Some(place) = self.aside.iter().position(|card| card.question().id == question.id) else {
            return fresh;
        };
        match (self.aside.remove(place), fresh) {
            (Card::Confirm(old), Card::Confirm(mut new)) => {
                new.wish = old.wish;
                Card::Confirm(new)
            }
            (old, fresh) if old.question() != fresh.question() => fresh,
            (old, _) => old,
        }
    }
}
