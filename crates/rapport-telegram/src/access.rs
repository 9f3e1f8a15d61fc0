//! Access control: which Telegram users the bot serves. These are the users from the settings, and those who paired
//! with a code. Access depends on the sender, never on the chat. If the list is empty, the bot serves no one. A user from
//! the settings may have the role to look only, which counts before everything else that gives access.

use std::collections::{BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};
use rapport_core::authority::Role;

use super::pairing::{Pairing, Try};

/// The reply to strangers, at most once an hour each.
pub const REFUSAL: &str = "This bot is private.";
/// The minimum time between two replies to the same stranger.
const AGAIN: SignedDuration = SignedDuration::from_hours(1);
/// The minimum time between two sweeps of the table of strangers.
const SWEEP: SignedDuration = SignedDuration::from_mins(1);
/// The maximum number of strangers to remember. Strangers beyond that get no reply.
const MOST_STRANGERS: usize = 10_000;

/// The users who have access.
#[derive(Debug, Default)]
pub struct Access {
    allowed: BTreeSet<u64>,
    lookers: BTreeSet<u64>,
    pairing: Option<Pairing>,
    refused: HashMap<u64, Timestamp>,
    /// When the table of strangers was last swept. Sweeping it for every message would be slow while many strangers
    /// write.
    swept: Option<Timestamp>,
}

/// What to do with an update, according to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The sender has access.
    Allowed,
    /// The sender may look, and change nothing.
    Looks,
    /// The sender sent the pairing code. They get access as soon as that is durable: [`super::users::Users::add`], then
    /// [`Access::allow`].
    Paired,
    /// The sender is a stranger. Reply with [`REFUSAL`] and nothing else.
    Refuse,
    /// The sender is a stranger who got that reply less than an hour ago. Do not reply.
    Ignore,
}

impl Access {
    /// Access for these users only.
    pub fn new(allowed: impl IntoIterator<Item = u64>) -> Self {
        Self { allowed: allowed.into_iter().collect(), ..Self::default() }
    }

    /// The same, with these users who may only look.
    #[must_use]
    pub fn with_lookers(mut self, lookers: BTreeSet<u64>) -> Self {
        self.lookers = lookers;
        self
    }

    /// Whether this user may answer and steer.
    pub fn allows(&self, sender: u64) -> bool {
        self.role(sender) == Some(Role::Answer)
    }

    /// The role of this user, if they have access.
    pub fn role(&self, sender: u64) -> Option<Role> {
        let is_looker = self.lookers.contains(&sender).then_some(Role::Look);
        is_looker.or(self.allowed.contains(&sender).then_some(Role::Answer))
    }

    /// Whether no user has access, so that a pairing code is needed.
    pub fn is_empty(&self) -> bool {
        self.allowed.is_empty()
    }

    /// Gives this user access, and invalidates the pairing code.
    pub fn allow(&mut self, user: u64) {
        self.allowed.insert(user);
        self.pairing = None;
    }

    /// The pairing code for the host to show: the current one if it is still valid, else a new one. `None` if a user
    /// already has access.
    pub fn code(&mut self, chance: [u8; 8], now: Timestamp) -> Option<&Pairing> {
        if !self.is_empty() {
            return None;
        }
        if !self.pairing_is_open(now) {
            self.pairing = Some(Pairing::new(chance, now));
        }
        self.pairing.as_ref()
    }

    /// Whether a valid pairing code exists.
    pub fn pairing_is_open(&self, now: Timestamp) -> bool {
        self.pairing.as_ref().is_some_and(|pairing| pairing.is_open(now))
    }

    /// Decides about an update of this user. `words` is its text, if it was sent in a private chat with the bot.
    pub fn judge(&mut self, sender: u64, words: Option<&str>, now: Timestamp) -> Verdict {
        match self.role(sender) {
            Some(Role::Answer) => return Verdict::Allowed,
            Some(Role::Look) => return Verdict::Looks,
            None => {}
        }
        let tried = words.zip(self.pairing.as_mut()).map(|(words, pairing)| pairing.attempt(words, now));
        match tried {
            Some(Try::Right) => Verdict::Paired,
            Some(Try::Wrong | Try::NoCode | Try::Over) | None => self.refuse(sender, now),
        }
    }

    fn refuse(&mut self, sender: u64, now: Timestamp) -> Verdict {
        let lately = |told: Timestamp| now.duration_since(told) < AGAIN;
        if self.refused.get(&sender).is_some_and(|told| lately(*told)) {
            return Verdict::Ignore;
        }
        let swept_lately = self.swept.is_some_and(|swept| now.duration_since(swept) < SWEEP);
        if self.refused.len() >= MOST_STRANGERS && !swept_lately {
            self.refused.retain(|_, told| lately(*told));
            self.swept = Some(now);
        }
        if self.refused.len() >= MOST_STRANGERS {
            return Verdict::Ignore;
        }
        self.refused.insert(sender, now);
        Verdict::Refuse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_only_look_may_not_answer_whatever_else_lets_them_in() {
        let mut access = Access::new([1, 2]).with_lookers([2, 3].into());
        let now = Timestamp::UNIX_EPOCH;
        assert_eq!(access.judge(1, None, now), Verdict::Allowed);
        assert_eq!(access.judge(2, None, now), Verdict::Looks);
        assert_eq!(access.judge(3, Some("a code"), now), Verdict::Looks);
        access.allow(3);
        assert_eq!([1, 2, 3, 4].map(|user| access.allows(user)), [true, false, false, false]);
        assert_eq!(access.role(4), None);
    }
}
