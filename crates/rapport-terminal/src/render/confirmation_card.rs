//! Renders the card that asks whether to start.

use rapport_core::View;

use super::super::confirmation_card::{Choice, ConfirmationCard, Mode};
use super::super::text::{Line, Tone, width};
use super::block::Block;
use super::{prose, question_card};

/// Below this many columns, what a choice means is not in a column of its own.
const NARROW: usize = 40;

/// The card's note on a plan that is older than an answer. Short, so that it fits a small window.
const BEHIND: &str = "Its text is older than an answer of yours.";

/// The card in this many columns.
pub(crate) fn block(card: &ConfirmationCard, view: &View, columns: usize) -> Block {
    let mut block = Block::default();
    match card.mode {
        Mode::Choosing => choices(card, view, columns, &mut block),
        Mode::Picking => answers(card, view, columns, &mut block),
        Mode::Telling => {
            block.push(&Line::new(Tone::Strong, "What should the agent change?"), columns);
            block.push(&Line::empty(), columns);
            question_card::editor(&card.wish, "tell it in your own words", columns, &mut block);
        }
    }
    block
}

/// The keys of the card, in words.
pub(crate) fn keys(card: &ConfirmationCard) -> Vec<&'static str> {
    match card.mode {
        Mode::Choosing if card.answers.is_empty() => {
            vec!["enter or c confirm", "t tell", "d leave", "q cancel", "? help"]
        }
        Mode::Choosing => vec!["enter or c confirm", "e edit", "t tell", "d leave", "q cancel", "? help"],
        Mode::Picking => vec!["↑↓ move", "enter change this answer", "esc back"],
        Mode::Telling => vec!["enter send", "alt-enter new line", "esc back"],
    }
}

fn choices(card: &ConfirmationCard, view: &View, columns: usize, block: &mut Block) {
    block.push(&Line::new(Tone::Strong, &card.question.text), columns);
    // The plan says so too, but a longer one has scrolled away.
    if view.plan.as_ref().is_some_and(|plan| plan.behind) {
        block.push(&Line::new(Tone::Care, "! ").and(Tone::Care, BEHIND).hanging(2), columns);
    }
    block.push(&Line::empty(), columns);
    for (place, choice) in card.choices().into_iter().enumerate() {
        let (label, meaning) = match choice {
            Choice::Confirm => ("Confirm & start", "the agent works with exactly these answers"),
            Choice::Edit => ("Edit an answer", "then this summary again"),
            Choice::Tell => ("Tell the agent", "what to change about the plan"),
            Choice::Cancel => ("Cancel", "nothing is changed; the plan's file stays"),
        };
        let here = place == card.cursor;
        let line = cursor(here).and(if here { Tone::Strong } else { Tone::Text }, &format!("{label:<15}"));
        let hang = if columns < NARROW { 4 } else { width("❯ ") + 15 + 2 };
        push(line.and(Tone::Dim, &format!("  {meaning}")).hanging(hang), here, columns, block);
    }
}

fn answers(card: &ConfirmationCard, view: &View, columns: usize, block: &mut Block) {
    block.push(&Line::new(Tone::Strong, "Which answer do you want to change?"), columns);
    block.push(&Line::empty(), columns);
    for (place, id) in card.answers.iter().enumerate() {
        let Some(given) = view.answers.iter().find(|given| given.id == *id) else { continue };
        let here = place == card.cursor;
        let line = cursor(here).and(Tone::Dim, &format!("{:>2}. ", place + 1));
        let line = line.then(prose::in_tones(&given.text, Tone::Text));
        push(line.and(Tone::Dim, " → ").and(Tone::Strong, &given.answer).hanging(6), here, columns, block);
    }
}

fn cursor(here: bool) -> Line {
    Line::new(Tone::Here, if here { "❯ " } else { "  " })
}

fn push(line: Line, here: bool, columns: usize, block: &mut Block) {
    if here { block.push_focus(&line, columns) } else { block.push(&line, columns) }
}
