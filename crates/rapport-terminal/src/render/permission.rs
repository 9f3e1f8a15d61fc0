//! Everything that a tool call would do, as lines.

use rapport_core::{Mark, Permission, ShownLine};

use super::super::text::{Line, Tone};

/// All of it.
pub(crate) fn lines(asked: &Permission) -> Vec<Line> {
    asked.lines().iter().map(line).collect()
}

fn line(shown: &ShownLine) -> Line {
    let tone = match shown.mark {
        Mark::Note | Mark::Folded => Tone::Dim,
        Mark::Care => Tone::Care,
        Mark::Plain => Tone::Text,
        Mark::Added => Tone::Good,
        Mark::Removed => Tone::Bad,
    };
    Line::new(tone, shown.mark.sign()).and(tone, &shown.text).hanging(2).indented(2)
}
