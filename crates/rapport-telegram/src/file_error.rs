//! Errors of the bot's files.

use std::io;
use std::path::Path;

use thiserror::Error;

/// Why a file of the bot cannot be used.
#[derive(Debug, Error)]
pub enum FileError {
    /// It cannot be read or written.
    #[error("cannot use {path}: {source}")]
    Io { path: String, source: io::Error },
    /// Its content is invalid.
    #[error("{path} cannot be understood: {what}; {advice}")]
    Damaged {
        path: String,
        /// What is wrong.
        what: String,
        /// What the user can do about it, with the consequences.
        advice: &'static str,
    },
    /// A newer version of the program wrote the file.
    #[error("{path} was written by a newer program (format {version}); use that one")]
    Newer { path: String, version: u32 },
}

impl FileError {
    /// Wraps an I/O error about this file.
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.display().to_string(), source }
    }
}
