//! Files that say which version of their format they are in.

use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::file_error::FileError;

/// What is known about the files of one kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) notation: Notation,
    /// The newest version that is understood.
    pub(super) version: u32,
    /// What to do about one that is damaged.
    pub(super) advice: &'static str,
}

/// How it is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Notation {
    Json,
    Yaml,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl Format {
    /// Reads a file; `None` if there is none yet. A newer version is refused before the rest is parsed, because the rest may
    /// have another meaning there.
    pub(super) fn read<T: DeserializeOwned>(self, path: &Path) -> Result<Option<T>, FileError> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            read => read.map_err(|source| FileError::io(path, source))?,
        };
        let Version { version } = self.parse(path, &text)?;
        if version > self.version {
            return Err(FileError::Newer { path: path.display().to_string(), version });
        }
        self.parse(path, &text).map(Some)
    }

    /// Says that a file is not what it should be.
    pub(super) fn damaged(self, path: &Path, what: String) -> FileError {
        FileError::Damaged { path: path.display().to_string(), what, advice: self.advice }
    }

    fn parse<T: DeserializeOwned>(self, path: &Path, text: &str) -> Result<T, FileError> {
        let parsed = match self.notation {
            Notation::Json => serde_json::from_str(text).map_err(|error| error.to_string()),
            Notation::Yaml => {
                serde_saphyr::from_str(text).map_err(|error| error.without_snippet().to_string())
            }
        };
        parsed.map_err(|what| self.damaged(path, what))
    }
}
