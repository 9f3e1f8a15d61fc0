//! Renders the answers of a round: in one row above a question, and one by one for a last look.

use super::super::last_look::{LastLook, UNSENT};
use super::super::story::Asked;
use super::super::text::{Line, Tone, clip, width};
use super::block::Block;
use super::prose;

/// The maximum length of an answer in the row above a question, and of a question without a header.
const CHIP: usize = 20;

/// All questions of a round in as few rows as they need, none of them broken: the answered ones, the current one, the
/// others.
pub(crate) fn chips(round: &[Asked<'_>], columns: usize) -> Vec<Line> {
    let mut rows: Vec<Line> = Vec::new();
    for (place, asked) in round.iter().enumerate() {
        let chip = chip(asked, place);
        match rows.last_mut().filter(|row| row.width() + 3 + chip.width() <= columns) {
            Some(row) => *row = row.clone().and(Tone::Text, "   ").then(chip),
            None => rows.push(chip),
        }
    }
    rows
}

fn chip(asked: &Asked<'_>, place: usize) -> Line {
    let name = asked.question.header.clone().unwrap_or_else(|| format!("Q{}", place + 1));
    let name = clip(&name, CHIP);
    match &asked.answer {
        Some(answer) => Line::new(Tone::Good, "✓ ")
            .and(Tone::Dim, &format!("{name}: "))
            .and(Tone::Text, &clip(answer, CHIP)),
        None if asked.is_here => Line::new(Tone::Here, "● ").and(Tone::Strong, &name),
        None => Line::new(Tone::Dim, "○ ").and(Tone::Dim, &name),
    }
}

/// The last look in this many columns.
pub(crate) fn block(look: &LastLook, round: &[Asked<'_>], columns: usize) -> Block {
    let mut block = Block::default();
    block.push(&Line::new(Tone::Strong, "Your answers, before the agent gets them:"), columns);
    block.push(&Line::empty(), columns);
    for (place, asked) in round.iter().enumerate() {
        let here = look.cursor == place + 1;
        let line = cursor(here).and(Tone::Dim, &format!("{:>2}. ", place + 1));
        let name = asked.question.header.as_deref().unwrap_or(&asked.question.text);
        let answer = asked.answer.as_deref().unwrap_or_default();
        let note = if asked.question.id == look.question { UNSENT } else { "" };
        let hang = width("❯  1. ");
        push(
            line.then(prose::in_tones(name, Tone::Text))
                .and(Tone::Dim, " → ")
                .and(Tone::Strong, answer)
                .and(Tone::Dim, note)
                .hanging(hang),
            here,
            columns,
            &mut block,
        );
    }
    block.push(&Line::empty(), columns);
    let here = look.cursor == 0;
    let tone = if here { Tone::Strong } else { Tone::Text };
    push(cursor(here).and(tone, "Send these answers"), here, columns, &mut block);
    block
}

/// The keys of the last look, in words.
pub(crate) fn keys(look: &LastLook) -> Vec<&'static str> {
    let enter = if look.cursor == 0 { "enter send" } else { "enter change this answer" };
    vec!["↑↓ move", enter, "1 2 3 … change", "← back", "d leave", "q cancel"]
}

fn cursor(here: bool) -> Line {
    Line::new(Tone::Here, if here { "❯ " } else { "  " })
}

fn push(line: Line, here: bool, columns: usize, block: &mut Block) {
    if here { block.push_focus(&line, columns) } else { block.push(&line, columns) }
}
