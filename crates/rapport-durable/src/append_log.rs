//! An append-only file: each line is durable once it is appended, and a line that cannot be made durable is removed
//! again. Its owner has to exclude other writers, with a [`Lock`](crate::Lock) or [`AppendLog::try_lock`].

use std::fs::{File, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::crash_points::{before_cut, before_sync, counted, torn};
use crate::folders::sync_above;
use crate::lock::{is_gone, is_taken};
use crate::read::{open_own, open_own_with};

/// Why a line was not appended.
#[derive(Debug, Error)]
pub enum AppendError {
    /// The file was removed, so appended data would be lost.
    #[error("the file was removed while it was in use")]
    Removed,
    /// Another file has its path now, so readers would not find appended data.
    #[error("another file was put in its place while it was in use")]
    Replaced,
    /// Another program wrote to the file, and the line would follow data that this process has not read.
    #[error("another program changed the file while it was in use")]
    Changed,
    /// An earlier append failed, and what it wrote could not be removed.
    #[error("cannot cut off its unfinished end: {0}")]
    Uncut(io::Error),
    /// The operating system reported an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A file that is open for appending.
#[derive(Debug)]
pub struct AppendLog {
    file: File,
    path: PathBuf,
    /// The file's length up to the last acknowledged line.
    good: u64,
    /// Whether the file may be longer than that.
    excess: bool,
    /// Whether the file's directory entry is durable.
    is_named: bool,
}

impl AppendLog {
    /// Creates a new file, which must not exist.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = counted(path, || {
            File::options().read(true).append(true).create_new(true).mode(0o600).open(path)
        })?;
        Ok(Self { file, path: path.to_owned(), good: 0, excess: false, is_named: false })
    }

    /// Opens an existing file. The caller then calls [`read`](Self::read), and [`accept`](Self::accept) with the length
    /// that is valid.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = open_own_with(path, File::options().read(true).append(true))?;
        make_private(&file);
        Ok(Self { file, path: path.to_owned(), good: 0, excess: false, is_named: true })
    }

    /// The same, but creates the file if it does not exist.
    pub fn open_or_create(path: &Path) -> io::Result<Self> {
        match Self::create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // The process that created it may have been killed before it synced the directory entry.
                Ok(Self { is_named: false, ..Self::open(path)? })
            }
            created => created,
        }
    }

    /// Reads the whole file.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        self.good = bytes.len() as u64;
        Ok(bytes)
    }

    /// Accepts the first `good` bytes, and truncates the rest.
    pub fn accept(&mut self, good: u64) -> io::Result<()> {
        self.excess = good < self.good;
        self.good = good;
        self.cut_excess()
    }

    /// Makes the accepted bytes durable: the previous writer may have been killed between writing its last line and
    /// syncing it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Locks the file itself, for owners without another lock. Returns whether no other process has it.
    pub fn try_lock(&self) -> io::Result<bool> {
        is_taken(self.file.try_lock())
    }

    /// Whether a process has locked the file at this path itself. The check takes the lock, shared, for an instant.
    pub fn is_locked(path: &Path) -> io::Result<bool> {
        Ok(!is_taken(open_own(path)?.try_lock_shared())?)
    }

    /// Whether the file was removed.
    pub fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|about| about.nlink() == 0)
    }

    /// Appends bytes that end with a newline, in one write. They are durable when this returns; if it fails, nothing
    /// was appended.
    pub fn append(&mut self, line: &[u8]) -> Result<(), AppendError> {
        self.cut_excess().map_err(AppendError::Uncut)?;
        self.check_untouched()?;
        let path = self.path.clone();
        if let Err(error) = counted(&path, || self.write(line)) {
            self.excess = true;
            // If truncating fails too, the line is made invalid; the next append or the next writer truncates it.
            if self.cut_excess().is_err() {
                let _ = spoil(&self.path, self.good + line.len() as u64);
            }
            return Err(error.into());
        }
        self.good += line.len() as u64;
        Ok(())
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        torn(&self.path, || drop((&self.file).write_all(&line[..line.len() / 2])));
        self.file.write_all(line)?;
        before_sync(&self.path)?;
        self.file.sync_data()?;
        if !self.is_named {
            sync_above(&self.path)?;
            self.is_named = true;
        }
        Ok(())
    }

    /// Truncates what was never acknowledged, so that the next line begins on its own.
    fn cut_excess(&mut self) -> io::Result<()> {
        if self.excess {
            let path = self.path.clone();
            counted(&path, || {
                before_cut(&path)?;
                self.file.set_len(self.good).and_then(|()| self.file.sync_all())
            })?;
            self.excess = false;
        }
        Ok(())
    }

    /// Checks that the file was not removed, replaced or changed, by hand or by a command that cleaned up too much.
    fn check_untouched(&self) -> Result<(), AppendError> {
        let about = self.file.metadata()?;
        match () {
            () if about.nlink() == 0 => Err(AppendError::Removed),
            () if is_gone(&self.file, &self.path) => Err(AppendError::Replaced),
            () if about.len() != self.good => Err(AppendError::Changed),
            () => Ok(()),
        }
    }
}

/// Makes a log from elsewhere, or from an older version, as private as one that was created here.
fn make_private(file: &File) {
    if file.metadata().is_ok_and(|about| about.mode() & 0o077 != 0) {
        // This fails for a file of another owner, which then keeps its mode.
        let _ = file.set_permissions(Permissions::from_mode(0o600));
    }
}

/// Overwrites the newline of a refused line with a zero, if the whole line was written. The caller was told that the
/// line is not stored, so readers must not take it for stored. File systems leave zeros where data was not written,
/// so readers take the line for unfinished. Any other byte in place of the newline would mean damage to an
/// acknowledged line.
fn spoil(path: &Path, end: u64) -> io::Result<()> {
    let file = File::options().write(true).open(path)?;
    match file.metadata()?.len() {
        there if there < end => Ok(()),
        _ => file.write_all_at(b"\0", end - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If neither syncing nor truncating works, a refused line must not be read as a fact.
    #[test]
    fn a_refused_line_that_cannot_be_cut_off_counts_as_unfinished() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        for (there, left) in [("one\ntwo\n", "one\ntwo\0"), ("one\ntw", "one\ntw"), ("one\n", "one\n")] {
            std::fs::write(&path, there).unwrap();
            spoil(&path, 8).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), left);
        }
    }

    /// If the file was removed, moved, replaced or written to by another program, nothing is appended.
    #[test]
    fn a_file_that_is_not_as_it_was_left_is_not_added_to() {
        type Change = fn(&Path);
        let cases: [(&str, Change); 5] = [
            ("removed", |path| std::fs::remove_file(path).unwrap()),
            ("replaced", |path| {
                std::fs::write(path.with_extension("new"), "one\n").unwrap();
                std::fs::rename(path.with_extension("new"), path).unwrap();
            }),
            ("moved aside", |path| {
                std::fs::rename(path, path.with_extension("old")).unwrap();
                std::fs::write(path, "one\n").unwrap();
            }),
            ("grown", |path| std::fs::write(path, "one\ntwo\n").unwrap()),
            ("cut", |path| std::fs::write(path, "on").unwrap()),
        ];
        for (what, change) in cases {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("log.jsonl");
            let mut log = AppendLog::create(&path).unwrap();
            log.append(b"one\n").unwrap();
            change(&path);
            let before = std::fs::read(&path).ok();
            assert!(log.append(b"more\n").is_err(), "{what}");
            assert_eq!(std::fs::read(&path).ok(), before, "{what}");
        }
    }

    #[test]
    fn a_file_whose_directory_was_moved_is_added_to() {
        let folder = tempfile::tempdir().unwrap();
        let (here, there) = (folder.path().join("here"), folder.path().join("there"));
        std::fs::create_dir(&here).unwrap();
        let mut log = AppendLog::create(&here.join("log.jsonl")).unwrap();
        log.append(b"one\n").unwrap();
        std::fs::rename(&here, &there).unwrap();
        log.append(b"two\n").unwrap();
        assert_eq!(std::fs::read_to_string(there.join("log.jsonl")).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn what_does_not_count_is_cut_off_before_more_is_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log.jsonl");
        std::fs::write(&path, "one\ntw").unwrap();
        let mut log = AppendLog::open(&path).unwrap();
        assert_eq!(log.read().unwrap(), b"one\ntw");
        log.accept(4).unwrap();
        log.append(b"three\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\nthree\n");
    }
}
