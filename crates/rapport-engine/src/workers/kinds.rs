//! The registry of workers. Each kind describes itself to settings, help and `doctor`, and checks whether a project supports
//! it. The list of kinds is in `mod.rs`.

use std::fmt;
use std::path::{Path, PathBuf};

use super::containers::ContainerSettings;
use super::network::Network;
use super::{KINDS, Workers};

/// The word for a workplace that is a git worktree with a branch of its own.
pub const GIT_WORKTREE: &str = "worktree";

/// A kind of worker, as settings and commands see it.
pub trait WorkerKind: Sync {
    /// Its name in the setting `worker`, and in the facts of sessions.
    fn name(&self) -> &'static str;

    /// A short description for help texts.
    fn in_brief(&self) -> &'static str;

    /// What its workplace is called in messages to people.
    fn workplace(&self) -> &'static str {
        GIT_WORKTREE
    }

    /// Whether it confines the agent.
    fn is_wall(&self) -> bool {
        false
    }

    /// Whether its workplace is apart from the project's directory, so that work there has to be applied or discarded.
    fn is_apart(&self) -> bool {
        true
    }

    /// Checks whether this project and this machine support it. May block.
    fn check(&self, project: &Path, setup: &WorkerSetup) -> Result<(), NoWorkplace>;

    /// The version of the program that it needs besides git, or why that cannot be used; `None` if it needs none. May block.
    fn diagnose(&self, _setup: &WorkerSetup) -> Option<Result<String, NoWorkplace>> {
        None
    }

    /// What is said if the machine has nothing of the kind and nobody chose it; `None` if it is worth a warning.
    fn without(&self) -> Option<&'static str> {
        None
    }

    /// These workers with one of this kind.
    fn add_to(&self, workers: Workers, setup: &WorkerSetup) -> Workers;
}

/// What workers are made from.
#[derive(Clone, Debug, Default)]
pub struct WorkerSetup {
    /// Where Rapport has its own files, by which it is told from others on this machine.
    pub home: PathBuf,
    /// Rapport's own program, which runs as the keeper.
    pub keeper: PathBuf,
    /// Where the worktrees of the project's sessions are.
    pub worktrees: PathBuf,
    /// The person's home, if they have one.
    pub person: Option<PathBuf>,
    /// The network access of a confined workplace.
    pub network: Network,
    pub containers: ContainerSettings,
}

/// Why a workplace of this kind cannot be opened here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoWorkplace {
    /// What is missing.
    pub why: String,
    /// Remedies, one sentence each.
    pub advice: Vec<&'static str>,
}

impl fmt::Display for NoWorkplace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        self.advice.iter().try_for_each(|advice| write!(f, ". {}", advice.trim_end_matches('.')))
    }
}

/// Every kind of place.
pub fn all() -> impl Iterator<Item = &'static dyn WorkerKind> {
    KINDS.into_iter()
}

/// The usual kind.
pub fn usual() -> &'static dyn WorkerKind {
    KINDS[0]
}

/// What the workplace of this kind of worker is called in messages to people.
pub fn workplace(worker: &str) -> &'static str {
    find(worker).map_or("workplace", WorkerKind::workplace)
}

/// The kind of this name, or which ones there are.
pub fn find(name: &str) -> Result<&'static dyn WorkerKind, String> {
    all().find(|kind| kind.name() == name).ok_or_else(|| {
        let names: Vec<_> = all().map(|kind| kind.name()).collect();
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        format!("{name:?} is not one of {} and {last}", others.join(", "))
    })
}
