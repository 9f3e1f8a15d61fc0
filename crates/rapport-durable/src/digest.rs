//! SHA-256 digests, which name and compare content.

use std::io::{self, Read, Write};

use sha2::{Digest as _, Sha256};

use crate::hex;

/// The digest of some content.
pub fn sha256(content: &[u8]) -> [u8; 32] {
    sha256_of(&[content])
}

/// The digest of content in pieces.
pub fn sha256_of(pieces: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    pieces.iter().for_each(|piece| hasher.update(piece));
    hasher.finalize().into()
}

/// The digest of a reader's content, which is never in memory as a whole.
pub fn sha256_read(mut content: impl Read) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        match content.read(&mut piece) {
            Ok(0) => return Ok(hasher.finalize().into()),
            Ok(read) => hasher.update(&piece[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The digest of what is written to it.
#[derive(Debug, Default)]
pub struct Sha256Writer(Sha256);

impl Sha256Writer {
    /// The digest of everything that was written.
    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

impl Write for Sha256Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The digest of some content, in hex.
pub fn digest(content: &[u8]) -> String {
    hex::encode(&sha256(content))
}
