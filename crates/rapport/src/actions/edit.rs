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
    for (index, edit) in edits.iter().enumerate() {
        text = apply_one(&text, &edit.find, &edit.replace)
            .map_err(|why| format!("edit {} (plan.md:{}): {why}", index + 1, edit.line))?;
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
    match lines(text, &find).as_slice() {
        [] => Err("FIND is not there".to_owned()),
        [_] => Ok(text.replacen(&find, &replace, 1)),
        several => Err(format!("FIND is there {} times, on lines {}", several.len(), several.join(", "))),
    }
}

/// The lines on which this is in the text, counted so that `aa` is in `aaa` twice.
fn lines(text: &str, find: &str) -> Vec<String> {
    let step = find.chars().next().map_or(1, char::len_utf8);
    let mut lines = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(find) {
        lines.push((text[..from + at].matches('\n').count() + 1).to_string());
        from += at + step;
    }
    lines
}
