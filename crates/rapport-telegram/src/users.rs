//! The users who paired with a code, in a file that people can read and edit.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::durable;
use super::file_error::FileError;
use super::format::{Format, Notation};

const FORMAT: Format =
    Format { notation: Notation::Yaml, version: 1, advice: "correct it, or move it away and pair again" };

/// A user who paired.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paired {
    pub id: u64,
    /// The name that the user chose, for people who read the file.
    #[serde(default)]
    pub name: String,
    pub since: Timestamp,
}

/// The file of users who paired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Users {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Page {
    version: u32,
    users: Vec<Paired>,
}

impl Users {
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// All users; empty if the file does not exist.
    pub fn load(&self) -> Result<Vec<Paired>, FileError> {
        let page: Option<Page> = FORMAT.read(&self.path)?;
        Ok(page.map(|page| page.users).unwrap_or_default())
    }

    /// Adds a user, durably. Blocks until that is on disk.
    pub fn add(&self, paired: Paired) -> Result<(), FileError> {
        let mut users = self.load()?;
        users.retain(|user| user.id != paired.id);
        users.push(paired);
        let text = serde_saphyr::to_string(&Page { version: FORMAT.version, users })
            .map_err(|error| FORMAT.damaged(&self.path, error.to_string()))?;
        durable::replace(&self.path, text.as_bytes()).map_err(|source| FileError::io(&self.path, source))
    }
}
