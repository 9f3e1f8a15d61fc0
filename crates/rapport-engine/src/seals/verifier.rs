//! Verifies a log, line by line.
//!
//! Up to the stored head, the digest proves that the lines are unchanged; their signatures need no check. Later lines
//! are trusted if they are signed for their position, in a trusted checkout, by a trusted key.

use std::sync::Arc;

use super::chain::Chain;
use super::checkout::Checkout;
use super::stamp::Stamp;
use super::{Keys, Seal};

/// The verifier of one log.
#[derive(Debug)]
pub struct Verifier {
    scope: String,
    keys: Arc<Keys>,
    checkout: Option<Checkout>,
    head: Option<Chain>,
    chain: Chain,
    /// The worst result among the lines after the head.
    found: Seal,
    is_another: bool,
    /// The key and the checkout of a team mate's line whose checkout is not trusted yet.
    offered: Option<(String, String)>,
}

impl Verifier {
    pub(super) fn new(
        scope: String,
        keys: Arc<Keys>,
        checkout: Option<Checkout>,
        head: Option<Chain>,
    ) -> Self {
        let (chain, found) = (Chain::START, Seal::Ours);
        Self { scope, keys, checkout, head, chain, found, is_another: false, offered: None }
    }

    /// Starts after this position instead of at the beginning.
    pub(super) fn start_at(&mut self, chain: Chain) {
        self.chain = chain;
    }

    /// Checks the next line, which is intact; given without its newline.
    pub(crate) fn take(&mut self, line: &[u8]) {
        let is_remembered = self.head.as_ref().is_some_and(|head| self.chain.seq < head.seq);
        if !is_remembered && !matches!(self.found, Seal::Unsigned | Seal::Unknown) {
            let found = self.signer(line);
            if rank(&found) > rank(&self.found) {
                self.found = found;
            }
        }
        self.chain.push(line);
        if let Some(head) = &self.head {
            self.is_another |= head.seq == self.chain.seq && *head != self.chain;
        }
    }

    /// The result for the whole log.
    pub fn seal(&self) -> Seal {
        let is_cut = self.head.as_ref().is_some_and(|head| head.seq > self.chain.seq);
        if is_cut || self.is_another { Seal::RolledBack } else { self.found.clone() }
    }

    pub(crate) fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Whether this is the stored head.
    pub(crate) fn is_remembered(&self) -> bool {
        self.head.as_ref() == Some(&self.chain)
    }

    pub(super) fn scope(&self) -> &str {
        &self.scope
    }

    pub(super) fn offered(&self) -> Option<(&str, &str)> {
        self.offered.as_ref().map(|(key, checkout)| (key.as_str(), checkout.as_str()))
    }

    /// Checks the signature of the next line.
    fn signer(&mut self, line: &[u8]) -> Seal {
        let Some(stamp) = Stamp::of(line) else { return Seal::Unsigned };
        let here = self.checkout.as_ref();
        if let Some(own) = &self.keys.own
            && stamp.is_by(own.public(), &self.scope, &self.chain)
        {
            let is_here = here.is_some_and(|here| here.id == stamp.checkout);
            return if is_here { Seal::Ours } else { Seal::Elsewhere };
        }
        match self.keys.known.find(stamp.key) {
            Some((name, key)) if stamp.is_by(key, &self.scope, &self.chain) => {
                if here.is_some_and(|here| here.accepts(stamp.key, stamp.checkout)) {
                    return Seal::By(name.to_owned());
                }
                self.offered = Some((stamp.key.to_owned(), stamp.checkout.to_owned()));
                Seal::Offered(name.to_owned())
            }
            Some(_) | None => Seal::Unknown,
        }
    }
}

/// Orders results, from best to worst.
fn rank(seal: &Seal) -> u8 {
    match seal {
        Seal::Ours => 0,
        Seal::By(_) => 1,
        Seal::Elsewhere => 2,
        Seal::Offered(_) => 3,
        Seal::Unsigned => 4,
        Seal::Unknown => 5,
        Seal::Added(_) => 6,
        Seal::RolledBack => 7,
    }
}
