//! The changes to a text as a unified diff: complete, or truncated for a report.

use std::time::Duration;

use similar::TextDiff;

use super::project::text;

/// The maximum length in a report.
const MOST_BYTES: usize = 32 * 1024;
/// The time limit for finding the smallest diff; after that a larger one is used.
const AT_MOST: Duration = Duration::from_millis(500);

/// The diff between two texts; `None` if one is not text.
pub(crate) fn whole(path: &str, before: &[u8], after: &[u8]) -> Option<String> {
    let (before, after) = (text(before)?, text(after)?);
    let diff = TextDiff::configure().timeout(AT_MOST).diff_lines(before, after);
    Some(diff.unified_diff().header(path, path).to_string())
}

/// The diff between two texts, truncated for a report.
pub(super) fn unified(path: &str, before: &[u8], after: &[u8]) -> Option<String> {
    let mut words = whole(path, before, after)?;
    if words.len() > MOST_BYTES {
        let cut = words[..words.floor_char_boundary(MOST_BYTES)].rfind('\n').map_or(0, |at| at + 1);
        words.truncate(cut);
        words.push_str("… the rest is left out\n");
    }
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, unified};

    #[test]
    fn texts_are_compared_by_lines() {
        let diff = unified("a.txt", b"one\ntwo\nthree\n", b"one\n2\nthree\n").unwrap();
        assert_eq!(diff, "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
        assert_eq!(unified("a", b"\0", b"text"), None);
        let long = unified("a", "x\n".repeat(20_000).as_bytes(), "y\n".repeat(20_000).as_bytes()).unwrap();
        assert!(long.len() < MOST_BYTES + 50 && long.ends_with("\n… the rest is left out\n"));
    }
}
