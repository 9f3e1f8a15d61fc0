//! The seal within a line: after the content, before the checksum, always of the same length.
//!
//! ```text
//! {"v":1,"seq":2,...,"seal":{"key":"KEY","in":"CHECKOUT","sig":"SIGNATURE"},"crc":"03b47612"}
//! ```

use super::chain::Chain;
use super::key::{ID, OwnKey, PublicKey};
use rapport_durable::{checked_line, hex, sha256};

const SEAL: &[u8] = br#","seal":{"key":""#;
const IN: &[u8] = br#"","in":""#;
const SIG: &[u8] = br#"","sig":""#;
const END: &[u8] = br#""}"#;

/// The length of a signature.
const SIGNATURE: usize = 64;

/// A parsed line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stamp<'a> {
    /// The bytes before the seal.
    body: &'a [u8],
    /// The id of the key.
    pub(super) key: &'a str,
    /// The checkout in which it was written.
    pub(super) checkout: &'a str,
    signature: [u8; SIGNATURE],
}

/// The sealed line for a JSON object, as the next of a chain.
pub(super) fn line(key: &OwnKey, checkout: &str, scope: &str, chain: &Chain, mut object: Vec<u8>) -> Vec<u8> {
    object.pop(); // The closing brace is appended again after the checksum.
    let signature = hex::encode(&key.sign(&message(scope, checkout, chain, &object)));
    for part in [SEAL, key.id().as_bytes(), IN, checkout.as_bytes(), SIG, signature.as_bytes(), END, b"}"] {
        object.extend_from_slice(part);
    }
    checked_line::encode(object)
}

impl<'a> Stamp<'a> {
    /// The seal of an intact line, given without its newline, if it has one.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        let rest = checked_line::checked(line)?.strip_suffix(END)?;
        let (rest, signature) = rest.split_last_chunk::<{ 2 * SIGNATURE }>()?;
        let (rest, checkout) = rest.strip_suffix(SIG)?.split_last_chunk::<ID>()?;
        let (rest, key) = rest.strip_suffix(IN)?.split_last_chunk::<ID>()?;
        Some(Self {
            body: rest.strip_suffix(SEAL)?,
            key: str::from_utf8(key).ok()?,
            checkout: str::from_utf8(checkout).ok()?,
            signature: hex::decode(signature)?,
        })
    }

    /// Whether this key signed this line as the next of this chain.
    pub(super) fn is_by(&self, key: &PublicKey, scope: &str, chain: &Chain) -> bool {
        key.id() == self.key
            && key.has_signed(&message(scope, self.checkout, chain, self.body), &self.signature)
    }
}

/// The signed message. Our names contain no line ends, so that no two messages have the same bytes.
fn message(scope: &str, checkout: &str, chain: &Chain, body: &[u8]) -> Vec<u8> {
    let (seq, before, body) = (chain.seq + 1, hex::encode(&chain.hash), hex::encode(&sha256(body)));
    format!("rapport seal 1\n{scope}\n{checkout}\n{seq}\n{before}\n{body}\n").into_bytes()
}
