//! The messages about an agent's work: while it works, and when the work has ended.

use jiff::SignedDuration;
use rapport_core::{
    ChangeStatus, Changes, Created, FileChange, Presenter, QuestionId, QuestionView, SessionId, View,
    WorkCheck, display_text,
};

use super::{Card, DIVIDER, TITLE, cut, named, short, title};
use crate::flow::button::{Button, Grave, Tag};
use crate::flow::chat_state::FAILED;
use crate::text::Text;

/// The maximum number of files to name.
const MOST_FILES: usize = 15;
/// The maximum number of files for which a message offers a button.
const MOST_OFFERED: usize = 6;
/// The maximum length of a file's name on a button.
const ON_A_BUTTON: usize = 40;
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
    let name = created.agent.as_ref().map(|agent| display_text::line(&agent.name)).unwrap_or_default();
    let mut rest = name.chars();
    // Logs of older versions do not name the agent.
    let Some(first) = rest.next() else { return "The agent".into() };
    first.to_uppercase().chain(rest).collect()
}

/// The message when the session has failed.
pub fn failed(id: &SessionId, seq: u64, presenter: &Presenter, reason: &str) -> Card {
    let task = short(title(presenter.session().created()), TITLE);
    let undelivered = presenter.session().undelivered();
    let (mark, what) =
        if undelivered.is_empty() { ("❌", "Cannot continue") } else { ("⚠️", "Not delivered") };
    let text = Text::new().plain(&format!("{mark} ")).bold(what).plain("\n").italic(&task);
    let text = text.plain(&format!("\n{DIVIDER}\n"));
    // WORK-20: the person sees that their answer is not lost.
    let stored = |text: Text, item: &QuestionView<'_>| {
        let answer = item.given.map(|(answer, _)| item.question.words(answer)).unwrap_or_default();
        let text = text.plain(&format!("{}\n➡️ ", short(&item.question.text, 2 * TITLE)));
        text.bold(&short(&answer, 2 * TITLE)).plain("\nThis answer is stored. The agent could not take it:\n")
    };
    let text = undelivered.iter().fold(text, stored).plain(&cut(reason, LONGEST_REASON));
    Card { rows: again(id, seq), ..Card::plain(text) }
}

/// The message when a person stopped the agent.
pub fn stopped(id: &SessionId, seq: u64, presenter: &Presenter) -> Card {
    let task = short(title(presenter.session().created()), TITLE);
    let text = Text::new().plain("⏹ ").bold("Stopped").plain("\n").italic(&task);
    let text = text.plain("\n\nNothing is lost. Write what to do now, and the agent continues with that.");
    let tag = Tag::of(id, &QuestionId::new(FAILED), seq);
    Card { rows: vec![vec![named("▶️ Go on", Button::Again, &tag)]], ..Card::plain(text) }
}

fn again(id: &SessionId, seq: u64) -> Vec<Vec<(String, String)>> {
    let tag = Tag::of(id, &QuestionId::new(FAILED), seq);
    vec![vec![named("🔁 Try again", Button::Again, &tag), named("✖ Cancel", Button::AskCancel, &tag)]]
}

/// Asks what to do with work whose changes were shown. `others` are notes about other work on the same files.
pub fn decision(tag: &Tag, others: &[String]) -> Card {
    let text = Text::new().plain("What becomes of these changes? They are not in the project yet.");
    let text = others.iter().fold(text, |text, other| text.plain("\n").plain(other));
    let rows = vec![
        vec![named("✅ Apply", Button::ApplyWork, tag), named("🗑 Discard", Button::DiscardWork, tag)],
        vec![named("✍️ Revise", Button::ReviseWork, tag)],
    ];
    Card { rows, ..Card::plain(text) }
}

/// Asks whether to end a session, because this is irreversible.
pub fn cancelling(presenter: &Presenter, tag: &Tag) -> Card {
    let session = presenter.session();
    let left = if session.has_worked() { "What the agent changed stays." } else { "All answers are lost." };
    let text = Text::new().plain("Cancel this task? ").italic(&short(title(session.created()), TITLE));
    let text = text.plain(&format!("\n{left} It cannot be resumed."));
    let rows = vec![
        vec![named("✖ Yes, cancel it", Button::Cancel, tag)],
        vec![named("▶️ No, go on", Button::NoCancel, tag)],
    ];
    Card { rows, ..Card::plain(text) }
}

/// Asks for a confirmation of an irreversible act. `what` is the task or the plan that the act is about.
pub fn sure(grave: Grave, what: &str, tag: &Tag) -> Card {
    let (question, consequence, yes, no) = match grave {
        Grave::Discard => (
            "Discard this work for good?",
            "The project stays as it is. The changes cannot be brought back.",
            "🗑 Yes, discard it",
            "▶️ No, keep it",
        ),
        Grave::Skip => (
            "Skip this plan?",
            "Nothing of it is run, and it cannot be approved later. To say what to do instead, reply to the plan.",
            "⏭ Yes, skip it",
            "▶️ No, keep it",
        ),
        Grave::Undo => (
            "Undo this run?",
            "Its files become what they were before it.",
            "↩️ Yes, undo it",
            "▶️ No, leave it",
        ),
        Grave::UndoRest => (
            "Undo all of this run but what was changed since?",
            "The other files become what they were before it.",
            "↩️ Yes, undo it",
            "▶️ No, leave it",
        ),
    };
    let text = Text::new().plain(&format!("{question} ")).italic(&short(what, TITLE));
    let text = text.plain(&format!("\n{consequence}"));
    let rows = vec![vec![named(yes, Button::Sure(grave), tag)], vec![named(no, Button::NoCancel, tag)]];
    Card { rows, ..Card::plain(text) }
}

/// The message when a session was cancelled: the files that the work had already changed, and how to undo the changes.
/// `names` is `None` if the changes cannot be read. `address` names the session in commands.
pub fn cancelled(
    first: &str,
    names: Option<&[String]>,
    address: &str,
    is_apart: bool,
    is_newest: bool,
) -> Text {
    let text = Text::new().plain(first);
    let Some(names) = names else { return text.plain("\n\nWhat it had changed cannot be listed now.") };
    if names.is_empty() {
        return text.plain("\n\nIt had changed no files.");
    }
    let text = text.plain("\n\nIt had changed these files, which stay as they are:");
    let line = |text: Text, name: &String| text.plain("\n• ").code(&display_text::line(name));
    let mut text = names.iter().take(MOST_FILES).fold(text, line);
    if names.len() > MOST_FILES {
        text = text.plain(&format!("\nand {} more", names.len() - MOST_FILES));
    }
    text = match is_newest {
        true => text.plain("\n\nSee the changes: /diff"),
        false => text.plain("\n\nSee the changes, in the project: ").code(&format!("rapport diff {address}")),
    };
    let (words, verb) = if is_apart { ("Throw them away", "discard") } else { ("Undo them", "undo") };
    text.plain(&format!("\n{words}, in the project: ")).code(&format!("rapport {verb} {address}"))
}

/// The changed files for which a message about ended work has buttons, in the order of the buttons.
pub fn offered_files(changes: Option<&Changes>) -> Vec<String> {
    let files = changes.into_iter().flat_map(|changes| &changes.files);
    let left = files.filter(|file| file.status != ChangeStatus::Deleted);
    left.take(MOST_OFFERED).map(|file| file.path.clone()).collect()
}

/// The message when the work is done, with a button for each of the first files. If the work waits for a decision,
/// `work` is its tag: its changes are shown before anyone decides.
pub fn ended(view: &View, waited: SignedDuration, work: Option<&Tag>) -> Card {
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
        text = text.plain("\n").bold("Plan:").plain(" ").code(&display_text::line(plan));
    }
    let text = text.text(&files(view.changes.as_ref()));
    let mut text = view.check.iter().fold(text, |text, found| text.text(&check(found)));
    let is_changed = view.changes.as_ref().is_some_and(|changes| !changes.files.is_empty());
    if is_changed && work.is_none() {
        text =
            text.plain("\n").bold("Next:").plain(" /diff shows the changes, /revise WHAT has them changed.");
    }
    let tag = Tag::files(&view.id);
    let button = |(place, path): (usize, String)| {
        let name = path.rsplit('/').next().unwrap_or(&path);
        vec![named(&format!("📄 {}", short(name, ON_A_BUTTON)), Button::File(place), &tag)]
    };
    let mut rows: Vec<_> = offered_files(view.changes.as_ref()).into_iter().enumerate().map(button).collect();
    if let Some(tag) = work {
        text = text.plain("\n\nThe project is as it was: this work waits until you decide about it.");
        if let Some(by) = view.workplace.as_ref().and_then(|place| place.requested_by.as_ref()) {
            text = text.plain(&format!(" {} asks you to apply it.", display_text::line(&by.to_string())));
        }
        rows.insert(0, vec![named("👀 See the changes", Button::SeeWork, tag)]);
    }
    Card { rows, ..Card::plain(text) }
}

/// The outcome of the check of the work. If the check did not pass, the last lines of its output are included.
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
    text.plain("\n").pre(None, &display_text::lines(&end))
}

fn files(changes: Option<&Changes>) -> Text {
    let text = Text::new().plain("\n").bold("Files:");
    let Some(changes) = changes else { return text.plain(" unknown (the project is not a git repository)") };
    if changes.files.is_empty() {
        return text.plain(" none changed");
    }
    let line = |text: Text, file: &FileChange| {
        let text = text.plain(&format!("\n• {} ", file.status)).code(&display_text::line(&file.path));
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

/// The message while an agent works: its activity, the elapsed time, the cost so far.
pub fn working(doing: Option<&str>, since: SignedDuration, cost_micros: u64) -> Text {
    let text = Text::new()
        .plain("⏳ ")
        .plain(&doing.map_or_else(|| "Working…".to_owned(), |what| short(what, TITLE)));
    let text = text.plain(&format!("\n{}", duration(since)));
    if cost_micros == 0 { text } else { text.plain(&format!(" · {}", cost(cost_micros))) }
}

/// What becomes of the message about a working agent when the agent fails.
pub fn broken_off(reason: &str, time: SignedDuration, cost_micros: u64) -> Text {
    let spent = if cost_micros == 0 { String::new() } else { format!(" · {}", cost(cost_micros)) };
    let text = Text::new().plain(&format!("❌ Failed after {}{spent}\n", duration(time)));
    text.italic(&short(reason, TITLE))
}

/// The agent's last steps, the latest at the end, and its last text.
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

    /// The requirement gives the wording for one agent; the wording has to be true for other agents as well.
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
