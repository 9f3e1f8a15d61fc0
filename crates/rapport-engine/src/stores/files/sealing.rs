//! The seals of one session's log.

use std::io;
use std::sync::Arc;

use rapport_core::{Event, SessionId};

use crate::seals::{Chain, Seal, Seals, Verifier};
use rapport_durable::checked_line;

/// Whose seals, of which session, and how far its log has come. Without a person's seals, lines only have checksums, and all
/// of them count: that is for tests and measurements.
#[derive(Clone, Debug)]
pub(super) struct Sealing {
    seals: Option<Arc<Seals>>,
    scope: String,
    chain: Chain,
}

impl Sealing {
    pub(super) fn new(seals: Option<Arc<Seals>>, id: &SessionId) -> Self {
        Self { seals, scope: format!("session {id}"), chain: Chain::START }
    }

    /// What checks this log. Has to be made before the log is read.
    pub(super) fn verifier(&self) -> io::Result<Option<Verifier>> {
        self.seals.as_ref().map(|seals| seals.verifier(&self.scope)).transpose()
    }

    /// Goes on after what was verified. The home remembers it from now on.
    pub(super) fn take_up(&mut self, verified: Option<&Verifier>) -> io::Result<()> {
        let (Some(seals), Some(verified)) = (&self.seals, verified) else { return Ok(()) };
        self.chain = verified.chain().clone();
        if verified.is_remembered() { Ok(()) } else { seals.remember(&self.scope, &self.chain, true) }
    }

    /// The line for a JSON object, with its newline: what one write takes to the file.
    pub(super) fn line(&self, object: Vec<u8>) -> io::Result<Vec<u8>> {
        match &self.seals {
            Some(seals) => seals.seal(&self.scope, &self.chain, object),
            None => Ok(checked_line::encode(object)),
        }
    }

    /// The line is in the log.
    pub(super) fn advance(&mut self, line: &[u8]) {
        self.chain.push(line.strip_suffix(b"\n").unwrap_or(line));
    }

    /// The log is durable up to here; the home is told. Where it cannot be, the entries are still known by their signatures.
    pub(super) fn remember(&self, durable: bool) {
        if let Some(seals) = &self.seals {
            let _ = seals.remember(&self.scope, &self.chain, durable);
        }
    }

    /// What is written for something kept beside the log.
    pub(super) fn seal_kept(&self, name: &str, content: &[u8]) -> io::Result<Vec<u8>> {
        match &self.seals {
            Some(seals) => seals.seal_kept(&self.scope, name, content),
            None => Ok(content.to_vec()),
        }
    }
}

/// Whose word it is that was verified.
pub(super) fn verdict(verified: Option<&Verifier>) -> Seal {
    verified.map_or(Seal::Ours, Verifier::seal)
}

/// Whether an agent comes or goes with these facts: it may be about to use what the log allows, or have used it. The log must
/// not be brought back to before that, not even after a power cut.
pub(super) fn are_momentous(facts: &[Event]) -> bool {
    facts
        .iter()
        .any(|fact| matches!(fact, Event::Connected { .. } | Event::Parked { .. } | Event::TurnEnded { .. }))
}
