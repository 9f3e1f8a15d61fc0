//! Sessions as files: the directories of turns, what is in them, and which turn comes after which. The facts are the state; the
//! files are written from them, and what else is in the directories is [`found`]. `docs/formats/session-directory.md` is the
//! contract.
//!
//! Everything here is read and written through the store, as documents of the session, whatever the store is; only journals of
//! batches ([`batches`]) are where the project is. [`Folder`] has the documents of a session, [`Turn`] is one folder of them, [`TurnName`] its name, [`Meta`] where it comes from,
//! [`batches`] has the directories of batches, [`check`] and [`report`] are what happens to a plan before and after.
//! Everything is written at once or not at all, and nothing is written twice: what is finished gets [`checksum`]s.

pub mod batches;
pub mod check;
pub mod checksum;
pub mod folder;
pub mod found;
pub mod meta;
pub mod name;
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

/// What can go wrong with the documents of a session.
#[derive(Debug, Error)]
pub enum TurnError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of the project, beside those of the session, cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A document is not what it should be.
    #[error("{place}: {what}")]
    Wrong {
        /// Where it is, in words for a person.
        place: String,
        /// What is wrong.
        what: String,
    },
    /// The journal of a batch cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
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
