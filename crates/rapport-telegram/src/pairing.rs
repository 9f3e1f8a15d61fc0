//! Pairing: the first user gets access by sending the bot a code that the host shows. The callers pass in the time and
//! random bytes.

use jiff::{SignedDuration, Timestamp};
use subtle::ConstantTimeEq as _;

/// How long a code is valid.
pub const VALID: SignedDuration = SignedDuration::from_hours(1);
/// The maximum number of attempts, by all users together.
pub const TRIES: u32 = 5;
/// Letters and digits that are not easily confused.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// The number of characters of a code.
const LENGTH: usize = 8;

/// A code that gives one person access, once.
#[derive(Clone, PartialEq, Eq)]
pub struct Pairing {
    code: String,
    until: Timestamp,
    tries_left: u32,
}

/// The result of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Try {
    Right,
    Wrong,
    NoCode,
    /// The code has expired, or there were too many attempts. A new code is needed.
    Over,
}

impl Pairing {
    /// A new code from eight random bytes.
    pub fn new(chance: [u8; LENGTH], now: Timestamp) -> Self {
        let letter = |byte: u8| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]);
        let code = chance.into_iter().map(letter).collect();
        Self { code, until: now.saturating_add(VALID).unwrap_or(now), tries_left: TRIES }
    }

    /// Eight random bytes from the system.
    pub fn chance() -> [u8; LENGTH] {
        // Six bits of a version 4 UUID are fixed; none of them is in these bytes.
        let id = *uuid::Uuid::new_v4().as_bytes();
        [id[0], id[1], id[2], id[3], id[4], id[5], id[10], id[11]]
    }

    /// The code, to be shown by the host.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// Until when the code is valid.
    pub fn until(&self) -> Timestamp {
        self.until
    }

    /// Whether the code can still be used.
    pub fn is_open(&self, now: Timestamp) -> bool {
        now < self.until && self.tries_left > 0
    }

    /// Checks a text against the code. A link to the bot sends `/start CODE`.
    pub fn attempt(&mut self, words: &str, now: Timestamp) -> Try {
        let Some(said) = code_in(words) else { return Try::NoCode };
        if !self.is_open(now) {
            return Try::Over;
        }
        self.tries_left -= 1;
        if bool::from(said.as_bytes().ct_eq(self.code.as_bytes())) {
            self.tries_left = 0;
            return Try::Right;
        }
        Try::Wrong
    }
}

impl std::fmt::Debug for Pairing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pairing")
            .field("until", &self.until)
            .field("tries_left", &self.tries_left)
            .finish_non_exhaustive()
    }
}

/// The part of a text that could be a code. Case, spaces and hyphens do not matter.
fn code_in(words: &str) -> Option<String> {
    let words = words.trim();
    let words = words.strip_prefix("/start").unwrap_or(words);
    if words.len() > 4 * LENGTH {
        return None;
    }
    let said: String = words.chars().filter(|c| !c.is_whitespace() && *c != '-').collect();
    let said = said.to_ascii_uppercase();
    (said.len() == LENGTH && said.bytes().all(|byte| ALPHABET.contains(&byte))).then_some(said)
}
