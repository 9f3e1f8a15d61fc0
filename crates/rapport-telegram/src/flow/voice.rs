//! Voice messages. The bot shows the transcription first; it takes effect when the sender confirms it.

use super::announcements::outgoing;
use super::button::{Button, Tag};
use super::callbacks::Tap;
use super::card::{self, Card};
use super::chat_state::ChatState;
use super::effect::{AfterHear, Effect};
use super::incoming::Sender;
use super::messages::Visit;
use super::notes::HeardWords;
use crate::outgoing::{Outgoing, OutgoingMessage};
use crate::split;
use crate::text::Text;

const NOT_HEARD: &str = "I no longer have that message. Please say or write it again.";
const NOT_YOURS: &str = "Only the sender of that voice message can confirm it.";

impl ChatState {
    /// Shows the transcription of a voice message.
    pub(super) fn on_heard(&mut self, then: &AfterHear, heard: Result<String, String>) {
        let visit = &then.visit;
        let text = match heard {
            Ok(text) if !text.trim().is_empty() => text.trim().to_owned(),
            Ok(_) => {
                return self
                    .effects
                    .only_say(visit, "I heard no words in that. Please say it again, or write it.");
            }
            Err(why) => {
                let why = card::short(&why, 300);
                return self
                    .effects
                    .only_say(visit, &format!("❌ I could not listen to that: {why}. Please write it."));
            }
        };
        let tag = Tag::heard(&visit.update);
        let words = HeardWords {
            room: visit.room,
            sender: visit.sender.id,
            update: visit.update.clone(),
            message: visit.message,
            reply_to: then.reply_to,
            text: text.clone(),
        };
        self.notes.heard(&mut self.effects, &tag, words);
        let shown = Text::new()
            .plain("🎙 ")
            .bold("I heard:")
            .plain("\n\n")
            .plain(&rapport_core::display_text::lines(&text));
        let mut messages = outgoing(visit.room, split::pieces(&shown, "heard.txt".into(), &text));
        let rows = vec![vec![
            ("✅ Use it".to_owned(), Button::UseHeard.data(&tag)),
            ("✖ Drop it".to_owned(), Button::DropHeard.data(&tag)),
        ]];
        let ask = Card { rows, ..Card::plain(Text::new().plain("Is that what you want to say?")) };
        let ask = OutgoingMessage { reply_to: Some(visit.message), ..ask.message(visit.room) };
        messages.push(Outgoing::Message(ask));
        self.effects.want(Effect::Send { chat: visit.room.chat, messages, then: None });
        self.effects.finish(visit.ticket);
    }

    /// Handles the confirmation of a transcription. The transcription stays noted, because after a kill the same tap may
    /// come again. Its operations have the id of the update, so they take effect once.
    pub(super) fn on_heard_tap(&mut self, tap: Tap, button: Button, tag: &Tag) {
        let Some(words) = self.notes.heard_words(tag).cloned() else {
            return self.effects.too_late(tap, NOT_HEARD);
        };
        if words.sender != tap.by {
            return self.effects.only_answer(tap, NOT_YOURS);
        }
        if button == Button::DropHeard {
            return self.effects.too_late(tap, "Dropped.");
        }
        if let Some(message) = tap.message {
            self.effects.strip(tap.room, message);
        }
        let Tap { query, ticket, by, .. } = tap;
        self.effects.answer_tap(query, "");
        let HeardWords { room, update, message, reply_to, text, .. } = words;
        let sender = Sender { id: by, name: String::new() };
        let visit = Visit { update, room, sender, message, ticket, files: Vec::new(), is_joined: true };
        self.on_text(visit, text, message, reply_to);
    }
}
