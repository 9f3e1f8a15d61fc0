//! Files that are whole or not there, and still there after a power cut.

use std::io::{self, Write as _};
use std::path::Path;

use atomic_write_file::AtomicWriteFile;

/// Either the old file or the whole new one, whatever happens in between. Durable when this returns.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = AtomicWriteFile::open(path)?;
    file.write_all(content)?;
    file.commit()
}
