//! The summary of a plan: the changes, the number of actions of each kind, and the question.

use rapport_core::{ActionPlan, Change, Sign};

use super::super::terminal_text;
use super::super::text::{Line, Tone, width};
use rapport_core::review as outline;

/// The width of the rules, and the column limit for aligned comments.
const RULE: usize = 68;
const COMMENTS: usize = 56;

/// The question below the summary.
pub const PROMPT: &str = "Execute this plan? (a)pprove all / (m)odify / (s)kip / (q)uit ›";

/// A summary of a plan and its problems, without the question, in this many columns.
pub fn summary(plan: &ActionPlan, problems: &[String], columns: usize) -> Vec<Line> {
    headed("Reviewing Plan", plan, problems, columns)
}

/// The same below a heading of its own.
pub(super) fn headed(heading: &str, plan: &ActionPlan, problems: &[String], columns: usize) -> Vec<Line> {
    let rule = || Line::new(Tone::Dim, &"-".repeat(RULE.min(columns)));
    let title = Line::new(Tone::Here, "▶ ").and(Tone::Strong, &format!("{heading}: \"{}\"", plan.title));
    let mut lines = vec![title.hanging(2), rule(), Line::empty()];
    let context = plan.context.as_deref().unwrap_or_default();
    for (heading, changes) in [("Active Context:", context), ("memos.yaml:", plan.memos.as_slice())] {
        if !changes.is_empty() {
            lines.push(Line::new(Tone::Strong, heading).indented(1));
            lines.extend(changed(changes));
            lines.push(Line::empty());
        }
    }
    lines.push(Line::new(Tone::Strong, "Action Plan:").indented(1));
    lines.extend(outline::counts(&plan.actions).iter().map(|counted| entry("- ", Tone::Text, counted)));
    lines.extend(outline::warnings(&plan.actions).iter().map(|warned| entry("! ", Tone::Bad, warned)));
    if plan.actions.is_empty() {
        lines.push(entry("- ", Tone::Dim, "nothing to do"));
    }
    if !problems.is_empty() {
        lines.push(Line::empty());
        lines.push(Line::new(Tone::Strong, "Problems:").indented(1));
        lines.extend(problems.iter().map(|problem| entry("✗ ", Tone::Bad, problem)));
    }
    lines.extend([Line::empty(), rule()]);
    lines
}

pub(super) fn prompt() -> Line {
    Line::new(Tone::Strong, PROMPT)
}

fn entry(sign: &str, tone: Tone, text: &str) -> Line {
    Line::new(tone, sign).and(tone, text).hanging(2).indented(2)
}

/// Aligned changes, with aligned comments unless one is too long.
fn changed(changes: &[Change]) -> Vec<Line> {
    let shown_width = |change: &Change| width(&terminal_text::line(&change.what));
    let widths = changes.iter().map(shown_width).filter(|width| *width <= COMMENTS);
    let column = widths.max().unwrap_or(0);
    let line = |change: &Change| {
        let tone = match change.sign {
            Sign::Add => Tone::Good,
            Sign::Remove => Tone::Bad,
        };
        let line = Line::new(tone, &format!("{:<11} ", outline::change_label(change.sign)));
        let line = line.and(Tone::Text, &change.what).hanging(12);
        let gap = " ".repeat(column.saturating_sub(shown_width(change)) + 1);
        match &change.comment {
            Some(comment) => line.and(Tone::Dim, &format!("{gap}# {comment}")).indented(2),
            None => line.indented(2),
        }
    };
    changes.iter().map(line).collect()
}
