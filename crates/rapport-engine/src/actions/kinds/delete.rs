//! DELETE: deletes a file. Its content is in the journal, so that an undo restores it.

use crate::actions::files::{self, JournaledFiles};
use crate::actions::outcome::Outcome;

pub(super) fn run(journaled: &mut JournaledFiles, n: usize, what: String, path: &str) -> Outcome {
    files::delete(journaled, n, what, path)
}
