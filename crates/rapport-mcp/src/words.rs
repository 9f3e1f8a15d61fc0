//! What tools say to the model, in words: the state of a task, its questions, and the call that comes next.

use std::fmt::Write as _;

use jiff::SignedDuration;
use rapport_core::{AgentState, OpenQuestion, SessionId, Status, View, WorkplaceState};
use serde_json::json;

use crate::ids;
use crate::report::{Report, TaskStatus};

/// The maximum number of characters of a line that only informs.
const LONGEST: usize = 300;
/// The number of lines of a failed check's output to show.
const LINES_OF_CHECK: usize = 20;

/// The state of a task. With `details`, also the whole task and all answers.
pub(crate) fn report(report: &Report, details: bool) -> String {
    let view = &report.view;
    let mut text = format!("{}: {}\n", report.task_id(), report.status().word());
    // Writing to a string cannot fail.
    let _ = writeln!(text, "Task: {}", if details { view.task.clone() } else { shorten(&view.task) });
    let _ = writeln!(text, "Duration: {}", duration(report.duration()));
    if let Some(parent) = report.parent() {
        let _ = writeln!(text, "Part of: {}", ids::task(parent));
    }
    match report.status() {
        TaskStatus::Started => text.push_str("The worker starts.\n"),
        TaskStatus::Running => {
            let doing = view.agent.doing.as_deref().map(shorten).unwrap_or_default();
            let _ =
                writeln!(text, "Progress: {}", if doing.is_empty() { "the worker works" } else { &doing });
        }
        TaskStatus::NeedsInput => text.push_str(&asks(report)),
        TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => {
            text.push_str(&ended(report, details));
        }
    }
    if details && !view.answers.is_empty() {
        text.push_str("Answers so far:\n");
        for pair in &view.answers {
            let _ = writeln!(text, "- {}\n  {} ({})", pair.text, pair.answer, pair.by);
        }
    }
    text
}

/// One line about a task, for a list.
pub(crate) fn line(report: &Report) -> String {
    let what =
        report.pending_question().map(|question| format!(": {}", shorten(&question))).unwrap_or_default();
    let person = if report.waits_for_person() { " (needs a person)" } else { "" };
    let about = report.description().unwrap_or(&report.view.task);
    format!("{}  {}{person}  {}{what}", report.task_id(), report.status().word(), shorten(about))
}

fn asks(report: &Report) -> String {
    let view = &report.view;
    let mut text = String::new();
    if view.status == Status::Idle {
        text.push_str("The agent was stopped, and keeps its conversation. Tell it what to do next, or nothing to go on:\n");
        text.push_str(&answer_call(report, ""));
        return text;
    }
    if report.is_undelivered() {
        let why = report.pending_question().unwrap_or_default();
        let _ = writeln!(text, "{why}\nTo try again as it was, or with other words in the answer:");
        text.push_str(&answer_call(report, ""));
        return text;
    }
    for open in &view.questions {
        text.push_str(&question(open));
        if let Some(draft) = &open.draft {
            let _ = writeln!(text, "  A draft waits for a person to send it: {}", draft.answer);
        } else if report.needs_person(open) {
            text.push_str("  Only a person may decide this.\n");
        }
    }
    match report.for_lead().as_slice() {
        [] => {}
        [only] => text.push_str(&answer_call(report, example(only))),
        several => {
            let map: serde_json::Map<_, _> =
                several.iter().map(|open| (open.id.to_string(), json!(example(open)))).collect();
            let _ = writeln!(
                text,
                "Answer with: answer_worker_question {}",
                json!({ "taskId": report.task_id(), "answer": map })
            );
        }
    }
    if view.questions.iter().any(|open| report.needs_person(open)) {
        text.push_str(&where_a_person_answers(view));
        let _ = writeln!(text, "Then go on with: wait {}", json!({ "taskId": report.task_id() }));
    }
    let _ = writeln!(text, "{}", process(view));
    // WORK-17: why neither the worker nor its workplace stops.
    if let Some(beside) = view.agent.kept_by {
        let _ = writeln!(text, "It is kept running: {beside}.");
    }
    // WORK-13: the workplace may have stopped meanwhile.
    if let Some(now) = report.workplace() {
        let is = if now.is_running { "running" } else { "stopped; an answer starts it again" };
        let _ = writeln!(text, "Its {} is {is}.", report.session().created().worker);
    }
    text
}

fn answer_call(report: &Report, answer: &str) -> String {
    let arguments = json!({ "taskId": report.task_id(), "answer": answer });
    format!("Answer with: answer_worker_question {arguments}\n")
}

fn example(open: &OpenQuestion) -> &str {
    open.options.first().map_or("your answer", |option| option.label.as_str())
}

/// A question with its options.
pub(crate) fn question(open: &OpenQuestion) -> String {
    let mut text = format!("Question {}: {}\n", open.id, open.text);
    for (number, option) in (1..).zip(&open.options) {
        let about = option.description.as_ref().filter(|about| !about.is_empty());
        let about = about.map(|about| format!(": {about}")).unwrap_or_default();
        let _ = writeln!(text, "  {number}. {}{about}", option.label);
        for line in option.preview.iter().flat_map(|preview| preview.lines()) {
            let _ = writeln!(text, "     | {line}");
        }
    }
    if open.multi {
        text.push_str("  Several may be chosen: give a list.\n");
    }
    if open.free_text && !open.options.is_empty() {
        text.push_str("  Own words are accepted as well.\n");
    }
    text
}

/// Whether the worker's process runs while it waits (WORK-13).
fn process(view: &View) -> &'static str {
    match view.agent.state {
        AgentState::Working | AgentState::Hot => {
            "The worker is still running, and continues at the same call."
        }
        AgentState::Parked => {
            "The worker's process is parked; an answer starts it again at the same call, with its whole conversation."
        }
        AgentState::CutOff => "The worker's process ended; an answer resumes it with its whole conversation.",
        AgentState::Idle => "The worker has no process at the moment; its workplace is kept.",
    }
}

/// Where a person can decide what a model may not.
pub(crate) fn where_a_person_answers(view: &View) -> String {
    let (id, project) = (&view.id, &view.project);
    format!(
        "Tell the person. They answer in a terminal, in {project}:\n  rapport answer {id}\n\
         or in a channel that `rapport serve` runs there, such as a chat.\n"
    )
}

/// Where a person can apply work.
pub(crate) fn where_a_person_applies(id: &SessionId, project: &str) -> String {
    format!(
        "Tell the person. They decide in a terminal, in {project}:\n  rapport diff {id}\n  rapport apply {id}\n  \
         rapport discard {id}\nThe work stays in its workplace until then.\n"
    )
}

fn ended(report: &Report, details: bool) -> String {
    let view = &report.view;
    let mut text = String::new();
    if let Some(failure) = &view.failure {
        let _ = writeln!(text, "It failed: {failure}");
        text.push_str(
            "Answers that were given are kept. To try again as it was, or with other words in the answer:\n",
        );
        text.push_str(&answer_call(report, ""));
    }
    if let Some((result, left_out)) = report.result(details) {
        let _ = writeln!(text, "Result: {result}");
        if left_out {
            let call = json!({ "taskId": report.task_id(), "showDetails": true });
            let _ = writeln!(text, "All of it: work_status {call}");
        }
    }
    text.push_str(&work(report));
    text
}

/// The state of the work, and what can be done with it.
fn work(report: &Report) -> String {
    let view = &report.view;
    let Some(place) = &view.workplace else {
        return "It worked in the project itself.\n".into();
    };
    let mut text = match &view.changes {
        Some(changes) => format!("Files changed: {}\n", changes.files.len()),
        None => String::new(),
    };
    if let Some(why) = view.changes.as_ref().and_then(|changes| changes.unknown.as_deref()) {
        text = format!("{text}Not all changes are known: {why}\n");
    }
    text.push_str(&check(view));
    match place.state {
        WorkplaceState::Open | WorkplaceState::Waiting => {
            if let Some(diff) = report.diff() {
                let _ = writeln!(text, "Diff ID: {diff}");
                let _ =
                    writeln!(text, "Review with: review_changes {}", json!({ "diffId": diff.to_string() }));
            }
            if place.requested_by.is_some() {
                text.push_str("A person was asked to apply it, and has not decided yet.\n");
                text.push_str(&where_a_person_applies(&view.id, &view.project));
            }
        }
        WorkplaceState::Applying => text.push_str("Its changes are being applied.\n"),
        WorkplaceState::Applied => text.push_str("Its changes were applied to the project.\n"),
        WorkplaceState::Discarded => text.push_str("Its changes were rejected.\n"),
    }
    if !place.conflicts.is_empty() {
        let _ = writeln!(text, "Conflicts with the project: {}", place.conflicts.join(", "));
    }
    if let Some(failure) = &place.failure {
        let _ = writeln!(text, "It could not be applied: {failure}");
    }
    text
}

/// The outcome of the check of the work, or that it runs; if it failed, with the last lines of its output.
pub(crate) fn check(view: &View) -> String {
    if let Some(command) = &view.checking {
        return format!("The work is being checked: {}\n", shorten(command));
    }
    let Some(check) = &view.check else { return String::new() };
    let mut text = format!("Check: {}\n", one_line(&check.words()));
    if !check.has_passed() {
        for line in check.last_lines(LINES_OF_CHECK) {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

/// The same text in one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One line, cut where it is too long.
pub(crate) fn shorten(text: &str) -> String {
    let line = one_line(text);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

fn duration(time: SignedDuration) -> String {
    let (hours, minutes, seconds) = (time.as_secs() / 3600, time.as_secs() / 60 % 60, time.as_secs() % 60);
    match (hours, minutes) {
        (0, 0) => format!("{seconds} s"),
        (0, _) => format!("{minutes} min {seconds} s"),
        _ => format!("{hours} h {minutes} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_long_lines_are_short() {
        let said = [5, 65, 7_265].map(|seconds| duration(SignedDuration::from_secs(seconds)));
        assert_eq!(said, ["5 s", "1 min 5 s", "2 h 1 min"]);
        assert_eq!(shorten("a\n  b"), "a b");
        assert_eq!(shorten(&"ä".repeat(400)).chars().count(), LONGEST + 1);
    }
}
