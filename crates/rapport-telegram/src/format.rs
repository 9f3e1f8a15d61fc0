//! Versioned files. Each one names the version of its format.

use std::io::ErrorKind;
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::file_error::FileError;

/// A file format.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    pub(super) notation: Notation,
    /// The newest known version.
    pub(super) version: u32,
    /// The advice for a damaged file.
    pub(super) advice: &'static str,
}

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
    /// Reads a file; `None` if it does not exist. A newer version is refused before the rest is parsed, because its
    /// fields may have another meaning.
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

    /// The error for a damaged file.
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
