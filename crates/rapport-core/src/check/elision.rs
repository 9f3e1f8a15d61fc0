//! Detects the placeholders that models write for text they do not repeat, such as `// ... existing code ...`. Writing
//! one to a file would delete that text.

/// Phrases of such placeholders, beside dots or in parentheses.
const WORDS: [&str; 18] = [
    "existing code",
    "existing content",
    "existing method",
    "existing function",
    "existing import",
    "rest of",
    "rest unchanged",
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
    "everything else",
];
/// Without dots, a placeholder is one of these beginnings, followed by a subject, and then possibly by an ending.
const BEGINNINGS: [&str; 6] = ["the rest of", "rest of", "existing", "remaining", "previous", "original"];
const SUBJECTS: [&str; 18] = [
    "code",
    "method",
    "function",
    "import",
    "content",
    "implementation",
    "logic",
    "file",
    "class",
    "module",
    "test",
    "field",
    "readme",
    "document",
    "section",
    "text",
    "page",
    "rest",
];
const ENDINGS: [&str; 9] =
    ["here", "unchanged", "stay", "remain", "as is", "as it is", "as before", "omitted", "is unchanged"];
/// Comment markers of common languages.
const COMMENTS: [&str; 9] = ["//", "#", "/*", "{/*", "<!--", "--", ";", "%", "*"];

/// The first line that is a placeholder in a text that would be in a file. `before` is what the text replaces; lines of
/// it are intended. A new file has nothing to leave out, so only the plainest placeholders count there.
pub(super) fn elided(path: &str, after: &str, before: Option<&str>) -> Option<String> {
    let is_prose = is_prose(path);
    let mut fence: Option<&str> = None;
    let mut lines = after.lines().map(str::trim).filter(|line| {
        // A document may well show such a line in a block of code.
        let mark = ["```", "~~~"].into_iter().find(|mark| line.starts_with(mark));
        let is_shown = is_prose && (fence.is_some() || mark.is_some());
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        !is_shown
    });
    let Some(before) = before else {
        return lines.find(|line| !is_prose && is_dotted_phrase(line)).map(str::to_owned);
    };
    let is_kept = |line: &str| before.lines().any(|other| other.trim() == line);
    let stands_for_text =
        |line: &str| if is_prose { stands_for_prose(line) } else { stands_for_code(path, line) };
    lines.find(|line| stands_for_text(line) && !is_kept(line)).map(str::to_owned)
}

fn stands_for_code(path: &str, line: &str) -> bool {
    // In Python and YAML, three dots are part of the language.
    let has_dots = [".py", ".pyi", ".yaml", ".yml"].iter().any(|end| path.to_lowercase().ends_with(end));
    is_dotted_phrase(line)
        || comment(line).is_some_and(|said| begins_with_dots(said) || is_phrase(said))
        || (is_only_dots(line) && !has_dots)
        || bracketed(line).is_some_and(is_phrase)
        || ["# ", "// ", "/* "].iter().any(|mark| {
            let said = line.split_once(mark).map(|(_, said)| said);
            said.is_some_and(|said| begins_with_dots(said) && has_words(said))
        })
}

fn stands_for_prose(line: &str) -> bool {
    let said = line.strip_prefix("<!--").and_then(|said| said.strip_suffix("-->")).map(str::trim);
    said.is_some_and(|said| begins_with_dots(said) || is_phrase(said))
        || (begins_with_dots(line) && has_words(line))
        || is_only_dots(line)
        || bracketed(line).is_some_and(is_phrase)
}

/// Whether a line is a comment with an ellipsis, about code that is left out, or such words without a comment marker.
fn is_dotted_phrase(line: &str) -> bool {
    let bare = comment(line);
    let said = bare.unwrap_or(line);
    let dotted = begins_with_dots(said) || said.starts_with("[...");
    let ends =
        said.trim_end_matches(['*', '/', '-', '>', '}', ' ']).ends_with(['…', '.']) && said.contains("...");
    (dotted || (bare.is_some() && (ends || said.starts_with('(')))) && has_words(said)
}

/// The words of a comment that is a line of its own.
fn comment(line: &str) -> Option<&str> {
    COMMENTS.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim_start)
}

fn bracketed(line: &str) -> Option<&str> {
    [('[', ']'), ('(', ')'), ('<', '>')]
        .into_iter()
        .find_map(|(open, close)| line.strip_prefix(open)?.strip_suffix(close))
}

fn begins_with_dots(said: &str) -> bool {
    said.starts_with("...") || said.starts_with('…')
}

fn is_only_dots(line: &str) -> bool {
    let dots = bracketed(line).unwrap_or(line).trim();
    begins_with_dots(dots) && dots.chars().all(|c| c == '.' || c == '…')
}

fn has_words(said: &str) -> bool {
    let lower = said.to_lowercase();
    WORDS.iter().any(|words| lower.contains(words))
}

/// Whether words alone say that text is left out: `existing methods stay here`, `keep everything else as is`,
/// `-- snip --`. Other comments may contain the same words, so nothing else may follow.
fn is_phrase(said: &str) -> bool {
    let lower = said.to_lowercase();
    let said = lower.trim_matches(|c: char| !c.is_alphanumeric());
    if said == "snip" || said == "unchanged" || said == "same as before" {
        return true;
    }
    if let Some(kept) = said.strip_prefix("keep ") {
        return has_words(kept) || kept.ends_with(" as is") || kept.starts_with("the rest");
    }
    let Some(rest) = BEGINNINGS.iter().find_map(|begin| said.strip_prefix(begin)) else { return false };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let subject = words.iter().take(3).position(|word| {
        SUBJECTS.iter().any(|subject| word.trim_end_matches('s') == *subject || word == subject)
    });
    let Some(subject) = subject else { return ENDINGS.iter().any(|end| rest.trim().starts_with(end)) };
    let tail = words[subject + 1..].join(" ");
    tail.is_empty() || ENDINGS.iter().any(|end| tail.starts_with(end))
}

/// Whether a file is prose.
fn is_prose(path: &str) -> bool {
    [".md", ".markdown", ".mdx", ".txt", ".rst", ".adoc"]
        .iter()
        .any(|ending| path.to_lowercase().ends_with(ending))
}
