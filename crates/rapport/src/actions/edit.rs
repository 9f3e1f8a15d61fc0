//! EDIT: a file is changed as it is now, not as it was when the plan was made: each FIND has to be there exactly once.

use rapport_core::Replacement;

use super::files::{Desk, change};
use super::outcome::Outcome;
use super::project::text;

pub(super) fn run(desk: &mut Desk, n: usize, what: String, path: &str, edits: &[Replacement]) -> Outcome {
    change(desk, n, what, path, |before| {
        let before = before.ok_or_else(|| format!("{path} is not there"))?;
        let before =
            text(before).ok_or_else(|| format!("{path} is not text, and only text can be edited"))?;
        let after = apply(before, edits).map_err(|why| format!("{path}: {why}"))?;
        Ok(after.into_bytes())
    })
}

/// Where lines end in CR LF, a FIND that ends them in LF means the same.
///
/// To be replaced by the core's `apply_edits`, which the check of a plan uses as well.
fn apply(text: &str, edits: &[Replacement]) -> Result<String, String> {
    let mut text = text.to_owned();
    for edit in edits {
        text = apply_one(&text, &edit.find, &edit.replace)
            .map_err(|why| format!("{why} (line {} of the plan)", edit.line))?;
    }
    Ok(text)
}

fn apply_one(text: &str, find: &str, replace: &str) -> Result<String, String> {
    if find.is_empty() {
        return Err("FIND is empty".to_owned());
    }
    let in_crlf = text.contains("\r\n") && !find.contains("\r\n");
    let with_crlf = |part: &str| part.replace("\r\n", "\n").replace('\n', "\r\n");
    let (find, replace) =
        if in_crlf { (with_crlf(find), with_crlf(replace)) } else { (find.to_owned(), replace.to_owned()) };
    match times(text, &find) {
        1 => Ok(text.replacen(&find, &replace, 1)),
        0 if !replace.is_empty() && text.contains(&replace) => {
            Err("FIND is not in the file; REPLACE is, so perhaps this was done already".to_owned())
        }
        0 => Err("FIND is not in the file".to_owned()),
        times => Err(format!("FIND is in the file {times} times; it has to be there exactly once")),
    }
}

/// How often this is in the text, counted so that `aa` is in `aaa` twice.
fn times(text: &str, find: &str) -> usize {
    let step = find.chars().next().map_or(1, char::len_utf8);
    let mut times = 0;
    let mut rest = text;
    while let Some(at) = rest.find(find) {
        times += 1;
        rest = &rest[at + step..];
    }
    times
}
