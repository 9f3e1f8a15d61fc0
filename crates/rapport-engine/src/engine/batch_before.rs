//! Restores the files that a session's batches changed, in another directory, as they were before the first of these
//! batches. Another attempt at a turn begins there, while the first attempt stays as it is.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path};

use jiff::Timestamp;
use rapport_core::{Session, SessionId};
use rapport_durable as durable;

use super::batch_diff::{self, FileBefore};
use crate::actions::path_state::is_link;
use crate::workers::leads_inside;

/// Restores the files that batches approved at this time or later changed, in a copy of the project. Blocks.
pub fn restore_before(
    id: &SessionId,
    session: &Session,
    since: Timestamp,
    copy: &Path,
) -> Result<(), String> {
    let changed = batch_diff::changed(id, session, Some(since)).map_err(|error| error.to_string())?;
    // Removals first: what a batch created may be in the place of a directory, or a directory in the place of a file.
    let (restored, removed): (Vec<_>, Vec<_>) = changed.iter().partition(|(_, (_, before))| before.is_some());
    removed.into_iter().chain(restored).try_for_each(|(file, before)| {
        restore(copy, file, before).map_err(|error| format!("cannot restore {file}: {error}"))
    })
}

fn restore(copy: &Path, file: &str, (batch, before): &FileBefore) -> io::Result<()> {
    if !Path::new(file).components().all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::Error::other("its name leads elsewhere"));
    }
    let path = copy.join(file);
    leads_inside(copy, path.parent().unwrap_or(copy))?;
    let Some(image) = before else {
        durable::remove(&path)?;
        // Git knows no empty directories, and this one may be in the place of a file.
        let folders = path.ancestors().skip(1).take_while(|folder| *folder != copy);
        folders.take_while(|folder| durable::remove_if_empty(folder)).for_each(drop);
        return Ok(());
    };
    let content = batch_diff::copy(batch, image)?;
    durable::folder(path.parent().unwrap_or(copy))?;
    let temporary = path.with_extension("rapport-restored");
    if is_link(image.mode) {
        durable::link_beside(&temporary, Path::new(OsStr::from_bytes(&content)))?;
    } else {
        durable::write_beside(&temporary, &content, Some((image.mode, &path)))?;
    }
    durable::put(&temporary, &path)
}
