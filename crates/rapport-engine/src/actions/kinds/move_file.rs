//! MOVE: moves a file to a path that does not exist. Both paths change atomically.

use crate::actions::files::{self, JournaledFiles};
use crate::actions::outcome::Outcome;

pub(super) fn run(journaled: &mut JournaledFiles, n: usize, what: String, from: &str, to: &str) -> Outcome {
    files::move_file(journaled, n, what, from, to)
}
