//! Seals: signatures on logs and journals. Every line is signed with the person's key, for its scope (one session, one
//! batch), this checkout of the project, its position in the log, and all lines before it. Rapport's home stores the
//! last known head of each log, so that a log that was truncated, replaced or moved elsewhere is detected.
//!
//! ```text
//! $RAPPORT_HOME/keys/own.key          the private key
//! $RAPPORT_HOME/keys/own.pub          the public key, for team mates
//! $RAPPORT_HOME/keys/known/NAME.pub   public keys of team mates
//! $RAPPORT_HOME/seals/checkouts.json  the person's checkouts, and which others are trusted there
//! $RAPPORT_HOME/seals/ID/             the heads of the logs in one checkout
//! ```
//!
//! `docs/formats/log.md` is the contract with other programs.

mod chain;
mod checkout;
mod head;
mod key;
mod sealed_attachment;
mod signer;
mod stamp;
mod verifier;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use rapport_durable::{Flush, hex, private_folder, sha256};

pub use self::chain::Chain;
use self::checkout::{Checkout, Checkouts};
use self::head::HeadFile;
use self::key::{KnownKeys, OwnKey};
pub(crate) use self::sealed_attachment::CheckedAttachment;
pub(crate) use self::signer::{Sealing, verdict};
pub use self::verifier::Verifier;
pub use rapport_door::Seal;

/// The seals of one person in one project. Keys are created at the first signature; reading creates nothing.
#[derive(Debug)]
pub struct Seals {
    home: PathBuf,
    site: SealedSite,
    signer: OnceLock<Signer>,
    keys: OnceLock<Arc<Keys>>,
}

/// What the sealed logs belong to.
#[derive(Debug)]
enum SealedSite {
    /// The project in this directory.
    Directory(PathBuf),
    /// A project in a store that several machines share, by its id.
    Shared(String),
}

/// The keys that may be trusted.
#[derive(Debug)]
struct Keys {
    own: Option<OwnKey>,
    known: KnownKeys,
}

/// What signing needs.
#[derive(Debug)]
struct Signer {
    key: OwnKey,
    checkout: Checkout,
}

impl Seals {
    /// The seals of the person with this home, in this project.
    pub fn new(home: PathBuf, project: PathBuf) -> Self {
        let site = SealedSite::Directory(project);
        Self { home, site, signer: OnceLock::new(), keys: OnceLock::new() }
    }

    /// The seals of the same person in a project that several machines share, by its name there. The directory of the
    /// project is another one on each of them, so it cannot identify the logs.
    pub fn shared(&self, name: &str) -> Self {
        let id = hex::encode(&sha256(name.as_bytes())[..key::ID / 2]);
        let site = SealedSite::Shared(id);
        Self { home: self.home.clone(), site, signer: OnceLock::new(), keys: OnceLock::new() }
    }

    /// The sealed line for a JSON object with at least one field, as the next of this chain, with its newline.
    pub(crate) fn seal(&self, scope: &str, chain: &Chain, object: Vec<u8>) -> io::Result<Vec<u8>> {
        let Signer { key, checkout } = self.signer()?;
        Ok(stamp::line(key, &checkout.id, scope, chain, object))
    }

    /// Stores the head of a log. If it is flushed later, a power cut may revert it to an earlier head, never to one
    /// that the log has not reached.
    pub(crate) fn remember(&self, scope: &str, chain: &Chain, flush: Flush) -> io::Result<()> {
        let folder = self.folder(&self.signer()?.checkout);
        private_folder(&folder)?;
        HeadFile::of(&folder, scope).write(scope, chain, flush)
    }

    /// Removes the head of a log that was removed, before another log gets its name.
    pub(crate) fn forget(&self, scope: &str) -> io::Result<()> {
        match self.checkout()? {
            Some(checkout) => HeadFile::of(&self.folder(&checkout), scope).remove(),
            None => Ok(()),
        }
    }

    /// A verifier for a log. It has to be created before the log is read, so that the head is never ahead of the lines.
    pub(crate) fn verifier(&self, scope: &str) -> io::Result<Verifier> {
        let (keys, checkout) = (self.keys()?, self.checkout()?);
        let head = match &checkout {
            Some(checkout) => HeadFile::of(&self.folder(checkout), scope).read()?,
            None => None,
        };
        Ok(Verifier::new(scope.to_owned(), keys, checkout, head))
    }

    /// Trusts exactly what a verifier has read.
    pub fn trust(&self, verified: &Verifier, kept: &[&[u8]]) -> io::Result<()> {
        let checkout = self.signer()?.checkout.clone();
        let folder = self.folder(&checkout);
        private_folder(&folder)?;
        sealed_attachment::trust(&folder, verified.scope(), kept)?;
        if let Some((key, theirs)) = verified.offered() {
            Checkouts::at(&self.home).accept(&checkout.id, key, theirs)?;
        }
        HeadFile::of(&folder, verified.scope()).write(verified.scope(), verified.chain(), Flush::Now)
    }

    fn signer(&self) -> io::Result<&Signer> {
        if let Some(signer) = self.signer.get() {
            return Ok(signer);
        }
        let key = OwnKey::find_or_make(&self.home)?;
        let checkout = match &self.site {
            SealedSite::Directory(project) => Checkouts::at(&self.home).find_or_make(project)?,
            SealedSite::Shared(id) => Checkout::shared(id.clone()),
        };
        Ok(self.signer.get_or_init(|| Signer { key, checkout }))
    }

    /// The keys, which are read once: a person may have thousands of sessions.
    fn keys(&self) -> io::Result<Arc<Keys>> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys.clone());
        }
        let keys = Arc::new(Keys { own: OwnKey::find(&self.home)?, known: KnownKeys::load(&self.home)? });
        if keys.own.is_some() {
            return Ok(self.keys.get_or_init(|| keys).clone());
        }
        Ok(keys)
    }

    fn checkout(&self) -> io::Result<Option<Checkout>> {
        match &self.site {
            SealedSite::Directory(project) => Checkouts::at(&self.home).find(project),
            SealedSite::Shared(id) => Ok(Some(Checkout::shared(id.clone()))),
        }
    }

    fn folder(&self, checkout: &Checkout) -> PathBuf {
        self.home.join("seals").join(&checkout.id)
    }
}
