//! Directories. A new name is durable once its parent directory is synced.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use nix::errno::Errno;

use crate::crash_points::counted;

/// The mode for the owner alone.
const PRIVATE: u32 = 0o700;
/// The mode for files of the project, subject to the umask.
const COMMON: u32 = 0o777;

/// Creates a directory and its missing parents, for the owner alone. Existing directories keep their mode.
pub fn private_folder(path: &Path) -> io::Result<()> {
    all(path, PRIVATE)
}

/// The same, as readable as the project's other directories.
pub fn folder(path: &Path) -> io::Result<()> {
    all(path, COMMON)
}

/// Creates one directory, as readable as the project's others; succeeds if it exists.
pub fn make_folder(path: &Path) -> io::Result<()> {
    one(path, COMMON)
}

/// Creates one directory that must not exist, which reserves its name. It is durable once the parent directory is
/// synced.
pub fn new_folder(path: &Path) -> io::Result<()> {
    counted(path, || DirBuilder::new().mode(COMMON).create(path))
}

/// The same, for its owner alone.
pub fn new_private_folder(path: &Path) -> io::Result<()> {
    counted(path, || DirBuilder::new().mode(PRIVATE).create(path))
}

/// Makes the entries of a directory durable after files were created, replaced or removed in it.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The same for the parent directory of a path.
pub fn sync_above(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |_| sync_folder(above(path)))
}

/// Removes a directory with its content; succeeds if it does not exist.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    counted(path, || match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    })
}

/// Removes a directory if it is empty. Returns whether it did.
pub fn remove_if_empty(path: &Path) -> bool {
    counted(path, || fs::remove_dir(path)).is_ok()
}

fn all(path: &Path, mode: u32) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = above(path);
    if above.is_file() {
        return Err(Errno::ENOTDIR.into());
    }
    all(above, mode)?;
    one(path, mode)
}

fn one(path: &Path, mode: u32) -> io::Result<()> {
    counted(path, || match DirBuilder::new().mode(mode).create(path) {
        // Another process may have created it and not synced it yet.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !path.is_dir() => Err(error),
        _ => sync_above(path),
    })
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
