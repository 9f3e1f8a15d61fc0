//! The details of a card as lines: what a tool call would do, the preview of an option.

use rapport_core::{LineKind, OpenQuestion, Permission, Purpose, ShownLine};

use super::super::terminal_text;
use super::super::text::{Line, Tone};
use super::prose;

/// The full text of a card: what would be done, or the previews of all options.
pub(crate) fn whole(question: &OpenQuestion) -> Vec<Line> {
    match &question.purpose {
        Purpose::Permission(asked) => lines(asked),
        Purpose::LeavePlanMode { plan } => prose::lines(plan, Tone::Text),
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::Confirm | Purpose::Budget { .. } | Purpose::Idle => {
            let shown =
                question.options.iter().filter_map(|option| Some((option, option.preview.as_deref()?)));
            let lines = shown.flat_map(|(option, preview)| {
                let preview = terminal_text::lines(preview.trim_end())
                    .into_iter()
                    .map(|line| Line::new(Tone::Text, &line).indented(2));
                [Line::new(Tone::Strong, &option.label)].into_iter().chain(preview).chain([Line::empty()])
            });
            lines.collect()
        }
    }
}

/// Everything that would be done.
pub(crate) fn lines(asked: &Permission) -> Vec<Line> {
    asked.lines().iter().map(line).collect()
}

fn line(shown: &ShownLine) -> Line {
    let tone = match shown.mark {
        LineKind::Note | LineKind::Folded => Tone::Dim,
        LineKind::Care => Tone::Care,
        LineKind::Plain => Tone::Text,
        LineKind::Added => Tone::Good,
        LineKind::Removed => Tone::Bad,
    };
    Line::new(tone, shown.mark.sign()).and(tone, &shown.text).hanging(2).indented(2)
}
