//! Writes a plan as Markdown, in exactly one way, such that it parses to the same plan.
//!
//! A line end inside a title, a description or a path is written as a space. A file without a final newline says so
//! (`Final Newline`), because a fence cannot.

use std::collections::BTreeMap;
use std::fmt;

use jiff::SignedDuration;

use super::inline::{as_code, as_path, bullet, longest_run, one_line};
use super::lines::{COMMENT, Kind, Lines};
use super::{Action, ActionPlan, Change, Replacement, Sign};

impl fmt::Display for ActionPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}", title(&self.title))?;
        if !self.metadata.is_empty() {
            writeln!(f)?;
        }
        for (key, value) in &self.metadata {
            writeln!(f, "- **{}:** {}", one_line(key), one_line(value))?;
        }
        write!(f, "\n## Rationale\n\n{}", fenced(&self.rationale, "text"))?;
        if let Some(context) = &self.context {
            write!(f, "\n## Active Context\n\n{}", fenced(&changes_as_lines(context, as_path), "text"))?;
        }
        if !self.memos.is_empty() {
            write!(f, "\n## Memos\n\n{}", fenced(&changes_as_lines(&self.memos, fact), "text"))?;
        }
        write!(f, "\n## Action Plan\n")?;
        self.actions.iter().try_for_each(|action| write!(f, "\n{action}"))
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "### `{}`\n\n", self.kind.name())?;
        self.kind.write(f, self.description.as_deref().map(one_line))
    }
}

/// A text in a fence longer than any run of backticks inside. The line end before the closing line belongs to the
/// fence.
#[derive(Clone, Copy, Debug)]
pub struct Fenced<'t> {
    info: &'t str,
    text: &'t str,
    end: &'static str,
}

impl fmt::Display for Fenced<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fenced { info, text, end } = self;
        let fence = "`".repeat((longest_run(text) + 1).max(3));
        write!(f, "{fence}{info}\n{text}{end}{fence}\n")
    }
}

/// A text in a fence; an empty text has no line.
pub fn fenced<'t>(text: &'t str, info: &'t str) -> Fenced<'t> {
    Fenced { info, text, end: if text.is_empty() { "" } else { "\n" } }
}

/// Lines in a fence; an empty text is one empty line.
pub(super) fn fenced_lines<'t>(text: &'t str, info: &'t str) -> Fenced<'t> {
    Fenced { info, text, end: "\n" }
}

/// The title, protected against a trailing `#`, which would close the heading.
fn title(title: &str) -> String {
    let title = one_line(title);
    let open = title.trim_end_matches('#');
    if open.len() < title.len() && (open.is_empty() || open.ends_with([' ', '\t'])) {
        return format!("{title} #");
    }
    title
}

/// Changes, one per line.
pub(crate) fn changes_as_lines(changes: &[Change], what: fn(&str) -> String) -> String {
    let lines = changes.iter().map(|change| {
        let sign = match change.sign {
            Sign::Add => "[+]",
            Sign::Remove => "[-]",
        };
        let comment = change.comment.as_deref().map(|comment| format!(" # {}", one_line(comment)));
        format!("{sign} {}{}", what(&one_line(&change.what)), comment.unwrap_or_default())
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A fact verbatim, or as code if part of it would be parsed as a comment or as code.
pub(crate) fn fact(fact: &str) -> String {
    if fact.contains(" # ") || fact.ends_with(" #") || fact.starts_with('`') {
        return as_code(fact);
    }
    fact.to_owned()
}

pub(super) fn parameter(f: &mut fmt::Formatter<'_>, key: &str, value: Option<String>) -> fmt::Result {
    value.map_or(Ok(()), |value| writeln!(f, "- **{key}:** {value}"))
}

pub(super) fn variables(f: &mut fmt::Formatter<'_>, env: &BTreeMap<String, String>) -> fmt::Result {
    if env.is_empty() {
        return Ok(());
    }
    writeln!(f, "- **env:**")?;
    env.iter().try_for_each(|(name, value)| {
        let value = value.replace('\n', " ");
        writeln!(f, "  - {}", as_code(&format!("{name}={value}")))
    })
}

pub(super) fn replacement(edit: &Replacement, language: &str) -> String {
    let (find, replace) = (fenced(&edit.find, language), fenced(&edit.replace, language));
    format!("#### FIND:\n\n{find}\n#### REPLACE:\n\n{replace}")
}

pub(super) fn duration(duration: SignedDuration) -> String {
    if duration.subsec_nanos() == 0 { format!("{}s", duration.as_secs()) } else { format!("{duration:#}") }
}

/// A message verbatim, or in a fence if part of it would be parsed as something else.
pub(super) fn free(message: &str) -> String {
    let lines = Lines::new(message);
    let plain = !message.is_empty()
        && message == message.trim()
        && !message.contains('\r')
        && !message.starts_with(['-', '*', '+'])
        && bullet(message).is_none()
        && !message.lines().any(|line| line.trim_start().starts_with(COMMENT))
        && (0..lines.len()).all(|at| matches!(lines.kind(at), Kind::Blank | Kind::Text));
    if plain { format!("{message}\n") } else { fenced(message, "message").to_string() }
}

/// The language of a file, for syntax highlighting.
pub(super) fn language(path: &str) -> &'static str {
    match path.rsplit_once('.').map(|(_, ending)| ending) {
        Some("rs") => "rust",
        Some("py") => "python",
        Some("js" | "mjs") => "javascript",
        Some("ts" | "tsx") => "typescript",
        Some("md") => "markdown",
        Some("toml") => "toml",
        Some("yaml" | "yml") => "yaml",
        Some("json") => "json",
        Some("sh") => "shell",
        Some("html") => "html",
        Some("css") => "css",
        Some(_) | None => "text",
    }
}
