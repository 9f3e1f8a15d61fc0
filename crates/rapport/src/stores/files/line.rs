//! One line of a log: an entry as a JSON object that begins with the format and ends with a checksum of everything
//! before it. These two places stay the same in every format, so that "damaged" and "newer" can be told apart.

use jiff::Timestamp;
use rapport_core::{Entry, Event, FORMAT};
use serde::{Deserialize, Serialize};

/// What stands between the checked bytes and the checksum.
const SUM: &[u8] = br#","crc":""#;
/// What stands after the checksum.
const END: &[u8] = br#""}"#;
/// How a line of ours begins, which spares reading its format on its own.
const START: &str = r#"{"v":1,"#;

/// Why a line gives no entry.
#[derive(Debug)]
pub(super) enum Flaw {
    /// It is not what was written.
    Damaged(String),
    /// It is of this format, which is not known yet.
    Newer(u32),
}

/// The line for an entry, with its newline: what one write takes to the file.
pub(super) fn encode(entry: &Entry) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    struct Line<'a> {
        v: u32,
        seq: u64,
        at: Timestamp,
        facts: &'a [Event],
    }
    let line = Line { v: FORMAT, seq: entry.seq, at: entry.at, facts: &entry.facts };
    let mut line = serde_json::to_vec(&line)?;
    line.pop(); // The closing brace comes back after the checksum.
    let sum = checksum(&line);
    line.extend_from_slice(SUM);
    line.extend_from_slice(&sum);
    line.extend_from_slice(END);
    line.push(b'\n');
    Ok(line)
}

/// The entry of a line, given without its newline.
pub(super) fn decode(line: &[u8]) -> Result<Entry, Flaw> {
    if !is_intact(line) {
        return Err(Flaw::Damaged("its checksum is wrong".to_owned()));
    }
    let json = str::from_utf8(line).map_err(|error| Flaw::Damaged(error.to_string()))?;
    check_format(json)?;
    Entry::from_json(json).map_err(|error| Flaw::Damaged(error.to_string()))
}

/// Whether the checksum is there and right.
pub(super) fn is_intact(line: &[u8]) -> bool {
    let Some((rest, sum)) = line.strip_suffix(END).and_then(<[u8]>::split_last_chunk::<8>) else {
        return false;
    };
    rest.strip_suffix(SUM).is_some_and(|checked| checksum(checked) == *sum)
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

/// CRC-32 in lower-case hex, and in no other spelling: a changed letter of it is damage too.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    let sum = crc32fast::hash(bytes);
    std::array::from_fn(|place| b"0123456789abcdef"[(sum >> (28 - 4 * place)) as usize & 0xf])
}
