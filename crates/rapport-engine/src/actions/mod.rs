//! Carries out a plan of actions: `kinds` has one file per kind of action, [`batch`] runs them in order, [`journal`]
//! makes the progress durable, [`mod@undo`] reverts changes to files, [`project`] confines everything to the project.
//!
//! Nothing is changed before the journal says what is about to change and what it was before. So a kill at any instant
//! leaves each action not begun, done, or, for commands only, begun and possibly done.

pub mod batch;
pub(crate) mod diff;
mod files;
pub mod journal;
mod kinds;
pub mod outcome;
pub(crate) mod path_state;
pub mod project;
pub mod undo;

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rapport_core::Action;
use thiserror::Error;

use crate::clock::Clock;
use crate::seals::Seals;

pub use crate::workers::command::{Output, Stop, Stopper};

pub(crate) use batch::snapshot::has_history;
pub use batch::{ActionBatch, Choice};
pub use journal::JournalError;
pub use kinds::read;
pub(crate) use kinds::{of_commands, of_confined_commands};
pub use outcome::{BatchOutcome, Details, FileChange, Outcome, TimedOutcome};
pub use project::{OnDisk, PathError};
pub use rapport_core::{Interrupted, LaterChanges};
pub use undo::{Undone, undo};

/// The default time limit of a command.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// Where a batch is run.
#[derive(Clone, Debug)]
pub struct BatchSite {
    pub project: PathBuf,
    /// The directory of this batch: its journal, and the files before the changes.
    pub journal: PathBuf,
    /// The seals that sign its journal and verify it.
    pub seals: Option<Arc<Seals>>,
    /// The clock of its journal.
    pub clock: Clock,
}

/// What actions need besides the plan.
#[derive(Clone, Debug)]
pub struct ActionConfig {
    /// This program: commands run under its keeper, so that they end with their host.
    pub keeper: PathBuf,
    /// The time limit of a command if the plan does not set one.
    pub command_timeout: Duration,
    /// Additional environment variables that commands get.
    pub command_env: Vec<String>,
    /// The program that searches the web, with its first arguments; the queries follow, one per argument. If it is
    /// empty, [`Requester::research`] is used.
    pub research_command: Vec<String>,
}

impl ActionConfig {
    /// The defaults, with this program as the keeper.
    pub fn new(keeper: impl Into<PathBuf>) -> Self {
        Self {
            keeper: keeper.into(),
            command_timeout: COMMAND_TIMEOUT,
            command_env: Vec::new(),
            research_command: Vec::new(),
        }
    }
}

/// What actions need others for. `n` is the action's index in the plan, from 0. After a kill the same request is
/// repeated with the same `n`, so that an answer that was given meanwhile can be found; only [`Requester::invoke`] is
/// never repeated.
pub trait Requester: Send + Sync {
    /// Asks a person and returns their reply. May take days, and be answered elsewhere.
    fn ask<'a>(&'a self, n: usize, message: &'a str) -> Pending<'a>;

    /// Searches the web and returns the findings.
    fn research<'a>(&'a self, n: usize, queries: &'a [String]) -> Pending<'a>;

    /// Starts a session of an agent, and returns its name.
    fn invoke<'a>(&'a self, n: usize, agent: &'a str, message: &'a str) -> Pending<'a>;
}

/// A reply, or why there is none.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// Progress of a running batch, for the screen.
#[derive(Debug)]
pub enum Live<'a> {
    /// An action begins.
    Started { n: usize, action: &'a Action },
    /// A command wrote a line. If it writes faster than the reader reads, lines are dropped.
    Output {
        /// The action's index in the plan, from 0.
        n: usize,
        /// The line, safe to show.
        line: &'a str,
    },
    /// An action ended, or was skipped.
    Ended {
        n: usize,
        settled: &'a TimedOutcome,
        /// Whether that is final, or the action is repeated when the batch resumes.
        is_final: bool,
    },
}

pub type Observer<'a> = dyn FnMut(Live<'_>) + Send + 'a;

/// Why a batch cannot be run or undone. Nothing was done.
#[derive(Debug, Error)]
pub enum ActionError {
    /// The project cannot be used.
    #[error("cannot use {} as the project: {error}", path.display())]
    Project { path: PathBuf, error: io::Error },
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The directory already contains a batch.
    #[error("there is a batch in {} already; it can be resumed or undone", path.display())]
    NotNew { path: PathBuf },
    /// The directory contains no batch.
    #[error("there is no batch in {}", path.display())]
    NoBatch { path: PathBuf },
    /// The batch belongs to another plan.
    #[error("the batch in {} was begun with another plan", path.display())]
    OtherPlan { path: PathBuf },
    /// The batch was undone, at least partly, and is over.
    #[error("the batch in {} was undone", path.display())]
    WasUndone { path: PathBuf },
}

/// Runs blocking work on a blocking thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}
