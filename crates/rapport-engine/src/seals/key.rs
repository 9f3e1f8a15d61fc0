//! Keys: the person's own, and those of team mates.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use rapport_durable::{Lock, hex, private_folder, replace_private, sha256};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};

/// The length of a key's id, and of a checkout's.
pub(super) const ID: usize = 16;

/// The prefix of a public key's file.
const PUBLIC: &str = "ed25519 ";

/// The person's signing key.
pub(super) struct OwnKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl fmt::Debug for OwnKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnKey({})", self.public.id)
    }
}

impl OwnKey {
    /// The key in this home, if there is one.
    pub(super) fn find(home: &Path) -> io::Result<Option<Self>> {
        let path = home.join("keys/own.key");
        let seed = match fs::read_to_string(&path) {
            Err(error) if is_absent(&error) => return Ok(None),
            read => read.map_err(about("read", &path))?,
        };
        let broken =
            || io::Error::new(io::ErrorKind::InvalidData, format!("{} is not a key", path.display()));
        let seed: [u8; 32] = hex::decode(seed.trim_end().as_bytes()).ok_or_else(broken)?;
        Self::from_seed(&seed).map(Some).ok_or_else(broken)
    }

    /// The key in this home; creates it if necessary. Of several processes at once, one creates it.
    pub(super) fn find_or_make(home: &Path) -> io::Result<Self> {
        if let Some(key) = Self::find(home)? {
            return Ok(key);
        }
        let folder = home.join("keys");
        private_folder(&folder).map_err(about("create the directory", &folder))?;
        let _lock = lock(&folder.join("lock"))?;
        if let Some(key) = Self::find(home)? {
            return Ok(key);
        }
        let mut seed = [0; 32];
        let failed = || io::Error::other("the system provides no random numbers for a key");
        SystemRandom::new().fill(&mut seed).map_err(|_| failed())?;
        let key = Self::from_seed(&seed).ok_or_else(failed)?;
        let public = format!("{PUBLIC}{}\n", hex::encode(&key.public.bytes));
        write_private(&folder.join("own.pub"), public.as_bytes())?;
        // The key comes last: once it exists, everything does.
        write_private(&folder.join("own.key"), format!("{}\n", hex::encode(&seed)).as_bytes())?;
        Ok(key)
    }

    fn from_seed(seed: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        let mut bytes = [0; 32];
        bytes.copy_from_slice(pair.public_key().as_ref());
        Some(Self { public: PublicKey::new(bytes), pair })
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        let mut signature = [0; 64];
        signature.copy_from_slice(self.pair.sign(message).as_ref());
        signature
    }

    pub(super) fn id(&self) -> &str {
        self.public.id()
    }

    pub(super) fn public(&self) -> &PublicKey {
        &self.public
    }
}

/// A key for checking signatures.
#[derive(Clone, Debug)]
pub(super) struct PublicKey {
    bytes: [u8; 32],
    id: String,
}

impl PublicKey {
    fn new(bytes: [u8; 32]) -> Self {
        Self { bytes, id: hex::encode(&sha256(&bytes)[..ID / 2]) }
    }

    /// Its id in seals: the beginning of its digest.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, self.bytes).verify(message, signature).is_ok()
    }
}

/// The keys of team mates, by name.
#[derive(Debug, Default)]
pub(super) struct KnownKeys(Vec<(String, PublicKey)>);

impl KnownKeys {
    /// Loads the keys in this home. A file that is not a key is ignored.
    pub(super) fn load(home: &Path) -> io::Result<Self> {
        let files = match fs::read_dir(home.join("keys/known")) {
            Err(error) if is_absent(&error) => return Ok(Self::default()),
            files => files?,
        };
        let mut known = Vec::new();
        for file in files {
            let path = file?.path();
            let name = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".pub"));
            let key = fs::read_to_string(&path).ok().and_then(|text| parse(&text));
            known.extend(name.map(str::to_owned).zip(key));
        }
        known.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Self(known))
    }

    /// The team mate whose key has this id.
    pub(super) fn find(&self, id: &str) -> Option<(&str, &PublicKey)> {
        self.0.iter().find(|(_, key)| key.id == id).map(|(name, key)| (name.as_str(), key))
    }
}

/// Parses a public key's file: `ed25519`, 64 digits, and an optional comment.
fn parse(text: &str) -> Option<PublicKey> {
    let digits = text.trim().strip_prefix(PUBLIC)?.split_whitespace().next()?;
    hex::decode(digits.as_bytes()).map(PublicKey::new)
}

pub(super) fn lock(path: &Path) -> io::Result<Lock> {
    Lock::wait(path).map_err(about("lock", path))
}

/// Replaces a private file, durably.
pub(super) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    replace_private(path, content).map_err(about("write", path))
}

/// Whether the error means that nothing of that name exists.
pub(super) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Adds the attempted action and the path to an error.
pub(super) fn about(what: &str, path: &Path) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("cannot {what} {}: {error}", path.display()))
}
