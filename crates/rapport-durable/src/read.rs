//! Reading what others may have put there: it need not be a file.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::OFlag;

/// The content of a file, of so many bytes at most. What is no file is refused: to open a pipe would be to wait for who
/// writes to it.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = File::options().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let about = file.metadata()?;
    if about.is_dir() {
        return Err(Errno::EISDIR.into());
    }
    if !about.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe or a device, not a file"));
    }
    if about.len() > most {
        let why = format!("it has {} bytes, more than the {most} that are read", about.len());
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    let mut content = Vec::new();
    file.take(most).read_to_end(&mut content)?;
    Ok(content)
}
