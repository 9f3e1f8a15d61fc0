//! `view_container_logs` and `list_container_logs`: what happened in a task, fact by fact, with its questions and
//! answers.

use std::fmt::Write as _;

use rapport_core::{Entry, Session, SessionId};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::{self, Report, stored};
use crate::server::{Server, ToolReply};
use crate::tool_error::ToolError;
use crate::{ids, words};

/// The default and the maximum number of lines to show.
const TAIL: usize = 200;
const MOST_LINES: usize = 2_000;

/// The default and the maximum number of logs to list.
const LISTED: usize = 20;
const MOST_LISTED: usize = 200;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ViewArguments {
    identifier: String,
    tail: Option<usize>,
    filter: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListArguments {
    limit: Option<usize>,
    sort_by: Option<SortBy>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SortBy {
    #[default]
    Newest,
    Oldest,
    Size,
}

/// The log of a task: a line for each fact, and all questions with their answers (WORK-14).
pub(crate) async fn view(server: &Server, arguments: ViewArguments) -> Result<ToolReply, ToolError> {
    let id = ids::session(&arguments.identifier)?;
    let entries = report::entries(server.sessions(), &id).await?;
    let report = Report::replay(&id, &entries, &server.setup().clock)?;
    let filter = arguments.filter.map(|filter| filter.to_lowercase());
    let lines: Vec<_> = entries.iter().flat_map(lines).collect();
    let matching = lines
        .iter()
        .filter(|line| filter.as_ref().is_none_or(|filter| line.to_lowercase().contains(filter)))
        .collect::<Vec<_>>();
    let most = arguments.tail.unwrap_or(TAIL).min(MOST_LINES);
    let left_out = matching.len().saturating_sub(most);
    let shown: Vec<_> = matching.iter().skip(left_out).map(|line| line.as_str()).collect();
    let mut text = format!("Log of {} ({})\n", report.task_id(), report.status().word());
    if left_out > 0 {
        let _ = writeln!(text, "({left_out} earlier lines are left out)");
    }
    let _ = writeln!(text, "{}", shown.join("\n"));
    let pairs = pairs(report.session());
    text.push_str(&in_words(&pairs));
    let data = json!({
        "success": true, "taskId": report.task_id(), "sessionId": id, "status": report.status().word(),
        "lines": shown, "leftOut": left_out, "conversation": pairs,
    });
    Ok(ToolReply { text, data })
}

/// The facts of an entry, a line each.
fn lines(entry: &Entry) -> impl Iterator<Item = String> + '_ {
    let at = entry.at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    entry.facts.iter().map(move |fact| format!("[{at}] {}", words::one_line(&fact.words())))
}

/// Every question with its answer, in the order they were asked.
fn pairs(session: &Session) -> Vec<Value> {
    let items = session.rounds().flat_map(|round| round.items);
    items.map(|item| stored(&item)).collect()
}

fn in_words(pairs: &[Value]) -> String {
    let mut text = String::new();
    if !pairs.is_empty() {
        text.push_str("Questions and answers:\n");
    }
    for pair in pairs {
        let words = |key: &str| pair[key].as_str().unwrap_or("not answered").to_owned();
        let by = pair["by"].as_str().map(|by| format!(" ({by})")).unwrap_or_default();
        let _ = writeln!(text, "- {}: {}\n  {}{by}", words("questionId"), words("question"), words("answer"));
    }
    text
}

/// The logs that there are.
pub(crate) async fn list(server: &Server, arguments: ListArguments) -> Result<ToolReply, ToolError> {
    let limit = arguments.limit.unwrap_or(LISTED).min(MOST_LISTED);
    let mut ids = server.sessions().list().await?;
    let order = arguments.sort_by.unwrap_or_default();
    if order != SortBy::Oldest {
        ids.reverse();
    }
    // Sorting by size reads the logs, so only the most recent ones are compared.
    ids.truncate(if order == SortBy::Size { MOST_LISTED } else { limit });
    let mut found = Vec::new();
    for id in &ids {
        found.extend(one(server, id).await);
    }
    if order == SortBy::Size {
        found.sort_by_key(|log| std::cmp::Reverse(log.facts));
        found.truncate(limit);
    }
    let lines: Vec<_> =
        found.iter().map(|log| format!("{}  {} facts", words::line(&log.report), log.facts)).collect();
    let text = if lines.is_empty() { "There are no logs yet.".to_owned() } else { lines.join("\n") };
    let data: Vec<_> = found
        .iter()
        .map(|log| {
            let view = &log.report.view;
            json!({
                "taskId": log.report.task_id(), "sessionId": view.id, "status": log.report.status().word(),
                "facts": log.facts, "createdAt": view.created_at, "updatedAt": view.updated_at,
            })
        })
        .collect();
    Ok(ToolReply { text, data: json!({ "success": true, "logs": data }) })
}

/// A log in the list.
struct Listed {
    report: Report,
    facts: usize,
}

/// The list's entry for a log; `None` if the log cannot be read.
async fn one(server: &Server, id: &SessionId) -> Option<Listed> {
    let entries = report::entries(server.sessions(), id).await.ok()?;
    let facts = entries.iter().map(|entry| entry.facts.len()).sum();
    Some(Listed { report: Report::replay(id, &entries, &server.setup().clock).ok()?, facts })
}
