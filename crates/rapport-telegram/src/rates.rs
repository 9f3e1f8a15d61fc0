//! Telegram's rates: 30 messages a second in all, one a second to a chat with six at once now and then, 20 a minute
//! to a group. Edits are counted apart: Telegram says these numbers of messages, and pauses a bot that does too much.
//!
//! A token bucket of 30 a second lets 59 through within one second; these windows never let more than 30 through in
//! any second, and six in any six.
//!
//! A message counts from when its response is here. Telegram counts it from some moment before that, so whatever the network
//! does, the limit holds there as well.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;

/// So many in any span of such a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// So many.
    pub most: usize,
    /// In such a time.
    pub within: Duration,
}

/// All rates that have to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// To all chats together.
    pub overall: Rate,
    /// To one chat: one a second, six at once now and then.
    pub chat: Rate,
    /// To one group.
    pub group: Rate,
}

impl Limits {
    /// Telegram's.
    pub const TELEGRAM: Self = Self {
        overall: Rate { most: 30, within: Duration::from_secs(1) },
        chat: Rate { most: 6, within: Duration::from_secs(6) },
        group: Rate { most: 20, within: Duration::from_secs(60) },
    };

    /// Telegram's, as if its time ran so many times as fast.
    pub fn faster(times: NonZeroU32) -> Self {
        let faster = |rate: Rate| Rate { within: rate.within / times.get(), ..rate };
        let Self { overall, chat, group } = Self::TELEGRAM;
        Self { overall: faster(overall), chat: faster(chat), group: faster(group) }
    }

    /// What nobody waits for, to all chats together: a third.
    pub fn asides(&self) -> Rate {
        Rate { most: (self.overall.most / 3).max(1), ..self.overall }
    }

    /// Those for one chat.
    pub fn of(&self, chat: i64) -> ChatLimits {
        ChatLimits { chat: self.chat, group: (chat < 0).then_some(self.group) }
    }
}

/// The rates that have to be kept for one chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatLimits {
    chat: Rate,
    group: Option<Rate>,
}

impl ChatLimits {
    /// All of them.
    pub fn all(self) -> impl Iterator<Item = Rate> {
        [self.chat].into_iter().chain(self.group)
    }

    /// The one that looks back furthest.
    pub fn longest(self) -> Rate {
        self.group.unwrap_or(self.chat)
    }
}

/// When something arrived lately, as far as it still counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sendings(VecDeque<Instant>);

impl Sendings {
    /// When the next may be sent, at the earliest, while this many are on their way. `None` until one of those has arrived.
    pub fn ready_at(&self, rate: Rate, under_way: usize, now: Instant) -> Option<Instant> {
        let free = rate.most.checked_sub(under_way).filter(|free| *free > 0)?;
        let counting = self.0.len().checked_sub(free).and_then(|first| self.0.get(first));
        Some(counting.map_or(now, |arrived| (*arrived + rate.within).max(now)))
    }

    /// One more arrived. What counts for no rate of the caller's any more is forgotten.
    pub fn note(&mut self, longest: Rate, now: Instant) {
        self.0.push_back(now);
        while self.0.len() > longest.most {
            self.0.pop_front();
        }
    }

    /// From when on nothing of this counts any more.
    pub fn over_at(&self, longest: Rate) -> Option<Instant> {
        self.0.back().map(|last| *last + longest.within)
    }
}
