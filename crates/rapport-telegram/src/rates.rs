//! Telegram's rate limits: 30 messages a second in all, one a second to a chat with bursts of six, 20 a minute to a
//! group. Edits are counted separately. Telegram documents these numbers for messages, and pauses a bot that exceeds
//! them.
//!
//! The limits for all chats and for a group use a sliding window, so that there are never more than 30 messages in any
//! second; a token bucket would allow 59. The limit for one chat is a token bucket: one message a second, with six
//! saved up for a burst. A person who taps once a second then never waits, even with the additional messages at the end
//! of a round.
//!
//! A message counts from the arrival of its response. Telegram counts it from an earlier moment, so the limit also
//! holds on Telegram's side, whatever the network delay.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;

/// A maximum number of messages in any period of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    pub most: usize,
    pub within: Duration,
}

/// One message per period of this length. Unused periods are saved up, for a burst of at most this many messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub burst: usize,
    pub every: Duration,
}

/// All rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For all chats together.
    pub overall: Rate,
    /// For one chat.
    pub chat: Pace,
    /// For a group, in addition to the limit for one chat.
    pub group: Rate,
}

impl Limits {
    pub const TELEGRAM: Self = Self {
        overall: Rate { most: 30, within: Duration::from_secs(1) },
        chat: Pace { burst: 6, every: Duration::from_secs(1) },
        group: Rate { most: 20, within: Duration::from_secs(60) },
    };

    /// Telegram's limits with the time scaled down by this factor.
    pub fn faster(times: NonZeroU32) -> Self {
        let faster = |rate: Rate| Rate { within: rate.within / times.get(), ..rate };
        let Self { overall, chat, group } = Self::TELEGRAM;
        let chat = Pace { every: chat.every / times.get(), ..chat };
        Self { overall: faster(overall), chat, group: faster(group) }
    }

    /// The limit for low-priority jobs in all chats together: a third of the overall limit.
    pub fn passing(&self) -> Rate {
        Rate { most: (self.overall.most / 3).max(1), ..self.overall }
    }

    pub fn of(&self, chat: i64) -> ChatLimits {
        ChatLimits { chat: self.chat, group: (chat < 0).then_some(self.group) }
    }
}

/// The rate limits of one chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatLimits {
    chat: Pace,
    group: Option<Rate>,
}

/// The messages to one chat that still count towards its limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatSendings {
    /// When the whole burst is available again.
    full_at: Option<Instant>,
    in_group: Sendings,
}

impl ChatSendings {
    /// The earliest time at which the next message may be sent.
    pub fn ready_at(&self, limits: ChatLimits, now: Instant) -> Instant {
        let Pace { burst, every } = limits.chat;
        let saved = every * u32::try_from(burst.saturating_sub(1)).unwrap_or(u32::MAX);
        let by_pace = self.full_at.and_then(|full| full.checked_sub(saved));
        let by_group = limits.group.and_then(|rate| self.in_group.ready_at(rate, 0, now));
        by_pace.into_iter().chain(by_group).fold(now, Instant::max)
    }

    /// Whether more than this many quarters of every limit are free after the messages that are ahead.
    pub fn has_free(&self, quarters: usize, limits: ChatLimits, ahead: usize, now: Instant) -> bool {
        let is_enough = |free: usize, of: usize| free * 4 > of * quarters;
        let Pace { burst, every } = limits.chat;
        let missing = self.full_at.map_or(Duration::ZERO, |full| full.saturating_duration_since(now));
        let used = missing.as_nanos().div_ceil(every.as_nanos().max(1));
        let used = usize::try_from(used).unwrap_or(usize::MAX);
        is_enough(burst.saturating_sub(used.saturating_add(ahead)), burst)
            && limits.group.is_none_or(|rate| is_enough(self.in_group.free(rate, ahead, now), rate.most))
    }

    /// Records a message.
    pub fn note(&mut self, limits: ChatLimits, now: Instant) {
        self.full_at = Some(self.full_at.map_or(now, |full| full.max(now)) + limits.chat.every);
        if let Some(rate) = limits.group {
            self.in_group.note(rate, now);
        }
    }

    /// When none of the messages counts towards a limit.
    pub fn over_at(&self, limits: ChatLimits) -> Option<Instant> {
        let in_group = limits.group.and_then(|rate| self.in_group.over_at(rate));
        self.full_at.max(in_group)
    }
}

/// The times of recent messages that still count towards a rate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sendings(VecDeque<Instant>);

impl Sendings {
    /// The earliest time at which the next message may be sent, while `under_way` messages are being sent. `None` until
    /// one of those has arrived.
    pub fn ready_at(&self, rate: Rate, under_way: usize, now: Instant) -> Option<Instant> {
        let free = rate.most.checked_sub(under_way).filter(|free| *free > 0)?;
        let counting = self.0.len().checked_sub(free).and_then(|first| self.0.get(first));
        Some(counting.map_or(now, |arrived| (*arrived + rate.within).max(now)))
    }

    /// How many more messages may be sent now, while `ahead` messages are being sent or wait.
    pub fn free(&self, rate: Rate, ahead: usize, now: Instant) -> usize {
        let counting = self.0.iter().filter(|arrived| **arrived + rate.within > now).count();
        rate.most.saturating_sub(counting + ahead)
    }

    /// Records a message, and drops those that no longer count towards any rate.
    pub fn note(&mut self, longest: Rate, now: Instant) {
        self.0.push_back(now);
        while self.0.len() > longest.most {
            self.0.pop_front();
        }
    }

    /// When none of the messages counts towards a rate.
    pub fn over_at(&self, longest: Rate) -> Option<Instant> {
        self.0.back().map(|last| *last + longest.within)
    }
}
