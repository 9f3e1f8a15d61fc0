//! The latest commits of a project, for its exploration. Workers provide the function, because they know how to call
//! git safely.

use std::path::Path;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// The day of the commit.
    pub on: String,
    /// The first line of its message.
    pub subject: String,
}

/// The latest commits that concern a directory, at most this many, the newest first; `None` if there are none.
/// Blocks.
pub type HistoryOf = fn(&Path, usize) -> Option<Vec<Commit>>;
