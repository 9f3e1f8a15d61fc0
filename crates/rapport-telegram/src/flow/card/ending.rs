//! The messages while an agent works, and when it has ended.

use jiff::SignedDuration;
use rapport_core::{
    Changes, Created, FileChange, Presenter, QuestionId, SessionId, View, WorkCheck, visible,
};

use super::{Card, DIVIDER, TITLE, cut, named, short};
use crate::flow::button::{Button, Tag};
use crate::flow::chat_state::FAILED;
use crate::text::Text;

/// The maximum number of files to name.
const MOST_FILES: usize = 15;
/// The number of lines of a failed check's output to show.
const LINES_OF_CHECK: usize = 8;
/// The maximum length of that output.
const LONGEST_OUTPUT: usize = 800;
/// The maximum length of a reason.
const LONGEST_REASON: usize = 1500;
/// The maximum length of an agent's text while it works.
const LONGEST_WORDS: usize = 600;

/// The message when a planner could not make a single question.
pub fn no_questions(reason: &str) -> Card {
    let text = Text::new().plain("❌ Failed to generate questions. Please try /plan again.");
    Card::plain(text.plain("\n\n").italic(&cut(reason, LONGEST_REASON)))
}

/// The message when the agent could not be started.
pub fn failed_start(id: &SessionId, seq: u64, presenter: &Presenter, reason: &str) -> Card {
    let agent = agent(presenter.session().created());
    let text = Text::new().plain(&format!("❌ {agent} failed to start. Your plan is saved."));
    let text = text.plain("\n\n").italic(&cut(reason, LONGEST_REASON));
    Card { rows: again(id, seq), ..Card::plain(text) }
}

/// The agent of a session, as the subject of a sentence.
fn agent(created: &Created) -> String {
    let name = created.agent.as_ref().map(|agent| visible::line(&agent.name)).unwrap_or_default();
    let mut rest = name.chars();
    // Logs of older versions do not name it.
    let Some(first) = rest.next() else { return "The agent".into() };
    first.to_uppercase().chain(rest).collect()
}

/// The message when the session has failed.
pub fn failed(id: &SessionId, seq: u64, presenter: &Presenter, reason: &str) -> Card {
    let task = short(&presenter.session().created().task, TITLE);
    let text = Text::new().plain("❌ ").bold("Cannot continue").plain("\n").italic(&task);
    let text = text.plain(&format!("\n{DIVIDER}\n{}", cut(reason, LONGEST_REASON)));
    Card { rows: again(id, seq), ..Card::plain(text) }
}

/// The message when somebody stopped the agent.
pub fn stopped(id: &SessionId, seq: u64, presenter: &Presenter) -> Card {
    let task = short(&presenter.session().created().task, TITLE);
    let text = Text::new().plain("⏹ ").bold("Stopped").plain("\n").italic(&task);
    let text = text.plain("\n\nNothing is lost. Write what to do now, and the agent continues with that.");
    let tag = Tag::of(id, &QuestionId::new(FAILED), seq);
    Card { rows: vec![vec![named("▶️ Go on", Button::Again, &tag)]], ..Card::plain(text) }
}

fn again(id: &SessionId, seq: u64) -> Vec<Vec<(String, String)>> {
    let tag = Tag::of(id, &QuestionId::new(FAILED), seq);
    vec![vec![named("🔁 Try again", Button::Again, &tag), named("✖ Cancel", Button::Cancel, &tag)]]
}

/// The message when the work is done.
pub fn ended(view: &View, waited: SignedDuration) -> Card {
    let took = view.updated_at.duration_since(view.created_at) - waited;
    let mut text = Text::new().plain("🏁 ").bold("Done").plain(&format!("\n{DIVIDER}\n"));
    text = text.bold("Task:").plain(&format!(" {}\n", short(&view.task, 2 * TITLE)));
    text = text.bold("Time:").plain(&format!(" {}", duration(took)));
    if waited >= SignedDuration::from_mins(1) {
        text = text.plain(&format!(" and {} waiting for answers", duration(waited)));
    }
    if view.usage.cost_micros > 0 {
        text = text.plain("   ").bold("Cost:").plain(&format!(" {}", cost(view.usage.cost_micros)));
    }
    if let Some(plan) = view.plan.as_ref().and_then(|plan| plan.path.as_deref()) {
        text = text.plain("\n").bold("Plan:").plain(" ").code(&visible::line(plan));
    }
    let text = text.text(&files(view.changes.as_ref()));
    Card::plain(view.check.iter().fold(text, |text, found| text.text(&check(found))))
}

/// How the check of the work ended; if it did not pass, with the last lines of its output.
fn check(check: &WorkCheck) -> Text {
    let mark = if check.has_passed() { "✅" } else { "⚠️" };
    let text = Text::new()
        .plain("\n")
        .bold("Check:")
        .plain(&format!(" {mark} {}", short(&check.words(), 4 * TITLE)));
    let output = check.last_lines(LINES_OF_CHECK).collect::<Vec<_>>().join("\n");
    if check.has_passed() || output.trim().is_empty() {
        return text;
    }
    let left_out = output.chars().count().saturating_sub(LONGEST_OUTPUT);
    let end: String = output.chars().skip(left_out).collect();
    text.plain("\n").pre(None, &visible::lines(&end))
}

fn files(changes: Option<&Changes>) -> Text {
    let text = Text::new().plain("\n").bold("Files:");
    let Some(changes) = changes else { return text.plain(" unknown (the project is not a git repository)") };
    if changes.files.is_empty() {
        return text.plain(" none changed");
    }
    let line = |text: Text, file: &FileChange| {
        let text = text.plain(&format!("\n• {} ", file.status)).code(&visible::line(&file.path));
        match (file.added, file.removed) {
            (Some(added), Some(removed)) => text.plain(&format!(" (+{added} −{removed})")),
            _ => text,
        }
    };
    let text = changes.files.iter().take(MOST_FILES).fold(text, line);
    match changes.files.len().saturating_sub(MOST_FILES) {
        0 => text,
        more => text.plain(&format!("\nand {more} more")),
    }
}

/// The message while an agent works: its activity, the time, the cost so far.
pub fn working(doing: Option<&str>, since: SignedDuration, cost_micros: u64) -> Text {
    let text = Text::new()
        .plain("⏳ ")
        .plain(&doing.map_or_else(|| "Working…".to_owned(), |what| short(what, TITLE)));
    let text = text.plain(&format!("\n{}", duration(since)));
    if cost_micros == 0 { text } else { text.plain(&format!(" · {}", cost(cost_micros))) }
}

/// The agent's last steps, the latest last, and its last text.
pub fn steps(steps: &[String], words: &str) -> Text {
    let mut text = Text::new();
    if !steps.is_empty() {
        text = text.plain("\n");
    }
    for step in steps {
        text = text.plain(&format!("\n🔧 {}", short(step, TITLE)));
    }
    if words.trim().is_empty() {
        text
    } else {
        text.plain(&format!("\n\n💬 {}", cut(words.trim(), LONGEST_WORDS)))
    }
}

/// A duration in at most two units.
pub fn duration(time: SignedDuration) -> String {
    let seconds = time.as_secs().max(0);
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    }
}

/// Millionths of a dollar as dollars.
pub fn cost(micros: u64) -> String {
    let cents = micros.div_ceil(10_000);
    format!("${}.{:02}", cents / 100, cents % 100)
}

#[cfg(test)]
mod tests {
    use rapport_core::{AgentCommand, By, ConversationId};

    use super::*;

    /// The requirement has the words for one agent; they are true of the others, too.
    #[test]
    fn an_agent_that_did_not_start_is_named() {
        let by = By::Person { channel: "telegram".into(), id: "42".into() };
        let created = Created::new("x".into(), "/app".into(), ConversationId::new("c"), by);
        let named = |name: &str| {
            let command = AgentCommand { name: name.into(), command: Vec::new() };
            agent(&Created { agent: Some(command), ..created.clone() })
        };
        assert_eq!(named("claude"), "Claude");
        assert_eq!(named("codex"), "Codex");
        assert_eq!(agent(&created), "The agent");
    }
}
