//! The kinds of places that there are. Each says about itself what is asked before one is opened: its name, its help, whether a
//! project can have it. A new kind is one line here.

use std::path::{Path, PathBuf};

use super::Workers;
use super::local::LocalKind;
use super::network::Network;
use super::sandboxes::SandboxKind;
use super::worktrees::WorktreeKind;

/// Every kind. The first is the usual one.
const KINDS: [&dyn WorkerKind; 3] = [&LocalKind, &WorktreeKind, &SandboxKind];

/// A kind of place, as settings and commands know it.
pub trait WorkerKind: Sync {
    /// Its name in the setting `worker`, and in the facts of sessions.
    fn name(&self) -> &'static str;

    /// What it is, in a few words, for help.
    fn in_brief(&self) -> &'static str;

    /// Whether it keeps an agent from what is outside of it.
    fn is_wall(&self) -> bool {
        false
    }

    /// Whether this project can have it on this machine. May block.
    fn check(&self, project: &Path) -> Result<(), NoWorkplace>;

    /// What it needs beside git: its version, or what is missing; `None` where it needs nothing. May block.
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
    /// What is reached of the network from a place that is apart from the host.
    pub network: Network,
}

/// Why a project cannot have a place of this kind here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoWorkplace {
    /// What is missing.
    pub why: String,
    /// What helps, a sentence for each way.
    pub advice: Vec<&'static str>,
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
