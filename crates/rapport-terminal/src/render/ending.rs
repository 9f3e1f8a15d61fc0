//! The end of a session: the result, the changes and the cost, or why it stopped and how to resume it.

use rapport_core::{Aim, ChangeStatus, Changes, FileChange, PhaseView, Status, View, WorkCheck};

use super::super::text::{Line, Tone, width};
use super::super::{terminal_text, words};
use super::prose;

/// The number of lines of a failed check's output to show.
const LINES_OF_CHECK: usize = 12;

/// The lines for the end, if the session has ended.
pub(crate) fn lines(view: &View, rounds: usize) -> Option<Vec<Line>> {
    match view.status {
        _ if view.has_failed() => Some(failed(view, rounds)),
        Status::Completed => Some(completed(view, rounds)),
        Status::Failed => Some(failed(view, rounds)),
        Status::Cancelled => Some(cancelled(view)),
        Status::Idle | Status::Started | Status::Running | Status::NeedsInput => None,
    }
}

/// The lines when a person leaves a session that waits for a message.
pub(crate) fn left_at_rest(view: &View) -> Vec<Line> {
    match view.is_lead {
        true => vec![
            Line::empty(),
            Line::new(Tone::Text, "The conversation is kept. Go on with it with:"),
            Line::command("rapport chat"),
        ],
        false => at_rest(view),
    }
}

/// The lines while the session waits for a message: in a conversation the agent's last words, in a task how to
/// continue a stopped agent.
pub(crate) fn at_rest(view: &View) -> Vec<Line> {
    match view.aim {
        Aim::Files => Vec::new(),
        Aim::Chat => view.result.as_deref().map(|words| prose::lines(words, Tone::Text)).unwrap_or_default(),
        Aim::Work | Aim::Progress(_) => vec![
            Line::empty(),
            Line::new(
                Tone::Text,
                "The agent was stopped, and the conversation is kept. Say what to do next with:",
            ),
            Line::command(&format!("rapport say {} WORDS", view.id)),
        ],
    }
}

fn completed(view: &View, rounds: usize) -> Vec<Line> {
    let mut lines = vec![Line::empty(), Line::new(Tone::Good, "✓ ").and(Tone::Strong, "Done")];
    if let Some(result) = view.result.as_deref().filter(|result| !result.trim().is_empty()) {
        lines.push(Line::empty());
        lines.extend(prose::lines(result, Tone::Text));
    }
    lines.push(Line::empty());
    lines.extend(changes(view.changes.as_ref()));
    lines.push(Line::empty());
    if let Some(found) = &view.check {
        lines.extend(check(found));
        lines.push(Line::empty());
    }
    if let Aim::Progress(_) = view.aim {
        lines.extend(tokens(view, rounds));
        return lines;
    }
    lines.push(totals(view, rounds));
    lines.extend(plan(view));
    lines
}

fn failed(view: &View, rounds: usize) -> Vec<Line> {
    let at = match view.phase {
        PhaseView::Clarifying | PhaseView::Working if view.aim == Aim::Files => {
            "while the turn was being planned"
        }
        PhaseView::Clarifying => "while the agent was clarifying the task",
        PhaseView::Reporting if matches!(view.aim, Aim::Progress(_)) => "while the file was being made",
        PhaseView::Confirming => "while the plan waited for confirmation",
        PhaseView::Working | PhaseView::Resting | PhaseView::Reviewing => "while the agent was working",
        PhaseView::Reporting | PhaseView::Ended => "while the work was being reported",
    };
    let reason = view.failure.as_deref().unwrap_or("for an unknown reason");
    let mut lines = vec![
        Line::empty(),
        Line::new(Tone::Bad, "✗ ").and(Tone::Strong, "Failed").and(Tone::Text, &format!(" {at}")).hanging(2),
    ];
    lines.extend(prose::lines(reason, Tone::Text).into_iter().map(|line| line.indented(2)));
    lines.push(Line::empty());
    for answer in &view.undelivered {
        let stored = format!("The answer to {} is stored, and the agent does not have it: ", answer.id);
        lines.push(
            Line::new(Tone::Text, &stored).and(Tone::Good, &terminal_text::line(&answer.answer)).hanging(2),
        );
    }
    lines.push(Line::new(Tone::Text, "Nothing is lost. Continue with:"));
    lines.push(Line::command(&format!("rapport resume {}", view.id)));
    lines.push(Line::empty());
    lines.push(totals(view, rounds));
    lines
}

fn cancelled(view: &View) -> Vec<Line> {
    let mut lines = vec![Line::empty(), Line::new(Tone::Bad, "✗ ").and(Tone::Strong, "Cancelled")];
    lines.extend(plan(view));
    lines
}

fn changes(changes: Option<&Changes>) -> Vec<Line> {
    let Some(changes) = changes else {
        return vec![Line::new(Tone::Dim, "The changes are unknown: the project is not a git repository.")];
    };
    if changes.files.is_empty() && changes.unknown.is_none() {
        return vec![Line::new(Tone::Dim, "No files were changed.")];
    }
    let longest = changes.files.iter().map(|file| width(&file.path)).max().unwrap_or(0).min(56);
    let files = changes.files.iter().map(|file| change(file, longest));
    let unknown = changes.unknown.iter().map(|why| {
        let what = if changes.files.is_empty() { "The changes" } else { "Other changes" };
        Line::new(Tone::Bad, &format!("{what} are unknown: {}", terminal_text::line(why))).hanging(2)
    });
    files.chain(unknown).collect()
}

/// The result of checking the work; if it failed, with the last lines of its output.
pub fn check(check: &WorkCheck) -> Vec<Line> {
    let words = terminal_text::line(&check.words());
    let (mark, tone) = if check.has_passed() { ("✓ ", Tone::Good) } else { ("✗ ", Tone::Bad) };
    let mut lines = vec![Line::new(tone, mark).and(Tone::Text, &words).hanging(2)];
    if !check.has_passed() {
        let output = check.last_lines(LINES_OF_CHECK).map(terminal_text::line);
        lines.extend(output.map(|line| Line::new(Tone::Dim, &line).indented(2)));
    }
    lines
}

fn change(file: &FileChange, longest: usize) -> Line {
    let tone = match file.status {
        ChangeStatus::Added => Tone::Good,
        ChangeStatus::Deleted => Tone::Bad,
        ChangeStatus::Modified | ChangeStatus::Other(_) => Tone::Text,
    };
    let gap = " ".repeat(longest.saturating_sub(width(&file.path)) + 2);
    let number = |sign: &str, lines: Option<u64>| match lines {
        Some(0) | None => String::new(),
        Some(lines) => format!("{sign}{lines}"),
    };
    let line = Line::new(tone, &format!("{:<9} ", file.status)).and_giving(Tone::Text, &file.path);
    let (added, removed) = (number("+", file.added), number("−", file.removed));
    line.and(Tone::Text, &gap)
        .and(Tone::Good, &format!("{added:>5}"))
        .and(Tone::Bad, &format!("{removed:>6}"))
}

fn totals(view: &View, rounds: usize) -> Line {
    let time = view.updated_at.duration_since(view.created_at);
    let mut parts = vec![words::clock(time)];
    if rounds > 0 {
        parts.push(words::count(rounds, "round"));
        parts.push(words::count(view.answers.len(), "answer"));
    }
    parts.extend(words::usage(&view.usage));
    Line::new(Tone::Dim, &parts.join(" · "))
}

/// The tokens of all rounds together, by kind.
fn tokens(view: &View, rounds: usize) -> [Line; 2] {
    let usage = &view.usage;
    let used = [
        ("In", usage.input),
        ("Out", usage.output),
        ("CacheW", usage.cache_write),
        ("CacheR", usage.cache_read),
    ];
    let used = used.map(|(name, number)| format!("{name}: {}", words::tokens(number))).join(" | ");
    let rounds = format!("(Accumulated across {rounds} round(s) of Q&A)");
    [Line::new(Tone::Dim, &format!("Total tokens used: {used}")), Line::new(Tone::Dim, &rounds)]
}

fn plan(view: &View) -> Option<Line> {
    let path = view.plan.as_ref()?.path.as_ref()?;
    Some(Line::new(Tone::Dim, "Plan: ").and(Tone::Dim, path).hanging(6))
}
