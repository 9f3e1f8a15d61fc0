//! Small writes that need no log: appending lines to a file, or overwriting its first bytes.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;

use crate::crash_points::{counted, point};
use crate::folders::sync_above;

/// When a write has to reach the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Before the call returns.
    Now,
    /// When the system writes it: a power cut may lose it, a kill does not.
    Later,
}

/// Appends text to a private file, and creates the file if necessary. With [`Flush::Now`] all that was appended
/// before becomes durable, too, provided that the file was created durably: by a replace, or by this function.
pub fn append(path: &Path, text: &[u8], flush: Flush) -> io::Result<()> {
    counted(path, || {
        let is_new = !path.exists();
        let mut file = File::options().append(true).create(true).mode(0o600).open(path)?;
        file.write_all(text)?;
        if flush == Flush::Now {
            file.sync_data()?;
            if is_new {
                sync_above(path)?;
            }
        }
        Ok(())
    })
}

/// Appends a line to a private file, durably. A file that would exceed `most` bytes is first renamed to `.old`, which
/// replaces an older one.
pub fn append_line(path: &Path, line: &str, most: u64) -> io::Result<()> {
    let grown = fs::metadata(path).map_or(0, |file| file.len()) + line.len() as u64 + 1;
    if grown > most && path.exists() {
        counted(path, || fs::rename(path, path.with_added_extension("old")))?;
    }
    append(path, format!("{line}\n").as_bytes(), Flush::Now)
}

/// Overwrites the beginning of a private file, in one write, and creates the file if necessary.
pub fn overwrite(path: &Path, beginning: &[u8], flush: Flush) -> io::Result<()> {
    let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    file.write_all_at(beginning, 0)?;
    if flush == Flush::Now {
        file.sync_all()?;
    }
    // No crash point before this write: the write that it describes came just before, and has one after it.
    point(path);
    Ok(())
}
