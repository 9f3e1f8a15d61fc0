//! EDIT: changes a file's current content, not the content at planning time: each FIND has to occur exactly once.

use rapport_core::{Replacement, apply_edits};

use crate::actions::files::{JournaledFiles, change};
use crate::actions::outcome::Outcome;
use crate::actions::project::text;

pub(super) fn run(
    journaled: &mut JournaledFiles,
    n: usize,
    what: String,
    path: &str,
    edits: &[Replacement],
) -> Outcome {
    change(journaled, n, what, path, |before| {
        let before = before.ok_or_else(|| format!("{path} does not exist"))?;
        let before =
            text(before).ok_or_else(|| format!("{path} is not text, and only text can be edited"))?;
        let after = apply_edits(before, edits).map_err(|why| format!("{path}: {why}"))?;
        Ok(after.into_bytes())
    })
}
