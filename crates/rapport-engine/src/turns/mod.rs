//! Sessions as files: the directories of turns, what is in them, and which turn comes after which. The facts are the state; the
//! files are written from them, and what else is in the directories is [`found`]. `docs/formats/session-directory.md` is the
//! contract.
//!
//! [`Folder`] is a session's directory, [`Turn`] one directory in it, [`TurnName`] its name, [`Meta`] where it comes from,
//! [`batches`] has the directories of batches, [`check`] and [`report`] are what happens to a plan before and after.
//! Everything is written at once or not at all, and nothing is written twice: what is finished gets [`checksum`]s.

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

/// What the agent is to be shown, path by path.
pub const TURN_CONTEXT: &str = "turn.context";
/// What it was shown, word for word.
pub const CONTEXT_LOG: &str = "_context.log";
/// What it proposes.
pub const PLAN: &str = "plan.md";
/// What was done.
pub const REPORT: &str = "report.md";
/// Where the turn comes from.
pub const META: &str = "meta.yaml";
/// What every turn of a session is shown.
pub const SESSION_CONTEXT: &str = "session.context";

/// What can go wrong with the files of a session.
#[derive(Debug, Error)]
pub enum TurnError {
    /// The system said no.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// With what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what it should be.
    #[error("{}: {what}", path.display())]
    Wrong {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The journal of a batch cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// What is noted beside the log cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no such turn.
    #[error("there is no turn {name} in {session}")]
    NoTurn {
        /// What was asked for.
        name: String,
        /// Where.
        session: String,
    },
    /// There are as many turns as there can be.
    #[error("{session} has {} turns, and there can be no more", name::MOST)]
    Full {
        /// Which session.
        session: String,
    },
}

/// Says what was tried and with what, beside what the system said.
pub fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> TurnError {
    move |source| TurnError::Io { what, path: path.to_owned(), source }
}

/// Either the old file or the whole new one, whatever happens in between. Durable when this returns.
pub fn replace(path: &Path, content: &[u8]) -> Result<(), TurnError> {
    replace_in_pieces(path, [content])
}

/// The same, for what need not be put together for it.
pub fn replace_in_pieces<B: AsRef<[u8]>>(
    path: &Path,
    pieces: impl IntoIterator<Item = B>,
) -> Result<(), TurnError> {
    durable::replace_private_in_pieces(path, pieces).map_err(io_error("write", path))
}

/// A file of ours, which is not behind a link that leads out of the project.
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

/// A file as text; `None` where there is none.
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

/// Makes the new names in a directory durable.
fn sync(directory: &Path) -> Result<(), TurnError> {
    durable::sync_folder(directory).map_err(io_error("sync the directory", directory))
}
