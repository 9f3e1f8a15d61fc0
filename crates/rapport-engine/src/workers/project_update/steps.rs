//! The differences between two states of the files, path by path.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::workers::git::git;
use crate::workers::{WorkerError, local};

/// The mode of an absent file.
const ABSENT: &[u8] = b"000000";
/// The mode of a nested repository.
const REPOSITORY: &[u8] = b"160000";

/// The entry of a path in a state: its mode, and the object id of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::workers) struct Entry {
    mode: Vec<u8>,
    content: Vec<u8>,
}

impl Entry {
    pub(super) fn is_absent(&self) -> bool {
        self.mode == ABSENT
    }

    /// The line for this entry at a path with which git fills an index.
    pub(super) fn index_line(&self, path: &Path) -> Vec<u8> {
        [&self.mode, &b" "[..], &self.content, b"\t", path.as_os_str().as_bytes(), b"\0"].concat()
    }
}

/// A path that differs between two states.
#[derive(Clone, Debug)]
pub(in crate::workers) struct FileStep {
    pub(in crate::workers) path: PathBuf,
    pub(super) old: Entry,
    pub(super) new: Entry,
}

impl FileStep {
    /// Whether it is about a nested repository, which has its own history.
    pub(in crate::workers) fn is_of_a_repository(&self) -> bool {
        [&self.old, &self.new].iter().any(|entry| entry.mode == REPOSITORY)
    }

    pub(super) fn back(&self) -> Self {
        Self { path: self.path.clone(), old: self.new.clone(), new: self.old.clone() }
    }
}

/// The steps from one state to the other.
pub(in crate::workers) fn steps(top: &Path, from: &str, to: &str) -> Result<Vec<FileStep>, WorkerError> {
    let (from, to) = (local::named(from)?, local::named(to)?);
    Ok(parse(&git(top, None, &["diff-tree", "-r", "-z", "--no-renames", from, to])?))
}

/// The objects that differ between two states: the files and directories on both sides. The states themselves are not
/// among them, and neither are the commits of nested repositories.
pub(in crate::workers) fn changed_objects(
    top: &Path,
    from: &str,
    to: &str,
) -> Result<Vec<String>, WorkerError> {
    let (from, to) = (local::named(from)?, local::named(to)?);
    let changed = parse(&git(top, None, &["diff-tree", "-r", "-t", "-z", "--no-renames", from, to])?);
    let entries = changed.into_iter().flat_map(|step| [step.old, step.new]);
    let stored = entries.filter(|entry| !entry.is_absent() && entry.mode != REPOSITORY);
    Ok(stored.map(|entry| String::from_utf8_lossy(&entry.content).into_owned()).collect())
}

/// Parses `:old-mode new-mode old-name new-name status`, then the path, for each.
pub(super) fn parse(out: &[u8]) -> Vec<FileStep> {
    let mut fields = out.split(|byte| *byte == 0);
    let mut steps = Vec::new();
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let words: Vec<_> =
            head.strip_prefix(b":").unwrap_or(head).split(|byte| *byte == b' ').map(<[u8]>::to_vec).collect();
        let [old_mode, new_mode, old, new, _] = words.as_slice() else { break };
        let entry =
            |mode: &[u8], content: &[u8]| Entry { mode: mode.to_owned(), content: content.to_owned() };
        let (old, new) = (entry(old_mode, old), entry(new_mode, new));
        steps.push(FileStep { path: PathBuf::from(OsStr::from_bytes(path)), old, new });
    }
    steps
}
