//! Directories that are still there after a power cut: a new name is durable once the directory it is in is synced.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::io_error;
use crate::stores::StoreError;

/// Makes a directory and all above it, where they are missing.
pub(super) fn make_all(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() {
        return Ok(());
    }
    let above = parent(path);
    make_all(above)?;
    match private(path) {
        Ok(()) => sync(above),
        // Another process was faster, and may not have synced yet.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => sync(above),
        Err(error) => Err(io_error("create the directory", path)(error)),
    }
}

/// Makes a directory under the first of these names that is free. To make it is to find out, so nobody else gets it.
pub(super) fn make_first_free(
    root: &Path,
    names: impl Iterator<Item = String>,
) -> Result<(String, PathBuf), StoreError> {
    for name in names {
        let path = root.join(&name);
        match private(&path) {
            Ok(()) => return Ok((name, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error("create the directory", &path)(error)),
        }
    }
    Err(io_error("find a free name in", root)(io::ErrorKind::AlreadyExists.into()))
}

/// Makes a directory for its owner alone.
fn private(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Makes what was created or removed in a directory durable.
pub(super) fn sync(path: &Path) -> Result<(), StoreError> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(io_error("sync the directory", path))
}

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(above) if above.as_os_str().is_empty() => Path::new("."),
        Some(above) => above,
        None => path,
    }
}
