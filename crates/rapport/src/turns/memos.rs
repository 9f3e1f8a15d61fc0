//! `memos.yaml`: facts for every session, as a YAML list of strings that people edit too. What they wrote stays as it is,
//! line by line; only what comes and goes is touched.

use std::path::Path;

use rapport_core::{Change, Sign};

use super::{TurnError, replace, text};

/// The facts; none where there is no file.
pub fn read(path: &Path) -> Result<Vec<String>, TurnError> {
    let text = text(path)?.unwrap_or_default();
    parse(path, &text)
}

/// Makes these changes, which may have been made already. Gives whether something was changed.
pub fn apply(path: &Path, changes: &[&Change]) -> Result<bool, TurnError> {
    let before = text(path)?.unwrap_or_default();
    let after = changed(path, &before, changes)?;
    if after == before {
        return Ok(false);
    }
    replace(path, after.as_bytes()).map(|()| true)
}

fn parse(path: &Path, text: &str) -> Result<Vec<String>, TurnError> {
    let parsed: Option<Vec<String>> = serde_saphyr::from_str(text).map_err(|error| {
        let what = format!("it has to be a list of strings: {}", error.without_snippet());
        TurnError::Wrong { path: path.to_owned(), what }
    })?;
    Ok(parsed.unwrap_or_default())
}

fn changed(path: &Path, text: &str, changes: &[&Change]) -> Result<String, TurnError> {
    let mut text = text.to_owned();
    for change in changes {
        let memos = parse(path, &text)?;
        let place = memos.iter().position(|memo| memo.trim() == change.what.trim());
        text = match (change.sign, place) {
            (Sign::Add, None) => with(&text, &memos, &change.what),
            (Sign::Remove, Some(place)) => without(&text, &memos, place),
            (Sign::Add, Some(_)) | (Sign::Remove, None) => text,
        };
    }
    Ok(text)
}

/// The text with one more fact at its end.
fn with(text: &str, memos: &[String], memo: &str) -> String {
    let kept = match (memos.is_empty(), items(text).len() == memos.len()) {
        // An empty list in brackets has no place for an item.
        (true, _) => comments(text),
        (false, true) => text.to_owned(),
        (false, false) => plain(text, memos),
    };
    let newline = if kept.is_empty() || kept.ends_with('\n') { "" } else { "\n" };
    format!("{kept}{newline}{}", item(memo))
}

/// The text without the fact at this place.
fn without(text: &str, memos: &[String], place: usize) -> String {
    let items = items(text);
    if items.len() != memos.len() {
        // Written in another way than one item per line.
        let mut left = memos.to_vec();
        left.remove(place);
        return plain(text, &left);
    }
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let end = (items[place] + 1..lines.len()).find(|line| !is_continued(lines[*line])).unwrap_or(lines.len());
    let left: String = lines[..items[place]].iter().chain(&lines[end..]).copied().collect();
    if memos.len() == 1 { format!("{left}[]\n") } else { left }
}

/// Whether a line belongs to the item before it.
fn is_continued(line: &str) -> bool {
    line.starts_with([' ', '\t']) && !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

/// The lines at which items begin, where each has lines of its own.
fn items(text: &str) -> Vec<usize> {
    let is_item = |line: &str| line.starts_with("- ") || line.trim_end() == "-";
    text.split_inclusive('\n').enumerate().filter(|(_, line)| is_item(line)).map(|(place, _)| place).collect()
}

fn comments(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| line.trim().is_empty() || line.starts_with('#')).collect()
}

/// The facts one per line, below the comments that were there.
fn plain(text: &str, memos: &[String]) -> String {
    comments(text) + &memos.iter().map(|memo| item(memo)).collect::<String>()
}

/// A fact as an item. JSON is YAML, so what is not plain is quoted as JSON.
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
        // Done twice, it is as if it were done once.
        assert_eq!(changed(path, &after, &changes.iter().collect::<Vec<_>>()).unwrap(), after);
    }

    // FILE-11: a list of strings; what people wrote stays.
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
