//! Makes a preview for this terminal: reads what the core needs for it, and lays it out as lines.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rapport_core::review::{self, Checks, PreviewKind};
use rapport_core::{ActionPlan, Resource};

use super::super::terminal_text;
use super::super::text::{Line, Tone};
use super::checklist::Node;
use super::diff;

/// Reads a file or a page: its text, or why that failed.
pub type Fetch =
    Arc<dyn Fn(Resource) -> Pin<Box<dyn Future<Output = Result<String, String>> + Send>> + Send + Sync>;

/// How previews are made and shown.
#[derive(Clone)]
pub struct Previewer {
    /// The `preview_command` of the settings, as words. Without it, `code` if that is on the `PATH`, otherwise this
    /// terminal.
    pub command: Option<Vec<String>>,
    /// Reads what a preview needs.
    pub fetch: Fetch,
}

/// The preview of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    pub title: String,
    /// Its file name, with an extension by which editors recognise the content.
    pub file_name: String,
    /// The content for an editor.
    pub text: String,
    /// The content for this terminal.
    pub lines: Vec<Line>,
}

impl Preview {
    /// The preview of a page that the person has not asked to fetch yet.
    pub(super) fn unread(address: &str) -> Self {
        let lines = vec![Line::new(Tone::Dim, "Press p to fetch this page and show it.")];
        Self { title: address.to_owned(), file_name: String::new(), text: String::new(), lines }
    }
}

/// Makes the preview of an item, given the check marks.
pub async fn preview(plan: &ActionPlan, checks: &Checks, node: Node, previewer: &Previewer) -> Preview {
    let read = match review::needed(plan, checks, node.group, node.item) {
        Some(resource) => Some((previewer.fetch)(resource).await),
        None => None,
    };
    let review::Preview { title, file_name, text, shown } =
        review::preview(plan, checks, node.group, node.item, read);
    let lines = match &shown {
        PreviewKind::Text => {
            terminal_text::lines(&text).iter().map(|line| Line::new(Tone::Text, line)).collect()
        }
        PreviewKind::File => numbered(&text),
        PreviewKind::Change { old, new } => diff::lines(old, new),
        PreviewKind::Edits { why, edits } => {
            let pairs = edits.iter().flat_map(|edit| {
                let place = Line::new(Tone::Here, &format!("@@ line {} of the plan @@", edit.line));
                std::iter::once(place).chain(diff::lines(&edit.find, &edit.replace))
            });
            [Line::new(Tone::Care, why), Line::empty()].into_iter().chain(pairs).collect()
        }
    };
    Preview { title, file_name, text, lines }
}

/// A file's content, with numbered lines.
fn numbered(text: &str) -> Vec<Line> {
    let numbered = terminal_text::lines(text.strip_suffix('\n').unwrap_or(text));
    let digits = numbered.len().to_string().len().max(3);
    let line = |(number, line): (usize, &String)| {
        let number = format!("{number:>digits$}  ");
        Line::new(Tone::Dim, &number).and(Tone::Text, line).hanging(digits + 2)
    };
    (1..).zip(&numbered).map(line).collect()
}

impl fmt::Debug for Previewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Previewer").field("command", &self.command).finish_non_exhaustive()
    }
}
