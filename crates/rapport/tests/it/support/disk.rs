//! A small file system in memory that plays the disk. Mounting one needs a right; tests without it fail, unless they
//! are left out on purpose.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use super::needs;

/// A disk, gone when dropped.
pub(crate) struct Disk {
    path: PathBuf,
    /// Removed after it is unmounted.
    folder: Option<TempDir>,
}

impl Disk {
    /// A disk of 64 kB in a folder of its own.
    pub(crate) fn small() -> Option<Self> {
        Self::sized("64k")
    }

    /// A disk of this size in a folder of its own.
    pub(crate) fn sized(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut disk = Self::at(folder.path(), size)?;
        disk.folder = Some(folder);
        Some(disk)
    }

    /// A disk of this size at this place.
    pub(crate) fn at(path: &Path, size: &str) -> Option<Self> {
        let options = format!("size={size}");
        if run("mount", &["-t", "tmpfs", "-o", &options, "tmpfs", path.to_str().unwrap()]) {
            return Some(Self { path: path.to_owned(), folder: None });
        }
        needs::missing("disk", "mounting a small tmpfs is not permitted here");
        None
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it one that can only be read.
    pub(crate) fn read_only(&self) {
        assert!(run("mount", &["-o", "remount,ro", self.path.to_str().unwrap()]));
    }

    /// Makes it one that can be written to again.
    pub(crate) fn writable(&self) {
        assert!(run("mount", &["-o", "remount,rw", self.path.to_str().unwrap()]));
    }

    /// Fills it to the last byte; the file that does it is gone when it is removed.
    pub(crate) fn fill(&self) -> PathBuf {
        let filler = self.path.join("filler");
        let mut file = std::fs::File::create(&filler).unwrap();
        let block = [b'x'; 1024];
        while std::io::Write::write_all(&mut file, &block).is_ok() {}
        while std::io::Write::write_all(&mut file, b"x").is_ok() {}
        filler
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run("umount", &["-l", self.path.to_str().unwrap()]);
    }
}

/// Runs a program, and says whether it succeeded.
pub(crate) fn run(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).status().is_ok_and(|status| status.success())
}
