//! Who was let in by a code, kept in a file people can read and edit.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::durable;

/// The format's version.
const VERSION: u32 = 1;

/// Who was let in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paired {
    /// Their id.
    pub id: u64,
    /// What they called themselves, for people who read the file.
    #[serde(default)]
    pub name: String,
    /// When.
    pub since: Timestamp,
}

/// The file of those who were let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Users {
    path: PathBuf,
}

/// What is wrong with it.
#[derive(Debug, Error)]
pub enum UsersError {
    /// It cannot be read or written.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not what it should be. Nobody is let in because of that.
    #[error("{path} cannot be understood: {what}; correct it, or move it away and pair again")]
    Damaged {
        /// Which file.
        path: String,
        /// What is wrong.
        what: String,
    },
    /// A newer program wrote it.
    #[error("{path} was written by a newer program (format {version}); use that one")]
    Newer {
        /// Which file.
        path: String,
        /// Its format.
        version: u32,
    },
}

#[derive(Serialize, Deserialize)]
struct Page {
    version: u32,
    users: Vec<Paired>,
}

impl Users {
    /// Kept in this file.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// All who were let in; nobody if there is no file.
    pub fn load(&self) -> Result<Vec<Paired>, UsersError> {
        let path = self.path.display().to_string();
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(UsersError::Io { path, source }),
        };
        let page: Page = serde_saphyr::from_str(&text).map_err(|error| UsersError::Damaged {
            path: path.clone(),
            what: error.without_snippet().to_string(),
        })?;
        if page.version > VERSION {
            return Err(UsersError::Newer { path, version: page.version });
        }
        Ok(page.users)
    }

    /// Lets one more in, durably. Blocks until the disk has it.
    pub fn add(&self, paired: Paired) -> Result<(), UsersError> {
        let path = self.path.display().to_string();
        let mut users = self.load()?;
        users.retain(|user| user.id != paired.id);
        users.push(paired);
        let text = serde_saphyr::to_string(&Page { version: VERSION, users })
            .map_err(|error| UsersError::Damaged { path: path.clone(), what: error.to_string() })?;
        durable::replace(&self.path, text.as_bytes()).map_err(|source| UsersError::Io { path, source })
    }
}
