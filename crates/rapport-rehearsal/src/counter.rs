//! The counter of invocations: a file beside the scenario, safe for concurrent processes.

use std::fs::OpenOptions;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Counts one more invocation and returns the previous number.
pub(super) fn next(path: &Path) -> io::Result<usize> {
    let mut file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path)?;
    file.lock()?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let before: usize = text.trim().parse().unwrap_or(0);
    // Overwritten in place, never truncated: a kill in between cannot lose the count.
    file.seek(SeekFrom::Start(0))?;
    file.write_all((before + 1).to_string().as_bytes())?;
    Ok(before)
}
