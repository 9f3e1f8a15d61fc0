//! Checking whose word a log is, line by line.
//!
//! Up to the head that the home remembers, the digest of all lines says that they are the ones that were there; nothing has
//! to be verified again. Lines after it count where they are signed for their place, here, by a key that counts here.

use std::sync::Arc;

use super::chain::Chain;
use super::checkout::Checkout;
use super::stamp::Stamp;
use super::{Keys, Seal};

/// What checks one log.
#[derive(Debug)]
pub struct Verifier {
    scope: String,
    keys: Arc<Keys>,
    checkout: Option<Checkout>,
    head: Option<Chain>,
    chain: Chain,
    /// Whose word the lines after the head are; the worst of them.
    found: Seal,
    is_another: bool,
    /// The key and the checkout of a team mate's line that would count if that checkout did.
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

    /// Has the next line come after this place, rather than at the beginning.
    pub(super) fn start_at(&mut self, chain: Chain) {
        self.chain = chain;
    }

    /// Takes in the next line, which is intact; given without its newline.
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

    /// Whose word everything is that was taken in, as a whole log.
    pub fn seal(&self) -> Seal {
        let is_cut = self.head.as_ref().is_some_and(|head| head.seq > self.chain.seq);
        if is_cut || self.is_another { Seal::RolledBack } else { self.found.clone() }
    }

    /// How far the log goes.
    pub(crate) fn chain(&self) -> &Chain {
        &self.chain
    }

    /// Whether the home remembers just that.
    pub(crate) fn is_remembered(&self) -> bool {
        self.head.as_ref() == Some(&self.chain)
    }

    pub(super) fn scope(&self) -> &str {
        &self.scope
    }

    pub(super) fn offered(&self) -> Option<(&str, &str)> {
        self.offered.as_ref().map(|(key, checkout)| (key.as_str(), checkout.as_str()))
    }

    /// Whose word a line is, as the next one.
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

/// How much less than one's own word it is.
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
