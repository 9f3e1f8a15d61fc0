//! DELETE: a file is taken away. Its content is in the journal, so that undoing brings it back.

use crate::actions::files::{self, Desk};
use crate::actions::outcome::Outcome;

pub(super) fn run(desk: &mut Desk, n: usize, what: String, path: &str) -> Outcome {
    files::delete(desk, n, what, path)
}
