//! Telegram's rate limits: 30 messages a second in all, one a second to a chat with bursts of six, 20 a minute to a
//! group. Edits are counted separately: Telegram documents these numbers for messages, and pauses a bot that exceeds
//! them.
//!
//! A token bucket of 30 a second lets 59 through within one second; these sliding windows never let more than 30
//! through in any second, and six in any six.
//!
//! A message counts from the arrival of its response. Telegram counts it from an earlier moment, so the limit holds
//! there too, whatever the network delay.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;

/// A maximum number in any period of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub most: usize,
    pub within: Duration,
}

/// All rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For all chats together.
    pub overall: Rate,
    /// For one chat: one a second, with bursts of six.
    pub chat: Rate,
    pub group: Rate,
}

impl Limits {
    pub const TELEGRAM: Self = Self {
        overall: Rate { most: 30, within: Duration::from_secs(1) },
        chat: Rate { most: 6, within: Duration::from_secs(6) },
        group: Rate { most: 20, within: Duration::from_secs(60) },
    };

    /// Telegram's limits with the time scaled down by this factor.
    pub fn faster(times: NonZeroU32) -> Self {
        let faster = |rate: Rate| Rate { within: rate.within / times.get(), ..rate };
        let Self { overall, chat, group } = Self::TELEGRAM;
        Self { overall: faster(overall), chat: faster(chat), group: faster(group) }
    }

    /// For messages that nobody waits for, in all chats together: a third.
    pub fn asides(&self) -> Rate {
        Rate { most: (self.overall.most / 3).max(1), ..self.overall }
    }

    pub fn of(&self, chat: i64) -> ChatLimits {
        ChatLimits { chat: self.chat, group: (chat < 0).then_some(self.group) }
    }
}

/// The rate limits of one chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatLimits {
    chat: Rate,
    group: Option<Rate>,
}

impl ChatLimits {
    pub fn all(self) -> impl Iterator<Item = Rate> {
        [self.chat].into_iter().chain(self.group)
    }

    /// The limit with the longest period.
    pub fn longest(self) -> Rate {
        self.group.unwrap_or(self.chat)
    }
}

/// The times of recent messages that still count towards a rate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sendings(VecDeque<Instant>);

impl Sendings {
    /// When the next may be sent at the earliest, while this many are being sent. `None` until one of those has
    /// arrived.
    pub fn ready_at(&self, rate: Rate, under_way: usize, now: Instant) -> Option<Instant> {
        let free = rate.most.checked_sub(under_way).filter(|free| *free > 0)?;
        let counting = self.0.len().checked_sub(free).and_then(|first| self.0.get(first));
        Some(counting.map_or(now, |arrived| (*arrived + rate.within).max(now)))
    }

    /// Records a message, and drops those that no longer count towards any rate.
    pub fn note(&mut self, longest: Rate, now: Instant) {
        self.0.push_back(now);
        while self.0.len() > longest.most {
            self.0.pop_front();
        }
    }

    /// When none of them counts any more.
    pub fn over_at(&self, longest: Rate) -> Option<Instant> {
        self.0.back().map(|last| *last + longest.within)
    }
}
