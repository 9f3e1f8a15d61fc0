//! `sessions.jsonl`: a line for each end of a project's session. Lines are only appended, each once; a line that
//! cannot be read stays.

use std::collections::HashSet;
use std::path::Path;

use rapport_core::{PastSession, SessionId};
use rapport_door::ProjectError;
use rapport_durable::{AppendError, AppendLog};

use super::context_file::io_error;

const NAME: &str = "sessions.jsonl";

/// The recorded ends of sessions, the oldest first. An unfinished last line is ignored.
pub(super) fn read(folder: &Path) -> Result<Vec<PastSession>, ProjectError> {
    let path = folder.join(NAME);
    match rapport_durable::read_own(&path) {
        Ok(bytes) => Ok(parse(&bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(io_error("read", &path)(error)),
    }
}

/// Appends the ends that are not recorded yet, and returns them. Durable when this returns. The caller has to exclude
/// other processes.
pub(super) fn add(folder: &Path, ends: Vec<PastSession>) -> Result<Vec<PastSession>, ProjectError> {
    if ends.is_empty() {
        return Ok(ends);
    }
    let path = folder.join(NAME);
    let mut log = AppendLog::open_or_create(&path).map_err(io_error("open", &path))?;
    let bytes = log.read().map_err(io_error("read", &path))?;
    let known: HashSet<(SessionId, u64)> =
        parse(&bytes).into_iter().map(|past| (past.session, past.entry)).collect();
    // A kill may have left an unfinished line at the end.
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    log.accept(whole as u64).map_err(io_error("mend", &path))?;
    let new: Vec<_> =
        ends.into_iter().filter(|past| !known.contains(&(past.session.clone(), past.entry))).collect();
    for past in &new {
        let mut line = serde_json::to_vec(past).map_err(|error| ProjectError::Failed(error.to_string()))?;
        line.push(b'\n');
        log.append(&line).map_err(|error| match error {
            AppendError::Io(error) => io_error("write", &path)(error),
            other => ProjectError::Failed(format!("{}: {other}", path.display())),
        })?;
    }
    Ok(new)
}

fn parse(bytes: &[u8]) -> Vec<PastSession> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    bytes[..whole].split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}
