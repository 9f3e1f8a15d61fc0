//! Trust in a project. A person who clones a project has not read its settings, hooks and servers, so these take
//! effect only after the person has seen and trusted them. That is stored in Rapport's home with a digest of each:
//! one that changes is untrusted until it is seen again.

use std::io;
use std::path::Path;

use rapport_durable as durable;
use serde::{Deserialize, Serialize};

use super::record::Record;

/// A file of a project that would start programs, reach servers or make Rapport ask less.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Brought {
    /// Its path, from the directory that contains it (`.mcp.json`).
    pub name: String,
    /// The digest of its content; `None` if it could not be read, so that it cannot be trusted.
    pub digest: Option<String>,
    /// Its content in words, line by line.
    pub says: Vec<String>,
}

impl Brought {
    /// A file with this content and description.
    pub fn new(name: impl Into<String>, content: &[u8], says: Vec<String>) -> Self {
        Self { name: name.into(), digest: Some(durable::digest(content)), says }
    }

    /// A file that cannot be read, and why.
    pub fn unseen(name: impl Into<String>, why: impl ToString) -> Self {
        Self { name: name.into(), digest: None, says: vec![why.to_string()] }
    }
}

/// A person's decision about what a project brings.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    record: Option<Record>,
    /// Whether the person's own settings name the project: then everything is trusted.
    whole: bool,
}

/// Whether what a project brings is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustLevel {
    /// There is nothing, or all of it was seen and trusted.
    Trusted,
    /// All of it was seen and declined.
    Declined,
    /// Some of it was not seen in its current form.
    Unseen,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct TrustDecision {
    #[serde(default)]
    trusted: Vec<Pin>,
    #[serde(default)]
    declined: Vec<Pin>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pin {
    name: String,
    digest: String,
}

impl Trust {
    /// The person's trust in this project, from this home.
    pub fn of(home: &Path, project: &Path) -> Self {
        Self { record: Some(Record::new(home, project, "trust.json")), whole: false }
    }

    pub fn none() -> Self {
        Self { record: None, whole: false }
    }

    /// Trusts the project completely if the person's own settings do.
    #[must_use]
    pub fn with_whole(self, whole: bool) -> Self {
        Self { whole: self.whole || whole, ..self }
    }

    /// Whether all of this is trusted. On an error it is not.
    pub fn standing(&self, brought: &[Brought]) -> TrustLevel {
        if brought.is_empty() || self.whole {
            return TrustLevel::Trusted;
        }
        let decision = self
            .record
            .as_ref()
            .and_then(|record| record.read::<TrustDecision>().ok().flatten())
            .unwrap_or_default();
        let are_all_in =
            |pins: &[Pin]| brought.iter().all(|one| pin(one).is_some_and(|pin| pins.contains(&pin)));
        if are_all_in(&decision.trusted) {
            TrustLevel::Trusted
        } else if are_all_in(&decision.declined) {
            TrustLevel::Declined
        } else {
            TrustLevel::Unseen
        }
    }

    /// Trusts all of this in its current form, and nothing else. Durable when this returns.
    pub fn trust(&self, brought: &[Brought]) -> io::Result<()> {
        self.record_decision(TrustDecision {
            trusted: brought.iter().filter_map(pin).collect(),
            declined: Vec::new(),
        })
    }

    /// Records that all of this was seen and declined, so that the person is not asked again.
    pub fn decline(&self, brought: &[Brought]) -> io::Result<()> {
        self.record_decision(TrustDecision {
            trusted: Vec::new(),
            declined: brought.iter().filter_map(pin).collect(),
        })
    }

    /// Removes the decision.
    pub fn forget(&self) -> io::Result<()> {
        self.record_decision(TrustDecision::default())
    }

    fn record_decision(&self, decision: TrustDecision) -> io::Result<()> {
        self.record
            .as_ref()
            .map_or(Ok(()), |record| record.change(|before: &mut TrustDecision| *before = decision))
    }
}

fn pin(brought: &Brought) -> Option<Pin> {
    Some(Pin { name: brought.name.clone(), digest: brought.digest.clone()? })
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    fn item(name: &str, content: &str) -> Brought {
        Brought::new(name, content.as_bytes(), Vec::new())
    }

    #[test]
    fn only_what_was_shown_counts() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("app");
        std::fs::create_dir(&project).unwrap();
        let trust = Trust::of(&folder.path().join("home"), &project);
        let (hooks, servers) = (item(".claude/settings.json", "hooks"), item(".mcp.json", "servers"));
        assert_eq!(trust.standing(&[]), TrustLevel::Trusted);
        assert_eq!(trust.standing(from_ref(&hooks)), TrustLevel::Unseen);
        trust.trust(&[hooks.clone(), servers.clone()]).unwrap();
        assert_eq!(trust.standing(&[hooks.clone(), servers.clone()]), TrustLevel::Trusted);
        assert_eq!(trust.standing(from_ref(&servers)), TrustLevel::Trusted, "less of it");
        assert_eq!(trust.standing(&[item(".mcp.json", "others")]), TrustLevel::Unseen, "it changed");
        assert_eq!(
            trust.standing(&[item("x", "servers")]),
            TrustLevel::Unseen,
            "it is called something else"
        );
        assert_eq!(trust.standing(&[Brought::unseen(".mcp.json", "a pipe")]), TrustLevel::Unseen);
        trust.decline(from_ref(&servers)).unwrap();
        assert_eq!(trust.standing(from_ref(&servers)), TrustLevel::Declined);
        assert_eq!(trust.standing(from_ref(&hooks)), TrustLevel::Unseen, "the last word holds");
        trust.forget().unwrap();
        assert_eq!(trust.standing(from_ref(&servers)), TrustLevel::Unseen);
        assert_eq!(trust.clone().with_whole(true).standing(&[servers]), TrustLevel::Trusted);
        assert_eq!(Trust::none().standing(&[hooks]), TrustLevel::Unseen);
    }
}
