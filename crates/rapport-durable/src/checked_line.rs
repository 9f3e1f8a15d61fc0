//! A line of JSON that ends with a checksum of everything before it, so that damage is detected. Logs and journals
//! consist of such lines.

/// The separator between the checked bytes and the checksum.
const SUM: &[u8] = br#","crc":""#;
/// The bytes after the checksum.
const END: &[u8] = br#""}"#;

/// The line for a JSON object that has at least one field, with its newline.
pub fn encode(mut object: Vec<u8>) -> Vec<u8> {
    object.pop(); // The closing brace is appended again after the checksum.
    let sum = checksum(&object);
    object.extend_from_slice(SUM);
    object.extend_from_slice(&sum);
    object.extend_from_slice(END);
    object.push(b'\n');
    object
}

/// Whether a line, given without its newline, has a correct checksum.
pub fn is_intact(line: &[u8]) -> bool {
    checked(line).is_some()
}

/// The part of a line before its checksum, if that is correct. The line is given without its newline.
pub fn checked(line: &[u8]) -> Option<&[u8]> {
    let (rest, sum) = line.strip_suffix(END)?.split_last_chunk::<8>()?;
    rest.strip_suffix(SUM).filter(|checked| checksum(checked) == *sum)
}

/// CRC-32 in lower-case hex. No other spelling is accepted: a changed letter is damage too.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    let sum = crc32fast::hash(bytes);
    std::array::from_fn(|place| b"0123456789abcdef"[(sum >> (28 - 4 * place)) as usize & 0xf])
}
