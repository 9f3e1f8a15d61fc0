//! The payload: everything an agent is told for one turn, as one Markdown document. Text from outside is in a fence
//! longer than any run of backticks in it, so that it cannot be mistaken for the document's own structure.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::iter;

use crate::action_plan::{as_path, fenced};

const NONE: &str = "None.\n";

/// Everything that an agent is told for one turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// The system prompt. It is not part of the document.
    pub system: String,
    /// The person's message.
    pub message: String,
    /// The system that the agent runs on.
    pub information: Information,
    /// The project's tree, as text.
    pub structure: String,
    /// The memos.
    pub memos: Vec<String>,
    /// The files and pages, in the order they are shown.
    pub files: Vec<ShownSource>,
    /// The report of the previous turn.
    pub previous_report: Option<String>,
}

/// The system that the agent runs on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Information {
    /// The project's directory.
    pub cwd: String,
    /// The operating system.
    pub os: String,
    /// The shell that commands are run with.
    pub shell: String,
}

/// A file or a page that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownSource {
    /// Its path from the project's root, or its address.
    pub path: String,
    /// Why its content is not shown, if it is not.
    pub unshown: Option<Unshown>,
    /// An estimate of its tokens.
    pub tokens: usize,
    /// Its part of the document: the only copy of the file's content.
    part: String,
}

/// Why a file's content is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unshown {
    /// It is not text.
    Binary {
        /// Its length in bytes.
        bytes: u64,
        /// Its type, such as `image/png`.
        kind: String,
    },
    /// It does not exist.
    Missing,
    /// It is too large.
    TooLarge {
        /// Its length in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// Something else, in words.
    Because(String),
}

/// Estimates the number of tokens of a text: a quarter of its bytes, rounded up. This is close for English and code;
/// other scripts need fewer, so the estimate tends to be too high.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

impl ShownSource {
    /// A file whose whole content is shown.
    pub fn text(path: impl Into<String>, text: &str) -> ShownSource {
        let (path, tokens) = (path.into(), estimate_tokens(text));
        let cut = if text.is_empty() || text.ends_with('\n') { "" } else { ", no line end at the end" };
        let lines = fenced(text.strip_suffix('\n').unwrap_or(text), "");
        let mut part = String::with_capacity(text.len() + 2 * path.len() + 128);
        // Writing to a string cannot fail.
        let _ = write!(part, "{} (about {tokens} tokens{cut})\n\n{lines}", Heading(&path));
        ShownSource { path, unshown: None, tokens, part }
    }

    /// A file that is only named.
    pub fn named(path: impl Into<String>, unshown: Unshown) -> ShownSource {
        let path = path.into();
        let part = format!("{} (not shown: {unshown})\n", Heading(&path));
        ShownSource { path, unshown: Some(unshown), tokens: 0, part }
    }
}

/// The heading of a file's part of the document.
struct Heading<'p>(&'p str);

impl fmt::Display for Heading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if super::is_address(self.0) { "URL" } else { "File" };
        write!(f, "\n---\n\n**{kind}:** {}", as_path(&unbroken(self.0)))
    }
}

impl fmt::Display for Unshown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unshown::Binary { bytes, kind } => write!(f, "{kind}, {bytes} bytes"),
            Unshown::Missing => f.write_str("it does not exist"),
            Unshown::TooLarge { bytes, limit } => {
                write!(f, "{bytes} bytes, more than the limit of {limit}")
            }
            Unshown::Because(why) => f.write_str(why),
        }
    }
}

impl Payload {
    /// Estimates the number of tokens of the whole payload.
    pub fn tokens(&self) -> usize {
        let document: usize = self.pieces().iter().map(|piece| piece.len()).sum();
        estimate_tokens(&self.system) + document.div_ceil(4)
    }

    /// The document, without the system prompt.
    pub fn document(&self) -> String {
        self.pieces().concat()
    }

    /// The document in pieces, so that the content of files is not copied.
    pub(super) fn pieces(&self) -> Vec<Cow<'_, str>> {
        let (mut before, mut after) = (String::new(), String::new());
        // Writing to a string cannot fail.
        let _ = self.before(&mut before).and_then(|()| self.after(&mut after));
        let parts = self.files.iter().map(|file| Cow::Borrowed(file.part.as_str()));
        iter::once(before.into()).chain(parts).chain(iter::once(after.into())).collect()
    }

    /// The document up to the files.
    fn before(&self, out: &mut String) -> fmt::Result {
        let Information { cwd, os, shell } = &self.information;
        let information = format!("CWD: {cwd}\nOS: {os}\nShell: {shell}");
        writeln!(out, "# Agent Invocation Payload")?;
        write!(out, "\n## 1. System Information\n\n{}", fenced(&information, "text"))?;
        write!(out, "\n## 2. Project Structure\n\n{}", fenced(self.structure.trim_end(), "text"))?;
        write!(out, "\n## 3. Memos\n\n")?;
        memos(out, &self.memos)?;
        write!(out, "\n## 4. Active Context\n\n")?;
        list(out, &self.files)?;
        write!(out, "\n## 5. Resource Contents\n")?;
        if self.files.is_empty() { write!(out, "\n{NONE}") } else { Ok(()) }
    }

    /// The document after the files.
    fn after(&self, out: &mut String) -> fmt::Result {
        let mut number = 6;
        if let Some(report) = &self.previous_report {
            write!(out, "\n## {number}. Previous Report\n\n{}", fenced(report.trim_end(), "markdown"))?;
            number += 1;
        }
        write!(out, "\n## {number}. Message\n\n{}", fenced(self.message.trim_end(), "markdown"))
    }
}

fn memos(out: &mut String, memos: &[String]) -> fmt::Result {
    if memos.is_empty() {
        return out.write_str(NONE);
    }
    let lines: Vec<_> = memos.iter().map(|memo| format!("- {}", memo.replace('\n', "\n  "))).collect();
    write!(out, "{}", fenced(&lines.join("\n"), "text"))
}

fn list(out: &mut String, files: &[ShownSource]) -> fmt::Result {
    if files.is_empty() {
        return out.write_str(NONE);
    }
    let total: usize = files.iter().map(|file| file.tokens).sum();
    let paths: Vec<_> = files.iter().map(|file| unbroken(&file.path)).collect();
    write!(out, "{}", fenced(&paths.join("\n"), "text"))?;
    write!(out, "\n{} in all, about {total} tokens.\n", files.len())
}

/// A path on one line, whatever it contains.
fn unbroken(path: &str) -> Cow<'_, str> {
    let breaks = ['\n', '\r'];
    if path.contains(breaks) { path.replace(breaks, " ").into() } else { path.into() }
}
