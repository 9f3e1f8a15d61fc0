//! Small writes that need no log of their own: lines at the end of a file, or its first bytes in place.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::crash_points::{counted, point};
use crate::folders::sync_above;

/// When a write has to be on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Before the call returns.
    Now,
    /// When the system gets to it: a power cut may take it back, a kill does not.
    Later,
}

/// Adds text to the end of a private file, and makes the file where it is missing.
pub fn append(path: &Path, text: &[u8], flush: Flush) -> io::Result<()> {
    counted(path, || {
        let mut file = File::options().append(true).create(true).mode(0o600).open(path)?;
        file.write_all(text)?;
        if flush == Flush::Now {
            file.sync_data()?;
            sync_above(path)?;
        }
        Ok(())
    })
}

/// Adds a line to a private file, durably. A file that would grow past `most` bytes is renamed first (`.old`), in place of
/// the one that was renamed before.
pub fn append_line(path: &Path, line: &str, most: u64) -> io::Result<()> {
    let grown = fs::metadata(path).map_or(0, |file| file.len()) + line.len() as u64 + 1;
    if grown > most && path.exists() {
        counted(path, || fs::rename(path, path.with_added_extension("old")))?;
    }
    append(path, format!("{line}\n").as_bytes(), Flush::Now)
}

/// Writes the beginning of a private file in place, in one write, and makes the file where it is missing.
pub fn overwrite(path: &Path, beginning: &[u8], flush: Flush) -> io::Result<()> {
    let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.write_all_at(beginning, 0)?;
    if flush == Flush::Now {
        file.sync_all()?;
    }
    // It follows the write that it is about, so the point before it is the one after that.
    point(path);
    Ok(())
}
