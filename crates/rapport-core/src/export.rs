//! Exports a session as one document: task, questions and answers, plan, work, reports, and the log.

use std::fmt::Write as _;

use crate::id::SessionId;
use crate::session::Session;

/// The document, in Markdown. `reports` are the reports of the session's turns, by directory.
pub fn document(id: &SessionId, session: &Session, reports: &[(String, String)], log: &str) -> String {
    let view = session.view(id);
    let mut text = format!("# {id}\n\n");
    let dollars = view.usage.cost_micros.div_ceil(10_000);
    let facts = [
        ("Project", view.project.clone()),
        ("Began", view.created_at.to_string()),
        ("Last changed", view.updated_at.to_string()),
        ("Wanted by", view.by.to_string()),
        ("Status", format!("{:?}", view.status)),
        ("Cost", format!("${}.{:02}", dollars / 100, dollars % 100)),
    ];
    for (name, value) in facts {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- {name}: {value}");
    }
    section(&mut text, "Task", &view.task);
    section(&mut text, "Questions and answers", &answers(session));
    section(&mut text, "Plan", view.plan.as_ref().map_or("", |plan| plan.text.as_str()));
    for (folder, report) in reports {
        section(&mut text, &format!("Report of turn {folder}"), report);
    }
    section(&mut text, "Result", view.result.as_deref().unwrap_or_default());
    section(&mut text, "Why it failed", view.failure.as_deref().unwrap_or_default());
    let files = view.changes.iter().flat_map(|changes| &changes.files);
    let files: String = files.map(|file| format!("- {} {}\n", file.status, file.path)).collect();
    section(&mut text, "Changed files", &files);
    section(&mut text, "Log", &fenced(log));
    text
}

fn section(text: &mut String, title: &str, content: &str) {
    if !content.trim().is_empty() {
        let _ = write!(text, "\n## {title}\n\n{}\n", content.trim_end());
    }
}

fn answers(session: &Session) -> String {
    let mut text = String::new();
    for item in session.rounds().flat_map(|round| round.items) {
        let _ = writeln!(text, "- {}", indented(&item.question.text));
        let _ = match item.given {
            Some((answer, by)) => {
                writeln!(text, "  - {} (answered by {by})", indented(&item.question.words(answer)))
            }
            None => writeln!(text, "  - not answered"),
        };
    }
    text
}

/// Several lines as one item of a list.
fn indented(text: &str) -> String {
    text.trim_end().replace('\n', "\n    ")
}

/// A fenced block whose fence is longer than any inside.
fn fenced(content: &str) -> String {
    let longest = content.split(|c| c != '~').map(str::len).max().unwrap_or_default();
    let fence = "~".repeat(longest.max(2) + 1);
    format!("{fence}json\n{}\n{fence}", content.trim_end())
}
