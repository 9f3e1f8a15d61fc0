//! Restores the files that a session's batches changed, in another directory, as they were before the first of these
//! batches. Another attempt at a turn begins there, while the first attempt stays as it is.

use std::io;
use std::path::{Component, Path};

use jiff::Timestamp;
use rapport_core::{Session, SessionId};
use rapport_durable as durable;

use super::batch_diff::{self, FileBefore};
use crate::workers::leads_inside;

/// Restores the files that batches approved at this time or later changed, in a copy of the project. Blocks.
pub fn restore_before(
    id: &SessionId,
    session: &Session,
    since: Timestamp,
    copy: &Path,
) -> Result<(), String> {
    let changed = batch_diff::changed(id, session, Some(since)).map_err(|error| error.to_string())?;
    changed.iter().try_for_each(|(file, before)| {
        restore(copy, file, before).map_err(|error| format!("cannot restore {file}: {error}"))
    })
}

fn restore(copy: &Path, file: &str, (batch, before): &FileBefore) -> io::Result<()> {
    if !Path::new(file).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::other("its name leads elsewhere"));
    }
    let path = copy.join(file);
    leads_inside(copy, path.parent().unwrap_or(copy))?;
    let Some(image) = before else { return durable::remove(&path) };
    let content = batch_diff::read(&batch.join("before"), &image.sha256)?;
    durable::folder(path.parent().unwrap_or(copy))?;
    let temporary = path.with_extension("rapport-restored");
    durable::write_beside(&temporary, &content, Some((image.mode, &path)))?;
    durable::put(&temporary, &path)
}
