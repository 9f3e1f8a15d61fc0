//! Lists: what can be said to the bot, and what waits for an answer.

use jiff::SignedDuration;

use super::{Card, DIVIDER, TITLE, short};
use crate::text::Text;

/// How many questions are listed.
const MOST: usize = 20;
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

/// What can be said to the bot.
pub fn help(greeting: &str, commands: &[(&str, &str)]) -> Text {
    let text = Text::new().plain(greeting).plain("\n");
    let line = |text: Text, (name, what): &(&str, &str)| text.plain(&format!("\n/{name} — {what}"));
    let text = commands.iter().fold(text, line);
    text.plain("\n\nAnything else you write goes to the agent of this chat.")
}

/// What waits, the oldest first, with buttons that show it again; and what is being worked on.
pub fn waiting(waiting: &[Waiting], working: &[String]) -> Card {
    let mut text = Text::new();
    if waiting.is_empty() && working.is_empty() {
        return Card::plain(text.plain("Nothing waits for you, and nothing is being worked on."));
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
    Card { rows, ..Card::plain(text) }
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
