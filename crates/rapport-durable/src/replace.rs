//! Files that are whole or not there, and still there after a power cut.

use std::fs::{DirBuilder, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;

/// Either the old file or the whole new one, whatever happens in between. Durable when this returns. For files of the project,
/// which are as readable as its others.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicWriteFile::open(path)?;
    file.write_all(content)?;
    file.commit()
}

/// The same, for a file that only its owner may read, whatever the mode of the old one. For everything else.
pub fn replace_private(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_private_in_pieces(path, [content])
}

/// The same, for what need not be put together for it.
pub fn replace_private_in_pieces<B: AsRef<[u8]>>(
    path: &Path,
    pieces: impl IntoIterator<Item = B>,
) -> io::Result<()> {
    let file = AtomicWriteFile::options().preserve_mode(false).mode(0o600).open(path)?;
    let mut file = BufWriter::new(file);
    pieces.into_iter().try_for_each(|piece| file.write_all(piece.as_ref()))?;
    file.into_inner()?.commit()
}

/// Makes a directory and all above it, where they are missing, for their owner alone. What is there keeps its mode.
pub fn private_folder(path: &Path) -> io::Result<()> {
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
