//! The reports that `rapport execute` wrote into directories of a project, by their digests. A later report replaces
//! only such a file: a file that a person wrote, or edited since, stays. The list is in Rapport's home, so a project
//! cannot contain one.

use std::io;
use std::path::Path;

use rapport_durable::digest;

use super::record::Record;

/// The first line of a report.
const BEGINS: &str = "# Execution Report: ";
/// The maximum number of reports to remember.
const MOST: usize = 200;

#[derive(Clone, Debug)]
pub struct WrittenReports(Record);

impl WrittenReports {
    /// The reports of this project in this home.
    pub fn of(home: &Path, project: &Path) -> Self {
        Self(Record::new(home, project, "reports.json"))
    }

    /// Whether this report was written here. Older versions kept no list, so until a list exists, the first line
    /// decides.
    pub fn contains(&self, report: &str) -> io::Result<bool> {
        let known: Option<Vec<String>> = self.0.read()?;
        Ok(match known {
            Some(known) => known.contains(&digest(report.as_bytes())),
            None => report.starts_with(BEGINS),
        })
    }

    /// Remembers a report. Call this before the report is written: after a kill in between, the older report is still
    /// known.
    pub fn add(&self, report: &str) -> io::Result<()> {
        self.0.change(|known: &mut Vec<String>| {
            let digest = digest(report.as_bytes());
            known.retain(|earlier| *earlier != digest);
            known.push(digest);
            known.drain(..known.len().saturating_sub(MOST));
        })
    }
}
