//! A text of more than a message's length comes as several messages, one right after the other, and so does an album. They are
//! joined, so that what somebody pasted is one text, and what they sent at once is together.

use std::collections::VecDeque;
use std::time::Duration;

use super::bot_api::{Message, Update, UpdateContent};
use super::text::{MESSAGE, units};

/// How long the next part of a text may take to come.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// How long a message is at least that goes on in the next. Apps cut a text before its last words, or its last lines.
const LONG: usize = 3000;
/// How many seconds may lie between two parts.
const APART: u64 = 2;

/// A text, perhaps of several messages.
pub(super) struct Paste {
    /// The first message, with all of the text.
    pub(super) update: Update,
    /// The updates that it came in.
    pub(super) ids: Vec<u32>,
    /// The last message of it, as it came.
    last: Update,
}

impl Paste {
    /// What this update may be the beginning of.
    pub(super) fn begun_by(update: Update) -> Self {
        Self { ids: vec![update.update_id], last: update.clone(), update }
    }

    /// Whether more may come.
    pub(super) fn may_go_on(&self) -> bool {
        text_of(&self.last).is_some_and(|message| length(message) >= LONG) || album_of(&self.last).is_some()
    }

    /// Takes in the parts that have come. Whether there were any.
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
            // Where the app cut at a space or at the end of a line, that is lost.
            text.push_str(if is_full { "" } else { "\n" });
            text.push_str(more);
        }
        // Apps put the words below any picture of an album.
        whole.caption = whole.caption.take().or_else(|| part.caption.clone());
        whole.joined.push((**part).clone());
    }
}

/// The message of an update that is words of the sender's own.
fn text_of(update: &Update) -> Option<&Message> {
    let UpdateContent::Message(message) = &update.content else { return None };
    (message.text.is_some() && message.forward_origin.is_none()).then_some(message)
}

/// The album that the message of an update is part of.
fn album_of(update: &Update) -> Option<&str> {
    let UpdateContent::Message(message) = &update.content else { return None };
    message.media_group_id.as_deref()
}

fn length(message: &Message) -> usize {
    message.text.as_deref().map_or(0, units)
}

/// Whether a message goes on where another one ends.
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
