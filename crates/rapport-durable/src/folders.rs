//! Directories. A new name is durable once the directory it is in is synced.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

use nix::errno::Errno;

use crate::crash_points::counted;

/// For the owner alone.
const PRIVATE: u32 = 0o700;
/// As the umask says: for what belongs to the project.
const COMMON: u32 = 0o777;

/// Makes a directory and all above it, where they are missing, for their owner alone. What is there keeps its mode.
pub fn private_folder(path: &Path) -> io::Result<()> {
    all(path, PRIVATE)
}

/// The same, as readable as the project's other directories.
pub fn folder(path: &Path) -> io::Result<()> {
    all(path, COMMON)
}

/// Makes one directory that may be there already, as readable as the project's others.
pub fn make_folder(path: &Path) -> io::Result<()> {
    one(path, COMMON)
}

/// Makes one directory that must not be there yet: who makes it has its name. It is durable once the directory above is
/// synced.
pub fn new_folder(path: &Path) -> io::Result<()> {
    counted(path, || DirBuilder::new().mode(COMMON).create(path))
}

/// The same, for its owner alone.
pub fn new_private_folder(path: &Path) -> io::Result<()> {
    counted(path, || DirBuilder::new().mode(PRIVATE).create(path))
}

/// Makes what was created, replaced or removed in a directory durable.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// The same for the directory that this is in.
pub fn sync_above(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |_| sync_folder(above(path)))
}

/// Removes a directory with everything in it. It is fine where there is none.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    counted(path, || match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    })
}

/// Removes a directory if nothing is in it. Whether it did.
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
        // Another process may have been faster, and not have synced yet.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !path.is_dir() => Err(error),
        _ => sync_above(path),
    })
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
