//! Attachments of a log, such as an agent's conversation: the last line is a seal over the content, bound to the
//! session and to a head of its log. The home remembers the last of these heads, so that an older copy is not
//! trusted. Attachments from before there were seals are trusted by their digest, if the person trusted them.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::chain::Chain;
use super::head::HeadFile;
use super::key::{is_absent, write_private};
use super::{Seal, Seals, stamp};
use rapport_durable::{Flush, checked_line, hex, sha256, sha256_read};

/// The maximum length of a seal, in bytes.
const MOST: u64 = 4096;

/// The last line: the head of the log that this is bound to, and its name.
#[derive(Serialize, Deserialize)]
struct Trailer {
    seq: u64,
    head: String,
    sha256: String,
}

/// A checked attachment.
#[derive(Debug)]
pub(crate) struct CheckedAttachment {
    /// The length of its content, without the seal.
    pub(crate) length: u64,
    pub(crate) seal: Seal,
    /// The head of the log that it is bound to.
    pub(crate) bound: Chain,
    /// The last head that an attachment of this name was bound to, according to the home. It may be of an earlier log
    /// with the same name.
    pub(crate) last: Option<Chain>,
}

impl CheckedAttachment {
    /// An attachment that is trusted as it is, independent of the head of its log.
    pub(crate) fn unbound(length: u64, seal: Seal) -> Self {
        Self { length, seal, bound: Chain::START, last: None }
    }

    /// Whether it is bound to a position of this log, and to none before the last one. An older conversation would have
    /// the agent do again what it has done since.
    pub(crate) fn is_last_of(&self, log: &[u8]) -> bool {
        let is_part = |position: &Chain| position.is_of(log.split(|byte| *byte == b'\n'));
        // The last head may be of an earlier log of this name.
        let is_older = self.last.as_ref().is_some_and(|last| last.seq > self.bound.seq && is_part(last));
        is_part(&self.bound) && !is_older
    }
}

impl Seals {
    /// The content with its seal, and the head of the log that it is bound to.
    pub(crate) fn seal_kept(&self, scope: &str, name: &str, content: &[u8]) -> io::Result<(Vec<u8>, Chain)> {
        let signer = self.signer()?;
        let head = HeadFile::of(&self.folder(&signer.checkout), scope).read()?.unwrap_or(Chain::START);
        let trailer =
            Trailer { seq: head.seq, head: hex::encode(&head.hash), sha256: hex::encode(&sha256(content)) };
        let object = serde_json::to_vec(&trailer)?;
        let line = stamp::line(&signer.key, &signer.checkout.id, &scope_of(scope, name), &head, object);
        Ok(([content, b"\n", line.as_slice()].concat(), head))
    }

    /// Stores the head that an attachment is bound to, once the attachment is durable. A kill before that, or a power
    /// cut soon after, leaves an earlier head, with which the attachment is trusted as well.
    pub(crate) fn remember_kept(&self, scope: &str, name: &str, bound: &Chain) -> io::Result<()> {
        self.remember(&bound_scope(scope, name), bound, Flush::Later)
    }

    /// Checks the seal of an attachment. This reads it as a whole; its user reads it again from its beginning.
    pub(crate) fn check_kept(
        &self,
        scope: &str,
        name: &str,
        mut written: impl Read + Seek,
    ) -> io::Result<CheckedAttachment> {
        let mut verifier = self.verifier(&scope_of(scope, name))?;
        let total = written.seek(SeekFrom::End(0))?;
        let end = last_bytes(&mut written, total)?;
        let found = split(&end);
        let length = found.as_ref().map_or(total, |(start, ..)| total - (end.len() - start) as u64);
        written.rewind()?;
        let digest = hex::encode(&sha256_read(written.by_ref().take(length))?);
        let is_trusted = self.is_trusted(scope, &digest)?;
        let Some((start, trailer, bound)) = found else {
            let seal = if is_trusted { Seal::Ours } else { Seal::Unsigned };
            return Ok(CheckedAttachment::unbound(length, seal));
        };
        if is_trusted {
            // The person trusted it together with the log of that time.
            return Ok(CheckedAttachment::unbound(length, Seal::Ours));
        }
        let seal = if trailer.sha256 != digest {
            Seal::Unknown
        } else {
            verifier.start_at(bound.clone());
            verifier.take(end[start..].trim_ascii());
            verifier.seal()
        };
        let last = match self.checkout()? {
            Some(checkout) => HeadFile::of(&self.folder(&checkout), &bound_scope(scope, name)).read()?,
            None => None,
        };
        Ok(CheckedAttachment { length, seal, bound, last })
    }

    fn is_trusted(&self, scope: &str, digest: &str) -> io::Result<bool> {
        let Some(checkout) = self.checkout()? else { return Ok(false) };
        let trusted = match fs::read_to_string(trusted(&self.folder(&checkout), scope)) {
            Err(error) if is_absent(&error) => return Ok(false),
            read => read?,
        };
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

/// The name under which the head of an attachment is remembered.
fn bound_scope(scope: &str, name: &str) -> String {
    format!("{} bound", scope_of(scope, name))
}

/// The end of an attachment, in which its seal is.
fn last_bytes(written: &mut (impl Read + Seek), total: u64) -> io::Result<Vec<u8>> {
    written.seek(SeekFrom::Start(total.saturating_sub(MOST)))?;
    let mut end = Vec::new();
    written.take(MOST).read_to_end(&mut end)?;
    Ok(end)
}

/// Where the seal begins, with the line end before it, and the seal, if there is one.
fn split(written: &[u8]) -> Option<(usize, Trailer, Chain)> {
    let whole = written.strip_suffix(b"\n")?;
    let length = whole.iter().rposition(|byte| *byte == b'\n')?;
    let line = &whole[length + 1..];
    checked_line::checked(line)?;
    let trailer: Trailer = serde_json::from_slice(line).ok()?;
    let bound = Chain { seq: trailer.seq, hash: hex::decode(trailer.head.as_bytes())? };
    Some((length, trailer, bound))
}
