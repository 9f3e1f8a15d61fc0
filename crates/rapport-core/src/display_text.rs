//! Makes text from outside visible: nothing in it can move a cursor, reorder its line, or hide.
//!
//! Control characters become their pictures (`␛`); characters that reorder or are invisible become their names
//! (`<U+202E>`). Ordinary writing in any language stays as it is.

use std::fmt::Write as _;

/// One line of text. Line breaks become spaces.
pub fn line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = None;
    for c in text.chars() {
        push(&mut out, c, before, " ");
        before = Some(c);
    }
    out
}

/// Up to this many blanks in a row are shown within a line; more could push the rest out of sight.
const BLANKS: usize = 20;
/// The same at the beginning of a line, where they are indentation.
const INDENTATION: usize = 60;

/// One line in which a long run of blanks becomes its number (`ls <2000 spaces> ; rm -rf ~`). A line of nothing else is
/// empty.
pub(crate) fn line_without_gaps(text: &str) -> String {
    let shown = line(text);
    let shown = if shown.trim().is_empty() { String::new() } else { shown };
    let mut out = String::with_capacity(shown.len());
    let mut rest = shown.as_str();
    while !rest.is_empty() {
        let words = rest.find(char::is_whitespace).unwrap_or(rest.len());
        out.push_str(&rest[..words]);
        rest = &rest[words..];
        let blank = rest.len() - rest.trim_start().len();
        let count = rest[..blank].chars().count();
        match count > if out.is_empty() { INDENTATION } else { BLANKS } {
            true => out.push_str(&format!(" <{count} spaces> ")),
            false => out.push_str(&rest[..blank]),
        }
        rest = &rest[blank..];
    }
    out
}

/// Up to this many empty lines in a row are shown; more could push the rest out of sight.
pub(crate) const EMPTY_LINES: usize = 3;

/// Several lines. A long run of empty lines becomes its number; empty lines at the end are dropped.
pub fn lines(text: &str) -> String {
    let mut out: Vec<String> = Vec::new();
    let mut empty = 0;
    for shown in text.lines().map(line) {
        if shown.trim().is_empty() {
            empty += 1;
            continue;
        }
        match std::mem::take(&mut empty) {
            few @ 0..=EMPTY_LINES => out.extend((0..few).map(|_| String::new())),
            many => out.push(format!("({many} empty lines)")),
        }
        out.push(shown);
    }
    out.join("\n")
}

/// Appends one character; `before` is the previous one.
pub fn push(out: &mut String, c: char, before: Option<char>, line_break: &str) {
    match c {
        '\n' => out.push_str(line_break),
        '\t' => out.push_str("    "),
        '\u{0}'..='\u{1f}' => out.push(char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}')),
        '\u{7f}' => out.push('␡'),
        // Displays differ in how wide they draw an emoji, so they may choose its presentation.
        '\u{fe0e}' | '\u{fe0f}' => {}
        '\u{200d}' if before.is_some_and(is_pictorial) => {}
        '\u{200c}' | '\u{200d}' if before.is_some_and(is_joining) => out.push(c),
        _ if is_hidden(c) => {
            let _ = write!(out, "<U+{:04X}>", c as u32);
        }
        _ => out.push(c),
    }
}

/// Whether a text has characters that are invisible or reorder others, except those that emoji and some scripts need.
pub(crate) fn hides(text: &str) -> bool {
    let mut before = None;
    text.chars().any(|c| {
        let before = before.replace(c);
        let is_needed = match c {
            '\u{fe0e}' | '\u{fe0f}' => true,
            '\u{200c}' | '\u{200d}' => {
                before.is_some_and(|before| is_pictorial(before) || is_joining(before))
            }
            _ => false,
        };
        is_hidden(c) && !is_needed
    })
}

/// Characters that are invisible, or that change the order of others.
pub(crate) fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn is_pictorial(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether a script needs (non-)joiners for correct spelling.
fn is_joining(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{dff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_in_or_between_lines() {
        let hidden = format!("ls\r\n\n{}rm\u{202e}x\n\n", "\n".repeat(9));
        assert_eq!(lines(&hidden), "ls\n(10 empty lines)\nrm<U+202E>x");
        assert_eq!(lines("a\n\n\tb\n"), "a\n\n    b");
        assert_eq!(lines("ls\n\u{2800}\nrm"), "ls\n<U+2800>\nrm");
    }

    #[test]
    fn nothing_is_pushed_out_of_sight_by_blanks() {
        for (given, shown) in [
            (format!("ls{}; rm -rf ~", " ".repeat(2000)), "ls <2000 spaces> ; rm -rf ~".to_owned()),
            (format!("{}rm", "\t".repeat(20)), " <80 spaces> rm".to_owned()),
            (format!("ls{}rm", "\u{a0}\u{3000}\u{2003}".repeat(7)), "ls <21 spaces> rm".to_owned()),
            (format!("ls{}", " ".repeat(30)), "ls <30 spaces> ".to_owned()),
        ] {
            assert_eq!(line_without_gaps(&given), shown);
        }
        for ordinary in [format!("{}indented();", " ".repeat(60)), format!("a{}# why", " ".repeat(20))] {
            assert_eq!(line_without_gaps(&ordinary), ordinary);
        }
    }
}
