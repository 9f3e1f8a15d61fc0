//! Makes text from outside safe to show: nothing in it can move the cursor, change a colour, or hide.
//!
//! Control characters become their pictures (`␛`); characters that reorder or are invisible become their names
//! (`<U+202E>`). Ordinary writing in any language stays as it is.

use std::fmt::Write as _;

use rapport_core::display_text::push;
use unicode_width::UnicodeWidthChar as _;

/// The maximum number of combining marks on one letter. Real writing needs three.
const MAX_MARKS: usize = 4;

/// One line of text, safe to show. Line breaks become spaces.
pub fn line(text: &str) -> String {
    clean(text, " ")
}

/// Text of several lines, safe to show. Line breaks stay.
pub fn lines(text: &str) -> Vec<String> {
    text.replace("\r\n", "\n").split('\n').map(|line| clean(line.trim_end(), " ")).collect()
}

/// One character of typed text, safe to show.
pub fn typed(c: char) -> String {
    let mut out = String::new();
    push(&mut out, c, None, "↵");
    out
}

/// JSON that is safe to show in a terminal: nothing in it can move a cursor or change the order of letters. Such
/// characters occur only in strings, where they can be written as numbers.
pub fn json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{7f}'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                // Writing to a string does not fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            _ => out.push(c),
        }
    }
    out
}

fn clean(text: &str, line_break: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut before, mut marks) = (None, 0);
    for c in text.chars() {
        marks = if c.width() == Some(0) { marks + 1 } else { 0 };
        match marks {
            0..=MAX_MARKS => push(&mut out, c, before, line_break),
            _ if marks == MAX_MARKS + 1 => out.push('\u{fffd}'),
            _ => {}
        }
        before = Some(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(given: &str, expected: &str) {
        assert_eq!(line(given), expected);
    }

    #[test]
    fn escapes_and_controls_are_pictures() {
        check("\u{1b}[31mred\u{7}", "␛[31mred␇");
        check("a\rb\u{7f}", "a␍b␡");
        check("\u{9b}31m", "<U+009B>31m");
        check("one\ntwo\tthree", "one two    three");
    }

    #[test]
    fn what_hides_or_reorders_is_named() {
        check("abc\u{202e}fed", "abc<U+202E>fed");
        check("pay\u{200b}pal", "pay<U+200B>pal");
        check("\u{feff}x\u{2066}y\u{e0041}", "<U+FEFF>x<U+2066>y<U+E0041>");
    }

    #[test]
    fn ordinary_writing_stays() {
        for text in ["héllo", "日本語", "می\u{200c}خواهم", "e\u{301}", "😀"] {
            check(text, text);
        }
        check("👨\u{200d}👩", "👨👩");
        check("❤\u{fe0f}", "❤");
    }

    #[test]
    fn heaps_of_marks_are_cut() {
        check(&format!("a{}b", "\u{301}".repeat(50)), &format!("a{}\u{fffd}b", "\u{301}".repeat(4)));
    }

    #[test]
    fn lines_stay_lines() {
        assert_eq!(lines("a\r\nb\n\nc"), ["a", "b", "", "c"]);
    }

    /// JSON is shown in terminals as well.
    #[test]
    fn json_moves_no_cursor_and_reorders_nothing() {
        let value = serde_json::json!({ "a": "\u{9b}31m \u{202e}txt \u{1b}[0m é 🎉" });
        let text = json(&value.to_string());
        assert_eq!(text, r#"{"a":"\u009b31m \u202etxt \u001b[0m é 🎉"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
