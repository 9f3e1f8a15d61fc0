//! The payload: everything an agent is told for one turn, as one Markdown document. Whatever is from outside is in a fence
//! longer than any run of backticks in it, so that nothing in it can be taken for a part of the document.

use std::fmt::Write as _;

use crate::action_plan::{as_path, fenced};

/// What an agent is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Payload {
    /// The system prompt. It is not part of the document.
    pub system: String,
    /// What the person says.
    pub message: String,
    /// Where it all is.
    pub information: Information,
    /// The project's tree, as text.
    pub structure: String,
    /// What is known for good.
    pub memos: Vec<String>,
    /// The files and pages, in the order they are shown.
    pub files: Vec<Shown>,
    /// What was done in the turn before.
    pub previous_report: Option<String>,
}

/// About the system.
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
pub struct Shown {
    /// Its path from the project's root, or its address.
    pub path: String,
    /// What is in it.
    pub content: Shows,
    /// About how much of the model's room it takes.
    pub tokens: usize,
}

/// What is shown of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shows {
    /// All of it.
    Text(String),
    /// That it is not text.
    Binary {
        /// How long it is.
        bytes: u64,
        /// What it is, such as `image/png`.
        kind: String,
    },
    /// That it is not there.
    Missing,
    /// That it is too large.
    TooLarge {
        /// How long it is.
        bytes: u64,
        /// How long it may be.
        limit: u64,
    },
}

/// About how many tokens a text takes: a quarter of its bytes, rounded up. Code in English comes close; other scripts take
/// fewer than their bytes say, so the estimate is rather too high than too low.
pub fn estimate_tokens(text: &str) -> usize {
    text.len().div_ceil(4)
}

impl Shown {
    /// A file that is shown, with its size estimated.
    pub fn new(path: impl Into<String>, content: Shows) -> Shown {
        let tokens = if let Shows::Text(text) = &content { estimate_tokens(text) } else { 0 };
        Shown { path: path.into(), content, tokens }
    }
}

impl Payload {
    /// About how many tokens the agent is told in all.
    pub fn tokens(&self) -> usize {
        estimate_tokens(&self.system) + estimate_tokens(&self.document())
    }

    /// The document, without the system prompt.
    pub fn document(&self) -> String {
        let Information { cwd, os, shell } = &self.information;
        let mut sections = vec![
            ("System Information", fenced(&format!("CWD: {cwd}\nOS: {os}\nShell: {shell}"), "text")),
            ("Project Structure", fenced(self.structure.trim_end(), "text")),
            ("Memos", memos(&self.memos)),
            ("Active Context", self.list()),
            ("Resource Contents", self.resources()),
        ];
        if let Some(report) = &self.previous_report {
            sections.push(("Previous Report", fenced(report.trim_end(), "markdown")));
        }
        sections.push(("Message", fenced(self.message.trim_end(), "markdown")));
        let mut document = "# Agent Invocation Payload\n".to_owned();
        for (number, (name, body)) in sections.iter().enumerate() {
            let body = if body.is_empty() { "None." } else { body.trim_end() };
            document.reserve(body.len() + name.len() + 16);
            let _ = write!(document, "\n## {}. {name}\n\n{body}\n", number + 1);
        }
        document
    }

    fn resources(&self) -> String {
        let mut resources = String::with_capacity(self.files.iter().map(|file| file.tokens * 4 + 200).sum());
        for file in &self.files {
            resources.push_str(&resource(file));
        }
        resources
    }

    fn list(&self) -> String {
        if self.files.is_empty() {
            return String::new();
        }
        let total: usize = self.files.iter().map(|file| file.tokens).sum();
        let paths: Vec<_> = self.files.iter().map(|file| file.path.replace(['\n', '\r'], " ")).collect();
        format!("{}\n{} in all, about {total} tokens.\n", fenced(&paths.join("\n"), "text"), self.files.len())
    }
}

fn memos(memos: &[String]) -> String {
    if memos.is_empty() {
        return String::new();
    }
    let lines: Vec<_> = memos.iter().map(|memo| format!("- {}", memo.replace('\n', "\n  "))).collect();
    fenced(&lines.join("\n"), "text")
}

fn resource(file: &Shown) -> String {
    let kind = if file.path.contains("://") { "URL" } else { "File" };
    let path = as_path(&file.path.replace(['\n', '\r'], " "));
    let head = |about: String| format!("---\n\n**{kind}:** {path} ({about})\n");
    let body = match &file.content {
        Shows::Text(text) => {
            let cut = if text.is_empty() || text.ends_with('\n') { "" } else { ", no line end at the end" };
            let about = head(format!("about {} tokens{cut}", file.tokens));
            let text = text.strip_suffix('\n').unwrap_or(text);
            format!("{about}\n{}", fenced(text, ""))
        }
        Shows::Binary { bytes, kind } => head(format!("not shown: {kind}, {bytes} bytes")),
        Shows::Missing => head("not shown: it is not there".to_owned()),
        Shows::TooLarge { bytes, limit } => {
            head(format!("not shown: {bytes} bytes, more than the {limit} that are shown of a file"))
        }
    };
    format!("{body}\n")
}
