//! Lists: what can be said to the bot, and what waits for an answer.

use jiff::{SignedDuration, Timestamp};
use rapport_core::Status;

use super::{Card, DIVIDER, TITLE, cost, short};
use crate::flow::recent::EndedWork;
use crate::text::Text;

/// How many questions are listed.
const MOST: usize = 20;
/// How much is listed of what ended.
const MOST_ENDED: usize = 8;
/// How much of a question fits on a button.
const ON_A_BUTTON: usize = 36;

/// A question that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// What is asked.
    pub question: String,
    /// For which task.
    pub task: String,
    /// Since when.
    pub since: SignedDuration,
    /// What its button says.
    pub data: String,
}

/// What ended lately, and what was spent.
#[derive(Debug)]
pub struct Lately<'a> {
    /// The latest first.
    pub ended: &'a [EndedWork],
    /// The time.
    pub now: Timestamp,
    /// What agents cost in the last day, in millionths of a dollar, where that is told.
    pub spent: Option<u64>,
    /// What they may cost in a day, if that is said.
    pub budget: Option<u64>,
}

/// What can be said to the bot.
pub fn help(greeting: &str, commands: &[(&str, &str)]) -> Text {
    let text = Text::new().plain(greeting).plain("\n");
    let line = |text: Text, (name, what): &(&str, &str)| text.plain(&format!("\n/{name} — {what}"));
    let text = commands.iter().fold(text, line);
    text.plain("\n\nAnything else you write goes to the agent of this chat.")
}

/// What waits, the oldest first, with buttons that show it again, and how much more is held back; what is being worked on, and
/// what was.
pub fn waiting(waiting: &[Waiting], held_back: usize, working: &[String], lately: &Lately<'_>) -> Card {
    let mut text = Text::new();
    if waiting.is_empty() && working.is_empty() {
        text = text.plain("Nothing waits for you, and nothing is being worked on.");
        return Card::plain(text.text(&recently(lately)));
    }
    if !waiting.is_empty() {
        text = text.bold("Waiting for you").plain(&format!("\n{DIVIDER}"));
    }
    for (number, one) in waiting.iter().take(MOST).enumerate() {
        let line = format!("\n{}. {} ({})\n   ", number + 1, short(&one.question, TITLE), ago(one.since));
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
        text = text.plain(gap).bold("Being worked on");
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
        let ago = match ago(lately.now.duration_since(ended.at)).strip_prefix("for ") {
            Some(time) => format!("{time} ago"),
            None => "just now".to_owned(),
        };
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

/// Asks which of the questions that wait some words are the answer to.
pub fn which(waiting: &[Waiting]) -> Card {
    let text = Text::new().plain("Several questions wait. Which one do you answer with this?");
    let button = |(number, one): (usize, &Waiting)| {
        let label = format!("{}. {}", number + 1, short(&one.question, ON_A_BUTTON));
        vec![(label, one.data.clone())]
    };
    Card { rows: waiting.iter().take(MOST).enumerate().map(button).collect(), ..Card::plain(text) }
}

/// How long something waits, in one unit.
pub fn ago(time: SignedDuration) -> String {
    match (time.as_hours(), time.as_mins()) {
        (hours, _) if hours >= 48 => format!("for {} days", hours / 24),
        (hours, _) if hours >= 1 => format!("for {hours} h"),
        (_, minutes) if minutes >= 1 => format!("for {minutes} min"),
        _ => "just now".to_owned(),
    }
}
