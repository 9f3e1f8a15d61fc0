//! Files of the project: written to a temporary sibling, then renamed into place.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown, symlink};
use std::path::Path;

use crate::crash_points::{counted, point, torn};
use crate::folders::{folder, sync_above};

/// Writes a temporary file for [`put`] or [`put_new`], durably, with this mode and the owner of that other file.
pub fn write_beside(temporary: &Path, content: &[u8], like: Option<(u32, &Path)>) -> io::Result<()> {
    counted(temporary, || {
        remove_if_there(temporary)?;
        // Only its owner may read it until it has the other file's owner and mode.
        let mode = if like.is_some() { 0o600 } else { 0o666 };
        let mut file = File::options().write(true).create_new(true).mode(mode).open(temporary)?;
        torn(temporary, || drop((&file).write_all(&content[..content.len() / 2])));
        file.write_all(content)?;
        if let Some((mode, owned_like)) = like {
            if let Ok(about) = fs::metadata(owned_like) {
                // Only root can change the owner; otherwise the file belongs to this user, as with any editor.
                let _ = fchown(&file, Some(about.uid()), Some(about.gid()));
            }
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()
    })
}

/// Makes a file durable that another program wrote.
pub fn sync_file(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_file() { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Renames a prepared and synced file to its final name, durably, replacing an existing file.
pub fn put(prepared: &Path, real: &Path) -> io::Result<()> {
    counted(real, || fs::rename(prepared, real))?;
    sync_above(real)
}

/// The same, but fails if the name exists.
pub fn put_new(prepared: &Path, real: &Path) -> io::Result<()> {
    counted(real, || match fs::hard_link(prepared, real) {
        Ok(()) => {
            point(real);
            fs::remove_file(prepared)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Some file systems have no hard links.
        Err(_) => fs::rename(prepared, real),
    })?;
    sync_above(real)
}

/// Removes a file, durably; succeeds if it does not exist.
pub fn remove(path: &Path) -> io::Result<()> {
    counted(path, || if remove_if_there(path)? { sync_above(path) } else { Ok(()) })
}

/// Copies a file or a symbolic link to a path that does not exist, and creates missing directories.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    to.parent().map_or(Ok(()), folder)?;
    let kind = fs::symlink_metadata(from)?.file_type();
    counted(to, || {
        if kind.is_symlink() {
            return symlink(fs::read_link(from)?, to);
        }
        if kind.is_file() { fs::copy(from, to).map(drop) } else { Ok(()) }
    })
}

/// Removes a file and returns whether it existed.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
