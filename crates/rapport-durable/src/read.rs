//! Reads paths that others may have changed: they need not be regular files.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

/// Opens a regular file for reading. Anything else is refused: opening a pipe would block until another process
/// writes to it.
pub fn open_file(path: &Path) -> io::Result<File> {
    check(File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?)
}

/// Opens a file of Rapport's own for reading. A symbolic link is refused: Rapport creates none, so another program
/// put it there to redirect the read.
pub fn open_own(path: &Path) -> io::Result<File> {
    open_own_with(path, File::options().read(true))
}

/// The same, with these options.
pub(crate) fn open_own_with(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let opened = options.custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW).bits()).open(path);
    check(opened.map_err(|error| match error.raw_os_error() {
        Some(code) if code == Errno::ELOOP as i32 => {
            io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link, which is not followed")
        }
        _ => error,
    })?)
}

/// Reads a file of Rapport's own.
pub fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_own(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// Opens a file that people may replace by a symbolic link. The link is followed only inside this project.
pub fn open_inside(path: &Path, project: &Path) -> io::Result<File> {
    if path.symlink_metadata()?.is_symlink() && !path.canonicalize()?.starts_with(project.canonicalize()?) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a link that leads out of the project",
        ));
    }
    open_file(path)
}

/// Reads such a file.
pub fn read_inside(path: &Path, project: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_inside(path, project)?.read_to_end(&mut content)?;
    Ok(content)
}

/// Reads a file of at most this many bytes.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_file(path)?;
    let length = file.metadata()?.len();
    if length > most {
        let why = format!("it has {length} bytes, more than the limit of {most}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    let mut content = Vec::new();
    file.take(most).read_to_end(&mut content)?;
    Ok(content)
}

fn check(file: File) -> io::Result<File> {
    let about = file.metadata()?;
    if about.is_file() {
        return Ok(file);
    }
    if about.is_dir() {
        return Err(Errno::EISDIR.into());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe or a device, not a file"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::{AppendLog, Lock};

    /// A link that somebody put in place of a file of Rapport's own would have it read, locked or extended elsewhere.
    #[test]
    fn a_file_of_our_own_is_never_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "precious\n").unwrap();
        symlink(&real, &link).unwrap();
        assert_eq!(read_own(&real).unwrap(), b"precious\n");
        let refused =
            |why: io::Error| assert_eq!(why.to_string(), "it is a symbolic link, which is not followed");
        refused(open_own(&link).unwrap_err());
        refused(read_own(&link).unwrap_err());
        refused(AppendLog::open(&link).map(|_| ()).unwrap_err());
        refused(AppendLog::open_or_create(&link).map(|_| ()).unwrap_err());
        refused(Lock::take(&link, b"me").map(|_| ()).unwrap_err());
        refused(Lock::wait(&link).map(|_| ()).unwrap_err());
        refused(Lock::holder(&link).map(|_| ()).unwrap_err());
        assert_eq!(fs::read(&real).unwrap(), b"precious\n");
    }
}
