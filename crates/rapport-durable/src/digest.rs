//! SHA-256 digests, which name and compare content.

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

/// The digest of some content, in hex.
pub fn digest(content: &[u8]) -> String {
    hex::encode(&sha256(content))
}
