//! Telegram's rates: 30 messages a second in all, one a second to a chat with three at once now and then, 20 a minute
//! to a group.
//!
//! A token bucket of 30 a second lets 59 through within one second; these windows never let more than 30 through in
//! any second, and three in any three.

use std::collections::VecDeque;
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

/// To all chats together.
pub const OVERALL: Rate = Rate { most: 30, within: Duration::from_secs(1) };
/// To one chat: one a second, three at once now and then.
pub const CHAT: Rate = Rate { most: 3, within: Duration::from_secs(3) };
/// To one group.
pub const GROUP: Rate = Rate { most: 20, within: Duration::from_secs(60) };

/// When something was sent lately, as far as it still counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sendings(VecDeque<Instant>);

impl Sendings {
    /// When the next may be sent, at the earliest.
    pub fn ready_at(&self, rate: Rate, now: Instant) -> Instant {
        let counting = self.0.len().checked_sub(rate.most).and_then(|first| self.0.get(first));
        counting.map_or(now, |sent| (*sent + rate.within).max(now))
    }

    /// One more was sent. What counts for no rate of the caller's any more is forgotten.
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
