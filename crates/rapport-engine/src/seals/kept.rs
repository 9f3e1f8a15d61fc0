//! What is kept beside a log, such as an agent's conversation: its last line is a seal over all before it, bound to the
//! session and to a head of its log.

use std::io;

use serde::{Deserialize, Serialize};

use super::chain::{Chain, sha256};
use super::head::HeadFile;
use super::{Seals, hex, stamp};
use rapport_durable::checked_line;

/// The last line: to which head of the log this belongs, and what it is.
#[derive(Serialize, Deserialize)]
struct Trailer {
    seq: u64,
    head: String,
    sha256: String,
}

impl Seals {
    /// What is written for this content, sealed.
    pub(crate) fn seal_kept(&self, scope: &str, name: &str, content: &[u8]) -> io::Result<Vec<u8>> {
        let signer = self.signer()?;
        let head = HeadFile::of(&self.folder(&signer.checkout), scope).read()?.unwrap_or(Chain::START);
        let trailer =
            Trailer { seq: head.seq, head: hex::encode(&head.hash), sha256: hex::encode(&sha256(content)) };
        let object = serde_json::to_vec(&trailer)?;
        let line = stamp::line(&signer.key, &signer.checkout.id, &scope_of(scope, name), &head, object);
        Ok([content, b"\n", line.as_slice()].concat())
    }
}

/// What was written, without its seal.
pub(crate) fn content_of(mut written: Vec<u8>) -> Vec<u8> {
    if let Some(length) = split(&written) {
        written.truncate(length);
    }
    written
}

fn scope_of(scope: &str, name: &str) -> String {
    format!("{scope} {name}")
}

/// How long the content is, where a seal comes after it.
fn split(written: &[u8]) -> Option<usize> {
    let whole = written.strip_suffix(b"\n")?;
    let length = whole.iter().rposition(|byte| *byte == b'\n')?;
    let line = &whole[length + 1..];
    checked_line::checked(line)?;
    serde_json::from_slice::<Trailer>(line).ok().map(|_| length)
}
