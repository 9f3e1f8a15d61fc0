//! `memos.yaml`: facts for every session, as a YAML list of strings that people edit too. Lines of people are kept
//! verbatim; only added and removed facts are touched.

use std::collections::BTreeSet;
use std::path::Path;

use rapport_core::{Change, Sign};

use super::files::{FileError, replace, text};

/// The facts; empty if there is no file.
pub fn read(path: &Path) -> Result<Vec<String>, FileError> {
    let text = text(path)?.unwrap_or_default();
    parse(path, &text)
}

/// Applies these changes; idempotent. Returns whether anything changed.
pub fn apply(path: &Path, changes: &[&Change]) -> Result<bool, FileError> {
    let before = text(path)?.unwrap_or_default();
    let after = changed(path, &before, changes)?;
    if after == before {
        return Ok(false);
    }
    replace(path, after.as_bytes()).map(|()| true)
}

fn parse(path: &Path, text: &str) -> Result<Vec<String>, FileError> {
    let parsed: Option<Vec<String>> = serde_saphyr::from_str(text).map_err(|error| {
        let what = format!("it has to be a list of strings: {}", error.without_snippet());
        FileError::Wrong { path: path.to_owned(), what }
    })?;
    Ok(parsed.unwrap_or_default())
}

/// The text with these changes. A removed fact is removed everywhere, because it may occur twice.
fn changed(path: &Path, text: &str, changes: &[&Change]) -> Result<String, FileError> {
    let mut text = text.to_owned();
    for change in changes {
        let memos = parse(path, &text)?;
        let is_it = |memo: &String| memo.trim() == change.what.trim();
        let (kept, wanted): (_, Vec<_>) = match (change.sign, memos.iter().any(is_it)) {
            (Sign::Add, true) | (Sign::Remove, false) => continue,
            (Sign::Add, false) => {
                let more = memos.iter().cloned().chain([change.what.trim().to_owned()]);
                (with(&text, &memos, &change.what), more.collect())
            }
            (Sign::Remove, true) => {
                let left = memos.iter().filter(|memo| !is_it(memo)).cloned();
                (without(&text, &memos, is_it), left.collect())
            }
        };
        // A list in another YAML style is rewritten.
        let is_right = parse(path, &kept).is_ok_and(|memos| memos == wanted);
        text = if is_right { kept } else { plain(&text, &wanted) };
    }
    Ok(text)
}

/// The text with one more fact at its end.
fn with(text: &str, memos: &[String], memo: &str) -> String {
    // An empty list in brackets cannot take an item.
    let kept = if memos.is_empty() { comments(text) } else { text.to_owned() };
    let newline = if kept.is_empty() || kept.ends_with('\n') { "" } else { "\n" };
    format!("{kept}{newline}{}", item(memo))
}

/// The text without these facts.
fn without(text: &str, memos: &[String], goes: impl Fn(&String) -> bool) -> String {
    let items = items(text);
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let gone = items.iter().zip(memos).filter(|(_, memo)| goes(memo)).flat_map(|(begin, _)| {
        let end = (begin + 1..lines.len()).find(|line| !is_continued(lines[*line])).unwrap_or(lines.len());
        *begin..end
    });
    let gone: BTreeSet<_> = gone.collect();
    let left = lines.iter().enumerate().filter(|(place, _)| !gone.contains(place)).map(|(_, line)| *line);
    let nothing = if memos.iter().all(goes) { "[]\n" } else { "" };
    left.chain([nothing]).collect()
}

/// Whether a line belongs to the previous item.
fn is_continued(line: &str) -> bool {
    line.starts_with([' ', '\t']) && !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

/// The lines at which items begin, if each has its own lines.
fn items(text: &str) -> Vec<usize> {
    let is_item = |line: &str| line.starts_with("- ") || line.trim_end() == "-";
    text.split_inclusive('\n').enumerate().filter(|(_, line)| is_item(line)).map(|(place, _)| place).collect()
}

fn comments(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| line.trim().is_empty() || line.starts_with('#')).collect()
}

/// The facts one per line, below the existing comments.
fn plain(text: &str, memos: &[String]) -> String {
    comments(text) + &memos.iter().map(|memo| item(memo)).collect::<String>()
}

/// A fact as an item. JSON is YAML, so a fact that is not plain is quoted as JSON.
fn item(memo: &str) -> String {
    let memo = memo.trim();
    let is_word = |c: char| c.is_alphanumeric() || " .,/()+_'\"`=<>!?;-".contains(c);
    let begins_plain = memo.starts_with(|c: char| c.is_alphabetic());
    let is_plain = begins_plain && memo.chars().all(is_word);
    let reads_alike =
        || serde_saphyr::from_str::<Vec<String>>(&format!("- {memo}\n")).is_ok_and(|read| read == [memo]);
    if is_plain && reads_alike() {
        return format!("- {memo}\n");
    }
    format!("- {}\n", serde_json::Value::from(memo))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, changes: &[(Sign, &str)], expected: &str) {
        let changes: Vec<_> = changes
            .iter()
            .map(|(sign, what)| Change { sign: *sign, what: (*what).into(), comment: None, line: 1 })
            .collect();
        let path = Path::new("memos.yaml");
        let after = changed(path, before, &changes.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(after, expected);
        // Applying it twice is the same as once.
        assert_eq!(changed(path, &after, &changes.iter().collect::<Vec<_>>()).unwrap(), after);
    }

    // FILE-11: a list of strings; people's lines are kept.
    #[test]
    fn file_11_memos_come_and_go() {
        use Sign::{Add, Remove};
        check(
            "",
            &[(Add, "Use 'pnpm' for all package management.")],
            "- Use 'pnpm' for all package management.\n",
        );
        check("[]\n", &[(Add, "a")], "- a\n");
        check("# Facts\n[]\n", &[(Add, "a")], "# Facts\n- a\n");
        check(
            "# Facts\n\n- a # why\n# about b\n- b",
            &[(Add, "c")],
            "# Facts\n\n- a # why\n# about b\n- b\n- c\n",
        );
        check("- a\n- b\n", &[(Add, "a")], "- a\n- b\n");
        check("- a\n# kept\n- \"b\"\n- c\n", &[(Remove, "b")], "- a\n# kept\n- c\n");
        check("- a\n- b\n  goes on\n- c\n", &[(Remove, "b goes on")], "- a\n- c\n");
        check("- a\n", &[(Remove, "a")], "[]\n");
        check("- a\n", &[(Remove, "a"), (Add, "b")], "- b\n");
        check("# x\n[a, b]\n", &[(Remove, "a"), (Add, "c")], "# x\n- b\n- c\n");
        check("- a\n", &[(Remove, "unknown")], "- a\n");
        check("", &[(Remove, "unknown")], "");
        // Duplicates, several lines, document markers, CRLF line ends.
        check("- a\n- b\n- 'a'\n", &[(Remove, "a")], "- b\n");
        check("- |\n  a\n\n  b\n- c\n", &[(Remove, "c")], "- |\n  a\n\n  b\n");
        check("---\n- a\n...\n", &[(Add, "b")], "- a\n- b\n");
        check("- a\r\n- b\r\n", &[(Remove, "a"), (Add, "c")], "- b\r\n- c\n");
        for odd in [
            "yes",
            "a: b",
            "# no comment",
            "[x]",
            "null",
            "1.5",
            "it's",
            "\"quoted\"",
            "a # b",
            "- dash",
            "ü: {",
        ] {
            let added = changed(
                Path::new("m"),
                "",
                &[&Change { sign: Add, what: odd.into(), comment: None, line: 1 }],
            );
            assert_eq!(parse(Path::new("m"), &added.unwrap()).unwrap(), [odd]);
        }
        assert!(parse(Path::new("m"), "a: b\n").is_err());
        assert_eq!(parse(Path::new("m"), "# nothing\n").unwrap(), Vec::<String>::new());
    }
}
