//! Finds what models write in place of code they do not repeat: `// ... existing code ...`. Written to a file, it would take that
//! code away.

/// What such a line says.
const WORDS: [&str; 16] = [
    "existing code",
    "existing content",
    "existing method",
    "existing function",
    "existing import",
    "rest of",
    "remains the same",
    "remain the same",
    "unchanged",
    "same as before",
    "as before",
    "remaining code",
    "other code",
    "code omitted",
    "omitted for brevity",
    "your code here",
];
/// What a comment begins with, in the languages there are.
const COMMENTS: [&str; 9] = ["//", "#", "/*", "{/*", "<!--", "--", ";", "%", "*"];

/// The first line, from 0, that stands for code which is not there. Lines of `before` are there already and are meant.
pub(super) fn elided(after: &str, before: &str) -> Option<(usize, String)> {
    let stands_for_code =
        |line: &str| stands_for_code(line) && !before.lines().any(|other| other.trim() == line.trim());
    let mut lines = after.lines().enumerate();
    lines.find(|(_, line)| stands_for_code(line)).map(|(at, line)| (at, line.trim().to_owned()))
}

/// Whether a line is a comment with an ellipsis, about code that is left out.
fn stands_for_code(line: &str) -> bool {
    let line = line.trim();
    let bare = COMMENTS.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim_start);
    // A line of its own with nothing but such words, without a comment's mark: `... existing code ...`.
    let said = bare.unwrap_or(line);
    let dotted = said.starts_with("...") || said.starts_with('…') || said.starts_with("[...");
    let ends =
        said.trim_end_matches(['*', '/', '-', '>', '}', ' ']).ends_with(['…', '.']) && said.contains("...");
    if !(dotted || (bare.is_some() && (ends || said.starts_with('(')))) {
        return false;
    }
    let lower = said.to_lowercase();
    WORDS.iter().any(|words| lower.contains(words))
}

/// Whether a file is written for people, and may well show such a line.
pub(super) fn is_prose(path: &str) -> bool {
    [".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc"]
        .iter()
        .any(|ending| path.to_lowercase().ends_with(ending))
}
