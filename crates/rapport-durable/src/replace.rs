//! Files that are whole or not there, and still there after a power cut.

use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;

use crate::crash_points::counted;

/// Either the old file or the whole new one, whatever happens in between. Durable when this returns. For files of the project,
/// which are as readable as its others.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    counted(path, || {
        let mut file = AtomicWriteFile::open(path)?;
        file.write_all(content)?;
        file.commit()
    })
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
    counted(path, || {
        let file = AtomicWriteFile::options().preserve_mode(false).mode(0o600).open(path)?;
        let mut file = BufWriter::new(file);
        pieces.into_iter().try_for_each(|piece| file.write_all(piece.as_ref()))?;
        file.into_inner()?.commit()
    })
}
