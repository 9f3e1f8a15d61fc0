//! READ: reads a file of the project or a page, up to a limit.

mod page;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use rapport_core::Resource;

use crate::actions::blocking;
use crate::actions::outcome::{Details, Outcome};
use crate::actions::project::{PathError, resolve, size};

/// The maximum number of lines to show.
const MOST_LINES: usize = 1000;
/// The maximum number of bytes to show.
const MOST_BYTES: usize = 256 * 1024;

/// Magic numbers of binary formats.
const BEGINNINGS: [(&[u8], &str); 8] = [
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\0", "a SQLite database"),
];

pub(super) async fn run(root: &Path, resource: &Resource) -> Outcome {
    let read = match resource {
        Resource::Url(url) => page::fetch(url).await,
        Resource::File(path) => {
            let (root, path) = (root.to_owned(), path.clone());
            blocking(move || file(&root, &path)).await
        }
    };
    match read {
        Ok(details) => Outcome::Done { details },
        Err(why) => Outcome::failed(why),
    }
}

/// The text that would be read, or why it cannot be.
pub async fn look(root: &Path, resource: &Resource) -> Result<String, String> {
    match run(root, resource).await {
        Outcome::Done { details: Details::Text { text, note: None } } => Ok(text),
        Outcome::Done { details: Details::Text { text, note: Some(note) } } if text.is_empty() => Err(note),
        Outcome::Done { details: Details::Text { text, note: Some(note) } } => {
            Ok(format!("{text}\n({note})\n"))
        }
        Outcome::Failed { why, .. } => Err(why),
        Outcome::Done { .. } | Outcome::Skipped { .. } => Err("there is nothing to read".to_owned()),
    }
}

fn file(root: &Path, path: &str) -> Result<Details, String> {
    let words = |error: PathError| error.to_string();
    let resolved = resolve(root, path).map_err(words)?;
    let size = size(path, &resolved).map_err(words)?.ok_or_else(|| format!("{path} does not exist"))?;
    let mut bytes = Vec::new();
    File::open(&resolved.real)
        .and_then(|file| file.take(MOST_BYTES as u64 + 4).read_to_end(&mut bytes))
        .map_err(|error| words(PathError::Io { path: resolved.real.clone(), error }))?;
    Ok(shown(&bytes, size))
}

/// The part to show of a file of this size, given its beginning.
fn shown(beginning: &[u8], size: u64) -> Details {
    let Some(text) = text_of(beginning, size) else {
        let what = BEGINNINGS.iter().find(|(bytes, _)| beginning.starts_with(bytes)).map(|(_, what)| *what);
        let what = what.unwrap_or("binary data");
        return Details::Text {
            text: String::new(),
            note: Some(format!("not text: {what} of {size} bytes")),
        };
    };
    let in_bytes = &text[..text.floor_char_boundary(MOST_BYTES)];
    let in_lines = in_bytes.split_inclusive('\n').take(MOST_LINES).map(str::len).sum();
    let text = in_bytes[..in_lines].to_owned();
    let note = ((text.len() as u64) < size)
        .then(|| format!("the first {} lines, {} of {size} bytes", text.lines().count(), text.len()));
    Details::Text { text, note }
}

/// The beginning as text; `None` if it is binary. A truncated last character is dropped.
fn text_of(beginning: &[u8], size: u64) -> Option<&str> {
    let text = match str::from_utf8(beginning) {
        Ok(text) => text,
        Err(error) if error.error_len().is_none() && (beginning.len() as u64) < size => {
            str::from_utf8(&beginning[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    (!text.contains('\0')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_much_is_shown_and_the_rest_is_told() {
        let check = |content: &[u8], lines: usize, bytes: usize, told: Option<&str>| {
            let beginning = &content[..content.len().min(MOST_BYTES + 4)];
            let Details::Text { text, note } = shown(beginning, content.len() as u64) else { panic!() };
            assert_eq!((text.lines().count(), text.len(), note.as_deref()), (lines, bytes, told));
        };
        check(b"one\ntwo\n", 2, 8, None);
        check(b"", 0, 0, None);
        check(&b"x\n".repeat(1500), 1000, 2000, Some("the first 1000 lines, 2000 of 3000 bytes"));
        check("€".repeat(100_000).as_bytes(), 1, 262_143, Some("the first 1 lines, 262143 of 300000 bytes"));
        check(b"\x89PNG\r\n\x1a\n\0", 0, 0, Some("not text: a PNG image of 9 bytes"));
        check(b"caf\xe9", 0, 0, Some("not text: binary data of 4 bytes"));
    }
}
