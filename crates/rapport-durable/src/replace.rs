//! Replaces files atomically and durably: after a power cut there is either the old content or the new one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use atomic_write_file::AtomicWriteFile;
use atomic_write_file::unix::OpenOptionsExt as _;

use crate::crash_points::{counted, point};
use crate::place::remove_if_there;

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

/// Replaces a private file without waiting for the disk: after a kill there is either the old content or the new one,
/// but a power cut may damage it. For a file that is derived from durable data, and rebuilt at every start.
pub fn replace_private_later(path: &Path, content: &[u8]) -> io::Result<()> {
    counted(path, || {
        let temporary = path.with_added_extension("tmp");
        remove_if_there(&temporary)?;
        File::options().write(true).create_new(true).mode(0o600).open(&temporary)?.write_all(content)?;
        point(&temporary);
        fs::rename(&temporary, path)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// The temporary file of a killed writer does not get in the way, and only the owner may read the result.
    #[test]
    fn a_file_is_replaced_later_whatever_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("42.json");
        fs::write(&path, "old, and readable").unwrap();
        fs::write(folder.path().join("42.json.tmp"), "half of someth").unwrap();
        for content in ["new", "newer"] {
            replace_private_later(&path, content.as_bytes()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), content);
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
