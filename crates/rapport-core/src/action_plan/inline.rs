//! Parses the inline parts of a line (keys, links, code, markers) in every form that models write, and writes them in
//! one.

use memchr::memchr;

use super::lines::indent;

/// The two halves of an edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marker {
    Find,
    Replace,
}

/// `FIND:`, `` `FIND` ``, `#### FIND:`, `**FIND:**`, `- **FIND:**`, `FIND 2:`, `#### FIND (line 7):`, `REPLACE WITH:`.
pub(super) fn marker(line: &str) -> Option<Marker> {
    let plain = bullet(line).unwrap_or(line).trim();
    let bare = plain.trim_start_matches('#').trim().trim_matches(['`', '*', ':', ' ']);
    let decorated = plain.starts_with(['#', '`', '*']);
    let bare = bare.split_once('(').filter(|_| decorated).map_or(bare, |(bare, _)| bare);
    let word = bare.trim_end_matches(|c: char| c.is_ascii_digit() || "#`*: ".contains(c));
    [("FIND", Marker::Find), ("REPLACE", Marker::Replace), ("REPLACE WITH", Marker::Replace)]
        .into_iter()
        .find_map(|(name, marker)| {
            (word == name || (decorated && word.eq_ignore_ascii_case(name))).then_some(marker)
        })
}

/// The key and the value of a parameter: `- **Key:** value`, `- **Key**: value`, `- Key: value`, `**Key:** value`.
pub(crate) fn parameter(line: &str) -> Option<(&str, &str)> {
    let (width, rest) = indent(line);
    let dressed = bullet(rest).is_some() || rest.starts_with("**");
    if width <= 3 && dressed { pair(rest) } else { None }
}

/// The same, also for `Key: value` on a line of its own, with any indentation.
pub(super) fn pair(line: &str) -> Option<(&str, &str)> {
    let rest = line.trim_start();
    let text = bullet(rest).unwrap_or(rest);
    let (key, value) = match text.strip_prefix("**") {
        Some(bold) => {
            let (key, value) = bold.split_once("**")?;
            let value =
                if key.trim_end().ends_with(':') { value } else { value.trim_start().strip_prefix(':')? };
            (key.trim().trim_end_matches(':').trim_matches('`'), value)
        }
        None => {
            let (key, value) = text.split_once(':')?;
            (key.trim().trim_matches('`'), value)
        }
    };
    let is_key = |c: char| c.is_alphabetic() || c == ' ' || c == '_' || c == '-';
    let fits = !key.is_empty() && key.len() <= 40 && key.chars().all(is_key) && key.split(' ').count() <= 4;
    let absolute = value.starts_with("//");
    (fits && !absolute).then_some((key.trim(), value.trim()))
}

/// The text of a list item.
pub(super) fn bullet(line: &str) -> Option<&str> {
    let rest = line.trim_start();
    let numbered = || {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        after.strip_prefix(['.', ')']).filter(|_| after.len() < rest.len())
    };
    let item = rest.strip_prefix(['-', '*', '+', '•']).or_else(numbered)?;
    item.starts_with(char::is_whitespace).then(|| item.trim_start())
}

/// Words that precede an ordinal number, in the languages that plans are written in.
const COUNTING: [&str; 18] = [
    "step",
    "action",
    "task",
    "phase",
    "part",
    "no",
    "nr",
    "of",
    "schritt",
    "aktion",
    "aufgabe",
    "étape",
    "etape",
    "paso",
    "passo",
    "шаг",
    "步骤",
    "ステップ",
];
/// Words to skip that are neither a number nor a name.
const PASSING: [&str; 3] = ["optional", "第", "步"];

/// A heading without marks, emoji and numbers before its first word: `1. Name`, `**2.1** Name`, `Step 3 of 5: Name`,
/// `b) Name`, `[4] Name`.
pub(super) fn unnumbered(text: &str) -> &str {
    let mut rest = text.trim();
    loop {
        let plain = rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        let next = counter(plain).or_else(|| counting_word(plain)).unwrap_or(plain);
        if next.len() == rest.len() {
            return if rest.is_empty() { text.trim() } else { rest };
        }
        rest = next;
    }
}

/// The text after an ordinal: a number, a single letter or a Roman numeral.
fn counter(text: &str) -> Option<&str> {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if digits.len() < text.len() {
        return (!digits.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(digits);
    }
    let token = text.find(|c: char| !c.is_ascii_alphabetic()).and_then(|end| text.get(..end))?;
    let counts = token.len() == 1 || (token.len() < 5 && token.bytes().all(|byte| b"IVX".contains(&byte)));
    let rest = text.get(token.len()..)?;
    (counts && rest.starts_with(['.', ')', ':', ']'])).then_some(rest)
}

fn counting_word(text: &str) -> Option<&str> {
    let after = |word: &str| {
        let (first, rest) = text.split_at_checked(word.len())?;
        let ends = !word.is_ascii() || !rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        (ends && !rest.is_empty() && first.to_lowercase() == word).then_some(rest)
    };
    let counts = |rest: &&str| {
        rest.trim_start_matches(|c: char| !c.is_alphanumeric()).starts_with(|c: char| c.is_ascii_digit())
    };
    let counted = COUNTING.iter().find_map(|word| after(word).filter(counts));
    counted.or_else(|| PASSING.iter().find_map(|word| after(word)))
}

/// Whether a text is one path and nothing else, by its looks: a link, code, or a word with a slash or an ending.
pub(super) fn looks_like_path(text: &str) -> bool {
    let text = text.trim().trim_end_matches('*');
    if let Some((_, _, rest)) = link(text) {
        return rest.trim().is_empty();
    }
    if let Some((code, rest)) = code(text) {
        return rest.trim().is_empty() && looks_like_path(&code);
    }
    let word = text.trim_end_matches('`');
    let has_ending = word
        .rsplit_once('.')
        .is_some_and(|(_, ending)| !ending.is_empty() && ending.chars().all(|c| c.is_ascii_alphanumeric()));
    !word.contains(char::is_whitespace) && (word.contains('/') || has_ending)
}

/// The content of a code span that a text begins with, and what comes after it.
pub(super) fn code(text: &str) -> Option<(String, &str)> {
    let run = text.bytes().take_while(|byte| *byte == b'`').count();
    if run == 0 {
        return None;
    }
    let rest = text.get(run..)?;
    let mut from = 0;
    while let Some(found) = rest.get(from..)?.find('`') {
        let at = from + found;
        let length = rest.get(at..)?.bytes().take_while(|byte| *byte == b'`').count();
        if length == run {
            return Some((unpadded(rest.get(..at)?).to_owned(), rest.get(at + run..)?));
        }
        from = at + length;
    }
    None
}

fn unpadded(code: &str) -> &str {
    let inner = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
    inner.filter(|inner| !inner.trim().is_empty()).unwrap_or(code)
}

/// The text as a code span that parses back to the same text.
pub(super) fn as_code(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text) + 1);
    let padded = text.starts_with('`')
        || text.ends_with('`')
        || (text.starts_with(' ') && text.ends_with(' ') && !text.trim().is_empty());
    if padded { format!("{ticks} {text} {ticks}") } else { format!("{ticks}{text}{ticks}") }
}

/// The longest run of backticks. Most texts have none, so they are looked for before they are counted.
pub(crate) fn longest_run(text: &str) -> usize {
    let (mut longest, mut rest) = (0, text.as_bytes());
    while let Some(at) = memchr(b'`', rest) {
        let run = rest[at..].iter().take_while(|byte| **byte == b'`').count();
        longest = longest.max(run);
        rest = &rest[at + run..];
    }
    longest
}

/// A link that a text begins with: its text, its target, and what comes after it.
pub(super) fn link(text: &str) -> Option<(String, String, &str)> {
    let rest = text.strip_prefix('[')?;
    let (label, rest) = rest.split_once("](")?;
    let (target, rest) = match rest.strip_prefix('<') {
        Some(rest) => rest.split_once(">)")?,
        None => balanced(rest)?,
    };
    let label =
        code(label).filter(|(_, rest)| rest.is_empty()).map_or_else(|| unescaped(label), |(code, _)| code);
    Some((label, unescaped(target), rest))
}

/// The text before and after the closing parenthesis. Directory names may contain parentheses: `app/(auth)/`.
fn balanced(text: &str) -> Option<(&str, &str)> {
    let (mut depth, mut escaped) = (0_usize, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' if depth == 0 => return Some((text.get(..at)?, text.get(at + 1..)?)),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The text without the backslashes that escape punctuation.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match chars.peek() {
            Some(next) if c == '\\' && matches!(next, '_' | '*' | '[' | ']' | '(' | ')' | '`' | '#') => {}
            _ => plain.push(c),
        }
    }
    plain
}

/// Decodes percent escapes such as `%20`.
pub(super) fn decoded(target: &str) -> String {
    let mut bytes = Vec::with_capacity(target.len());
    let mut rest = target.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let pair = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A path as a plan writes it: a link to itself, or a code span if a link cannot hold it.
pub(crate) fn as_path(path: &str) -> String {
    if path.contains(']') && path.contains("](") {
        let ticks = "`".repeat((longest_run(path) + 1).max(2));
        return format!("{ticks} {path} {ticks}");
    }
    let simple =
        |c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '+' | '@' | '~' | ',' | '=');
    if path.chars().all(simple) && !path.is_empty() { format!("[{path}](/{path})") } else { as_code(path) }
}

/// Several lines as one.
pub(crate) fn one_line(text: &str) -> String {
    text.trim().replace("\r\n", " ").replace('\n', " ")
}
