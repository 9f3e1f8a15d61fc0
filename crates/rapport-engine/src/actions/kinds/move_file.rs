//! MOVE: a file gets another path, where nothing is. Both paths change at once.

use crate::actions::files::{self, Desk};
use crate::actions::outcome::Outcome;

pub(super) fn run(desk: &mut Desk, n: usize, what: String, from: &str, to: &str) -> Outcome {
    files::move_file(desk, n, what, from, to)
}
