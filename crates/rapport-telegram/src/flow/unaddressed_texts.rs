//! Texts in a private chat that reply to no message, while only cards about turns are open. If a text is the label of a
//! button, it has the effect of that button. For any other text the bot asks what it is for, so that it starts a second
//! agent only if the person wants one.

use rapport_core::{Act, SessionId, TurnCard, TurnCardKind};

use super::button::Button;
use super::callbacks::Tap;
use super::card;
use super::cards::CardKey;
use super::chat_state::ChatState;
use super::early_texts::EarlyText;
use super::incoming::{Quoted, Sender};
use super::messages::Visit;
use super::shown_sessions::ShownSessions;
use super::step_effects::Effects;
use super::turns::plan_of;
use crate::outgoing::{Outgoing, OutgoingMessage};

const REPLY_TO_IT: &str = "A plan waits here. To skip it with these words, please send them as a reply to it; to begin \
     something new with them, write /plan before them.";
pub(super) const NO_TEXT: &str = "I no longer have that text. Please send it again.";

impl ChatState {
    /// Handles such a text while these cards are open. A text that was written before a card was shown is not about
    /// that card.
    pub(super) fn on_unaddressed_text(
        &mut self,
        visit: Visit,
        turns: Vec<CardKey>,
        (text, message, reply_to): (String, i32, Option<i32>),
    ) {
        let is_coming = |card: &&CardKey| self.cards.is_pending(card) && !self.notes.is_known(card);
        if let Some(card) = turns.iter().find(is_coming).filter(|_| self.early.are_kept()).cloned() {
            return self.early.keep(EarlyText { card, visit, text, message, reply_to });
        }
        let seen: Vec<_> =
            turns.into_iter().filter(|card| self.notes.is_shown_before(card, message)).collect();
        if let Some(tap) = seen.iter().rev().find_map(|card| self.typed_tap(&visit, card, &text)) {
            return self.on_tap(tap);
        }
        // The result of a run needs no answer.
        let is_waiting = |card: &CardKey| kind(card).is_some_and(|kind| kind != TurnCardKind::Result);
        let waiting: Vec<_> = seen.into_iter().filter(is_waiting).collect();
        if waiting.is_empty() {
            return self.talk_unless_planning(visit, text);
        }
        if visit.is_joined || !visit.files.is_empty() {
            // A tap could refer only to the first of several messages, and to no file.
            return self.effects.only_say(&visit, REPLY_TO_IT);
        }
        let new = waiting.first().map(|card| Button::BeginNew.data(&card.tag())).unwrap_or_default();
        let is_reply = |card: &&CardKey| kind(card) == Some(TurnCardKind::Reply);
        let asked = match waiting.iter().rev().find(is_reply) {
            Some(reply) => card::answer_or_new(Button::Words.data(&reply.tag()), new),
            None => card::skip_or_new(&plans(&self.sessions, &waiting), new),
        };
        let asked = OutgoingMessage { reply_to: Some(message), ..asked.message(visit.room) };
        self.effects.send(visit.room, Outgoing::Message(asked));
        self.effects.finish(visit.ticket);
    }

    /// The tap that corresponds to a typed label, if the card has a button with this label.
    fn typed_tap(&self, visit: &Visit, key: &CardKey, text: &str) -> Option<Tap> {
        let (_, card) = self.card(key)?;
        let said = spoken(text);
        let mut buttons = card.rows.into_iter().flatten();
        let (_, data) = buttons.find(|(label, _)| !said.is_empty() && spoken(label) == said)?;
        let message = self.notes.of_card(key).and_then(|note| note.shown.last().copied());
        let (room, by, ticket) = (visit.room, visit.sender.id, visit.ticket);
        Some(Tap { room, by, query: None, data, message, seen: None, about: None, ticket })
    }

    /// Begins something new with the text that the tapped message replies to. Further taps have no effect.
    pub(super) fn on_begin_new(&mut self, tap: Tap) {
        let Some(Quoted { message, text }) = tap.about.clone() else {
            return self.effects.only_answer(tap, NO_TEXT);
        };
        let update = format!("said/{}/{message}", tap.room.chat);
        if !self.effects.is_first_answer(&update) {
            return self.effects.only_answer(tap, "");
        }
        let Tap { room, by, query, ticket, message: asked, .. } = tap;
        if let Some(asked) = asked {
            self.effects.strip(room, asked);
        }
        self.effects.answer_tap(query, "");
        let sender = Sender { id: by, name: String::new() };
        let visit = Visit { update, room, sender, message, ticket, files: Vec::new(), is_joined: false };
        self.talk_unless_planning(visit, text);
    }
}

/// Submits the act that this makes of the text that the tapped message replies to.
pub(super) fn decide_with_words(
    effects: &mut Effects,
    tap: Tap,
    id: &SessionId,
    act: impl FnOnce(String) -> Act,
) {
    let Some(Quoted { text, .. }) = tap.about.clone() else { return effects.only_answer(tap, NO_TEXT) };
    effects.act_and_strip(tap, id, act(text));
}

/// The plans among these cards: the title of each, and the data of the button that skips it with words.
fn plans(sessions: &ShownSessions, waiting: &[CardKey]) -> Vec<(String, String)> {
    let plans = waiting.iter().filter(|card| kind(card) == Some(TurnCardKind::Review));
    plans.map(|card| (plan_title(sessions, card), Button::Words.data(&card.tag()))).collect()
}

fn plan_title(sessions: &ShownSessions, key: &CardKey) -> String {
    let turn = TurnCard::read(&key.question).and_then(|card| sessions.turn(&key.session, &card.folder));
    turn.map(|turn| plan_of(turn).title).unwrap_or_default()
}

fn kind(key: &CardKey) -> Option<TurnCardKind> {
    TurnCard::read(&key.question).map(|card| card.kind)
}

/// A label as people type it: without its emoji, in lower case.
fn spoken(label: &str) -> String {
    let words = label.trim_start_matches(|c: char| !c.is_alphanumeric());
    words.trim_end_matches(|c: char| c.is_whitespace() || ['.', '!'].contains(&c)).to_lowercase()
}
