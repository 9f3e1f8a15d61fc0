//! The reports that `rapport execute` wrote into directories of a project, by their digests. Only such a file is replaced by a later
//! report: one that a person wrote, or edited since, stays. The list is in Rapport's home, so a project cannot bring one.

use std::io;
use std::path::Path;

use rapport_durable::digest;

use super::record::Record;

/// The maximum number of reports to remember.
const MOST: usize = 200;

#[derive(Clone, Debug)]
pub struct WrittenReports(Record);

impl WrittenReports {
    /// The reports of this project in this home.
    pub fn of(home: &Path, project: &Path) -> Self {
        Self(Record::new(home, project, "reports.json"))
    }

    /// Whether this is the content of a report that was written here.
    pub fn contains(&self, content: &[u8]) -> io::Result<bool> {
        let known: Vec<String> = self.0.read()?.unwrap_or_default();
        Ok(known.contains(&digest(content)))
    }

    /// Remembers a report. To be called before the report is written: after a kill in between, the older one is still known.
    pub fn add(&self, content: &[u8]) -> io::Result<()> {
        self.0.change(|known: &mut Vec<String>| {
            let digest = digest(content);
            known.retain(|earlier| *earlier != digest);
            known.push(digest);
            known.drain(..known.len().saturating_sub(MOST));
        })
    }
}
