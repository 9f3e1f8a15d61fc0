//! The seals of one log or journal, for its writer.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;

use rapport_durable::{Flush, checked_line};

use super::{Chain, CheckedAttachment, Seal, Seals, Verifier};

/// The seals of a log, and its head. Without a person's seals, lines only have checksums, and all of them are trusted:
/// for tests and benchmarks.
#[derive(Clone, Debug)]
pub(crate) struct Sealing {
    seals: Option<Arc<Seals>>,
    scope: String,
    chain: Chain,
}

impl Sealing {
    pub(crate) fn new(seals: Option<Arc<Seals>>, scope: String) -> Self {
        Self { seals, scope, chain: Chain::START }
    }

    /// A verifier for this log. It has to be created before the log is read.
    pub(crate) fn verifier(&self) -> io::Result<Option<Verifier>> {
        self.seals.as_ref().map(|seals| seals.verifier(&self.scope)).transpose()
    }

    /// Starts a new log; an earlier one of this name may have been removed.
    pub(crate) fn begin(&self) -> io::Result<()> {
        self.seals.as_ref().map_or(Ok(()), |seals| seals.forget(&self.scope))
    }

    /// Continues after the verified lines, and stores their head. Lines that the stored head does not cover are synced
    /// first: their writer may have been killed before it did so, and the head must never be ahead of the log.
    pub(crate) fn resume(
        &mut self,
        verified: Option<&Verifier>,
        sync: impl FnOnce() -> io::Result<()>,
    ) -> io::Result<()> {
        let (Some(seals), Some(verified)) = (&self.seals, verified) else { return sync() };
        self.chain = verified.chain().clone();
        if verified.is_remembered() {
            return Ok(());
        }
        sync()?;
        seals.remember(&self.scope, &self.chain, Flush::Now)
    }

    /// The line for a JSON object, with its newline, to be appended in one write.
    pub(crate) fn line(&self, object: Vec<u8>) -> io::Result<Vec<u8>> {
        match &self.seals {
            Some(seals) => seals.seal(&self.scope, &self.chain, object),
            None => Ok(checked_line::encode(object)),
        }
    }

    /// Advances the head by a line.
    pub(crate) fn advance(&mut self, line: &[u8]) {
        self.chain.push(line.strip_suffix(b"\n").unwrap_or(line));
    }

    /// Stores the head after the log is durable. If that fails, the entries are still checked by their signatures.
    pub(crate) fn remember(&self, flush: Flush) {
        if let Some(seals) = &self.seals {
            let _ = seals.remember(&self.scope, &self.chain, flush);
        }
    }

    /// Checks an attachment of the log. The result has its length without the seal.
    pub(crate) fn check_kept(
        &self,
        name: &str,
        mut written: impl Read + Seek,
    ) -> io::Result<CheckedAttachment> {
        match &self.seals {
            Some(seals) => seals.check_kept(&self.scope, name, written),
            None => Ok(CheckedAttachment::unbound(written.seek(SeekFrom::End(0))?, Seal::Ours)),
        }
    }

    /// An attachment with its seal, and the head of the log that it is bound to.
    pub(crate) fn seal_kept(&self, name: &str, content: &[u8]) -> io::Result<(Vec<u8>, Chain)> {
        match &self.seals {
            Some(seals) => seals.seal_kept(&self.scope, name, content),
            None => Ok((content.to_vec(), Chain::START)),
        }
    }

    /// Stores the head that a durable attachment is bound to. If that fails, older copies of it are trusted, too.
    pub(crate) fn remember_kept(&self, name: &str, bound: &Chain) {
        if let Some(seals) = &self.seals {
            let _ = seals.remember_kept(&self.scope, name, bound);
        }
    }
}

/// The result of the verification.
pub(crate) fn verdict(verified: Option<&Verifier>) -> Seal {
    verified.map_or(Seal::Ours, Verifier::seal)
}
