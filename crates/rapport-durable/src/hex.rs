//! Bytes as lower-case hex digits. No other spelling is accepted.

/// Encodes bytes as hex digits.
pub fn encode(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xf)]).collect()
}

fn digit(value: u8) -> char {
    char::from(b"0123456789abcdef"[usize::from(value)])
}

/// Decodes exactly `2 * N` digits.
pub fn decode<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if digits.len() != 2 * N {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

fn value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}
