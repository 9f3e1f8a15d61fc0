//! The permission rules of a project, made by a person who answered "always". They are stored in Rapport's home and
//! applied by Rapport, so that a project cannot contain any, and they apply to every agent.

use std::io;
use std::path::Path;

use jiff::Timestamp;
use rapport_core::{By, Rule};
use serde::{Deserialize, Serialize};

use super::record::Record;

/// A rule, and who made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// The rule, exactly as it was shown.
    pub rule: Rule,
    /// Who made it.
    pub by: By,
    pub at: Timestamp,
}

#[derive(Clone, Debug)]
pub struct Grants(Record);

impl Grants {
    /// The rules of this project in this home.
    pub fn of(home: &Path, project: &Path) -> Self {
        Self(Record::new(home, project, "grants.json"))
    }

    /// All rules, the oldest first.
    pub fn list(&self) -> io::Result<Vec<Grant>> {
        Ok(self.0.read()?.unwrap_or_default())
    }

    /// Adds a rule, unless it exists.
    pub fn add(&self, grant: Grant) -> io::Result<()> {
        self.0.change(|grants: &mut Vec<Grant>| {
            if !grants.iter().any(|known| known.rule == grant.rule) {
                grants.push(grant);
            }
        })
    }

    /// Removes a rule. Returns whether it existed.
    pub fn remove(&self, rule: &Rule) -> io::Result<bool> {
        self.0.change(|grants: &mut Vec<Grant>| {
            let before = grants.len();
            grants.retain(|grant| grant.rule != *rule);
            grants.len() < before
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn grant(command: &str) -> Grant {
        let by = By::Person { channel: "terminal".into(), id: "ann".into() };
        Grant { rule: Rule::exactly("Bash", command), by, at: Timestamp::UNIX_EPOCH }
    }

    #[test]
    fn rules_are_added_once_listed_and_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("app"));
        fs::create_dir(&project).unwrap();
        let grants = Grants::of(&home, &project);
        assert_eq!(grants.list().unwrap(), []);
        let (status, tag) = (grant("git status"), grant("git tag"));
        for grant in [&status, &tag, &status] {
            grants.add(grant.clone()).unwrap();
        }
        assert_eq!(grants.list().unwrap(), [status.clone(), tag.clone()]);
        assert!(grants.remove(&tag.rule).unwrap());
        assert!(!grants.remove(&tag.rule).unwrap());
        // A different path to the same directory is the same project.
        assert_eq!(Grants::of(&home, &project.join("../app")).list().unwrap(), [status]);
    }

    /// A different directory at the project's path has none of its rules, and no other user can read them.
    #[test]
    fn rules_belong_to_the_directory_they_were_made_for() {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("app"));
        fs::create_dir(&project).unwrap();
        Grants::of(&home, &project).add(grant("git status")).unwrap();
        fs::rename(&project, folder.path().join("moved")).unwrap();
        fs::create_dir(&project).unwrap();
        assert_eq!(Grants::of(&home, &project).list().unwrap(), []);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let kept = fs::read_dir(home.join("projects")).unwrap().next().unwrap().unwrap().path();
        assert_eq!(mode(&home), 0o700);
        assert_eq!((mode(&kept), mode(&kept.join("grants.json"))), (0o700, 0o600));
    }

    #[test]
    fn rules_of_a_newer_format_are_refused_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("app"));
        fs::create_dir(&project).unwrap();
        let grants = Grants::of(&home, &project);
        grants.add(grant("a")).unwrap();
        let kept =
            fs::read_dir(home.join("projects")).unwrap().next().unwrap().unwrap().path().join("grants.json");
        let newer = fs::read_to_string(&kept).unwrap().replace("\"v\": 1", "\"v\": 2");
        fs::write(&kept, &newer).unwrap();
        assert!(grants.list().unwrap_err().to_string().contains("it has format 2"));
        assert!(grants.add(grant("b")).is_err());
        assert_eq!(fs::read_to_string(&kept).unwrap(), newer);
    }
}
