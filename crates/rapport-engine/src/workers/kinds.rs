//! The registry of workers. Each kind describes itself to settings, help and `doctor`, and checks whether a project supports
//! it. The list of kinds is in `mod.rs`.

use std::fmt;
use std::path::{Path, PathBuf};

use super::network::Network;
use super::{KINDS, Workers};

/// A kind of worker, as settings and commands see it.
pub trait WorkerKind: Sync {
    /// Its name in the setting `worker`, and in the facts of sessions.
    fn name(&self) -> &'static str;

    /// A short description for help texts.
    fn in_brief(&self) -> &'static str;

    /// Whether it confines the agent.
    fn is_wall(&self) -> bool {
        false
    }

    /// Checks whether this project and this machine support it. May block.
    fn check(&self, project: &Path) -> Result<(), NoWorkplace>;

    /// The version of the program that it needs besides git, or why that cannot be used; `None` if it needs none. May block.
    fn diagnose(&self) -> Option<Result<String, NoWorkplace>> {
        None
    }

    /// These workers with one of this kind.
    fn add_to(&self, workers: Workers, setup: &WorkerSetup) -> Workers;
}

/// What workers are made from.
#[derive(Clone, Debug)]
pub struct WorkerSetup {
    /// Where the worktrees of the project's sessions are.
    pub worktrees: PathBuf,
    /// The person's home, if they have one.
    pub person: Option<PathBuf>,
    /// The network access of a confined workplace.
    pub network: Network,
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

/// The kind of this name, or which ones there are.
pub fn find(name: &str) -> Result<&'static dyn WorkerKind, String> {
    all().find(|kind| kind.name() == name).ok_or_else(|| {
        let names: Vec<_> = all().map(|kind| kind.name()).collect();
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        format!("{name:?} is not one of {} and {last}", others.join(", "))
    })
}
