//! Files that are whole or not there, and still there after a power cut; and reading what may be no file at all.

use std::fs::{DirBuilder, File};
use std::io::{self, BufWriter, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;
use nix::errno::Errno;
use nix::fcntl::OFlag;

/// Either the old file or the whole new one, whatever happens in between. Durable when this returns.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_in_pieces(path, [content])
}

/// The same, for what need not be put together for it.
pub(crate) fn replace_in_pieces<B: AsRef<[u8]>>(
    path: &Path,
    pieces: impl IntoIterator<Item = B>,
) -> io::Result<()> {
    let mut file = BufWriter::new(AtomicWriteFile::open(path)?);
    pieces.into_iter().try_for_each(|piece| file.write_all(piece.as_ref()))?;
    file.into_inner()?.commit()
}

/// The same, for a file that only its owner may read, whatever the mode of the old one.
pub(crate) fn replace_private(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicWriteFile::options().preserve_mode(false).mode(0o600).open(path)?;
    file.write_all(content)?;
    file.commit()
}

/// Makes a directory and all above it, where they are missing, for their owner alone. What is there keeps its mode.
pub(crate) fn private_folder(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    private_folder(above)?;
    match DirBuilder::new().mode(0o700).create(path) {
        // Another process may have been faster, and not have synced yet.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists || !path.is_dir() => Err(error),
        _ => File::open(above)?.sync_all(),
    }
}

/// The content of a file, of so many bytes at most. What is no file is refused: to open a pipe would be to wait for who
/// writes to it.
pub(crate) fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
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
