//! Lists: the commands, and the open questions.

use jiff::{SignedDuration, Timestamp};
use rapport_core::Status;

use super::{Card, DIVIDER, TITLE, cost, short};
use crate::flow::recent_work::EndedWork;
use crate::text::Text;

/// The maximum number of questions to list.
const MOST: usize = 20;
/// The maximum number of ended sessions to list.
const MOST_ENDED: usize = 8;
/// The maximum length of a question on a button.
const ON_A_BUTTON: usize = 36;
/// The text for a time below one minute.
const JUST_NOW: &str = "just now";

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub question: String,
    pub task: String,
    /// How long the question has been open.
    pub since: SignedDuration,
    /// The callback data of the button that shows the question.
    pub data: String,
}

/// Recently ended sessions, and the costs.
#[derive(Debug)]
pub struct Lately<'a> {
    pub ended: &'a [EndedWork],
    pub now: Timestamp,
    /// The cost of the last 24 hours, in millionths of a dollar, if it is shown.
    pub spent: Option<u64>,
    /// The daily budget, if set.
    pub budget: Option<u64>,
}

/// The help text.
pub fn help(greeting: &str, commands: &[(&str, &str)]) -> Text {
    let text = Text::new().plain(greeting).plain("\n");
    let line = |text: Text, (name, what): &(&str, &str)| text.plain(&format!("\n/{name} — {what}"));
    let text = commands.iter().fold(text, line);
    text.plain("\n\nAny other message goes to the agent of this chat.")
}

/// The open questions, the oldest first, with buttons that show them again; then current and recent work.
pub fn waiting(waiting: &[Waiting], held_back: usize, working: &[String], lately: &Lately<'_>) -> Card {
    let mut text = Text::new();
    if waiting.is_empty() && working.is_empty() {
        text = text.plain("Nothing waits for you, and no agent is working.");
        return Card::plain(text.text(&recently(lately)));
    }
    if !waiting.is_empty() {
        text = text.bold("Waiting for you").plain(&format!("\n{DIVIDER}"));
    }
    for (number, one) in waiting.iter().take(MOST).enumerate() {
        let line = format!("\n{}. {} ({})\n   ", number + 1, short(&one.question, TITLE), since(one.since));
        text = text.plain(&line).italic(&short(&one.task, TITLE / 2));
    }
    if waiting.len() > MOST {
        text = text.plain(&format!("\nand {} more", waiting.len() - MOST));
    }
    if held_back > 0 {
        text = text.plain(&format!("\nand {held_back} more; the next comes when one of these is answered"));
    }
    if !working.is_empty() {
        let gap = if waiting.is_empty() { "" } else { "\n\n" };
        text = text.plain(gap).bold("In progress");
        text = working
            .iter()
            .take(MOST)
            .fold(text, |text, task| text.plain(&format!("\n• {}", short(task, TITLE))));
    }
    let button = |(number, one): (usize, &Waiting)| {
        vec![(format!("{}. {}", number + 1, short(&one.question, ON_A_BUTTON)), one.data.clone())]
    };
    let rows = waiting.iter().take(MOST).enumerate().map(button).collect();
    Card { rows, ..Card::plain(text.text(&recently(lately))) }
}

fn recently(lately: &Lately<'_>) -> Text {
    let mut text = Text::new();
    if !lately.ended.is_empty() {
        text = text.plain("\n\n").bold("Ended lately");
    }
    for ended in lately.ended.iter().take(MOST_ENDED) {
        let mark = match ended.status {
            Status::Completed => "🏁",
            Status::Cancelled => "✖",
            Status::Failed | Status::Started | Status::Running | Status::Idle | Status::NeedsInput => "❌",
        };
        let task = short(ended.task.as_deref().unwrap_or_default(), TITLE);
        let ago = length(lately.now.duration_since(ended.at))
            .map_or_else(|| JUST_NOW.to_owned(), |time| format!("{time} ago"));
        let paid =
            if ended.cost_micros == 0 { String::new() } else { format!(", {}", cost(ended.cost_micros)) };
        text = text.plain(&format!("\n{mark} {task} ({ago}{paid})"));
    }
    let spent = match (lately.spent, lately.budget) {
        (Some(spent), Some(budget)) => {
            let over = if spent > budget { " ⚠️ over budget" } else { "" };
            format!("\n\nSpent in 24 hours: {} of {}{over}", cost(spent), cost(budget))
        }
        (Some(spent), None) if spent > 0 => format!("\n\nSpent in 24 hours: {}", cost(spent)),
        (Some(_) | None, _) => String::new(),
    };
    text.plain(&spent)
}

/// Asks which of the open questions a text answers.
pub fn which(waiting: &[Waiting]) -> Card {
    let text = Text::new().plain("Several questions are open. Which one does this answer?");
    let button = |(number, one): (usize, &Waiting)| {
        let label = format!("{}. {}", number + 1, short(&one.question, ON_A_BUTTON));
        vec![(label, one.data.clone())]
    };
    Card { rows: waiting.iter().take(MOST).enumerate().map(button).collect(), ..Card::plain(text) }
}

/// How long something has waited.
fn since(time: SignedDuration) -> String {
    length(time).map_or_else(|| JUST_NOW.to_owned(), |time| format!("for {time}"))
}

/// A time in one unit; `None` below a minute.
fn length(time: SignedDuration) -> Option<String> {
    match (time.as_hours(), time.as_mins()) {
        (hours, _) if hours >= 48 => Some(format!("{} days", hours / 24)),
        (hours, _) if hours >= 1 => Some(format!("{hours} h")),
        (_, minutes) if minutes >= 1 => Some(format!("{minutes} min")),
        _ => None,
    }
}
