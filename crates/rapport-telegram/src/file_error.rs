//! Errors of the bot's files.

use std::io;
use std::path::Path;

use thiserror::Error;

/// Why a file of the bot's cannot be used.
#[derive(Debug, Error)]
pub enum FileError {
    /// It cannot be read or written.
    #[error("cannot use {path}: {source}")]
    Io {
        /// Which file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// It is not what it should be.
    #[error("{path} cannot be understood: {what}; {advice}")]
    Damaged {
        /// Which file.
        path: String,
        /// What is wrong.
        what: String,
        /// What to do about it, and what that means.
        advice: &'static str,
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

impl FileError {
    /// What the system said about this file.
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.display().to_string(), source }
    }
}
