//! Settings of the workplaces of agents. `worker: sandbox` sets only the kind; a section sets more.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::ConfigError;
use super::layer::parsed;
use crate::workers::{WorkerKind, kinds};

/// Settings of the workplaces of agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerLayer {
    pub kind: Option<WorkerName>,
    /// The network access of a sandboxed workplace.
    pub network: Option<NetworkName>,
    /// The hosts that it may reach, if the network is an allowlist.
    pub allow: Option<Vec<String>>,
}

/// The kind of place that agents work in, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerName(&'static str);

/// The network access of a sandboxed workplace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkName {
    /// Nothing but the agent's own service.
    None,
    /// The hosts that are named.
    Allowlist,
    Open,
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

fn network(word: &str) -> Result<NetworkName, String> {
    match word {
        "none" => Ok(NetworkName::None),
        "allowlist" => Ok(NetworkName::Allowlist),
        "open" => Ok(NetworkName::Open),
        _ => Err(format!("{word:?} is not one of none, allowlist and open")),
    }
}

impl WorkerLayer {
    pub(super) fn from_env(env: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let list =
            |value: String| value.split([',', ' ']).filter(|w| !w.is_empty()).map(str::to_owned).collect();
        Ok(Self {
            kind: parsed(&env, "RAPPORT_WORKER", worker)?,
            network: parsed(&env, "RAPPORT_WORKER_NETWORK", network)?,
            allow: env("RAPPORT_WORKER_ALLOW").map(list),
        })
    }

    pub(super) fn under(self, upper: Self) -> Self {
        Self {
            kind: upper.kind.or(self.kind),
            network: upper.network.or(self.network),
            allow: upper.allow.or(self.allow),
        }
    }
}

impl<'de> Deserialize<'de> for WorkerName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        worker(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
#[derive(Default)]
struct Section {
    kind: Option<WorkerName>,
    network: Option<NetworkName>,
    allow: Option<Vec<String>>,
}

impl<'de> Deserialize<'de> for WorkerLayer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
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
                let Section { kind, network, allow } = Section::deserialize(MapAccessDeserializer::new(map))?;
                Ok(WorkerLayer { kind, network, allow })
            }
        }

        deserializer.deserialize_any(NameOrSection)
    }
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
        assert_eq!(read("agent: {}").unwrap(), WorkerLayer::default());
        for (text, why) in [
            ("worker: cloud", "not one of local, worktree and sandbox"),
            ("worker: { kind: cloud }", "not one of local, worktree and sandbox"),
            ("worker: { size: 1 }", "size"),
            ("worker: [sandbox]", "the name of a worker"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
