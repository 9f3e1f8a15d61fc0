//! Files that are whole or not there, and still there after a power cut.

use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use atomic_write_file::AtomicWriteFile;

/// Either the old file or the whole new one, whatever happens in between. Durable when this returns.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_in_pieces(path, [content])
}

/// The same, for what need not be put together for it.
pub fn replace_in_pieces<B: AsRef<[u8]>>(path: &Path, pieces: impl IntoIterator<Item = B>) -> io::Result<()> {
    let mut file = BufWriter::new(AtomicWriteFile::open(path)?);
    pieces.into_iter().try_for_each(|piece| file.write_all(piece.as_ref()))?;
    file.into_inner()?.commit()
}
