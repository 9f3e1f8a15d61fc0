//! Text from outside, made safe to show: nothing in it can move the cursor, change a colour, or hide.
//!
//! Control characters become their pictures (`␛`), characters that reorder or are invisible become their names
//! (`<U+202E>`). Ordinary writing of any language stays as it is.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

/// How many marks one letter may carry. Real writing needs three.
const MAX_MARKS: usize = 4;

/// One line of text, safe to show. Line breaks become spaces.
pub fn line(text: &str) -> String {
    clean(text, " ")
}

/// Text of several lines, safe to show. Line breaks stay.
pub fn lines(text: &str) -> Vec<String> {
    text.replace("\r\n", "\n").split('\n').map(|line| clean(line.trim_end(), " ")).collect()
}

/// One character of what is being typed, safe to show.
pub fn typed(c: char) -> String {
    let mut out = String::new();
    push(&mut out, c, None, "↵");
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

fn push(out: &mut String, c: char, before: Option<char>, line_break: &str) {
    match c {
        '\n' => out.push_str(line_break),
        '\t' => out.push_str("    "),
        '\u{0}'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
        '\u{7f}' => out.push('␡'),
        // How an emoji is drawn is the terminal's affair, and terminals disagree on its width.
        '\u{fe0e}' | '\u{fe0f}' => {}
        '\u{200d}' if before.is_some_and(is_pictorial) => {}
        '\u{200c}' | '\u{200d}' if before.is_some_and(is_joining) => out.push(c),
        _ if is_hidden(c) => {
            let _ = write!(out, "<U+{:04X}>", c as u32);
        }
        _ => out.push(c),
    }
}

/// Characters that are invisible, or that change the order of others.
fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn is_pictorial(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// Scripts that need (non-)joiners to be spelled right.
fn is_joining(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{dff}')
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
}
