//! The cards, and which one is on top. The current card stays until its question is settled, whatever else is asked, and keeps
//! what was typed on it when it comes up again.

use std::time::Duration;

use crossterm::event::KeyEvent;
use rapport_core::{OpenQuestion, Purpose, QuestionId, View};

use super::ask::AskCard;
use super::confirm::ConfirmCard;
use super::keys::Intent;

/// How long a card that came up by itself, or that could do harm, takes no keys: what was typed just then was not meant
/// for it.
pub const GUARD: Duration = Duration::from_millis(300);
/// How long that is where somebody decides what an agent may do. A key that is pressed meanwhile makes it longer.
pub const LONG_GUARD: Duration = Duration::from_secs(1);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Card {
    Ask(AskCard),
    /// Whether to start.
    Confirm(ConfirmCard),
}

/// Where the text of a question is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextAt {
    /// On its card.
    Card,
    /// In the history above, because it is too long for a card.
    History,
}

/// The card on top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub card: Card,
    /// When it came up.
    pub since: Duration,
    /// Where the question is to be read.
    pub text: TextAt,
    /// Whether some of what would be allowed was not in sight yet.
    pub unread: bool,
    armed_at: Duration,
}

/// What has just happened, as far as it decides which card comes up.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// The question that the person here wants to answer anew.
    pub reopened: Option<&'a QuestionId>,
    /// An answer was given, which a summary has to show.
    pub answered: bool,
    /// The person here brought it about, and so expects a card.
    pub by_me: bool,
    /// The question that is in front of people, wherever they look.
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
                Card::Confirm(ConfirmCard::new(question, answers))
            }
            Purpose::Clarify
            | Purpose::Elicit(_)
            | Purpose::Permission { .. }
            | Purpose::LeavePlanMode { .. } => Card::Ask(AskCard::new(question)),
        }
    }

    /// The question it is about.
    pub fn question(&self) -> &OpenQuestion {
        match self {
            Card::Ask(card) => &card.question,
            Card::Confirm(card) => &card.question,
        }
    }

    /// Whether it decides what an agent may do.
    fn decides(&self) -> bool {
        match self.question().purpose {
            Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } => true,
            Purpose::Clarify | Purpose::Elicit(_) | Purpose::Confirm => false,
        }
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Intent {
        match self {
            Card::Ask(card) => card.key(key),
            Card::Confirm(card) => card.key(key),
        }
    }

    /// Takes pasted text.
    pub fn paste(&mut self, text: &str) -> Intent {
        match self {
            Card::Ask(card) => card.paste(text),
            Card::Confirm(card) => card.paste(text),
        }
    }
}

impl Shown {
    /// From when on it takes keys.
    pub fn armed_at(&self) -> Duration {
        self.armed_at
    }

    /// A key was pressed that was not meant for it: one that is held must not decide when the time is over.
    pub fn pressed_ahead(&mut self, now: Duration) {
        if self.card.decides() {
            self.armed_at = self.armed_at.max(now + LONG_GUARD / 2);
        }
    }

    /// It was out of sight: what is pressed now may still be meant for something else.
    pub fn guard(&mut self, now: Duration) {
        self.armed_at = now + LONG_GUARD;
    }
}

impl Cards {
    /// The card on top.
    pub fn shown(&self) -> Option<&Shown> {
        self.shown.as_ref()
    }

    /// The card on top, to change it.
    pub fn shown_mut(&mut self) -> Option<&mut Shown> {
        self.shown.as_mut()
    }

    /// Puts the right card on top, and says whether another came up.
    pub fn settle(&mut self, view: &View, news: News<'_>, now: Duration) -> bool {
        let is_open = |id: &QuestionId| view.questions.iter().any(|question| question.id == *id);
        self.aside.retain(|card| is_open(&card.question().id));
        let current =
            self.shown.as_ref().map(|shown| &shown.card).filter(|card| is_open(&card.question().id));
        let outdated = matches!(current, Some(Card::Confirm(_))) && news.answered;
        if current.is_some() && news.reopened.is_none() && !outdated {
            return false;
        }
        let next = news.reopened.or(news.in_front);
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
