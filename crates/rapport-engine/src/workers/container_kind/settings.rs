//! The settings of containers: their part of the section `worker`, and what follows from it.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::SignedDuration;
use rapport_core::{Created, WorkplaceLimits};
use rapport_door::LimitWish;
use rapport_settings::{Setting, Sources, section};

use super::{ENGINE, IMAGE};

section! {
    /// What containers add to the settings of workers.
    pub(super) struct ContainerLayer in "worker.", shared, blank variables: Value {
        /// The image of containers.
        image: String, Trusted, Shown;
        /// The command that prepares a new container, once for each state of the lock files (`npm ci`).
        setup: String, Trusted, Masked;
        /// The memory of a container (`2g`).
        memory: Size, Trusted, Shown;
        /// The memory of all agents that work at the same time, each counted with that of a container (`8g`).
        total_memory: Size, Trusted, Shown;
        /// Folders of this machine that every container can read, at the same path.
        caches: Vec<String>, Trusted, Shown;
        /// The number of processors of a container.
        cpus: NonZeroU32, Trusted, Shown;
        /// The maximum number of processes in a container.
        pids: NonZeroU32, Trusted, Shown;
        /// How long a container that nobody uses keeps running (`10m`).
        idle: SignedDuration, Trusted, Shown;
    }
    sections {}
}

impl ContainerLayer {
    /// The memory of a container, in bytes: not more than all of them may have.
    fn memory_of_each(&self) -> u64 {
        let each = self.memory.map_or(Limits::default().memory, |Size(bytes)| bytes);
        self.total_memory.map_or(each, |Size(all)| each.min(all))
    }

    /// How many agents fit into the memory for all.
    pub(super) fn at_once(&self) -> Option<NonZeroU32> {
        let Size(all) = self.total_memory?;
        let fit = all.checked_div(self.memory_of_each()).unwrap_or(u64::MAX);
        NonZeroU32::new(u32::try_from(fit).unwrap_or(u32::MAX))
    }
}

/// An amount of memory in bytes, written as `512m` or `2g`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size(u64);

impl Setting for Size {
    fn parse(word: &str) -> Result<Self, String> {
        let wrong = || format!("{word:?} is not an amount of memory such as 512m or 2g");
        let lower = word.trim().to_ascii_lowercase();
        let (number, unit) = match lower.strip_suffix(['k', 'm', 'g']) {
            Some(number) => (number, lower.chars().last()),
            None => (lower.as_str(), None),
        };
        let shift = match unit {
            Some('k') => 10,
            Some('m') => 20,
            Some('g') => 30,
            _ => 0,
        };
        let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift));
        bytes.filter(|bytes| *bytes > 0).map(Self).ok_or_else(wrong)
    }
}

/// The settings of containers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerSettings {
    /// The address of the engine, if it is not the usual one.
    pub engine: Option<String>,
    /// The image, if it is not the usual one.
    pub image: Option<String>,
    /// The command that prepares a new container, if there is one.
    pub setup: Option<String>,
    /// Additional variables of everything that runs inside.
    pub env: Vec<(String, String)>,
    /// Folders of this machine that every container can read, at the same path.
    pub caches: Vec<PathBuf>,
    pub limits: Limits,
    /// How long a container keeps running while its session waits for an answer.
    pub idle: Duration,
}

impl Default for ContainerSettings {
    fn default() -> Self {
        Self {
            engine: None,
            image: None,
            setup: None,
            env: Vec::new(),
            caches: Vec::new(),
            limits: Limits::default(),
            idle: Duration::from_secs(10 * 60),
        }
    }
}

impl ContainerSettings {
    /// The settings of this section. The container engine is named as its own programs name it.
    pub(super) fn read(layer: &ContainerLayer, sources: &Sources) -> Self {
        let usual = Self::default();
        Self {
            engine: sources.variable(ENGINE),
            image: layer.image.clone().filter(|image| !image.trim().is_empty()),
            setup: layer.setup.clone().filter(|command| !command.trim().is_empty()),
            env: Vec::new(),
            caches: layer.caches.iter().flatten().map(|path| at_home(path, sources)).collect(),
            limits: Limits {
                memory: layer.memory_of_each(),
                processors: layer.cpus.map_or(usual.limits.processors, NonZeroU32::get),
                processes: layer.pids.map_or(usual.limits.processes, NonZeroU32::get),
            },
            idle: layer.idle.and_then(|idle| Duration::try_from(idle).ok()).unwrap_or(usual.idle),
        }
    }

    /// The limits of a container for this wish; an error if the wish exceeds the settings.
    pub(super) fn limit(&self, wish: &LimitWish) -> Result<WorkplaceLimits, String> {
        let more = |what: &str, most: String| format!("the settings allow at most {most} ({what})");
        let memory = wish.memory.as_deref().map(Size::parse).transpose()?.map(|Size(bytes)| bytes);
        if memory.is_some_and(|bytes| bytes > self.limits.memory) {
            return Err(more("memory", format!("{}m", self.limits.memory >> 20)));
        }
        let cpus = wish.cpus.as_deref().map(NonZeroU32::parse).transpose()?.map(NonZeroU32::get);
        if cpus.is_some_and(|cpus| cpus > self.limits.processors) {
            return Err(more("cpus", self.limits.processors.to_string()));
        }
        let idle = u64::try_from(self.idle.as_millis()).unwrap_or(u64::MAX);
        if wish.idle_ms.is_some_and(|wanted| wanted > idle) {
            return Err(more("timeout", idle.to_string()));
        }
        Ok(WorkplaceLimits { memory, cpus, idle_ms: wish.idle_ms })
    }

    /// The image of containers.
    pub fn image(&self) -> &str {
        self.image.as_deref().unwrap_or(IMAGE)
    }

    /// The folders that can be mounted, and those that cannot.
    pub(in crate::workers) fn caches(&self) -> (Vec<&Path>, Vec<&Path>) {
        self.caches.iter().map(PathBuf::as_path).partition(|path| path.is_absolute() && path.is_dir())
    }

    /// These settings for the container of a session, which may have tighter limits.
    pub(in crate::workers) fn of(&self, created: &Created) -> Self {
        let less = created.limits.unwrap_or_default();
        let limits = Limits {
            memory: self.limits.memory.min(less.memory.unwrap_or(u64::MAX)),
            processors: self.limits.processors.min(less.cpus.unwrap_or(u32::MAX)),
            processes: self.limits.processes,
        };
        let idle = less.idle_ms.map_or(self.idle, |idle| self.idle.min(Duration::from_millis(idle)));
        // The container's first program counts in whole seconds.
        let idle = idle.max(Duration::from_secs(1));
        Self { limits, idle, ..self.clone() }
    }
}

/// What a container may use of its machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: u64,
    pub processors: u32,
    pub processes: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 2 * 1024 * 1024 * 1024, processors: 2, processes: 4096 }
    }
}

impl Limits {
    /// These limits, reduced to what a machine of this size has.
    pub(in crate::workers) fn within(self, processors: Option<u64>, memory: Option<u64>) -> Self {
        let processors = processors.and_then(|there| u32::try_from(there).ok()).unwrap_or(u32::MAX);
        Self {
            memory: self.memory.min(memory.unwrap_or(u64::MAX)),
            processors: self.processors.clamp(1, processors.max(1)),
            processes: self.processes,
        }
    }

    /// Where the limits on this machine are lower than those that were set, as a clause.
    pub(in crate::workers) fn less(self, here: Self) -> Option<String> {
        let megabytes = |bytes: u64| format!("{} MB", bytes >> 20);
        let memory = (here.memory < self.memory)
            .then(|| format!("{} of memory instead of {}", megabytes(here.memory), megabytes(self.memory)));
        let processors = (here.processors < self.processors)
            .then(|| format!("{} processors instead of {}", here.processors, self.processors));
        let less: Vec<_> = memory.into_iter().chain(processors).collect();
        (!less.is_empty()).then(|| {
            format!("this machine is smaller than the settings: a container has {}", less.join(" and "))
        })
    }
}

/// A path as a person writes it: `~/` is their home.
fn at_home(path: &str, sources: &Sources) -> PathBuf {
    match (path.strip_prefix("~/"), sources.variable("HOME")) {
        (Some(below), Some(home)) => Path::new(&home).join(below),
        _ => PathBuf::from(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_read() {
        let read = |text: &str| serde_saphyr::from_str::<ContainerLayer>(text);
        let container = ContainerLayer {
            image: Some("tools".into()),
            memory: Some(Size(512 * 1024 * 1024)),
            cpus: NonZeroU32::new(3),
            pids: NonZeroU32::new(99),
            idle: Some(SignedDuration::from_secs(90)),
            ..ContainerLayer::default()
        };
        let text = "kind: container\nimage: tools\nmemory: 512m\ncpus: 3\npids: 99\nidle: 90s";
        assert_eq!(read(text).unwrap(), container);
        for (text, why) in [
            ("memory: 2q", "not an amount of memory such as 512m or 2g"),
            ("memory: 0g", "not an amount of memory"),
            ("cpus: 0", "0"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    /// WORK-16: as many agents run at once as fit into the memory for all, and no container gets more than that
    /// memory.
    #[test]
    fn the_memory_of_all_limits_each_and_their_number() {
        let layer = |memory: Option<u64>, total: Option<u64>| ContainerLayer {
            memory: memory.map(|gigabytes| Size(gigabytes << 30)),
            total_memory: total.map(|gigabytes| Size(gigabytes << 30)),
            ..ContainerLayer::default()
        };
        for (memory, total, each, at_once) in [
            (None, None, 2, None),
            (None, Some(8), 2, NonZeroU32::new(4)),
            (Some(3), Some(8), 3, NonZeroU32::new(2)),
            (Some(3), Some(1), 1, NonZeroU32::new(1)),
        ] {
            let layer = layer(memory, total);
            assert_eq!((layer.memory_of_each() >> 30, layer.at_once()), (each, at_once), "{layer:?}");
        }
    }

    #[test]
    fn a_wish_is_granted_within_the_settings() {
        let settings = ContainerSettings::default();
        let wish = LimitWish { memory: Some("512m".into()), cpus: Some("1".into()), idle_ms: Some(1000) };
        let granted = WorkplaceLimits { memory: Some(512 << 20), cpus: Some(1), idle_ms: Some(1000) };
        assert_eq!(settings.limit(&wish), Ok(granted));
        for (wish, why) in [
            (LimitWish { memory: Some("3g".into()), ..LimitWish::default() }, "at most 2048m (memory)"),
            (LimitWish { cpus: Some("3".into()), ..LimitWish::default() }, "at most 2 (cpus)"),
            (LimitWish { idle_ms: Some(600_001), ..LimitWish::default() }, "at most 600000 (timeout)"),
            (LimitWish { memory: Some("much".into()), ..LimitWish::default() }, "not an amount of memory"),
        ] {
            let refused = settings.limit(&wish).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn a_limit_is_the_smaller_of_setting_and_machine() {
        let asked = Limits { memory: 8, processors: 4, processes: 9 };
        let within = |processors, memory| asked.within(processors, memory);
        assert_eq!(within(Some(2), Some(5)), Limits { memory: 5, processors: 2, processes: 9 });
        assert_eq!(within(Some(16), Some(50)), asked);
        assert_eq!(within(None, None), asked, "an engine that does not tell");
        let told =
            Limits { memory: 8 << 20, ..asked }.less(Limits { memory: 5 << 20, processors: 2, processes: 9 });
        let words = "this machine is smaller than the settings: a container has 5 MB of memory instead of 8 MB and 2 \
                     processors instead of 4";
        assert_eq!(told.as_deref(), Some(words));
        assert_eq!(asked.less(asked), None);
    }
}
