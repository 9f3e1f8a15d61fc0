//! Joins messages that belong together. Apps split a text that exceeds the length of a message, and an album, into
//! several messages in quick succession. Joining them makes a pasted text one text, and an album one message.

use std::collections::VecDeque;
use std::time::Duration;

use super::bot_api::{Message, Update, UpdateContent};
use super::text::{MESSAGE, units};

/// How long to wait for the next part.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// The minimum length of a message that may continue in the next one. Apps split a text at a word or a line.
const LONG: usize = 3000;
/// The maximum number of seconds between two parts.
const APART: u64 = 2;

/// A text that may consist of several messages.
pub(super) struct Paste {
    /// The first message, with the whole text.
    pub(super) update: Update,
    /// The ids of the updates that the text came in.
    pub(super) ids: Vec<u32>,
    /// The last message that was joined, unchanged.
    last: Update,
}

impl Paste {
    /// Starts with the first update.
    pub(super) fn begun_by(update: Update) -> Self {
        Self { ids: vec![update.update_id], last: update.clone(), update }
    }

    /// Whether more parts may follow.
    pub(super) fn may_go_on(&self) -> bool {
        text_of(&self.last).is_some_and(|message| length(message) >= LONG) || album_of(&self.last).is_some()
    }

    /// Joins the parts that have arrived. Returns whether there were any.
    pub(super) fn take(&mut self, waiting: &mut VecDeque<Update>) -> bool {
        let before = self.ids.len();
        while self.may_go_on()
            && let Some(next) = waiting.pop_front_if(|next| continues(&self.last, next))
        {
            self.join(&next);
            self.ids.push(next.update_id);
            self.last = next;
        }
        self.ids.len() > before
    }

    fn join(&mut self, next: &Update) {
        let is_full = text_of(&self.last).is_some_and(|message| length(message) == MESSAGE);
        let (UpdateContent::Message(whole), UpdateContent::Message(part)) =
            (&mut self.update.content, &next.content)
        else {
            return;
        };
        if let (Some(text), Some(more)) = (&mut whole.text, &part.text) {
            // If the app split the text at a space or a line end, it removed that character.
            text.push_str(if is_full { "" } else { "\n" });
            text.push_str(more);
        }
        // In an album, any picture may carry the caption.
        whole.caption = whole.caption.take().or_else(|| part.caption.clone());
        whole.joined.push((**part).clone());
    }
}

/// The message of an update, if it is the sender's own text.
fn text_of(update: &Update) -> Option<&Message> {
    let UpdateContent::Message(message) = &update.content else { return None };
    (message.text.is_some() && message.forward_origin.is_none()).then_some(message)
}

/// The album of an update's message.
fn album_of(update: &Update) -> Option<&str> {
    let UpdateContent::Message(message) = &update.content else { return None };
    message.media_group_id.as_deref()
}

fn length(message: &Message) -> usize {
    message.text.as_deref().map_or(0, units)
}

/// Whether a message continues another one.
fn continues(last: &Update, next: &Update) -> bool {
    if let Some(album) = album_of(last) {
        return album_of(next) == Some(album);
    }
    let (Some(last), Some(next)) = (text_of(last), text_of(next)) else { return false };
    let sender = |message: &Message| message.from.as_ref().map(|user| user.id);
    let is_command = next.text.as_deref().is_some_and(|text| text.starts_with('/'));
    sender(last) == sender(next)
        && last.message_thread_id == next.message_thread_id
        && next.date.saturating_sub(last.date) <= APART
        && !is_command
}
