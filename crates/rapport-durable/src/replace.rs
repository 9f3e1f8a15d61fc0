//! Replaces files atomically and durably: after a power cut there is either the old content or the new one.

use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;

use crate::crash_points::counted;

/// Replaces a file atomically; durable when this returns. For files of the project, with the usual mode.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    counted(path, || {
        let mut file = AtomicWriteFile::open(path)?;
        file.write_all(content)?;
        file.commit()
    })
}

/// The same for a file that only its owner may read, whatever the mode of the old one. For everything outside the
/// project.
pub fn replace_private(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_private_in_pieces(path, [content])
}

/// The same for content in pieces, which need not be copied together.
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
