//! The queue of updates for the bot: numbered, confirmed by offset, and disturbed on request.

use std::collections::VecDeque;

use serde_json::{Value, json};

/// Numbers begin anywhere, so that nobody counts on one.
const FIRST: i64 = 730_412_001;
/// An offset further in the future than this is taken for a mistake, and confirms nothing.
const FUTURE: i64 = 10;

/// In which order held updates are let go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// As they happened.
    AsHappened,
    /// The last one first.
    Reversed,
}

pub(crate) struct Updates {
    queue: VecDeque<Update>,
    next: i64,
    held: Option<Vec<Value>>,
    repeat: u32,
    /// The kinds wanted, as the bot last said.
    pub(crate) allowed: Vec<String>,
    /// Counts the long polls: only the last one is served.
    pub(crate) polls: u64,
}

struct Update {
    id: i64,
    content: Value,
    /// How often it comes again although it was confirmed.
    again: u32,
}

impl Updates {
    /// Nothing happened yet.
    pub(crate) fn new() -> Self {
        Self { queue: VecDeque::new(), next: FIRST, held: None, repeat: 0, allowed: Vec::new(), polls: 0 }
    }

    /// Something of this kind happened.
    pub(crate) fn add(&mut self, kind: &str, content: Value) {
        if !self.allowed.is_empty() && !self.allowed.iter().any(|allowed| allowed == kind) {
            return;
        }
        let update = json!({ kind: content });
        match &mut self.held {
            Some(held) => held.push(update),
            None => self.queue(update),
        }
    }

    fn queue(&mut self, content: Value) {
        let again = std::mem::take(&mut self.repeat);
        self.queue.push_back(Update { id: self.next, content, again });
        self.next += 1;
    }

    /// From here on nothing reaches the bot.
    pub(crate) fn hold(&mut self) {
        self.held.get_or_insert_default();
    }

    /// What was held reaches it now.
    pub(crate) fn release(&mut self, order: Order) {
        let mut held = self.held.take().unwrap_or_default();
        if order == Order::Reversed {
            held.reverse();
        }
        for update in held {
            self.queue(update);
        }
    }

    /// The next update reaches the bot so many times, confirmed or not.
    pub(crate) fn repeat_next(&mut self, times: u32) {
        self.repeat = times.saturating_sub(1);
    }

    /// Confirms what is before the offset (or all but the last so many, if negative), and gives what is next.
    pub(crate) fn take(&mut self, offset: i64, limit: usize) -> Vec<Value> {
        if offset < 0 {
            let keep = usize::try_from(-offset).unwrap_or(usize::MAX);
            self.queue.drain(..self.queue.len().saturating_sub(keep));
        } else if offset <= self.next + FUTURE {
            self.queue.retain_mut(|update| update.id >= offset || update.comes_again());
        }
        self.waiting(limit)
    }

    /// What is next, with nothing confirmed.
    pub(crate) fn waiting(&self, limit: usize) -> Vec<Value> {
        self.queue.iter().take(limit).map(Update::shown).collect()
    }

    /// The next one, for a webhook.
    pub(crate) fn first(&self) -> Option<(i64, Value)> {
        self.queue.front().map(|update| (update.id, update.shown()))
    }

    /// The webhook took this one.
    pub(crate) fn confirm(&mut self, id: i64) {
        self.queue.retain_mut(|update| update.id != id || update.comes_again());
    }

    /// How many wait.
    pub(crate) fn pending(&self) -> usize {
        self.queue.len()
    }

    /// Forgets them.
    pub(crate) fn drop_pending(&mut self) {
        self.queue.clear();
    }
}

impl Update {
    fn comes_again(&mut self) -> bool {
        let again = self.again > 0;
        self.again = self.again.saturating_sub(1);
        again
    }

    fn shown(&self) -> Value {
        let mut shown = self.content.clone();
        shown["update_id"] = self.id.into();
        shown
    }
}
