//! Sessions as files: the directories of turns, their content, and their order. The facts are the state; the files are
//! written from them, and anything else in the directories is [`found`]. `docs/formats/session-directory.md` is the
//! contract.
//!
//! [`Folder`] is a session's directory, [`Turn`] one directory in it, [`TurnName`] its name, [`Meta`] its origin,
//! [`batches`] has the directories of batches, [`check`] and [`report`] handle a plan before and after its run. All
//! writes are atomic, and complete turns get [`checksum`]s, because they are never written again.

pub mod batches;
pub mod check;
pub mod checksum;
pub mod folder;
pub mod found;
pub mod gathering;
pub mod memos;
pub mod meta;
pub mod name;
pub mod notes;
pub mod report;
pub mod workshop;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::actions::JournalError;
use crate::stores::StoreError;

use rapport_durable as durable;

pub use folder::{Folder, Standing, Turn};
pub use meta::Meta;
pub use name::TurnName;
pub use workshop::{Helpers, Workshop};

/// The paths that the agent is shown.
pub const TURN_CONTEXT: &str = "turn.context";
/// The exact text that the agent was shown.
pub const CONTEXT_LOG: &str = "_context.log";
pub const PLAN: &str = "plan.md";
pub const REPORT: &str = "report.md";
pub const META: &str = "meta.yaml";
/// The paths that every turn of a session is shown.
pub const SESSION_CONTEXT: &str = "session.context";

/// Errors of a session's files.
#[derive(Debug, Error)]
pub enum TurnError {
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
    /// The journal of a batch cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// What is noted beside the log cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such turn.
    #[error("there is no turn {name} in {session}")]
    NoTurn { name: String, session: String },
    /// The maximum number of turns is reached.
    #[error("{session} has {} turns, and there can be no more", name::MOST)]
    Full { session: String },
}

/// Adds the attempted action and the path to an error.
pub fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TurnError {
    move |source| TurnError::Io { what, path: path.to_owned(), source }
}

/// Replaces a file atomically. Durable when this returns.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), TurnError> {
    replace_in_pieces(path, [content])
}

/// The same for content in pieces, which need not be copied together.
pub fn replace_in_pieces<B: AsRef<[u8]>>(
    path: &Path,
    pieces: impl IntoIterator<Item = B>,
) -> Result<(), TurnError> {
    durable::replace_private_in_pieces(path, pieces).map_err(io_error("write", path))
}

/// Reads a file of Rapport's own, unless a link leads out of the project.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let is_ours =
        |place: &&Path| place.file_name().is_some_and(|name| name == ".rapport" || name == ".teddy");
    let project = path.ancestors().find(is_ours).and_then(Path::parent);
    if let (Some(project), Ok(about)) = (project, path.symlink_metadata())
        && about.is_symlink()
        && !path.canonicalize()?.starts_with(project.canonicalize()?)
    {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a link that leads out of the project",
        ));
    }
    let mut content = Vec::new();
    durable::open_file(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// A file as text; `None` if it does not exist.
pub fn text(path: &Path) -> Result<Option<String>, TurnError> {
    match read(path) {
        Ok(bytes) => {
            let text = String::from_utf8(bytes);
            text.map(Some)
                .map_err(|_| TurnError::Wrong { path: path.to_owned(), what: "it is not UTF-8 text".into() })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", path)(error)),
    }
}

/// Makes the entries of a directory durable.
fn sync(directory: &Path) -> Result<(), TurnError> {
    durable::sync_folder(directory).map_err(io_error("sync the directory", directory))
}
