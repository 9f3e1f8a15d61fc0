//! Signs the `requestState` of results that ask for input. The client sends it back with its next call, and cannot
//! change it.

use ring::hmac::{self, HMAC_SHA256, Key};

/// The purpose of the signature, because the same key may sign other things.
const PURPOSE: &str = "requestState over MCP";

/// Signs the state of calls, and verifies it.
#[derive(Debug)]
pub(crate) struct StateSeal(Key);

impl StateSeal {
    /// A seal with this secret. A later server with the same secret accepts what this one signed.
    pub(crate) fn new(secret: &[u8]) -> Self {
        Self(Key::new(HMAC_SHA256, secret))
    }

    /// Signs how often a call asked for input, for the client to send back.
    pub(crate) fn seal(&self, round: u32) -> String {
        format!("{round}.{}", hex(hmac::sign(&self.0, signed(round).as_bytes()).as_ref()))
    }

    /// The number in a signed state; `None` if no server with this secret signed it.
    pub(crate) fn open(&self, state: &str) -> Option<u32> {
        let (round, tag) = state.split_once('.')?;
        let round: u32 = round.parse().ok()?;
        hmac::verify(&self.0, signed(round).as_bytes(), &unhex(tag)?).ok()?;
        Some(round)
    }
}

fn signed(round: u32) -> String {
    format!("{PURPOSE} {round}")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let byte = |at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_can_repeat_a_state_and_not_change_it() {
        let seal = StateSeal::new(b"secret");
        let state = seal.seal(3);
        assert_eq!(StateSeal::new(b"secret").open(&state), Some(3));
        let other = StateSeal::new(b"another").seal(3);
        let changed = state.replacen('3', "4", 1);
        let longer = format!("{state}-TAMPERED");
        for wrong in [
            other.as_str(),
            &changed,
            &longer,
            &state[..state.len() - 2],
            "3",
            "3.",
            "",
            ".",
            "3.\u{e4}\u{e4}",
        ] {
            assert_eq!(seal.open(wrong), None, "{wrong}");
        }
    }
}
