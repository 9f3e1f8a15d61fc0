//! Secrets, which never appear in debug output.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::Deserializer;

#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    pub fn new(word: String) -> Self {
        Self(SecretString::from(word))
    }

    /// Returns the secret itself.
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
