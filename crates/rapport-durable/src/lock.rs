//! Locks between processes. The kernel holds them, and releases them when the process dies.
//!
//! A `Lock` is that of a file, which only names the holder, and stays behind unless the holder removes it. Reading the
//! holder takes the lock too, shared and for an instant. A `FolderLock` is that of an existing directory, and leaves
//! nothing behind.

use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use crate::read::{open_own, open_own_with};

/// The number of attempts while another process only reads the holder, or has not written its name yet.
const ATTEMPTS: usize = 50;
/// The pause between attempts.
const PAUSE: Duration = Duration::from_millis(1);
/// The maximum number of bytes to read about a holder.
const LONGEST: usize = 4096;

/// A held lock. Dropping it releases it.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

/// The result of trying to take a lock.
#[derive(Debug)]
pub enum Taken {
    /// This process has it.
    Ours(Lock),
    /// Another process has it; its description of itself, which is empty if it has not been written yet.
    Theirs(Vec<u8>),
}

impl Lock {
    /// Takes the lock of this file without waiting, and writes `who` to it.
    pub fn take(path: &Path, who: &[u8]) -> io::Result<Taken> {
        for _ in 0..ATTEMPTS {
            let file = open(path)?;
            if is_taken(file.try_lock())? {
                if !is_at(&file, path) {
                    // The file was removed in between; a file that exists now may be another process's lock.
                    continue;
                }
                file.set_len(0)?;
                file.write_all_at(who, 0)?;
                return Ok(Taken::Ours(Self { file, path: path.to_owned() }));
            }
            if let Some(who) = look(&file)? {
                return Ok(Taken::Theirs(who));
            }
            sleep(PAUSE);
        }
        Ok(Taken::Theirs(Vec::new()))
    }

    /// Waits until the lock of this file is free, and takes it. May block for long.
    pub fn wait(path: &Path) -> io::Result<Self> {
        loop {
            let file = open(path)?;
            file.lock()?;
            if is_at(&file, path) {
                return Ok(Self { file, path: path.to_owned() });
            }
        }
    }

    /// What the holder of this file's lock wrote about itself; `None` if the lock is free.
    pub fn holder(path: &Path) -> io::Result<Option<Vec<u8>>> {
        match open_own(path) {
            Ok(file) => look(&file),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether other processes would still find this lock: if the file was removed, another process could lock a new
    /// one in its place.
    pub fn is_held(&self) -> bool {
        !is_gone(&self.file, &self.path)
    }

    /// Releases the lock, and removes the file, which only its holder ever locks.
    pub fn remove(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// A held lock of an existing directory. Dropping it releases it.
#[derive(Debug)]
pub struct FolderLock(File);

impl FolderLock {
    /// Takes the lock of this directory without waiting; `None` if another process has it.
    pub fn take(folder: &Path) -> io::Result<Option<Self>> {
        let file = File::open(folder)?;
        Ok(is_taken(file.try_lock())?.then_some(Self(file)))
    }

    /// Waits until the lock of this directory is free, and takes it. May block for long.
    pub fn wait(folder: &Path) -> io::Result<Self> {
        let file = File::open(folder)?;
        file.lock()?;
        Ok(Self(file))
    }

    /// Takes a lock that several processes can have at the same time, and that excludes the others.
    pub fn share(folder: &Path) -> io::Result<Self> {
        let file = File::open(folder)?;
        file.lock_shared()?;
        Ok(Self(file))
    }

    /// Whether a process has the lock of this directory, shared or not. The check takes it for an instant.
    pub fn is_held(folder: &Path) -> io::Result<bool> {
        Ok(Self::take(folder)?.is_none())
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        // As for a file: a child process may have a copy of the handle.
        let _ = self.0.unlock();
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Unlock explicitly: a child process that is just being started has a copy of the handle until it runs.
        let _ = self.file.set_len(0);
        let _ = self.file.unlock();
    }
}

fn open(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    open_own_with(path, options.read(true).write(true).create(true).truncate(false).mode(0o600))
}

/// Whether an open file is the one at this path.
fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(path)) {
        (Ok(held), Ok(found)) => is_same(&held, &found),
        _ => false,
    }
}

/// Whether an open file was removed, or another file has its name. A file that was moved with its directory is still
/// the same.
pub(crate) fn is_gone(file: &File, path: &Path) -> bool {
    let held = file.metadata().ok();
    let is_removed = held.as_ref().is_some_and(|held| held.nlink() == 0);
    let is_another = |found: Metadata| held.as_ref().is_none_or(|held| !is_same(held, &found));
    is_removed || path.symlink_metadata().is_ok_and(is_another)
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// Reads the holder, retrying for a while: a holder takes the lock first and writes its name afterwards.
fn look(file: &File) -> io::Result<Option<Vec<u8>>> {
    for _ in 0..ATTEMPTS {
        if is_taken(file.try_lock_shared())? {
            file.unlock()?;
            return Ok(None);
        }
        let mut said = vec![0; LONGEST];
        let length = file.read_at(&mut said, 0)?;
        if length > 0 {
            said.truncate(length);
            return Ok(Some(said));
        }
        sleep(PAUSE);
    }
    Ok(Some(Vec::new()))
}

pub(crate) fn is_taken(result: Result<(), TryLockError>) -> io::Result<bool> {
    match result {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_whose_file_was_removed_is_not_held_and_another_can_be_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let Ok(Taken::Ours(first)) = Lock::take(&path, b"one") else { panic!("it is free") };
        assert!(first.is_held());
        assert!(matches!(Lock::take(&path, b"two"), Ok(Taken::Theirs(who)) if who == b"one"));
        fs::remove_file(&path).unwrap();
        let Ok(Taken::Ours(second)) = Lock::take(&path, b"two") else { panic!("it is free") };
        assert!(!first.is_held() && second.is_held());
        drop(first);
        assert_eq!(Lock::holder(&path).unwrap().as_deref(), Some(&b"two"[..]));
        drop(second);
        assert_eq!(Lock::holder(&path).unwrap(), None);
    }

    #[test]
    fn a_directory_is_locked_by_one_or_shared_by_several_and_nothing_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let one = FolderLock::take(path).unwrap();
        assert!(one.is_some() && FolderLock::take(path).unwrap().is_none());
        assert!(FolderLock::is_held(path).unwrap());
        drop(one);
        let shared = [FolderLock::share(path).unwrap(), FolderLock::share(path).unwrap()];
        assert!(FolderLock::take(path).unwrap().is_none() && FolderLock::is_held(path).unwrap());
        drop(shared);
        assert!(!FolderLock::is_held(path).unwrap());
        drop(FolderLock::wait(path).unwrap());
        assert_eq!(fs::read_dir(path).unwrap().count(), 0);
    }
}
