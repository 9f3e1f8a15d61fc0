//! The deadlines of sessions: when the loop has to handle a session although no input came.
//!
//! A deadline is a time on the wall clock, which is the only one in the log. Setting that clock back by an hour would
//! keep a waiting process an hour longer. A deadline is therefore also reached by the monotonic clock, after the time
//! that was left when it was noted. Both are needed: the monotonic clock may stop while the machine sleeps.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use rapport_core::SessionId;
use tokio::time::Instant;

/// A deadline on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Deadline {
    /// On the wall clock.
    pub(super) at: Timestamp,
    /// On the monotonic clock.
    by: Instant,
}

/// The deadlines of all sessions.
#[derive(Debug, Default)]
pub(super) struct Deadlines {
    by_wall: BTreeSet<(Timestamp, SessionId)>,
    by_steady: BTreeSet<(Instant, Timestamp, SessionId)>,
}

impl Deadlines {
    /// Adds a deadline. `wall` and `steady` are the current times.
    pub(super) fn insert(
        &mut self,
        id: &SessionId,
        at: Timestamp,
        wall: Timestamp,
        steady: Instant,
    ) -> Deadline {
        // The monotonic clock cannot represent a deadline this far away; the wall clock decides.
        let by = steady.checked_add(until(at, wall)).unwrap_or(steady + FAR);
        self.by_wall.insert((at, id.clone()));
        self.by_steady.insert((by, at, id.clone()));
        Deadline { at, by }
    }

    pub(super) fn remove(&mut self, id: &SessionId, deadline: Deadline) {
        self.by_wall.remove(&(deadline.at, id.clone()));
        self.by_steady.remove(&(deadline.by, deadline.at, id.clone()));
    }

    /// The sessions whose deadline is reached on either clock, with that deadline.
    pub(super) fn due(&self, wall: Timestamp, steady: Instant) -> BTreeSet<(Timestamp, SessionId)> {
        let by_wall = self.by_wall.iter().take_while(|(at, _)| *at <= wall).cloned();
        let by_steady = self.by_steady.iter().take_while(|(by, ..)| *by <= steady);
        by_wall.chain(by_steady.map(|(_, at, id)| (*at, id.clone()))).collect()
    }

    /// The time until the next deadline is reached on either clock.
    pub(super) fn next(&self, wall: Timestamp, steady: Instant) -> Option<Duration> {
        let by_wall = self.by_wall.first().map(|(at, _)| until(*at, wall));
        let by_steady = self.by_steady.first().map(|(by, ..)| by.saturating_duration_since(steady));
        by_wall.into_iter().chain(by_steady).min()
    }
}

/// A year, which is longer than any process waits.
const FAR: Duration = Duration::from_secs(365 * 24 * 3600);

/// The time until a deadline; zero if it is overdue.
fn until(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    /// A clock that is set back makes nothing wait longer, and one that is set forward still counts.
    #[test]
    fn a_deadline_is_reached_by_whichever_clock_comes_first() {
        let (wall, steady) = (Timestamp::UNIX_EPOCH + SignedDuration::from_hours(9), Instant::now());
        let hot = SignedDuration::from_mins(5);
        let later = |minutes: u64| steady + Duration::from_secs(60 * minutes);
        let cases = [
            ("too early by both", wall, later(4), false),
            ("both in step", wall + hot, later(5), true),
            ("set back an hour", wall - SignedDuration::from_hours(1), later(5), true),
            ("set back an hour, too early", wall - SignedDuration::from_hours(1), later(4), false),
            ("the machine slept", wall + SignedDuration::from_hours(8), later(0), true),
        ];
        for (case, wall_then, steady_then, is_due) in cases {
            let (mut deadlines, id) = (Deadlines::default(), SessionId::new("s"));
            let deadline = deadlines.insert(&id, wall + hot, wall, steady);
            let due = deadlines.due(wall_then, steady_then);
            assert_eq!(due.contains(&(wall + hot, id.clone())), is_due, "{case}");
            let wait = deadlines.next(wall_then, steady_then);
            assert_eq!(wait.is_some_and(|wait| wait.is_zero()), is_due, "{case}");
            deadlines.remove(&id, deadline);
            assert_eq!(deadlines.next(wall_then, steady_then), None, "{case}");
        }
    }
}
