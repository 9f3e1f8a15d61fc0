//! Sessions as files: the directories of turns, their content, and their order. The facts are the state; the files are
//! written from them, and anything else in the directories is [`discovery`]. `docs/formats/session-directory.md` is the
//! contract.
//!
//! Everything here is read from the store and written to it, as documents of the session, whatever the store is; only
//! the journals of batches ([`batches`]) are files of the project. [`Folder`] has a session's documents, [`Turn`] is
//! one folder of them, [`TurnName`] its name, [`Meta`] its origin, [`preparation`] prepares a turn, [`check`] and
//! [`report`] handle its plan before and after the run. All writes are atomic, and complete turns get [`checksum`]s,
//! because they are never written again.

pub mod batches;
pub mod check;
pub mod checksum;
pub mod discovery;
pub mod folder;
pub mod meta;
pub mod name;
mod notes;
pub mod preparation;
pub mod report;
pub mod workshop;

use thiserror::Error;

use crate::actions::JournalError;
use crate::projects::files::FileError;
use crate::stores::StoreError;

pub use crate::stores::SESSION_CONTEXT;
pub use folder::{Folder, Turn};
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

/// Errors of a session's documents.
#[derive(Debug, Error)]
pub enum TurnError {
    /// A document cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the project cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The content of a document is invalid.
    #[error("{place}: {what}")]
    Wrong { place: String, what: String },
    /// The journal of a batch cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is no such turn.
    #[error("there is no turn {name} in {session}")]
    NoTurn { name: String, session: String },
    /// The maximum number of turns is reached.
    #[error("{session} has {} turns, and there can be no more", name::MOST)]
    Full { session: String },
}
