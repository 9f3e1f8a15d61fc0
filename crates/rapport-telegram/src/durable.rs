//! The bot's files are in a folder that is made where it is missing.

use std::io;
use std::path::Path;

use rapport_durable as durable;

/// Replaces a file as a whole.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_folder(path)?;
    durable::replace_private(path, bytes)
}

/// Adds a line to a file. One that would grow past `most` bytes is put aside first.
pub(super) fn append_line(path: &Path, line: &str, most: u64) -> io::Result<()> {
    make_folder(path)?;
    durable::append_line(path, line, most)
}

/// Makes the folder of a file, where it is missing.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), durable::private_folder)
}
