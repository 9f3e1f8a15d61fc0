//! Parses the bytes of a log. Complete lines are checked one by one; bytes after the last newline are an interrupted
//! write that was never acknowledged, and are skipped.

use std::io::{self, BufRead as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rapport_core::{Entry, FORMAT};
use rapport_durable::{open_own, read_own};

use super::line::{self, Flaw};
use crate::stores::StoreError;

#[derive(Debug)]
pub(in crate::stores) struct Scan {
    /// The requested entries.
    pub(in crate::stores) entries: Vec<Entry>,
    /// The number of complete lines, which is the number of the last entry.
    pub(in crate::stores) last: u64,
    /// Their length in bytes, up to the last acknowledged line.
    pub(in crate::stores) good: usize,
}

/// Checks every line, passes it to `each`, and keeps the entries after this one.
pub(in crate::stores) fn scan(
    path: &Path,
    bytes: &[u8],
    after: u64,
    mut each: impl FnMut(&[u8]),
) -> Result<Scan, StoreError> {
    let mut scan = Scan { entries: Vec::new(), last: 0, good: 0 };
    let mut rest = bytes;
    while let Some(line) = next_line(&mut rest) {
        let number = scan.last + 1;
        let wanted = read_line(line, number, number > after).map_err(|flaw| error(path, number, flaw))?;
        each(line);
        scan.last = number;
        scan.good += line.len() + 1;
        scan.entries.extend(wanted);
    }
    match check_torn(rest) {
        Ok(()) => Ok(scan),
        Err(flaw) => Err(error(path, scan.last + 1, flaw)),
    }
}

/// Whether a log has a complete first line; usually its last byte tells.
pub(super) fn has_entry(path: &Path) -> io::Result<bool> {
    let file = match open_own(path) {
        Err(error) if is_absent(&error) => return Ok(false),
        opened => opened?,
    };
    let length = file.metadata()?.len();
    let mut last = [0];
    if length == 0 {
        return Ok(false);
    }
    // A writer may have truncated the file since; then nothing is read, and the slow path decides.
    if file.read_at(&mut last, length - 1)? == 1 && last == *b"\n" {
        return Ok(true);
    }
    Ok(read_own(path)?.contains(&b'\n'))
}

/// Whether the error means that nothing of that name exists, or can exist.
fn is_absent(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory | InvalidFilename)
}

/// The next complete line without its newline. An incomplete one is left.
fn next_line<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let mut after = *rest;
    // Reading from memory does not fail, and this finds a newline many bytes at a time.
    let length = after.skip_until(b'\n').ok()?;
    let line = rest[..length].strip_suffix(b"\n")?;
    *rest = after;
    Some(line)
}

/// Checks the line of this number; its entry if that is wanted.
fn read_line(line: &[u8], number: u64, is_wanted: bool) -> Result<Option<Entry>, Flaw> {
    let entry = if is_wanted { Some(line::decode(line)?) } else { None };
    let found = match &entry {
        Some(entry) => entry.seq,
        None => line::number(line)?,
    };
    if found != number {
        return Err(Flaw::Damaged(format!("it is entry {found} where entry {number} belongs")));
    }
    Ok(entry)
}

/// An interrupted write is the beginning of a line, possibly followed by zeros from the file system. A whole line
/// followed by anything else has lost its newline later, and was acknowledged.
fn check_torn(torn: &[u8]) -> Result<(), Flaw> {
    match torn.split_last() {
        Some((&newline, line)) if newline != 0 && line::is_intact(line) => {
            Err(Flaw::Damaged("its newline was changed".to_owned()))
        }
        _ => Ok(()),
    }
}

fn error(path: &Path, line: u64, flaw: Flaw) -> StoreError {
    let place = path.display().to_string();
    match flaw {
        Flaw::Damaged(what) => StoreError::Damaged { place, line: line as usize, what },
        Flaw::Newer(found) => StoreError::Newer { place, found, known: FORMAT },
    }
}
