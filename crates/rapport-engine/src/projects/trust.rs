//! Trust in a project. Who clones a project has not read its settings, hooks and servers, so these count only once a person
//! has looked at them and said so. That is kept in Rapport's home and pins each of them as it was shown: one that changed
//! counts for nothing until it was looked at again.

use std::io;
use std::path::Path;

use rapport_durable as durable;
use serde::{Deserialize, Serialize};

use super::record::Record;

/// Something that came with a project, and would start programs, reach servers or loosen what is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Brought {
    /// Its path, from the directory that holds it (`.mcp.json`).
    pub name: String,
    /// A digest of its content; `None` where it could not be looked at, so that nobody can trust it.
    pub digest: Option<String>,
    /// What it says, line by line.
    pub says: Vec<String>,
}

impl Brought {
    /// Something with this content, which says this.
    pub fn new(name: impl Into<String>, content: &[u8], says: Vec<String>) -> Self {
        Self { name: name.into(), digest: Some(durable::digest(content)), says }
    }

    /// Something that cannot be looked at, and why.
    pub fn unseen(name: impl Into<String>, why: impl ToString) -> Self {
        Self { name: name.into(), digest: None, says: vec![why.to_string()] }
    }
}

/// What a person said about what a project brings.
#[derive(Clone, Debug)]
pub struct Trust {
    record: Option<Record>,
    /// The person's own settings name the project: then everything counts.
    whole: bool,
}

/// How what a project brings stands with the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It counts: there is nothing, or all of it was seen and trusted.
    Trusted,
    /// All of it was seen, and does not count.
    Declined,
    /// Some of it was not seen as it is now.
    Unseen,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Said {
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
    /// What this home keeps about this project.
    pub fn of(home: &Path, project: &Path) -> Self {
        Self { record: Some(Record::new(home, project, "trust.json")), whole: false }
    }

    /// Nothing counts.
    pub fn none() -> Self {
        Self { record: None, whole: false }
    }

    /// The same, where the person's own settings say that everything counts.
    #[must_use]
    pub fn with_whole(self, whole: bool) -> Self {
        Self { whole: self.whole || whole, ..self }
    }

    /// How all of this stands. What cannot be found out is not trusted.
    pub fn standing(&self, brought: &[Brought]) -> Standing {
        if brought.is_empty() || self.whole {
            return Standing::Trusted;
        }
        let said =
            self.record.as_ref().and_then(|record| record.read::<Said>().ok().flatten()).unwrap_or_default();
        let are_all_in =
            |pins: &[Pin]| brought.iter().all(|one| pin(one).is_some_and(|pin| pins.contains(&pin)));
        if are_all_in(&said.trusted) {
            Standing::Trusted
        } else if are_all_in(&said.declined) {
            Standing::Declined
        } else {
            Standing::Unseen
        }
    }

    /// Lets all of this count, as it is now, and nothing else. Durable when this returns.
    pub fn trust(&self, brought: &[Brought]) -> io::Result<()> {
        self.say(Said { trusted: brought.iter().filter_map(pin).collect(), declined: Vec::new() })
    }

    /// Notes that all of this was seen and does not count, so that nobody is asked about it again.
    pub fn decline(&self, brought: &[Brought]) -> io::Result<()> {
        self.say(Said { trusted: Vec::new(), declined: brought.iter().filter_map(pin).collect() })
    }

    /// Takes back whatever was said.
    pub fn forget(&self) -> io::Result<()> {
        self.say(Said::default())
    }

    fn say(&self, said: Said) -> io::Result<()> {
        self.record.as_ref().map_or(Ok(()), |record| record.change(|before: &mut Said| *before = said))
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
        assert_eq!(trust.standing(&[]), Standing::Trusted);
        assert_eq!(trust.standing(from_ref(&hooks)), Standing::Unseen);
        trust.trust(&[hooks.clone(), servers.clone()]).unwrap();
        assert_eq!(trust.standing(&[hooks.clone(), servers.clone()]), Standing::Trusted);
        assert_eq!(trust.standing(from_ref(&servers)), Standing::Trusted, "less of it");
        assert_eq!(trust.standing(&[item(".mcp.json", "others")]), Standing::Unseen, "it changed");
        assert_eq!(trust.standing(&[item("x", "servers")]), Standing::Unseen, "it is called something else");
        assert_eq!(trust.standing(&[Brought::unseen(".mcp.json", "a pipe")]), Standing::Unseen);
        trust.decline(from_ref(&servers)).unwrap();
        assert_eq!(trust.standing(from_ref(&servers)), Standing::Declined);
        assert_eq!(trust.standing(from_ref(&hooks)), Standing::Unseen, "the last word holds");
        trust.forget().unwrap();
        assert_eq!(trust.standing(from_ref(&servers)), Standing::Unseen);
        assert_eq!(trust.clone().with_whole(true).standing(&[servers]), Standing::Trusted);
        assert_eq!(Trust::none().standing(&[hooks]), Standing::Unseen);
    }
}
