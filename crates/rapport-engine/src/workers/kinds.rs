//! The registry of workers. Each kind describes itself to settings, help and `doctor`, and checks whether a project
//! supports it. The list of those that come with Rapport is in `mod.rs`.

use std::fmt;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rapport_core::WorkplaceLimits;
use rapport_door::LimitWish;
use rapport_settings::{ConfigError, Declared, Sources};

use super::network::Network;
use super::separate_work::{include_left_out, include_wish, unreadable_left_out};
use super::{Workers, submodules};
use crate::clock::Clock;
use crate::projects::trust::{Brought, Trust};

/// A kind of worker, as settings and commands see it.
pub trait WorkerKind: Send + Sync {
    /// Its name in the setting `worker`, and in the facts of sessions.
    fn name(&self) -> &'static str;

    /// A short description for help texts.
    fn in_brief(&self) -> &'static str;

    /// What its workplace is called in messages to people.
    fn workplace(&self) -> &'static str {
        "worktree"
    }

    /// Whether its workplace has a branch of its own in the project's repository.
    fn has_branch(&self) -> bool {
        true
    }

    /// Whether it confines the agent.
    fn is_wall(&self) -> bool {
        false
    }

    /// Whether its workplace is separate from the project's directory, so that work there has to be applied or
    /// discarded.
    fn is_apart(&self) -> bool {
        true
    }

    /// The settings that only it has, as a part of the section `worker`.
    fn section(&self) -> Option<Declared> {
        None
    }

    /// The same kind as the settings and the project configure it; `None` if it has no settings of its own. May block.
    fn configure(&self, _sources: &WorkerSources<'_>) -> Result<Option<Arc<dyn WorkerKind>>, ConfigError> {
        Ok(None)
    }

    /// The files of a project that configure it. They are used only if the person trusts them. May block.
    fn brought(&self, project: &Path) -> Vec<Brought> {
        if self.is_wall() { include_wish(project).into_iter().collect() } else { Vec::new() }
    }

    /// The limits of a workplace for this wish; an error if the wish exceeds the settings.
    fn limit(&self, wish: &LimitWish) -> Result<Option<WorkplaceLimits>, String> {
        if *wish == LimitWish::default() {
            return Ok(None);
        }
        Err(format!("the worker {} cannot limit memory, processors or time", self.name()))
    }

    /// How many agents may work at the same time, if its settings limit that.
    fn at_once(&self) -> Option<NonZeroU32> {
        None
    }

    /// Checks whether this project and this machine support it. May block.
    fn check(&self, project: &Path, setup: &WorkerSetup) -> Result<(), NoWorkplace>;

    /// Warnings for people before an agent works in such a workplace of this project, as clauses. May block.
    fn warnings(&self, project: &Path, setup: &WorkerSetup) -> Vec<String> {
        let missing = if self.is_apart() { submodules(project) } else { Vec::new() };
        let told = format!(
            "the agent works in a {}, and submodules are not checked out there: {}",
            self.workplace(),
            missing.join(", ")
        );
        let left_out = if self.is_wall() { include_left_out(project, &setup.trust) } else { None };
        let unreadable = if self.is_apart() { unreadable_left_out(project) } else { None };
        (!missing.is_empty()).then_some(told).into_iter().chain(left_out).chain(unreadable).collect()
    }

    /// The version of the program that it needs besides git, or why that program cannot be used; `None` if it needs
    /// none. May block.
    fn diagnose(&self) -> Option<Result<String, NoWorkplace>> {
        None
    }

    /// The remark of `doctor` if the machine lacks what the kind needs and no setting chooses it; `None` if that
    /// deserves a warning.
    fn without(&self) -> Option<&'static str> {
        None
    }

    /// The longest time that an agent in such a workplace waits for an answer before it is parked; `None` if only the
    /// person's own setting limits it.
    fn hot_at_most(&self) -> Option<Duration> {
        None
    }

    /// Adds a worker of this kind to these workers.
    fn add_to(&self, workers: Workers, setup: &WorkerSetup) -> Workers;
}

/// What a kind of worker is configured from.
#[derive(Clone, Copy, Debug)]
pub struct WorkerSources<'a> {
    pub settings: &'a Sources,
    pub project: &'a Path,
    /// The person's trust in the project's files.
    pub trust: &'a Trust,
}

/// What workers of every kind are made from.
#[derive(Clone, Debug, Default)]
pub struct WorkerSetup {
    /// Where Rapport has its own files.
    pub home: PathBuf,
    /// Rapport's own program, which runs as the keeper.
    pub keeper: PathBuf,
    /// Where the worktrees of the project's sessions are.
    pub worktrees: PathBuf,
    /// The person's home, if they have one.
    pub person: Option<PathBuf>,
    /// The network access of a confined workplace.
    pub network: Network,
    pub clock: Clock,
    /// The person's trust in the project's files.
    pub trust: Trust,
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

/// All kinds of workers that a session can have.
#[derive(Clone)]
pub struct WorkerKinds {
    usual: Arc<dyn WorkerKind>,
    others: Vec<Arc<dyn WorkerKind>>,
}

impl WorkerKinds {
    /// A registry of only this kind.
    pub(super) fn of(usual: impl WorkerKind + 'static) -> Self {
        Self { usual: Arc::new(usual), others: Vec::new() }
    }

    /// Adds another kind.
    #[must_use]
    pub fn with(mut self, kind: impl WorkerKind + 'static) -> Self {
        self.others.push(Arc::new(kind));
        self
    }

    /// The same kinds, each as the settings and the project configure it. May block.
    pub fn configured(&self, sources: &WorkerSources<'_>) -> Result<Self, ConfigError> {
        let one = |kind: &Arc<dyn WorkerKind>| {
            Ok::<_, ConfigError>(kind.configure(sources)?.unwrap_or_else(|| kind.clone()))
        };
        Ok(Self { usual: one(&self.usual)?, others: self.others.iter().map(one).collect::<Result<_, _>>()? })
    }

    /// The settings that only one kind has.
    pub fn sections(&self) -> Vec<Declared> {
        self.iter().filter_map(WorkerKind::section).collect()
    }

    /// The files of a project that configure any kind. May block.
    pub fn brought(&self, project: &Path) -> Vec<Brought> {
        let mut all = Vec::new();
        for one in self.iter().flat_map(|kind| kind.brought(project)) {
            // Several kinds may use the same file.
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }

    /// How many agents may work at the same time, if the settings of any kind limit that.
    pub fn at_once(&self) -> Option<NonZeroU32> {
        self.iter().filter_map(WorkerKind::at_once).min()
    }

    /// All kinds, the default first.
    pub fn iter(&self) -> impl Iterator<Item = &dyn WorkerKind> {
        [&self.usual].into_iter().chain(&self.others).map(|kind| &**kind)
    }

    /// The kinds whose workplace is separate from the project's directory.
    pub fn apart(&self) -> impl Iterator<Item = &dyn WorkerKind> {
        self.iter().filter(|kind| kind.is_apart())
    }

    /// The kind of sessions whose settings name none.
    pub fn usual(&self) -> &dyn WorkerKind {
        &*self.usual
    }

    /// The kind of this name; the error lists the known ones.
    pub fn find(&self, name: &str) -> Result<&dyn WorkerKind, String> {
        self.iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let names: Vec<_> = self.iter().map(WorkerKind::name).collect();
            let (last, others) = names.split_last().unwrap_or((&"", &[]));
            format!("{name:?} is not one of {} and {last}", others.join(", "))
        })
    }

    /// What the workplace of this kind of worker is called in messages to people.
    pub fn workplace(&self, worker: &str) -> &'static str {
        self.find(worker).map_or("workplace", WorkerKind::workplace)
    }

    /// Whether the workplace of this kind of worker has a branch of its own.
    pub fn has_branch(&self, worker: &str) -> bool {
        self.find(worker).is_ok_and(WorkerKind::has_branch)
    }

    /// Whether this kind of worker confines the agent.
    pub fn is_wall(&self, worker: &str) -> bool {
        self.find(worker).is_ok_and(WorkerKind::is_wall)
    }

    /// A worker of each kind.
    pub fn workers(&self, setup: &WorkerSetup) -> Workers {
        self.iter().fold(Workers::default(), |workers, kind| kind.add_to(workers, setup))
    }
}

impl fmt::Debug for WorkerKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(WorkerKind::name)).finish()
    }
}
