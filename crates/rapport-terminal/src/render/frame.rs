//! Renders the bottom of the screen within its height: a card or the progress line, an error, and the keys.

use std::time::Duration;

use rapport_core::{By, OpenQuestion, Purpose, View};

use super::super::Size;
use super::super::cards::{Card, Shown, TextAt};
use super::super::question_card::QuestionCard;
use super::super::screen::{Over, Screen};
use super::super::story::Asked;
use super::super::terminal_text;
use super::super::text::{Line, MEASURE, Tone, width};
use super::block::Block;
use super::{confirmation_card, last_look, permission, prose, question_card};

/// The left margin, if there is room.
pub(crate) const MARGIN: usize = 2;

/// The bottom of the screen.
pub(crate) fn block(screen: &Screen, now: Duration) -> Block {
    let columns = columns(screen.size);
    let body = body(screen, columns, now);
    let foot = foot(screen, columns, now);
    let height = screen.size.rows.saturating_sub(1).max(1);
    let room = height.saturating_sub(foot.rows.len()).max(1);
    let whole = body.fitted(room).above(foot).fitted(height);
    let margin = margin(screen.size);
    let widest = screen.size.columns.saturating_sub(1).max(columns + margin);
    let mut whole = whole.indented(margin);
    whole.rows = whole.rows.into_iter().map(|row| row.cut(widest)).collect();
    whole
}

/// The number of rows of a full text that are visible at once.
pub(crate) fn page(size: Size) -> usize {
    size.rows.saturating_sub(5).max(1)
}

/// The full text of a card, in rows.
pub(crate) fn whole(question: &OpenQuestion, size: Size) -> Vec<Line> {
    permission::whole(question).iter().flat_map(|line| line.rows(columns(size))).collect()
}

/// The number of columns from which a preview is shown beside the options.
const WIDE: usize = 110;
/// The width of the options then.
const LEFT: usize = 52;
/// The number of preview rows below the options, if there is no room beside them.
const BELOW: usize = 8;

/// A card with the preview of the option under the cursor.
fn with_preview(card: &QuestionCard, waiting: usize, at: TextAt, screen: &Screen, columns: usize) -> Block {
    let lines: Vec<Line> = question_card::preview(card)
        .map(str::trim_end)
        .into_iter()
        .flat_map(terminal_text::lines)
        .map(|line| Line::new(Tone::Text, &line))
        .collect();
    if screen.size.columns < WIDE {
        let mut block = question_card::block(card, &chips(screen, columns), waiting, at, columns);
        if !lines.is_empty() {
            let mut below = Block::default();
            below.push(&Line::empty(), columns);
            lines
                .iter()
                .take(BELOW)
                .for_each(|line| below.rows.extend(line.clone().indented(2).rows(columns)));
            let more = lines.len().saturating_sub(BELOW);
            if more > 0 {
                below.push(&Line::new(Tone::Dim, &format!("  … {more} more lines: p")), columns);
            }
            block.rows.extend(below.rows);
        }
        return block;
    }
    let left = question_card::block(card, &chips(screen, LEFT), waiting, at, LEFT);
    let width = screen.size.columns - LEFT - 8;
    let preview =
        lines.iter().flat_map(|line| line.rows(width)).map(|row| Line::new(Tone::Dim, "│ ").then(row));
    beside(left, preview.collect())
}

fn beside(mut left: Block, right: Vec<Line>) -> Block {
    let height = left.rows.len().max(right.len());
    left.rows.resize(height, Line::empty());
    let mut right = right.into_iter();
    left.rows = left
        .rows
        .into_iter()
        .map(|row| {
            let gap = " ".repeat((LEFT + 2).saturating_sub(row.width()));
            match right.next() {
                Some(beside) => row.and(Tone::Text, &gap).then(beside),
                None => row,
            }
        })
        .collect();
    left
}

/// The width of the text.
pub(crate) fn columns(size: Size) -> usize {
    size.columns.saturating_sub(1 + margin(size)).clamp(1, MEASURE)
}

/// The left margin.
pub(crate) fn margin(size: Size) -> usize {
    if size.columns > 30 { MARGIN } else { 0 }
}

/// Whether a question's text is shown above the card rather than on it.
pub(crate) fn is_long(question: &OpenQuestion, size: Size) -> bool {
    let rows: usize =
        prose::lines(&question.text, Tone::Text).iter().map(|line| line.rows(columns(size)).len()).sum();
    question.purpose == Purpose::Clarify && rows > (size.rows / 3).max(5)
}

fn body(screen: &Screen, columns: usize, now: Duration) -> Block {
    let mut block = Block::default();
    block.push(&Line::empty(), columns);
    if let Over::Help { top } = screen.over {
        block.rows.extend(help(columns).into_iter().skip(top).take(page(screen.size)));
        return block;
    }
    if let (Over::Whole { top }, Some(shown)) = (screen.over, screen.cards.shown()) {
        let rows = whole(shown.card.question(), screen.size);
        block.rows.extend(rows.into_iter().skip(top).take(page(screen.size)));
        return block;
    }
    if let (Over::LastLook, Some(look), Some(shown)) = (screen.over, &screen.look, screen.cards.shown()) {
        return block.above(last_look::block(look, &round(screen, shown), columns));
    }
    let view = screen.story.view();
    match (screen.cards.shown(), view) {
        (Some(Shown { card: Card::Ask(card), text, .. }), Some(view))
            if question_card::has_previews(&card.question) =>
        {
            block.above(with_preview(card, waiting(view), *text, screen, columns))
        }
        (Some(Shown { card: Card::Ask(card), text, .. }), Some(view)) => {
            block.above(question_card::block(card, &chips(screen, columns), waiting(view), *text, columns))
        }
        (Some(Shown { card: Card::Confirm(card), .. }), Some(view)) => {
            block.above(confirmation_card::block(card, view, columns))
        }
        (None, _) | (_, None) if screen.story.asks_next() => {
            block.push(&Line::new(Tone::Strong, screen.story.next_prompt()), columns);
            question_card::editor(&screen.words, "type your words", columns, &mut block);
            block
        }
        (None, _) | (_, None) => {
            block.push(&screen.work.line(view, now), columns);
            if !screen.words.is_empty() {
                question_card::editor(&screen.words, "", columns, &mut block);
            }
            block
        }
    }
}

/// The questions of the current card's round, with the answers so far: also the one that is sent after the last look.
fn round<'a>(screen: &'a Screen, shown: &Shown) -> Vec<Asked<'a>> {
    let question = shown.card.question();
    let mut round = screen.story.round(question.round, &question.id);
    for asked in &mut round {
        let unsent = screen.look.as_ref().and_then(|look| look.words(asked));
        asked.answer = unsent.or(asked.answer.take());
    }
    round
}

/// A short form of the questions of a round of several, and their answers so far.
fn chips(screen: &Screen, columns: usize) -> Vec<Line> {
    let asked = screen.cards.shown().filter(|shown| shown.card.question().of > 1);
    asked.map_or_else(Vec::new, |shown| last_look::chips(&round(screen, shown), columns))
}

/// The number of rounds that wait for answers, except for the confirmation, which waits for them.
fn waiting(view: &View) -> usize {
    let rounds = view.questions.iter().filter(|question| question.purpose != Purpose::Confirm);
    let mut rounds: Vec<_> = rounds.map(|question| question.round).collect();
    rounds.dedup();
    rounds.len()
}

fn foot(screen: &Screen, columns: usize, now: Duration) -> Block {
    let mut block = Block::default();
    let shown = screen.cards.shown();
    if shown.is_some() || screen.over == Over::Cancel {
        block.push(&Line::empty(), columns);
    }
    if let Some(notice) = &screen.notice {
        block.push(&Line::warning(notice), columns);
    }
    match screen.over {
        Over::Cancel => {
            let line = Line::new(Tone::Care, "! ").and(Tone::Strong, "Cancel the session?");
            block.push(&line.and(Tone::Text, " It cannot be resumed. (y)es / (n)o ›").hanging(2), columns);
        }
        Over::Help { top } => {
            let all = help(columns).len();
            let end = (top + page(screen.size)).min(all);
            let keys = match end - top {
                shown if shown == all => "any key goes back".to_owned(),
                _ => format!("{}-{end} of {all} · ↑↓ space scroll · q back", top + 1),
            };
            block.push(&Line::new(Tone::Dim, &keys), columns);
        }
        Over::Whole { top } => {
            let all = shown.map_or(0, |shown| whole(shown.card.question(), screen.size).len());
            let end = (top + page(screen.size)).min(all);
            let keys = format!("{}-{end} of {all} · ↑↓ space scroll · q back", (top + 1).min(end));
            block.push(&Line::new(Tone::Dim, &keys), columns);
        }
        Over::LastLook => {
            let keys: Vec<String> = screen.look.iter().flat_map(last_look::keys).map(str::to_owned).collect();
            phrases(&keys, columns).iter().for_each(|row| block.push(row, columns));
        }
        Over::Nothing => {
            let keys = match shown {
                Some(shown) => keys(screen, shown, now),
                None => keys_for_words(screen),
            };
            phrases(&keys, columns).iter().for_each(|row| block.push(row, columns));
        }
    }
    block
}

/// The keys while a message to the agent is being typed.
fn keys_for_words(screen: &Screen) -> Vec<String> {
    let keys: &[&str] = match (screen.words.is_empty(), screen.story.asks_next()) {
        _ if screen.sending => &["saving …"],
        (_, true) => &["enter send", "alt-enter new line", "esc leave", "ctrl-x cancel the session"],
        (false, false) => &["enter send to the agent", "alt-enter new line", "esc clear"],
        (true, false) => &[],
    };
    let is_shown = screen.listens() && (!screen.words.is_empty() || screen.story.asks_next());
    keys.iter().filter(|_| is_shown).map(|key| (*key).to_owned()).collect()
}

/// The keys of the card; none while it ignores keys, so that all keys shown work.
fn keys(screen: &Screen, shown: &Shown, now: Duration) -> Vec<String> {
    if screen.sending {
        return vec!["saving …".into()];
    }
    if shown.armed_at() > now {
        return vec![String::new()];
    }
    let keys = match &shown.card {
        Card::Ask(card) => question_card::keys(card),
        Card::Confirm(card) => confirmation_card::keys(card),
    };
    let auto = screen.auto.as_ref().filter(|_| screen.auto_due().is_some());
    let itself = auto.map(|auto| match &auto.by {
        By::Rule { name, .. } => format!("the {name} answers this itself"),
        by => format!("{by} answers this"),
    });
    itself.into_iter().chain(keys.into_iter().map(str::to_owned)).collect()
}

/// Short phrases in as few rows as they need, none of them broken.
pub(crate) fn phrases(phrases: &[String], columns: usize) -> Vec<Line> {
    let mut rows: Vec<String> = Vec::new();
    for phrase in phrases {
        match rows.last_mut().filter(|row| width(row) + 3 + width(phrase) <= columns) {
            Some(row) => row.push_str(&format!(" · {phrase}")),
            None => rows.push(phrase.clone()),
        }
    }
    rows.iter().map(|row| Line::new(Tone::Dim, row)).collect()
}

/// The keys, in rows.
pub(crate) fn help(columns: usize) -> Vec<Line> {
    let mut block = Block::default();
    block.push(&Line::new(Tone::Strong, "Keys"), columns);
    block.push(&Line::empty(), columns);
    for (key, meaning) in [
        ("↑ ↓ or k j", "move"),
        ("1 2 3 …", "choose that option"),
        ("space", "choose or leave out, where several may be chosen"),
        ("enter", "answer"),
        ("p", "show everything the agent wants to do, or all previews"),
        ("o", "answer in free text; alt-enter or ctrl-j for a new line"),
        ("c, e, t", "at a plan: confirm it, edit an answer, tell the agent what to change"),
        ("← or b", "back to the question before, in the same round"),
        ("esc or q", "cancel the session; it asks first"),
        ("d or ctrl-c", "leave; everything stays open, and can be answered from anywhere"),
        ("type, enter", "while the agent works: say something to it"),
        ("esc", "while the agent works: stop it, and say what to do next"),
        ("ctrl-x", "while the agent works: cancel the session; it asks first"),
        ("ctrl-z", "suspend; fg in the shell resumes"),
    ] {
        block.push(
            &Line::new(Tone::Here, &format!("{key:<13}")).and(Tone::Text, meaning).hanging(13),
            columns,
        );
    }
    block.rows
}
