//! A file that lines are added to: each line is durable when it was added, and one that cannot be is taken back. Nobody else
//! may write to it meanwhile, which is for its owner to see to, with a [`Lock`](crate::Lock) or [`AppendLog::try_lock`].

use std::fs::{File, Permissions, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::crash_points::{before_cut, before_sync, counted};
use crate::folders::sync_above;
use crate::lock::is_gone;
use crate::read::open_own_with;

/// Why a line was not added.
#[derive(Debug, Error)]
pub enum AppendError {
    /// The file has no name any more: what is added would be lost.
    #[error("the file was removed while it was in use")]
    Removed,
    /// Another file has its name now: what is added would not be found.
    #[error("another file was put in its place while it was in use")]
    Replaced,
    /// Somebody else wrote to the file: what is added would bury that.
    #[error("somebody else changed the file while it was in use")]
    Changed,
    /// What an append before could not take back is still there.
    #[error("cannot cut off its unfinished end: {0}")]
    Uncut(io::Error),
    /// The system said no.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A file that is open for lines to be added.
#[derive(Debug)]
pub struct AppendLog {
    file: File,
    path: PathBuf,
    /// Up to here the file is what was acknowledged.
    good: u64,
    /// Whether there may be more in the file than that.
    excess: bool,
    /// Whether the file's own name is durable.
    is_named: bool,
}

impl AppendLog {
    /// A new file, which must not be there yet.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = counted(path, || {
            File::options().read(true).append(true).create_new(true).mode(0o600).open(path)
        })?;
        Ok(Self { file, path: path.to_owned(), good: 0, excess: false, is_named: false })
    }

    /// A file that is there. It is [`read`](Self::read) next, and [`accept`](Self::accept) says how much of it counts.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = open_own_with(path, File::options().read(true).append(true))?;
        make_private(&file);
        Ok(Self { file, path: path.to_owned(), good: 0, excess: false, is_named: true })
    }

    /// The same; where there is no file, one is made.
    pub fn open_or_create(path: &Path) -> io::Result<Self> {
        match Self::create(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // Who made it may not have come to sync its name.
                Ok(Self { is_named: false, ..Self::open(path)? })
            }
            created => created,
        }
    }

    /// What is in it.
    pub fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        self.good = bytes.len() as u64;
        Ok(bytes)
    }

    /// Lets the first so many bytes count, and cuts off the rest.
    pub fn accept(&mut self, good: u64) -> io::Result<()> {
        self.excess = good < self.good;
        self.good = good;
        self.cut_excess()
    }

    /// Makes durable what counts: the writer before may have been killed after it wrote its last line and before it synced it.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Locks the file itself, for whom there is no other lock.
    pub fn try_lock(&self) -> Result<(), TryLockError> {
        self.file.try_lock()
    }

    /// Whether the file has no name any more.
    pub fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|about| about.nlink() == 0)
    }

    /// Adds bytes that end with a newline, in one write. When this returns, they are durable; when it fails, nothing was added.
    pub fn append(&mut self, line: &[u8]) -> Result<(), AppendError> {
        self.cut_excess().map_err(AppendError::Uncut)?;
        self.check_untouched()?;
        let path = self.path.clone();
        if let Err(error) = counted(&path, || self.write(line)) {
            self.excess = true;
            // Where this fails too, the line is made one that nobody reads; the next append or the next writer cuts it.
            if self.cut_excess().is_err() {
                let _ = spoil(&self.path, self.good + line.len() as u64);
            }
            return Err(error.into());
        }
        self.good += line.len() as u64;
        Ok(())
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line)?;
        before_sync(&self.path)?;
        self.file.sync_data()?;
        if !self.is_named {
            sync_above(&self.path)?;
            self.is_named = true;
        }
        Ok(())
    }

    /// Removes what was never acknowledged, so that the next line begins on its own.
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

    /// Somebody may have removed, replaced or changed the file by hand, and a command may have cleaned up more than it should.
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

/// A log that came from elsewhere, or from an older version, is as private from now on as one that was begun here.
fn make_private(file: &File) {
    if file.metadata().is_ok_and(|about| about.mode() & 0o077 != 0) {
        // Somebody else's file stays as they have it.
        let _ = file.set_permissions(Permissions::from_mode(0o600));
    }
}

/// Takes the end of a refused line away, if the line is all there. Whoever was told that it is not stored must not find it,
/// and nobody else either. A zero is what a file system puts in the place of what was not written, so that readers take the line
/// for unfinished; anything else in the place of a newline is damage to a line that somebody was told of.
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

    /// When neither syncing nor cutting works, a line that was refused must not be read as a fact.
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

    /// Removed, moved aside, replaced, or written to by another: nothing is added.
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
