//! Who may use the bot: the users of the settings, and those who were let in by a code. It is the sender who counts,
//! never the chat. Closed unless opened: with nobody allowed, nobody is served.

use std::collections::{BTreeSet, HashMap};

use jiff::{SignedDuration, Timestamp};

use super::pairing::{Pairing, Try};

/// What strangers are told, at most once an hour each.
pub const REFUSAL: &str = "This bot is private.";
/// How often a stranger is told.
const AGAIN: SignedDuration = SignedDuration::from_hours(1);
/// The shortest time between two sweeps of the strangers who may be told again.
const SWEEP: SignedDuration = SignedDuration::from_mins(1);
/// How many strangers are remembered. While there are more within an hour, the rest are told nothing.
const MOST_STRANGERS: usize = 10_000;

/// Who may.
#[derive(Debug, Default)]
pub struct Access {
    allowed: BTreeSet<u64>,
    pairing: Option<Pairing>,
    refused: HashMap<u64, Timestamp>,
    /// The last sweep. Not at every stranger: a crowd must not be costly.
    swept: Option<Timestamp>,
}

/// What to do with what somebody sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They may.
    Allowed,
    /// They sent the code. They may as soon as that is durable: [`super::users::Users::add`], then [`Access::allow`].
    Paired,
    /// A stranger: tell them [`REFUSAL`], and nothing else.
    Refuse,
    /// A stranger who was told already.
    Ignore,
}

impl Access {
    /// Only these.
    pub fn new(allowed: impl IntoIterator<Item = u64>) -> Self {
        Self { allowed: allowed.into_iter().collect(), ..Self::default() }
    }

    /// Whether this user may.
    pub fn allows(&self, sender: u64) -> bool {
        self.allowed.contains(&sender)
    }

    /// Whether nobody may, so that a code is needed.
    pub fn is_empty(&self) -> bool {
        self.allowed.is_empty()
    }

    /// From now on this user may. The code is used up.
    pub fn allow(&mut self, user: u64) {
        self.allowed.insert(user);
        self.pairing = None;
    }

    /// A code for the host to show: the one that is open, else a fresh one. None where somebody may already.
    pub fn code(&mut self, chance: [u8; 8], now: Timestamp) -> Option<&Pairing> {
        if !self.is_empty() {
            return None;
        }
        if !self.pairing_is_open(now) {
            self.pairing = Some(Pairing::new(chance, now));
        }
        self.pairing.as_ref()
    }

    /// Whether there is a code that can still be used.
    pub fn pairing_is_open(&self, now: Timestamp) -> bool {
        self.pairing.as_ref().is_some_and(|pairing| pairing.is_open(now))
    }

    /// What to do with what this user sent; `words` where it was a text in a chat with the bot alone.
    pub fn judge(&mut self, sender: u64, words: Option<&str>, now: Timestamp) -> Verdict {
        if self.allows(sender) {
            return Verdict::Allowed;
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
