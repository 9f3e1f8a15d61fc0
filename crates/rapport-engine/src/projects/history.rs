//! The latest commits of a project, as whoever explores it gets them: git is called by workers, which know how to do that safely.

use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The day on which it was made.
    pub on: String,
    /// The first line of its message.
    pub subject: String,
}

/// The latest commits that concern a directory, at most so many, the newest first; `None` if there are none. Blocks.
pub type HistoryOf = fn(&Path, usize) -> Option<Vec<Commit>>;
