//! Finds where a fence ends.
//!
//! As in CommonMark, a fence ends at the first bare line of as many backticks (or tildes), unless there is a fence of
//! that length inside. Then it ends where the inner fences are closed and the plan continues. Where that is ambiguous
//! it is an error, because a wrong guess would cut a file short.

use super::error::PlanError;
use super::inline::marker;
use super::kinds::{KindRow, ROWS};
use super::lines::{Fence, Kind, Lines, is_bold_action, is_lost_action};

/// A fenced block.
pub(super) struct Block<'t> {
    /// The index of its first line.
    pub(super) open: usize,
    /// The index of its last line.
    pub(super) close: usize,
    pub(super) info: &'t str,
    /// Every byte between the two, less the indentation of the first line.
    pub(super) content: String,
}

/// What may come after a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FencePosition {
    /// The next action.
    Alone,
    /// The next action, or another block.
    Among,
    /// Another marker, or the next action.
    Marked,
    /// Any text.
    Free,
}

impl Block<'_> {
    /// The content without the line end before the closing line, which belongs to the fence.
    pub(super) fn text(&self) -> &str {
        self.content.strip_suffix('\n').unwrap_or(&self.content)
    }
}

/// The block that opens at a line.
pub(super) fn block<'t>(
    lines: &Lines<'t>,
    open: usize,
    fence: Fence<'t>,
    position: FencePosition,
) -> Result<Block<'t>, PlanError> {
    let close = end(lines, open, fence, position).ok_or_else(|| {
        let runs_on = |close: usize| {
            let marked = || {
                position == FencePosition::Marked
                    && (open + 1..close).any(|at| marker(lines.line(at)).is_some())
            };
            close > lines.boundary_after(open) || marked()
        };
        let first = lines.bare_after(open, fence).filter(|close| !runs_on(*close));
        first.map_or_else(|| unclosed(open, fence), |close| unclear(lines, open, fence, close, position))
    })?;
    Ok(Block { open, close, info: fence.info, content: content(lines, open, close) })
}

/// Whether a bare fence opens nothing, because the plan continues right after it.
pub(super) fn is_stray(lines: &Lines<'_>, at: usize, fence: Fence<'_>) -> bool {
    fence.info.is_empty() && lines.is_boundary(lines.solid(at + 1))
}

/// The same within free text, where a fence may contain an action as an example.
pub(super) fn is_stray_in_text(lines: &Lines<'_>, at: usize, fence: Fence<'_>) -> bool {
    let shows = lines.solid(at + 1) == at + 1 && lines.may_close(at, fence);
    is_stray(lines, at, fence) && !shows
}

/// The line after a block whose fence is longer than any inside.
pub(crate) fn skip_block(lines: &Lines<'_>, open: usize, fence: Fence<'_>) -> usize {
    lines.bare_after(open, fence).unwrap_or(open) + 1
}

pub(super) fn unclosed(open: usize, fence: Fence<'_>) -> PlanError {
    let run = run(fence);
    PlanError::new(
        open,
        format!("the fence {run} that opens here is never closed"),
        format!(
            "Close it with a line that is {run} and nothing else; if there are fences inside, use a longer fence outside."
        ),
    )
}

fn unclear(
    lines: &Lines<'_>,
    open: usize,
    fence: Fence<'_>,
    close: usize,
    position: FencePosition,
) -> PlanError {
    let run = run(fence);
    let (line, longer) = (close + 1, "If there are fences inside, use a longer fence outside");
    let next = lines.solid(close + 1);
    if let Kind::Heading { level: 3, text } = lines.kind(next) {
        let names = ROWS.map(KindRow::name).join(", ");
        let hint =
            format!("The actions are {names}. If it belongs to the fence above, make that fence longer.");
        return PlanError::new(next, format!("{} is not an action", text.trim()), hint);
    }
    PlanError::new(
        open,
        format!(
            "it is not clear where the fence {run} that opens here ends: line {line} closes it, and more follows"
        ),
        match position {
            FencePosition::Marked => {
                format!("{longer}; if not, write `#### FIND:` or `#### REPLACE:` above each.")
            }
            FencePosition::Alone | FencePosition::Among | FencePosition::Free => {
                format!("{longer}; if not, leave out what comes between this and the next action.")
            }
        },
    )
}

fn run(fence: Fence<'_>) -> String {
    char::from(fence.mark).to_string().repeat(fence.length)
}

fn end(lines: &Lines<'_>, open: usize, fence: Fence<'_>, position: FencePosition) -> Option<usize> {
    if !lines.may_close(open, fence) {
        return junk_end(lines, open, fence, position);
    }
    let mut holds_fences = false;
    let mut close = None;
    for (at, other) in rivals(lines, open, fence) {
        if other.info.is_empty() {
            close = Some(at);
            break;
        }
        holds_fences = true;
    }
    let Some(close) = close else { return junk_end(lines, open, fence, position) };
    if holds_fences {
        return nested_end(lines, open, fence, position).or_else(|| junk_end(lines, open, fence, position));
    }
    if position == FencePosition::Free || goes_on(lines, close, position) {
        return Some(close);
    }
    let document = matches!(fence.info, "markdown" | "md");
    let paired = if document { paired_end(lines, open, fence, position) } else { None };
    paired.or_else(|| {
        (lines.boundary_after(open) > close && !is_cut_short(lines, close, position)).then_some(close)
    })
}

/// Whether words come after a block, and then more fences: then it may have been closed by a line that is part of it.
fn is_cut_short(lines: &Lines<'_>, close: usize, position: FencePosition) -> bool {
    let boundary = lines.boundary_after(close);
    let Some((fence, _)) = lines.fences_after(close).next().filter(|(at, _)| *at < boundary) else {
        return false;
    };
    let marked =
        position == FencePosition::Marked && (close + 1..fence).any(|at| marker(lines.line(at)).is_some());
    lines.solid(close + 1) < fence && !marked
}

/// Whether a fence in a message runs into the next action. A fence may also show an action as an example: then it
/// begins with the action, is longer than its fences, or holds the whole message.
pub(super) fn runs_over(lines: &Lines<'_>, block: &Block<'_>, fence: Fence<'_>) -> bool {
    let boundary = lines.boundary_after(block.open);
    fence.length == 3 && fence.info != "message" && boundary < block.close && boundary != block.open + 1
}

/// The lines that could close the fence, or open one as long inside it.
fn rivals<'t>(lines: &Lines<'t>, open: usize, fence: Fence<'t>) -> impl Iterator<Item = (usize, Fence<'t>)> {
    lines.fences_after(open).filter(move |(_, other)| {
        other.mark == fence.mark && other.length >= fence.length && other.indent <= fence.indent + 3
    })
}

/// Finds the end of a fence whose inner fences have a language: each of those is closed by the next bare one.
fn nested_end(lines: &Lines<'_>, open: usize, fence: Fence<'_>, position: FencePosition) -> Option<usize> {
    let boundary = lines.boundary_after(open);
    let mut depth = 0_usize;
    for (at, other) in rivals(lines, open, fence).take_while(|(at, _)| *at < boundary) {
        match (other.info.is_empty(), depth) {
            (false, _) => depth += 1,
            (true, 0) => {
                return (position == FencePosition::Free || goes_on(lines, at, position)).then_some(at);
            }
            (true, _) => depth -= 1,
        }
    }
    None
}

/// Finds the end of a document whose fences are all bare: they come in pairs, and the last one before the plan
/// continues closes the document.
fn paired_end(lines: &Lines<'_>, open: usize, fence: Fence<'_>, position: FencePosition) -> Option<usize> {
    let boundary = lines.boundary_after(open);
    let (mut count, mut last) = (0_usize, None);
    for (at, other) in rivals(lines, open, fence).take_while(|(at, _)| *at < boundary) {
        if !other.info.is_empty() {
            return None;
        }
        (count, last) = (count + 1, Some(at));
    }
    last.filter(|at| count % 2 == 1 && goes_on(lines, *at, position))
}

/// Finds the end of a long fence whose closing line has text after it.
fn junk_end(lines: &Lines<'_>, open: usize, fence: Fence<'_>, position: FencePosition) -> Option<usize> {
    let boundary = lines.boundary_after(open);
    let mut rivals = rivals(lines, open, fence).take_while(|(at, _)| *at < boundary).map(|(at, _)| at);
    if fence.length < 4 {
        return None;
    }
    rivals.find(|at| lines.is_boundary(lines.solid(at + 1)) || goes_on(lines, *at, position))
}

/// Whether the text after a line is something that may follow a block.
fn goes_on(lines: &Lines<'_>, close: usize, position: FencePosition) -> bool {
    let next = lines.solid(close + 1);
    if lines.is_boundary(next) {
        return true;
    }
    match (lines.kind(next), position) {
        (Kind::Fence(fence), _) if is_stray(lines, next, fence) => true,
        (Kind::Fence(_), FencePosition::Among) => true,
        (Kind::Heading { level, text }, _) if is_lost_action(level, text) => true,
        (Kind::Text, _) if is_bold_action(lines.line(next)) => true,
        (Kind::Heading { .. } | Kind::Text, FencePosition::Marked) => marker(lines.line(next)).is_some(),
        _ => false,
    }
}

/// The lines of a block without the indentation of its first line; a line with less indentation loses all of it.
fn content(lines: &Lines<'_>, open: usize, close: usize) -> String {
    let raw = lines.slice(open + 1, close);
    let first = lines.line(open);
    let lead = first.get(..first.len() - first.trim_start_matches([' ', '\t']).len()).unwrap_or_default();
    if lead.is_empty() {
        return raw.to_owned();
    }
    let unindented = |line: &'_ str| {
        let shared = line.bytes().zip(lead.bytes()).take_while(|(one, other)| one == other).count();
        line.get(shared..).unwrap_or_default().to_owned()
    };
    raw.split_inclusive('\n').map(unindented).collect()
}
