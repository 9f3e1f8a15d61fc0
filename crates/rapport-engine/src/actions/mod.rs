//! Carrying out a plan of actions: `kinds` has one file per kind of action, [`batch`] runs them in order, [`journal`] makes durable what was
//! done, [`mod@undo`] takes back what was done to files, [`project`] keeps all of it inside the project.
//!
//! Nothing is changed before the journal says what is about to change and how it was before. So a kill at any instant
//! leaves each action not begun, done, or, for commands alone, begun and perhaps done.

pub mod batch;
pub(crate) mod diff;
mod files;
pub mod journal;
mod kinds;
pub mod outcome;
pub mod project;
pub mod stop;
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

pub use batch::snapshot::has_history;
pub use batch::{ActionBatch, Choice};
pub use journal::JournalError;
pub use kinds::read;
pub use outcome::{Details, FileChange, Outcome, Output, Ran, Settled};
pub use project::{OnDisk, PathError};
pub use rapport_core::{Interrupted, LaterChanges};
pub use stop::{Stop, Stopper};
pub use undo::{Undone, undo};

/// How long a command may take where neither the plan nor the settings say so.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(60);

/// Where a batch is carried out.
#[derive(Clone, Debug)]
pub struct Place {
    /// The project.
    pub project: PathBuf,
    /// A directory of this batch alone: its journal, and the files as they were before.
    pub journal: PathBuf,
    /// Whose seals its journal gets, and has to have.
    pub seals: Option<Arc<Seals>>,
    /// What its journal takes the time from.
    pub clock: Clock,
}

/// What actions need to know beside the plan.
#[derive(Clone, Debug)]
pub struct Means {
    /// This program: commands are run under its keeper, so that they end with their host.
    pub keeper: PathBuf,
    /// How long a command may take where the plan does not say so.
    pub command_timeout: Duration,
    /// Variables that commands get beside the usual ones.
    pub command_env: Vec<String>,
    /// The program that searches the web, with its first arguments; the queries follow, one per argument. Where there is
    /// none, [`Hands::research`] does it.
    pub research_command: Vec<String>,
}

impl Means {
    /// The usual ones, with this program as keeper.
    pub fn new(keeper: impl Into<PathBuf>) -> Self {
        Self {
            keeper: keeper.into(),
            command_timeout: COMMAND_TIMEOUT,
            command_env: Vec::new(),
            research_command: Vec::new(),
        }
    }
}

/// What actions need others for. `n` is the action's place in the plan, from 0. After a kill the same is asked again with
/// the same `n`, so that an answer that was given meanwhile can be found; only [`Hands::invoke`] is never repeated.
pub trait Hands: Send + Sync {
    /// Tells a person this and gives their words. May take days, and be answered elsewhere.
    fn ask<'a>(&'a self, n: usize, message: &'a str) -> Pending<'a>;

    /// Searches the web for these, and tells what was found.
    fn research<'a>(&'a self, n: usize, queries: &'a [String]) -> Pending<'a>;

    /// Gives an agent a session of its own, and tells its name.
    fn invoke<'a>(&'a self, n: usize, agent: &'a str, message: &'a str) -> Pending<'a>;
}

/// Words to come, or why there are none.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// What happens while a batch runs, for the screen.
#[derive(Debug)]
pub enum Live<'a> {
    /// An action begins.
    Started {
        /// Its place in the plan, from 0.
        n: usize,
        /// What it does.
        action: &'a Action,
    },
    /// A command wrote a line. Where it writes faster than anybody reads, lines are left out.
    Output {
        /// The action's place in the plan, from 0.
        n: usize,
        /// The line, safe to show.
        line: &'a str,
    },
    /// An action is settled, or was passed over.
    Ended {
        /// Its place in the plan, from 0.
        n: usize,
        /// How.
        settled: &'a Settled,
        /// Whether that holds, or it is done again when the batch goes on.
        is_final: bool,
    },
}

/// Who watches.
pub type Observer<'a> = dyn FnMut(Live<'_>) + Send + 'a;

/// Why a batch cannot be carried out or undone at all. Nothing was done then.
#[derive(Debug, Error)]
pub enum ActionError {
    /// The project cannot be used.
    #[error("cannot use {} as the project: {error}", path.display())]
    Project {
        /// Where.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is a batch there already.
    #[error("there is a batch in {} already; it can be resumed or undone", path.display())]
    NotNew {
        /// Where.
        path: PathBuf,
    },
    /// There is no batch there.
    #[error("there is no batch in {}", path.display())]
    NoBatch {
        /// Where.
        path: PathBuf,
    },
    /// The batch there carries out something else.
    #[error("the batch in {} was begun with another plan", path.display())]
    OtherPlan {
        /// Where.
        path: PathBuf,
    },
    /// The batch was undone, at least in part, and is over.
    #[error("the batch in {} was undone", path.display())]
    WasUndone {
        /// Where.
        path: PathBuf,
    },
}

/// Does what blocks off the threads that others wait on.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is going away, and this task with it.
            Err(_) => std::future::pending().await,
        },
    }
}
