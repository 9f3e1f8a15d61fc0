//! Settings of the workplaces of agents. `worker: sandbox` sets only the kind; a section sets more.

use std::fmt;
use std::num::NonZeroU32;

use rapport_settings::{Setting, one_of, section};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

section! {
    /// Settings of the workplaces of agents. Kinds of workers declare more of this section.
    pub struct WorkerLayer in "worker.", shared, blank variables: Value {
        /// A project may ask for a stricter worker than the person's, not for a weaker one (`trust.rs`).
        kind: String, Project, Shown, or "RAPPORT_WORKER";
        /// The network access of a sandboxed workplace.
        network: NetworkName, Trusted, Shown;
        /// The hosts that it may reach, if the network is an allowlist.
        allow: Vec<String>, Trusted, Masked;
        /// The command that checks finished work, in its workplace (`cargo test`).
        check: String, Trusted, Masked;
        /// How many agents may work at the same time outside of the project's directory, in all projects together.
        at_once: NonZeroU32, Trusted, Shown;
    }
    sections {}
}

/// The network access of a sandboxed workplace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkName {
    /// Nothing but the agent's own service.
    None,
    /// The hosts that are named.
    Allowlist,
    Open,
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
            Ok(WorkerLayer { kind: Some(word.to_owned()), ..WorkerLayer::default() })
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
        let sandbox = WorkerLayer { kind: Some("sandbox".into()), ..WorkerLayer::default() };
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
            ("worker: { network: some }", "is not one of none, allowlist and open"),
            ("worker: { at_once: 0 }", "0"),
            ("worker: [sandbox]", "the name of a worker"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
