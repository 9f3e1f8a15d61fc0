//! Reading what others may have put there: it need not be a file.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

/// Opens a file to read. What is no file is refused: to open a pipe would be to wait for who writes to it.
pub fn open_file(path: &Path) -> io::Result<File> {
    check(File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?)
}

/// Opens a file to read that is Rapport's own. It is never a link: one that is there was put there to lead elsewhere.
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

/// The content of a file of ours.
pub fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open_own(path)?.read_to_end(&mut content)?;
    Ok(content)
}

/// The content of a file, of so many bytes at most.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_file(path)?;
    let length = file.metadata()?.len();
    if length > most {
        let why = format!("it has {length} bytes, more than the {most} that are read");
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
