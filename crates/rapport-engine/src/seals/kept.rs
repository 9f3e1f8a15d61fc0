//! Attachments of a log, such as an agent's conversation: the last line is a seal over the content, bound to the
//! session and to a head of its log. Attachments from before there were seals are trusted by their digest, if the
//! person trusted them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::chain::Chain;
use super::head::HeadFile;
use super::key::{is_absent, write_private};
use super::{Seal, Seals, stamp};
use rapport_durable::{checked_line, hex, sha256};

/// The last line: the head of the log that this is bound to, and its name.
#[derive(Serialize, Deserialize)]
struct Trailer {
    seq: u64,
    head: String,
    sha256: String,
}

/// An attachment without its seal.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) content: Vec<u8>,
    pub(crate) seal: Seal,
    /// The head of the log that it is bound to.
    pub(crate) bound: Chain,
}

impl Seals {
    /// The content with its seal.
    pub(crate) fn seal_kept(&self, scope: &str, name: &str, content: &[u8]) -> io::Result<Vec<u8>> {
        let signer = self.signer()?;
        let head = HeadFile::of(&self.folder(&signer.checkout), scope).read()?.unwrap_or(Chain::START);
        let trailer =
            Trailer { seq: head.seq, head: hex::encode(&head.hash), sha256: hex::encode(&sha256(content)) };
        let object = serde_json::to_vec(&trailer)?;
        let line = stamp::line(&signer.key, &signer.checkout.id, &scope_of(scope, name), &head, object);
        Ok([content, b"\n", line.as_slice()].concat())
    }

    /// Removes and checks the seal of an attachment.
    pub(crate) fn open_kept(&self, scope: &str, name: &str, mut written: Vec<u8>) -> io::Result<Opened> {
        let mut verifier = self.verifier(&scope_of(scope, name))?;
        let Some((length, trailer, bound)) = split(&written) else {
            let seal = if self.is_trusted(scope, &written)? { Seal::Ours } else { Seal::Unsigned };
            return Ok(Opened { content: written, seal, bound: Chain::START });
        };
        let line = written.split_off(length);
        if self.is_trusted(scope, &written)? {
            // The person trusted it with the log of that time.
            return Ok(Opened { content: written, seal: Seal::Ours, bound: Chain::START });
        }
        let seal = if trailer.sha256 != hex::encode(&sha256(&written)) {
            Seal::Unknown
        } else {
            verifier.start_at(bound.clone());
            verifier.take(line.trim_ascii());
            verifier.seal()
        };
        Ok(Opened { content: written, seal, bound })
    }

    fn is_trusted(&self, scope: &str, content: &[u8]) -> io::Result<bool> {
        let Some(checkout) = self.checkout()? else { return Ok(false) };
        let trusted = match fs::read_to_string(trusted(&self.folder(&checkout), scope)) {
            Err(error) if is_absent(&error) => return Ok(false),
            read => read?,
        };
        let digest = hex::encode(&sha256(content));
        Ok(trusted.lines().any(|line| line == digest))
    }
}

/// Stores what the person trusts besides a log, replacing what they trusted before.
pub(super) fn trust(folder: &Path, scope: &str, contents: &[&[u8]]) -> io::Result<()> {
    let lines: String =
        contents.iter().map(|content| format!("{}\n", hex::encode(&sha256(content)))).collect();
    write_private(&trusted(folder, scope), lines.as_bytes())
}

fn trusted(folder: &Path, scope: &str) -> PathBuf {
    folder.join(format!("{}.kept", hex::encode(&sha256(scope.as_bytes())[..16])))
}

fn scope_of(scope: &str, name: &str) -> String {
    format!("{scope} {name}")
}

/// The length of the content, and the seal after it, if there is one.
fn split(written: &[u8]) -> Option<(usize, Trailer, Chain)> {
    let whole = written.strip_suffix(b"\n")?;
    let length = whole.iter().rposition(|byte| *byte == b'\n')?;
    let line = &whole[length + 1..];
    checked_line::checked(line)?;
    let trailer: Trailer = serde_json::from_slice(line).ok()?;
    let bound = Chain { seq: trailer.seq, hash: hex::decode(trailer.head.as_bytes())? };
    Some((length, trailer, bound))
}
