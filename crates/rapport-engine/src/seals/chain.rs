//! A hash chain: the number of a log's last line, and a digest of all lines up to it.

use rapport_durable::sha256_of;

/// A position in a log. The digest of a line covers the previous digest, so it represents all lines up to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    pub(super) seq: u64,
    pub(super) hash: [u8; 32],
}

impl Chain {
    pub(crate) const START: Chain = Chain { seq: 0, hash: [0; 32] };

    /// Whether these lines contain this position.
    pub(crate) fn is_of<'a>(&self, lines: impl Iterator<Item = &'a [u8]>) -> bool {
        let mut chain = Chain::START;
        let mut lines = lines;
        while chain.seq < self.seq {
            let Some(line) = lines.next() else { return false };
            chain.push(line);
        }
        chain == *self
    }

    /// Appends a line, given without its newline.
    pub(crate) fn push(&mut self, line: &[u8]) {
        self.seq += 1;
        self.hash = sha256_of(&[&self.hash, line]);
    }
}
