//! Writes to files in the directory of the bot, which these functions create if necessary.

use std::io;
use std::path::Path;

use rapport_durable as durable;

/// Replaces a file, and creates its directory if necessary.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_folder(path)?;
    durable::replace_private(path, bytes)
}

/// Replaces a file without waiting for the disk, for content that is written anew at every start.
pub(super) fn replace_later(path: &Path, bytes: &[u8]) -> io::Result<()> {
    make_folder(path)?;
    durable::replace_private_later(path, bytes)
}

/// Appends a line to a file. If the file would exceed `most` bytes, it is rotated first.
pub(super) fn append_line(path: &Path, line: &str, most: u64) -> io::Result<()> {
    make_folder(path)?;
    durable::append_line(path, line, most)
}

/// Creates the directory of a file if necessary.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), durable::private_folder)
}
