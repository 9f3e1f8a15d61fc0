//! Creates the folder of the bot's files if it is missing, before `rapport-durable` writes them.

use std::io;
use std::path::Path;

use rapport_durable as durable;

/// Replaces a file as a whole. Creates its folder if it is missing.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_folder(path)?;
    durable::replace_private(path, bytes)
}

/// Appends a line to a file. A file that would grow past `most` bytes is put aside first.
pub(super) fn append_line(path: &Path, line: &str, most: u64) -> io::Result<()> {
    make_folder(path)?;
    durable::append_line(path, line, most)
}

/// Creates the folder of a file if it is missing.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), durable::private_folder)
}
