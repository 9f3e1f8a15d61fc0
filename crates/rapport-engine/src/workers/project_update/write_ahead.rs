//! The write-ahead note of an apply, written before the first file. Without it, a process could not tell after a kill
//! which files the apply wrote and which a person did, nor whether a change came before or after the apply was
//! complete.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rapport_core::{Merged, SessionId};
use rapport_durable as durable;

use crate::workers::git::line;
use crate::workers::{WorkerError, file_error};

const BEGUN: &str = "begun";
const COMPLETE: &str = "complete";

/// The note of one session, within git's directory. It stays until the session's workplace is removed.
pub(in crate::workers) struct WriteAhead {
    path: PathBuf,
}

/// The result of an earlier attempt.
pub(super) enum EarlierAttempt {
    Nothing,
    /// It may have written these paths, from the top of the repository.
    Begun(BTreeSet<PathBuf>),
    Complete,
}

impl WriteAhead {
    pub(in crate::workers) fn of(project: &Path, session: &SessionId) -> Result<Self, WorkerError> {
        let name = format!("rapport/apply-{session}");
        Ok(Self { path: project.join(line(project, &["rev-parse", "--git-path", &name])?) })
    }

    /// The result of an earlier attempt between these two states. An attempt between other states is over, and was
    /// reverted.
    pub(super) fn read(&self, merged: &Merged) -> Result<EarlierAttempt, WorkerError> {
        let note = match std::fs::read(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(EarlierAttempt::Nothing),
            read => read.map_err(file_error("read", &self.path))?,
        };
        let mut fields = note.split(|byte| *byte == 0);
        let stage = fields.next().unwrap_or_default();
        if stage == head(merged, COMPLETE).as_bytes() {
            return Ok(EarlierAttempt::Complete);
        }
        if stage == head(merged, BEGUN).as_bytes() {
            return Ok(EarlierAttempt::Begun(
                fields.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect(),
            ));
        }
        Ok(EarlierAttempt::Nothing)
    }

    pub(super) fn begin<'a>(
        &self,
        merged: &Merged,
        paths: impl Iterator<Item = &'a Path>,
    ) -> Result<(), WorkerError> {
        let mut note = head(merged, BEGUN).into_bytes();
        for path in paths {
            note.push(0);
            note.extend_from_slice(path.as_os_str().as_bytes());
        }
        self.write(&note)
    }

    pub(super) fn complete(&self, merged: &Merged) -> Result<(), WorkerError> {
        self.write(head(merged, COMPLETE).as_bytes())
    }

    fn write(&self, note: &[u8]) -> Result<(), WorkerError> {
        durable::replace_private(&self.path, note).map_err(file_error("write", &self.path))
    }

    pub(in crate::workers) fn clear(&self) -> Result<(), WorkerError> {
        durable::remove(&self.path).map_err(file_error("remove", &self.path))
    }
}

fn head(merged: &Merged, stage: &str) -> String {
    format!("{} {} {stage}", merged.from, merged.to)
}
