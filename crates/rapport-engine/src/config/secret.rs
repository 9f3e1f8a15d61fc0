//! Words that must not be seen, not even while looking for mistakes.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::Deserializer;

/// A word that must not be seen.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// This word, to be kept.
    pub fn new(word: String) -> Self {
        Self(SecretString::from(word))
    }

    /// For whoever needs it.
    pub fn into_inner(self) -> SecretString {
        self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }
}

impl Eq for Secret {}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::new)
    }
}
