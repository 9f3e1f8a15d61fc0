//! Directories of the store: made in a way that survives a power cut.

use std::io;
use std::path::{Path, PathBuf};

use rapport_durable::{new_private_folder, private_folder, sync_folder};

use super::disk::io_error;
use crate::stores::StoreError;

/// Makes a directory and all above it, where they are missing.
pub(super) fn make_all(path: &Path) -> Result<(), StoreError> {
    private_folder(path).map_err(io_error("create the directory", path))
}

/// Makes a directory under the first of these names that is free. To make it is to find out, so nobody else gets it.
pub(super) fn make_first_free(
    root: &Path,
    names: impl Iterator<Item = String>,
) -> Result<(String, PathBuf), StoreError> {
    for name in names {
        let path = root.join(&name);
        match new_private_folder(&path) {
            Ok(()) => return Ok((name, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error("create the directory", &path)(error)),
        }
    }
    Err(io_error("find a free name in", root)(io::ErrorKind::AlreadyExists.into()))
}

/// Makes what was created or removed in a directory durable.
pub(super) fn sync(path: &Path) -> Result<(), StoreError> {
    sync_folder(path).map_err(io_error("sync the directory", path))
}
