//! Files of a project that Rapport reads and writes for people, besides the documents of sessions, which are in the
//! store: `memos.yaml`, `global.context`, and the directories of batches.

use std::io;
use std::path::{Path, PathBuf};

use rapport_durable as durable;
use thiserror::Error;

/// Errors of a project's files.
#[derive(Debug, Error)]
pub enum FileError {
    /// The operating system reported an error.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The content of a file is invalid.
    #[error("{}: {what}", path.display())]
    Wrong { path: PathBuf, what: String },
}

/// Adds the attempted action and the path to an error.
pub fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
    move |source| FileError::Io { what, path: path.to_owned(), source }
}

/// Replaces a file atomically. Durable when this returns.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), FileError> {
    durable::replace_private(path, content).map_err(io_error("write", path))
}

/// A file as text; `None` if it does not exist.
pub fn text(path: &Path) -> Result<Option<String>, FileError> {
    match read(path) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes);
            text.map(Some)
                .map_err(|_| FileError::Wrong { path: path.to_owned(), what: "it is not UTF-8 text".into() })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path)(error)),
    }
}

/// Reads a file of Rapport's own; refuses a link that leads out of the project.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let is_ours =
        |place: &&Path| place.file_name().is_some_and(|name| name == ".rapport" || name == ".teddy");
    // A path outside of any project has no such boundary.
    let project = path.ancestors().find(is_ours).and_then(Path::parent).unwrap_or(Path::new("/"));
    durable::read_inside(path, project)
}
