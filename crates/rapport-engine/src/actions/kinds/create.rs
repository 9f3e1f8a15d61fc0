//! CREATE: creates a file, or replaces it if the plan says so.

use crate::actions::files::{JournaledFiles, change};
use crate::actions::outcome::Outcome;

pub(super) fn run(
    journaled: &mut JournaledFiles,
    n: usize,
    what: String,
    path: &str,
    content: &str,
    overwrite: Overwrite,
) -> Outcome {
    change(journaled, n, what, path, |before| match (before, overwrite) {
        (Some(_), Overwrite::No) => {
            Err(format!("{path} already exists, and the plan does not say Overwrite"))
        }
        (Some(_), Overwrite::Yes) | (None, _) => Ok(content.as_bytes().to_vec()),
    })
}

/// Whether an existing file is replaced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Overwrite {
    Yes,
    No,
}

impl From<bool> for Overwrite {
    fn from(overwrite: bool) -> Self {
        if overwrite { Overwrite::Yes } else { Overwrite::No }
    }
}
