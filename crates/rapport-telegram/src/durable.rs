//! Writes the bot's files durably: replaces them as a whole or appends lines, and creates their folder if it is missing.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Replaces a file as a whole. Creates its folder if it is missing.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_folder(path)?;
    rapport_durable::replace_private(path, bytes)
}

/// Appends a line to a file. A file that would grow past `most` bytes is renamed to `.old` first, replacing the previous
/// one.
pub(super) fn append_line(path: &Path, line: &str, most: u64) -> io::Result<()> {
    make_folder(path)?;
    let grown = fs::metadata(path).map_or(0, |file| file.len()) + line.len() as u64 + 1;
    if grown > most && path.exists() {
        fs::rename(path, path.with_added_extension("old"))?;
    }
    let mut file = File::options().append(true).create(true).mode(0o600).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())?;
    file.sync_data()?;
    sync_folder(path)
}

/// Creates the folder of a file if it is missing.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    rapport_durable::private_folder(folder)
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}
