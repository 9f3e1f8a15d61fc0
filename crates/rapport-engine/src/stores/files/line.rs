//! One line of a log: an entry as a JSON object that begins with the format and ends with a checksum of everything
//! before it, with the seal ([`crate::seals`]) in between. Beginning and end stay the same in every format, so that
//! "damaged" and "newer" can be told apart.

use jiff::Timestamp;
use rapport_core::{Entry, Event, FORMAT};
use serde::{Deserialize, Serialize};

pub(super) use rapport_durable::checked_line::is_intact;

/// The beginning of a line in the current format, which avoids parsing the format separately.
const START: &str = r#"{"v":1,"#;

/// Why a line cannot be decoded.
#[derive(Debug)]
pub(super) enum Flaw {
    /// It differs from what was written.
    Damaged(String),
    /// It has this unknown format.
    Newer(u32),
}

/// The JSON object of an entry, to which its seal and checksum are added.
pub(in crate::stores) fn object(entry: &Entry) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    struct Line<'a> {
        v: u32,
        seq: u64,
        at: Timestamp,
        facts: &'a [Event],
    }
    let line = Line { v: FORMAT, seq: entry.seq, at: entry.at, facts: &entry.facts };
    serde_json::to_vec(&line)
}

/// The entry of a line, given without its newline.
pub(super) fn decode(line: &[u8]) -> Result<Entry, Flaw> {
    Entry::from_json(checked(line)?).map_err(|error| Flaw::Damaged(error.to_string()))
}

/// The number of a line's entry. Its facts are not read, which takes much less time in a long log.
pub(super) fn number(line: &[u8]) -> Result<u64, Flaw> {
    #[derive(Deserialize)]
    struct Numbered {
        seq: u64,
    }
    let numbered: Result<Numbered, _> = serde_json::from_str(checked(line)?);
    numbered.map(|line| line.seq).map_err(|error| Flaw::Damaged(error.to_string()))
}

/// The text of a line that is as it was written, in a known format.
fn checked(line: &[u8]) -> Result<&str, Flaw> {
    if !is_intact(line) {
        return Err(Flaw::Damaged("its checksum is wrong".to_owned()));
    }
    let json = str::from_utf8(line).map_err(|error| Flaw::Damaged(error.to_string()))?;
    check_format(json)?;
    Ok(json)
}

fn check_format(json: &str) -> Result<(), Flaw> {
    #[derive(Deserialize)]
    struct Format {
        v: u32,
    }
    if FORMAT == 1 && json.starts_with(START) {
        return Ok(());
    }
    match serde_json::from_str(json) {
        Ok(Format { v }) if v > FORMAT => Err(Flaw::Newer(v)),
        Ok(Format { v: 0 }) => Err(Flaw::Damaged("there is no format 0".to_owned())),
        Ok(_) => Ok(()),
        Err(error) => Err(Flaw::Damaged(error.to_string())),
    }
}
