//! Settings of the workplaces of agents. `worker: sandbox` sets only the kind; a section sets more.

use std::fmt;
use std::num::NonZeroU32;

use jiff::SignedDuration;
use rapport_settings::{Setting, one_of, section};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use crate::workers::{WorkerKind, kinds};

section! {
    /// Settings of the workplaces of agents.
    pub struct WorkerLayer in "worker.", blank variables: Value {
        /// A project may ask for a stricter worker than the person's, not for a weaker one (`trust.rs`).
        kind: WorkerName, Project, Shown, or "RAPPORT_WORKER";
        /// The network access of a sandboxed workplace.
        network: NetworkName, Trusted, Shown;
        /// The hosts that it may reach, if the network is an allowlist.
        allow: Vec<String>, Trusted, Masked;
        /// The command that checks finished work, in its workplace (`cargo test`).
        check: String, Trusted, Masked;
        /// How many agents may work at the same time outside of the project's directory, in all projects together.
        at_once: NonZeroU32, Trusted, Shown;
        /// The image of containers.
        image: String, Trusted, Shown;
        /// The command that prepares a new container, once for each state of the lock files (`npm ci`).
        setup: String, Trusted, Masked;
        /// The memory of a container (`2g`).
        memory: Size, Trusted, Shown;
        /// The number of processors of a container.
        cpus: NonZeroU32, Trusted, Shown;
        /// The maximum number of processes in a container.
        pids: NonZeroU32, Trusted, Shown;
        /// How long a container that nobody uses keeps running (`10m`).
        idle: SignedDuration, Trusted, Shown;
    }
    sections {}
}

/// The kind of place that agents work in, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerName(&'static str);

/// The network access of a sandboxed workplace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkName {
    /// Nothing but the agent's own service.
    None,
    /// The hosts that are named.
    Allowlist,
    Open,
}

/// An amount of memory in bytes, written as `512m` or `2g`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

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

impl Default for WorkerName {
    fn default() -> Self {
        Self(kinds::usual().name())
    }
}

impl WorkerName {
    /// The name in a session's facts.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// Whether it confines the agent.
    pub(super) fn is_wall(self) -> bool {
        kinds::find(self.0).is_ok_and(WorkerKind::is_wall)
    }
}

pub fn worker(word: &str) -> Result<WorkerName, String> {
    kinds::find(word).map(|kind| WorkerName(kind.name()))
}

impl Setting for WorkerName {
    fn parse(word: &str) -> Result<Self, String> {
        worker(word)
    }
}

impl Setting for NetworkName {
    fn parse(word: &str) -> Result<Self, String> {
        one_of(word, &[("none", Self::None), ("allowlist", Self::Allowlist), ("open", Self::Open)])
    }
}

/// Reads the section, or the name of a worker in its place.
pub(super) fn name_or_section<'de, D: Deserializer<'de>>(deserializer: D) -> Result<WorkerLayer, D::Error> {
    struct NameOrSection;

    impl<'de> Visitor<'de> for NameOrSection {
        type Value = WorkerLayer;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the name of a worker, or a section about it")
        }

        fn visit_str<E: Error>(self, word: &str) -> Result<WorkerLayer, E> {
            let kind = Some(worker(word).map_err(E::custom)?);
            Ok(WorkerLayer { kind, ..WorkerLayer::default() })
        }

        fn visit_unit<E: Error>(self) -> Result<WorkerLayer, E> {
            Ok(WorkerLayer::default())
        }

        fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<WorkerLayer, M::Error> {
            WorkerLayer::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_any(NameOrSection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_or_a_section_is_read() {
        let read = |text: &str| serde_saphyr::from_str::<super::super::Layer>(text).map(|layer| layer.worker);
        let sandbox = WorkerLayer { kind: Some(WorkerName("sandbox")), ..WorkerLayer::default() };
        assert_eq!(read("worker: sandbox").unwrap(), sandbox);
        let whole = WorkerLayer {
            network: Some(NetworkName::Allowlist),
            allow: Some(vec!["*.example.com".into()]),
            ..sandbox
        };
        let text = "worker: { kind: sandbox, network: allowlist, allow: ['*.example.com'] }";
        assert_eq!(read(text).unwrap(), whole);
        let container = WorkerLayer {
            kind: Some(WorkerName("container")),
            image: Some("tools".into()),
            memory: Some(Size(512 * 1024 * 1024)),
            cpus: NonZeroU32::new(3),
            pids: NonZeroU32::new(99),
            idle: Some(SignedDuration::from_secs(90)),
            ..WorkerLayer::default()
        };
        let text = "worker: { kind: container, image: tools, memory: 512m, cpus: 3, pids: 99, idle: 90s }";
        assert_eq!(read(text).unwrap(), container);
        assert_eq!(read("agent: {}").unwrap(), WorkerLayer::default());
        let unknown = kinds::find("cloud").map(WorkerKind::name).unwrap_err();
        assert!(unknown.contains("not one of local, worktree"), "{unknown}");
        for (text, why) in [
            ("worker: cloud", unknown.as_str()),
            ("worker: { kind: cloud }", &unknown),
            ("worker: { size: 1 }", "size"),
            ("worker: { memory: 2q }", "not an amount of memory such as 512m or 2g"),
            ("worker: { memory: 0g }", "not an amount of memory"),
            ("worker: { cpus: 0 }", "0"),
            ("worker: [sandbox]", "the name of a worker"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
