//! Whether what is known about a project is still current.

use std::fmt;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::ProjectContext;

/// How long an exploration counts as current (LEAD-27).
pub const STALE_AFTER: SignedDuration = SignedDuration::from_hours(7 * 24);

/// Why a project should be explored again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "why")]
pub enum Stale {
    /// It was never explored.
    NeverExplored,
    /// It was explored too long ago.
    Old {
        /// How many days ago.
        days: i64,
    },
    /// It was explored in another directory.
    Moved {
        /// The directory in which it was explored.
        from: String,
    },
    /// The major number of its version changed.
    MajorVersion {
        /// The version when it was explored.
        was: String,
        /// The version now.
        now: String,
    },
}

/// What is observed of a project when its context is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observed {
    /// The directory in which it was last explored.
    pub explored_in: Option<String>,
    /// The version that was found then.
    pub explored_version: Option<String>,
    /// The version that its manifest has now.
    pub version: Option<String>,
}

impl Stale {
    /// Why this context is no longer current, if it is not.
    pub fn of(context: &ProjectContext, seen: &Observed, now: Timestamp) -> Option<Self> {
        let Some(explored) = context.last_explored else { return Some(Self::NeverExplored) };
        if let Some(from) = seen.explored_in.as_ref().filter(|path| **path != context.path) {
            return Some(Self::Moved { from: from.clone() });
        }
        if let (Some(was), Some(now)) = (&seen.explored_version, &seen.version)
            && major(was).is_some()
            && major(was) != major(now)
        {
            return Some(Self::MajorVersion { was: was.clone(), now: now.clone() });
        }
        let age = now.duration_since(explored);
        (age > STALE_AFTER).then(|| Self::Old { days: age.as_hours() / 24 })
    }
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NeverExplored => f.write_str("it was never explored"),
            Self::Old { days } => write!(f, "it was explored {days} days ago"),
            Self::Moved { from } => write!(f, "it was explored in {from}"),
            Self::MajorVersion { was, now } => write!(f, "its version was {was}, and is {now}"),
        }
    }
}

/// The major number of a version.
pub fn major(version: &str) -> Option<u64> {
    let version = version.trim().trim_start_matches(['v', 'V', '^', '~', '=']);
    version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}
