//! Repairs lone UTF-16 surrogates. The CLI counts text in UTF-16 units, may cut between the two halves of a character,
//! and prints the rest as an escape that UTF-8 cannot represent. Such a line could not be parsed, and its request or
//! result would be lost.

use std::borrow::Cow;

/// The line with a replacement character in place of every lone surrogate.
pub fn without_halves(line: &str) -> Cow<'_, str> {
    if !line.contains("\\ud") && !line.contains("\\uD") {
        return Cow::Borrowed(line);
    }
    let mut whole = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        whole.push_str(&rest[..at]);
        let (escape, after) = escape(&rest[at..]);
        whole.push_str(escape);
        rest = after;
    }
    whole.push_str(rest);
    Cow::Owned(whole)
}

/// The escape at the beginning of a text, repaired, and the rest.
fn escape(text: &str) -> (&str, &str) {
    let second = || unit(text.get(6..)?);
    match (unit(text), second()) {
        (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => text.split_at(12),
        (Some(0xD800..=0xDFFF), _) => ("\\ufffd", &text[6..]),
        (Some(_), _) => text.split_at(6),
        (None, _) => {
            let end = text.char_indices().nth(2).map_or(text.len(), |(end, _)| end);
            text.split_at(end)
        }
    }
}

/// The UTF-16 unit of an escape at the beginning of a text.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::without_halves;

    #[test]
    fn only_halves_that_stand_alone_are_replaced() {
        for (line, whole) in [
            (r#""plain \n \\ü""#, r#""plain \n \\ü""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\uD83D\uDE00""#, r#""\uD83D\uDE00""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\ude00 \ud83d!""#, r#""\ufffd \ufffd!""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \ud83dü""#, r#""\\ud83d \ufffdü""#),
            (r#""\ud8"#, r#""\ud8"#),
            (r"\ud83d\", r"\ufffd\"),
            (r"\u00e4 \ud83d\é", r"\u00e4 \ufffd\é"),
        ] {
            assert_eq!(without_halves(line), whole);
        }
    }
}
