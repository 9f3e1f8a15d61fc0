//! Directories of the store, created durably.

use std::io;
use std::path::{Path, PathBuf};

use rapport_durable::{new_private_folder, private_folder, sync_folder};

use super::disk::io_error;
use crate::stores::StoreError;

/// Creates a directory and its missing parents.
pub(super) fn make_all(path: &Path) -> Result<(), StoreError> {
    private_folder(path).map_err(io_error("create the directory", path))
}

/// Creates a directory under the first free name. Creating it is the test whether it is free, so no other process
/// gets the same name.
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

/// Makes the entries of a directory durable.
pub(super) fn sync(path: &Path) -> Result<(), StoreError> {
    sync_folder(path).map_err(io_error("sync the directory", path))
}
