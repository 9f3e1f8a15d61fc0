//! The seals of one log or journal, as its writer needs them.

use std::io;
use std::sync::Arc;

use rapport_durable::{Flush, checked_line};

use super::{Chain, Opened, Seal, Seals, Verifier};

/// Whose seals, of what, and how far that has come. Without a person's seals, lines only have checksums, and all
/// of them count: that is for tests and measurements.
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

    /// What checks this log. Has to be made before the log is read.
    pub(crate) fn verifier(&self) -> io::Result<Option<Verifier>> {
        self.seals.as_ref().map(|seals| seals.verifier(&self.scope)).transpose()
    }

    /// Begins anew: there may have been another one of this name, which is gone.
    pub(crate) fn begin(&self) -> io::Result<()> {
        self.seals.as_ref().map_or(Ok(()), |seals| seals.forget(&self.scope))
    }

    /// Goes on after what was verified. The home remembers it from now on.
    /// What the home does not remember yet is made durable first: its writer may have been killed before it did so, and a head
    /// must never be ahead of its log.
    pub(crate) fn take_up(
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

    /// The line for a JSON object, with its newline: what one write takes to the file.
    pub(crate) fn line(&self, object: Vec<u8>) -> io::Result<Vec<u8>> {
        match &self.seals {
            Some(seals) => seals.seal(&self.scope, &self.chain, object),
            None => Ok(checked_line::encode(object)),
        }
    }

    /// The line is in the log.
    pub(crate) fn advance(&mut self, line: &[u8]) {
        self.chain.push(line.strip_suffix(b"\n").unwrap_or(line));
    }

    /// The log is durable up to here; the home is told. Where it cannot be, the entries are still known by their signatures.
    pub(crate) fn remember(&self, flush: Flush) {
        if let Some(seals) = &self.seals {
            let _ = seals.remember(&self.scope, &self.chain, flush);
        }
    }

    /// Something kept beside the log, without its seal.
    pub(crate) fn open_kept(&self, name: &str, written: Vec<u8>) -> io::Result<Opened> {
        match &self.seals {
            Some(seals) => seals.open_kept(&self.scope, name, written),
            None => Ok(Opened { content: written, seal: Seal::Ours, bound: Chain::START }),
        }
    }

    /// What is written for something kept beside the log.
    pub(crate) fn seal_kept(&self, name: &str, content: &[u8]) -> io::Result<Vec<u8>> {
        match &self.seals {
            Some(seals) => seals.seal_kept(&self.scope, name, content),
            None => Ok(content.to_vec()),
        }
    }
}

/// Whose word it is that was verified.
pub(crate) fn verdict(verified: Option<&Verifier>) -> Seal {
    verified.map_or(Seal::Ours, Verifier::seal)
}
