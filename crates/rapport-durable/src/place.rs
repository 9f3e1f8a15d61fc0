//! Files of the project: written to a temporary sibling, then renamed into place.

use std::fs::{self, File, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown, symlink};
use std::path::Path;

use crate::crash_points::{counted, point, torn};
use crate::folders::{folder, sync_above};

/// The bits of a mode for permissions: all of them, to read, to execute, and for the owner to execute.
const PERMISSIONS: u32 = 0o7777;
const READABLE: u32 = 0o444;
const EXECUTABLE: u32 = 0o111;
const BY_OWNER: u32 = 0o100;

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
            if let Ok(about) = fs::symlink_metadata(owned_like) {
                // Only root can change the owner; otherwise the file belongs to this user, as with any editor.
                let _ = fchown(&file, Some(about.uid()), Some(about.gid()));
            }
            file.set_permissions(Permissions::from_mode(mode))?;
        }
        file.sync_all()
    })
}

/// Creates a temporary symbolic link for [`put`]; the directory is synced with it.
pub fn link_beside(temporary: &Path, target: &Path) -> io::Result<()> {
    counted(temporary, || {
        remove_if_there(temporary)?;
        symlink(target, temporary)
    })
}

/// Gives a prepared file the permissions of the file that it is to replace, if both are files: only whether it can be
/// executed stays its own. Git records no other permissions, so a private file would become readable for others.
pub fn take_permissions(prepared: &Path, real: &Path) -> io::Result<()> {
    let (own, Ok(other)) = (prepared.symlink_metadata()?, real.symlink_metadata()) else { return Ok(()) };
    if !own.is_file() || !other.is_file() {
        return Ok(());
    }
    let mode = executable_like(other.mode() & PERMISSIONS, own.mode());
    if mode == own.mode() & PERMISSIONS {
        return Ok(());
    }
    fs::set_permissions(prepared, Permissions::from_mode(mode))
}

/// These permissions, with execution as in the other mode: by everybody who may read the file, or by nobody.
pub fn executable_like(permissions: u32, other: u32) -> u32 {
    match (other & BY_OWNER, permissions & BY_OWNER) {
        (0, _) => permissions & !EXECUTABLE,
        (_, 0) => permissions | (permissions & READABLE) >> 2,
        _ => permissions,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_stay_except_to_execute() {
        for (permissions, other, expected) in [
            (0o600, 0o644, 0o600),
            (0o600, 0o755, 0o700),
            (0o640, 0o755, 0o750),
            (0o755, 0o644, 0o644),
            (0o744, 0o755, 0o744),
            (0o700, 0o600, 0o600),
        ] {
            assert_eq!(executable_like(permissions, other), expected, "{permissions:o} as {other:o}");
        }
    }
}
