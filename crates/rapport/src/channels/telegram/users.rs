//! Who was let in by a code, kept in a file people can read and edit.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::durable;
use super::file_error::FileError;

/// What to do about one that is damaged.
const ADVICE: &str = "correct it, or move it away and pair again";
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
    pub fn load(&self) -> Result<Vec<Paired>, FileError> {
        let path = self.path.display().to_string();
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(FileError::Io { path, source }),
        };
        let page: Page = serde_saphyr::from_str(&text).map_err(|error| FileError::Damaged {
            path: path.clone(),
            what: error.without_snippet().to_string(),
            advice: ADVICE,
        })?;
        if page.version > VERSION {
            return Err(FileError::Newer { path, version: page.version });
        }
        Ok(page.users)
    }

    /// Lets one more in, durably. Blocks until the disk has it.
    pub fn add(&self, paired: Paired) -> Result<(), FileError> {
        let path = self.path.display().to_string();
        let mut users = self.load()?;
        users.retain(|user| user.id != paired.id);
        users.push(paired);
        let text = serde_saphyr::to_string(&Page { version: VERSION, users }).map_err(|error| {
            FileError::Damaged { path: path.clone(), what: error.to_string(), advice: ADVICE }
        })?;
        durable::replace(&self.path, text.as_bytes()).map_err(|source| FileError::Io { path, source })
    }
}
