//! Renders the card of a question.

use rapport_core::{OpenQuestion, Purpose};

use super::super::cards::TextAt;
use super::super::editor::Editor;
use super::super::question_card::QuestionCard;
use super::super::terminal_text;
use super::super::text::{Line, Tone, width};
use super::super::words;
use super::block::Block;
use super::prose;

/// The width of a round's progress bar.
const BAR: usize = 10;

/// The card in this many columns, with a short form of its whole round. `waiting` is the number of waiting rounds.
pub(crate) fn block(
    card: &QuestionCard,
    round: &[Line],
    waiting: usize,
    at: TextAt,
    columns: usize,
) -> Block {
    let mut block = Block::default();
    if let Some(head) = head(&card.question, waiting, round.is_empty()) {
        block.push(&head, columns);
    }
    block.rows.extend(round.iter().cloned());
    for line in text(&card.question, at) {
        block.push(&line, columns);
    }
    block.push(&Line::empty(), columns);
    options(card, columns, &mut block);
    own_words(card, columns, &mut block);
    block
}

/// The preview of the option under the cursor.
pub(crate) fn preview(card: &QuestionCard) -> Option<&str> {
    card.question.options.get(card.cursor).filter(|_| !card.typing)?.preview.as_deref()
}

/// Whether any option has a preview.
pub(crate) fn has_previews(question: &OpenQuestion) -> bool {
    question.options.iter().any(|option| option.preview.is_some())
}

/// The keys of the card, in words.
pub(crate) fn keys(card: &QuestionCard) -> Vec<&'static str> {
    let question = &card.question;
    let leave = if question.previous.is_some() { "esc keep the answer" } else { "esc cancel" };
    if card.typing {
        let esc = if question.options.is_empty() { leave } else { "esc options" };
        let draft = question.draft.is_some().then_some("tab send the draft");
        let offer = question.offer.is_some().then_some("shift-tab answer as before");
        let keys = ["enter answer", "alt-enter new line"].into_iter();
        return keys.chain(draft).chain(offer).chain([esc]).collect();
    }
    let whole = match question.purpose {
        Purpose::Permission { .. } => Some("p show all"),
        _ if has_previews(question) => Some("p previews"),
        _ => None,
    };
    let toggle = question.multi.then_some("space tick");
    let back = (question.number > 1).then_some("← back");
    let draft = question.draft.is_some().then_some("s send the draft");
    let offer = question.offer.is_some().then_some("r answer as before");
    let optional = toggle.into_iter().chain(["enter answer"]).chain(draft).chain(offer).chain(back);
    ["↑↓ move"].into_iter().chain(optional).chain(whole).chain(["d leave", leave, "? help"]).collect()
}

/// The text being typed, after a sign.
pub(crate) fn editor(editor: &Editor, placeholder: &str, columns: usize, block: &mut Block) {
    let layout = editor.layout(columns.saturating_sub(2));
    let start = block.rows.len();
    for (row, text) in layout.rows.iter().enumerate() {
        let line = Line::new(Tone::Here, if row == 0 { "❯ " } else { "  " });
        block.rows.push(line.and(Tone::Text, text));
    }
    if let (true, Some(row)) = (editor.is_empty(), block.rows.last_mut()) {
        *row = row.clone().and(Tone::Dim, placeholder);
    }
    let (row, column) = layout.cursor;
    block.cursor = Some((start + row, column + 2));
    block.focus = start + row..start + row + 1;
}

/// The progress of the round, and the question's header, unless the round below shows it.
fn head(question: &OpenQuestion, waiting: usize, is_alone: bool) -> Option<Line> {
    let mut line = Line::empty();
    if question.of > 1 {
        let filled = (question.number * BAR / question.of).min(BAR);
        let bar = format!("{}{}", "▓".repeat(filled), "░".repeat(BAR - filled));
        let percent = question.number * 100 / question.of;
        line = line.and(Tone::Strong, &format!("Q{} of {}", question.number, question.of));
        line = line.and(Tone::Here, &format!("  {bar}")).and(Tone::Dim, &format!(" {percent}%"));
    }
    let is_permission = matches!(question.purpose, Purpose::Permission { .. });
    if let Some(header) = question.header.as_deref().filter(|_| is_alone && !is_permission) {
        let gap = if line.spans.is_empty() { "" } else { "  " };
        line = line.and(Tone::Text, gap).and(Tone::Strong, header);
    }
    if waiting > 1 {
        let gap = if line.spans.is_empty() { "" } else { "  " };
        line = line.and(Tone::Dim, &format!("{gap}1 of {waiting} waiting"));
    }
    (!line.spans.is_empty()).then_some(line)
}

fn text(question: &OpenQuestion, at: TextAt) -> Vec<Line> {
    if let Purpose::Permission(asked) = &question.purpose {
        return vec![Line::new(Tone::Strong, &format!("May the agent use {} for this?", asked.tool))];
    }
    let mut lines: Vec<Line> = match at {
        TextAt::Card => prose::lines(&question.text, Tone::Text),
        TextAt::History => {
            let short = Line::empty().and_giving(Tone::Text, &question.text);
            vec![short, Line::new(Tone::Dim, "The whole question is above.")]
        }
    };
    if let Some(previous) = &question.previous {
        lines.push(Line::new(Tone::Dim, "Answered before: ").and(Tone::Dim, previous).hanging(2));
    }
    let notes = words::of_lead(question).into_iter().chain(words::offered(question));
    lines.extend(notes.map(|words| Line::new(Tone::Dim, &words).hanging(2)));
    lines
}

fn options(card: &QuestionCard, columns: usize, block: &mut Block) {
    let options = &card.question.options;
    let labels = options.iter().map(|option| width(&terminal_text::line(&option.label)));
    let lead = self::lead(card, 0).width();
    let column = lead + labels.max().unwrap_or(0) + 2;
    let fits = |description: &String| column + width(&terminal_text::line(description)) <= columns;
    let aside = column <= columns / 2 && options.iter().filter_map(|o| o.description.as_ref()).all(fits);
    for (place, option) in options.iter().enumerate() {
        let start = block.rows.len();
        let here = place == card.cursor && !card.undecided;
        let tone = if here { Tone::Strong } else { Tone::Text };
        let mut line = self::lead(card, place).and(tone, &option.label).hanging(lead);
        match option.description.as_deref().filter(|words| !words.trim().is_empty()) {
            Some(description) if aside => {
                let gap = " ".repeat(column.saturating_sub(line.width()));
                line = line.and(Tone::Dim, &gap).and(Tone::Dim, description);
                block.push(&line, columns);
            }
            Some(description) => {
                block.push(&line, columns);
                block.push(&Line::new(Tone::Dim, description).indented(lead), columns);
            }
            None => block.push(&line, columns),
        }
        if place == card.cursor && !card.typing {
            block.focus = start..block.rows.len();
        }
    }
}

/// The part before an option: cursor, check mark, number.
fn lead(card: &QuestionCard, place: usize) -> Line {
    let line = cursor(card, place);
    let line = if card.question.multi { tick(line, card.chosen.contains(&place)) } else { line };
    let digits = card.question.options.len().to_string().len();
    line.and(Tone::Dim, &format!("{:>digits$}. ", place + 1))
}

fn cursor(card: &QuestionCard, place: usize) -> Line {
    let here = place == card.cursor && !card.typing && !card.undecided;
    Line::new(Tone::Here, if here { "❯ " } else { "  " })
}

fn tick(line: Line, ticked: bool) -> Line {
    if ticked { line.and(Tone::Good, "[x] ") } else { line.and(Tone::Dim, "[ ] ") }
}

fn own_words(card: &QuestionCard, columns: usize, block: &mut Block) {
    if card.typing {
        return editor(&card.own, "type your answer", columns, block);
    }
    if !card.question.free_text {
        return;
    }
    let place = card.question.options.len();
    let mut line = cursor(card, place);
    if card.question.multi {
        line = tick(line, !card.own.is_blank());
    }
    let digits = place.to_string().len();
    line = line.and(Tone::Dim, &format!("{:>digits$}. ", "o"));
    let invites = match card.question.purpose {
        Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } => "tell it what to do instead …",
        Purpose::Idle => "tell it what to do …",
        Purpose::Clarify | Purpose::Elicit(_) | Purpose::Confirm | Purpose::Budget { .. } => {
            "type your own …"
        }
    };
    let line = match card.own.is_blank() {
        true => line.and(Tone::Dim, invites),
        false => line.and_giving(Tone::Text, &card.own.text()),
    };
    if place == card.cursor { block.push_focus(&line, columns) } else { block.push(&line, columns) }
}
