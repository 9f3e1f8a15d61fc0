//! How far a log has come: the number of its last line, and a digest of all lines up to there.

use rapport_durable::sha256_of;

/// A place in a log. The digest of a line covers the digest before it, so it stands for everything up to there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chain {
    pub(super) seq: u64,
    pub(super) hash: [u8; 32],
}

impl Chain {
    /// Before the first line.
    pub(crate) const START: Chain = Chain { seq: 0, hash: [0; 32] };

    /// Whether these lines come through here.
    pub(crate) fn is_of<'a>(&self, lines: impl Iterator<Item = &'a [u8]>) -> bool {
        let mut chain = Chain::START;
        let mut lines = lines;
        while chain.seq < self.seq {
            let Some(line) = lines.next() else { return false };
            chain.push(line);
        }
        chain == *self
    }

    /// One line further; given without its newline.
    pub(crate) fn push(&mut self, line: &[u8]) {
        self.seq += 1;
        self.hash = sha256_of(&[&self.hash, line]);
    }
}
