//! The types of settings, and how each is written in a file and in a variable.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use jiff::SignedDuration;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::Secret;

/// A type of setting.
pub trait Setting: Sized {
    /// Parses the value of a variable.
    fn parse(words: &str) -> Result<Self, String>;

    /// Reads the value from a file. By default it is written there as in a variable.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }

    /// Combines this value with that of an older variable. By default the older one is ignored.
    #[must_use]
    fn and_older(self, _older: Self) -> Self {
        self
    }
}

/// Parses a duration such as `30s`; a negative one is refused.
pub fn duration(words: &str) -> Result<SignedDuration, String> {
    let parsed = words.parse().ok().filter(|duration: &SignedDuration| !duration.is_negative());
    parsed.ok_or_else(|| format!("{words:?} is not a time such as 30s, 5m or 2h"))
}

/// The value with this name, or an error that lists all names.
pub fn one_of<T: Copy>(word: &str, values: &[(&str, T)]) -> Result<T, String> {
    let found = values.iter().find(|(name, _)| *name == word);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        format!("{word:?} is not one of {} and {last}", others.join(", "))
    })
}

/// Splits a command line into words. Quotes group a word and have no other meaning here.
pub fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// The items of a list in a variable, which commas or spaces separate.
fn items(words: &str) -> impl Iterator<Item = &str> {
    words.split([',', ' ']).filter(|word| !word.is_empty())
}

impl Setting for String {
    fn parse(words: &str) -> Result<Self, String> {
        Ok(words.to_owned())
    }
}

impl Setting for Secret {
    fn parse(words: &str) -> Result<Self, String> {
        Ok(Self::new(words.to_owned()))
    }
}

impl Setting for PathBuf {
    fn parse(words: &str) -> Result<Self, String> {
        Ok(words.into())
    }
}

impl Setting for SignedDuration {
    fn parse(words: &str) -> Result<Self, String> {
        duration(words)
    }
}

impl Setting for SocketAddr {
    fn parse(words: &str) -> Result<Self, String> {
        words.parse().map_err(|_| format!("{words:?} is not an address such as 127.0.0.1:8443"))
    }
}

/// A switch in the environment is on unless its value means off.
impl Setting for bool {
    fn parse(words: &str) -> Result<Self, String> {
        Ok(!matches!(words, "" | "0" | "false" | "no"))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Setting for u32 {
    fn parse(words: &str) -> Result<Self, String> {
        words.parse().map_err(|_| format!("{words:?} is not a number such as 5"))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Setting for u64 {
    fn parse(words: &str) -> Result<Self, String> {
        words.parse().map_err(|_| format!("{words:?} is not a number such as 5"))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Setting for NonZeroU32 {
    fn parse(words: &str) -> Result<Self, String> {
        words.parse().map_err(|_| format!("{words:?} is not a whole number from 1 on"))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Setting for Vec<String> {
    fn parse(words: &str) -> Result<Self, String> {
        Ok(items(words).map(str::to_owned).collect())
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

impl Setting for Vec<PathBuf> {
    fn parse(words: &str) -> Result<Self, String> {
        Ok(items(words).map(PathBuf::from).collect())
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

/// An amount of money, in millionths of a dollar. It is written in dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dollars(pub u64);

impl Setting for Dollars {
    fn parse(words: &str) -> Result<Self, String> {
        dollars(words).ok_or_else(|| format!("{words:?} is not an amount in dollars such as 5 or 2.50"))
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let amount = f64::deserialize(deserializer)?;
        dollars(&amount.to_string())
            .ok_or_else(|| D::Error::custom(format!("{amount} is not an amount such as 5 or 2.50")))
    }
}

/// Parsed digit by digit, to avoid rounding.
fn dollars(words: &str) -> Option<Dollars> {
    let (whole, part) = words.trim().split_once('.').unwrap_or((words.trim(), "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 6 {
        return None;
    }
    let millionths: u64 = format!("{part:0<6}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(millionths).map(Dollars)
}
