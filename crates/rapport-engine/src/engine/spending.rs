//! The daily cost of all sessions of a person (`agent.daily_budget`), over all projects and processes. Each session
//! has a file with its own sum, derived from its log; a missing or damaged one is written again with the session's
//! next cost.

use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rapport_core::{DayBudget, Entry, Event, SessionId};
use rapport_durable::{digest, private_folder, read_file, remove_folder, replace_private_later};

/// The maximum size of a file with a sum.
const LONGEST: u64 = 32;

/// The daily budget.
#[derive(Clone, Debug)]
pub struct DailySpending {
    folder: PathBuf,
    limit_micros: u64,
}

impl DailySpending {
    /// This limit, with the sums in this folder.
    pub fn at_most(limit_micros: u64, folder: PathBuf) -> Self {
        Self { folder, limit_micros }
    }

    /// Stores the cost of a session today, from its log and its current response, and returns the sum of all
    /// sessions. Blocks.
    pub(super) fn note(
        &self,
        project: &str,
        session: &SessionId,
        entries: &[Entry],
        besides_micros: u64,
        now: Timestamp,
    ) -> io::Result<DayBudget> {
        let day = day_of(now);
        let own = stored_on(&day, entries).saturating_add(besides_micros);
        let folder = self.folder.join(&day);
        if !folder.is_dir() {
            self.forget_earlier();
        }
        private_folder(&folder)?;
        let name = digest(format!("{project}\0{session}").as_bytes());
        replace_private_later(&folder.join(&name), own.to_string().as_bytes())?;
        let mut spent_micros = 0_u64;
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_some() {
                // This is the temporary file of a sum that is being written.
                continue;
            }
            let sum = read_file(&path, LONGEST).unwrap_or_default();
            let sum = String::from_utf8_lossy(&sum).parse::<u64>().unwrap_or(0);
            spent_micros = spent_micros.saturating_add(sum);
        }
        Ok(DayBudget { day, spent_micros, limit_micros: self.limit_micros })
    }

    /// Removes the sums of earlier days. Leftovers do no harm.
    fn forget_earlier(&self) {
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let _ = remove_folder(&entry.path());
        }
    }
}

/// The date at this time in the person's time zone, such as `2026-01-24`.
fn day_of(time: Timestamp) -> String {
    time.to_zoned(TimeZone::system()).date().to_string()
}

/// The cost on this day, according to the log.
fn stored_on(day: &str, entries: &[Entry]) -> u64 {
    let today = entries.iter().filter(|entry| day_of(entry.at) == day);
    let spent = today.flat_map(|entry| &entry.facts).filter_map(|fact| match fact {
        Event::Spent { usage, .. } => Some(usage.cost_micros),
        _ => None,
    });
    spent.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use rapport_core::{TurnId, Usage};

    use super::*;

    #[test]
    fn the_sums_of_all_sessions_of_a_day_are_added() {
        let folder = tempfile::tempdir().unwrap();
        let daily = DailySpending::at_most(1_000, folder.path().join("spent"));
        let now: Timestamp = "2026-01-24T12:00:00Z".parse().unwrap();
        let yesterday = now - SignedDuration::from_hours(24);
        let entry = |at: Timestamp, cost_micros: u64| Entry {
            seq: 1,
            at,
            facts: vec![Event::Spent { turn: TurnId(1), usage: Usage { cost_micros, ..Usage::default() } }],
        };
        let (one, two) = (SessionId::new("one"), SessionId::new("two"));
        let spent =
            |daily: &DailySpending, session: &SessionId, project: &str, entries: &[Entry], besides| {
                daily.note(project, session, entries, besides, now).unwrap().spent_micros
            };
        assert_eq!(spent(&daily, &one, "/a", &[entry(yesterday, 500), entry(now, 30)], 4), 34);
        assert_eq!(spent(&daily, &one, "/a", &[entry(now, 30), entry(now, 20)], 0), 50, "not twice");
        assert_eq!(spent(&daily, &two, "/a", &[], 7), 57);
        assert_eq!(spent(&daily, &two, "/b", &[], 3), 60, "the same name in another project");
        let tomorrow = now + SignedDuration::from_hours(24);
        let next = daily.note("/a", &two, &[entry(now, 30)], 5, tomorrow).unwrap();
        assert_eq!((next.spent_micros, next.limit_micros), (5, 1_000));
        assert_eq!(std::fs::read_dir(folder.path().join("spent")).unwrap().count(), 1);
    }
}
