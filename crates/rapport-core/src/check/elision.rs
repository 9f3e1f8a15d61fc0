//! Detects the placeholders that models write for code they do not repeat, such as `// ... existing code ...`. Writing
//! one to a file would delete that code.

/// Phrases of such placeholders.
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
/// Comment markers of common languages.
const COMMENTS: [&str; 9] = ["//", "#", "/*", "{/*", "<!--", "--", ";", "%", "*"];

/// The first line, from 0, that is a placeholder for code. Lines that `before` contains too are intended.
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
    // A line with nothing but such words, without a comment marker: `... existing code ...`.
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

/// Whether a file is prose, which may well show such a line.
pub(super) fn is_prose(path: &str) -> bool {
    [".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc"]
        .iter()
        .any(|ending| path.to_lowercase().ends_with(ending))
}
