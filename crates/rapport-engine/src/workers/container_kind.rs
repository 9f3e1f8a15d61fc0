//! The kind `container` as settings, help and `doctor` see it, also in a build without containers: the client of the
//! container engine takes long to compile, so it is behind a feature (`containers`).

mod devcontainer;
mod settings;

use std::num::NonZeroU32;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

#[cfg(not(feature = "containers"))]
use {
    super::{Worker, WorkerError, Workplace},
    rapport_core::{Created, SessionId},
};

use rapport_core::WorkplaceLimits;
use rapport_door::LimitWish;
use rapport_settings::{ConfigError, Declared};

use super::repositories::{kept_by_lfs, not_bundled};
use super::separate_work::{include_left_out, include_wish, unreadable_left_out};
use super::worktrees::WorktreeKind;
use super::{NoWorkplace, WorkerKind, WorkerSetup, WorkerSources, Workers};
use crate::projects::trust::{Brought, TrustLevel};
use devcontainer::DevcontainerFile;
use settings::ContainerLayer;

pub use settings::{ContainerSettings, Limits};

/// The name of the kind.
pub const NAME: &str = "container";
/// The variable that names another container engine.
pub const ENGINE: &str = "DOCKER_HOST";
/// Where the project's repository is in a container.
pub const PROJECT: &str = "/work/project";
/// The image of containers if the settings name none.
pub const IMAGE: &str = "rapport-worker";

/// A container, as a kind.
#[derive(Default)]
pub(super) struct ContainerKind {
    settings: ContainerSettings,
    /// How many agents may work at the same time, by the memory that all of them may use.
    at_once: Option<NonZeroU32>,
    /// Which parts of the project's `devcontainer.json` are not used, as clauses.
    remarks: Vec<String>,
}

impl ContainerKind {
    /// Takes from the project's `devcontainer.json` what the settings leave open, if the person trusts that file.
    fn add_devcontainer(&mut self, sources: &WorkerSources<'_>) {
        let file = match DevcontainerFile::of(sources.project) {
            Ok(None) => return,
            Ok(Some(file)) => file,
            Err(error) => {
                self.remarks.push(format!("devcontainer.json is not used: {error}"));
                return;
            }
        };
        if sources.trust.standing(&[file.brought()]) != TrustLevel::Trusted {
            self.remarks.push(format!(
                "{} is ignored: a project may not choose images and commands by itself; to look at what it brings, and decide \
                 whether to trust it: rapport trust",
                file.name
            ));
            return;
        }
        let found = match file.read(PROJECT) {
            Ok(found) => found,
            Err(why) => {
                self.remarks.push(format!("{} is not used: {why}", file.name));
                return;
            }
        };
        let own = &mut self.settings;
        own.image = own.image.take().or(found.image);
        own.setup = own.setup.take().or(found.setup);
        own.env = found.env;
        if !found.unused.is_empty() {
            self.remarks.push(format!("{} of {} cannot be honoured", found.unused.join(", "), file.name));
        }
    }
}

impl WorkerKind for ContainerKind {
    fn name(&self) -> &'static str {
        NAME
    }

    fn in_brief(&self) -> &'static str {
        "a container with a copy of the project"
    }

    fn workplace(&self) -> &'static str {
        NAME
    }

    fn has_branch(&self) -> bool {
        false
    }

    fn is_wall(&self) -> bool {
        true
    }

    fn section(&self) -> Option<Declared> {
        Some(Declared::of::<ContainerLayer>())
    }

    fn configure(&self, sources: &WorkerSources<'_>) -> Result<Option<Arc<dyn WorkerKind>>, ConfigError> {
        let layer = sources.settings.load::<ContainerLayer>()?;
        let settings = ContainerSettings::read(&layer, sources.settings);
        let mut configured = Self { settings, at_once: layer.at_once(), remarks: Vec::new() };
        configured.add_devcontainer(sources);
        Ok(Some(Arc::new(configured)))
    }

    fn brought(&self, project: &Path) -> Vec<Brought> {
        match DevcontainerFile::of(project) {
            Ok(file) => file.map(|file| file.brought()).into_iter().chain(include_wish(project)).collect(),
            Err(error) => vec![Brought::unseen("devcontainer.json", error)],
        }
    }

    fn limit(&self, wish: &LimitWish) -> Result<Option<WorkplaceLimits>, String> {
        if *wish == LimitWish::default() { Ok(None) } else { self.settings.limit(wish).map(Some) }
    }

    fn at_once(&self) -> Option<NonZeroU32> {
        self.at_once
    }

    fn check(&self, project: &Path, setup: &WorkerSetup) -> Result<(), NoWorkplace> {
        engine_version(&self.settings).map_err(|NoWorkplace { why, mut advice }| {
            advice.push("Or work without a container: --worker worktree");
            NoWorkplace { why: format!("cannot make a container: {why}"), advice }
        })?;
        WorktreeKind.check(project, setup)
    }

    fn warnings(&self, project: &Path, setup: &WorkerSetup) -> Vec<String> {
        let mut warnings = submodules_left_out(project);
        warnings.extend(include_left_out(project, &setup.trust));
        warnings.extend(unreadable_left_out(project));
        warnings.extend(pointers_only(project));
        warnings.extend(less_than_set(&self.settings));
        warnings.extend(caches_left_out(&self.settings));
        warnings.extend(self.remarks.iter().cloned());
        warnings
    }

    fn diagnose(&self) -> Option<Result<String, NoWorkplace>> {
        Some(engine_version(&self.settings))
    }

    fn without(&self) -> Option<&'static str> {
        Some(if cfg!(feature = "containers") {
            "no container engine answers; docs/workers.md describes how agents work in containers"
        } else {
            "not in this build of rapport; cargo install with --features full has them"
        })
    }

    /// WORK-17: a container stops by itself only when no process runs in it, so a waiting agent would keep it
    /// running.
    fn hot_at_most(&self) -> Option<Duration> {
        Some(self.settings.idle)
    }

    #[cfg(feature = "containers")]
    fn add_to(&self, workers: Workers, setup: &WorkerSetup) -> Workers {
        workers.with(self.name(), super::containers::Containers::new(setup, &self.settings))
    }

    #[cfg(not(feature = "containers"))]
    fn add_to(&self, workers: Workers, _: &WorkerSetup) -> Workers {
        workers.with(self.name(), NotBuilt)
    }
}

/// Warnings about submodules: those that are not checked out here, and changes that are not committed, are missing in
/// a container.
fn submodules_left_out(project: &Path) -> Vec<String> {
    let (missing, changed) = not_bundled(project);
    let clause = |what: &str, paths: Vec<String>| {
        let warning = format!("the agent works in a container, and {what}: {}", paths.join(", "));
        (!paths.is_empty()).then_some(warning)
    };
    let missing = clause("submodules that are not checked out here are not there either", missing);
    let changed = clause("what is not committed in submodules is not there", changed);
    missing.into_iter().chain(changed).collect()
}

/// A warning about files whose content git-lfs keeps: a container gets the history of the repository, which has only
/// pointers to that content.
fn pointers_only(project: &Path) -> Option<String> {
    const NAMED: usize = 5;
    let files = kept_by_lfs(project);
    let (named, others) = files.split_at(files.len().min(NAMED));
    let others = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
    let warning = format!(
        "the agent works in a container, and files of git-lfs are only pointers there, without their content: {}{others}",
        named.join(", ")
    );
    (!files.is_empty()).then_some(warning)
}

/// The worker in a build without containers. Every use of it fails with the reason.
#[cfg(not(feature = "containers"))]
struct NotBuilt;

#[cfg(not(feature = "containers"))]
impl Worker for NotBuilt {
    fn open(&self, _: &SessionId, _: &Created) -> Result<Arc<dyn Workplace>, WorkerError> {
        Err(unavailable())
    }

    fn find(&self, _: &SessionId, _: &Created) -> Result<Option<Arc<dyn Workplace>>, WorkerError> {
        Err(unavailable())
    }

    fn clear(&self, _: &SessionId, _: &Created) -> Result<(), WorkerError> {
        Err(unavailable())
    }
}

#[cfg(not(feature = "containers"))]
fn unavailable() -> WorkerError {
    WorkerError::Unavailable { worker: NAME, none: not_built() }
}

/// The version of the container engine, if it can be reached.
#[cfg(feature = "containers")]
fn engine_version(settings: &ContainerSettings) -> Result<String, NoWorkplace> {
    super::containers::Containers::check(settings.engine.as_deref())
}

/// How the machine of the container engine limits what the settings allow; `None` also if the engine cannot be asked.
#[cfg(feature = "containers")]
fn less_than_set(settings: &ContainerSettings) -> Option<String> {
    settings.limits.less(super::containers::Containers::limits_here(settings).ok()?)
}

/// The folders in the settings that a container cannot read.
#[cfg(feature = "containers")]
fn caches_left_out(settings: &ContainerSettings) -> Option<String> {
    let (there, missing) = settings.caches();
    let named =
        |paths: &[&Path]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    if !there.is_empty() && super::containers::Containers::is_remote(settings) {
        return Some(format!("the container is on another machine, and does not see {}", named(&there)));
    }
    let warning =
        || format!("worker.caches names folders that this machine does not have: {}", named(&missing));
    (!missing.is_empty()).then(warning)
}

#[cfg(not(feature = "containers"))]
fn caches_left_out(_: &ContainerSettings) -> Option<String> {
    None
}

#[cfg(not(feature = "containers"))]
fn less_than_set(_: &ContainerSettings) -> Option<String> {
    None
}

#[cfg(not(feature = "containers"))]
fn engine_version(_: &ContainerSettings) -> Result<String, NoWorkplace> {
    Err(not_built())
}

#[cfg(not(feature = "containers"))]
fn not_built() -> NoWorkplace {
    NoWorkplace {
        why: "this rapport was built without containers".into(),
        advice: vec![
            "Build it with them: cargo install --path crates/rapport --profile dist --features full",
        ],
    }
}
