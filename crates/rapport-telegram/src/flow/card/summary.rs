//! The card of a plan that waits for confirmation, and the list of answers that can be changed.

use rapport_core::{Asker, PLAN_IS_BEHIND, PhaseView, Presenter, Purpose, RoundView, display_text};

use super::question::{elsewhere, unanswered};
use super::{Card, DIVIDER, LONGEST_CARD, cut, named, short};
use crate::flow::button::{Button, Tag};
use crate::markdown;
use crate::split;
use crate::text::Text;

/// The maximum lengths of a task, a question, an answer, and a plan on a card on which not everything fits.
const LONGEST_TASK: usize = 400;
const LONGEST_QUESTION: usize = 80;
const LONGEST_ANSWER: usize = 100;
const LONGEST_PLAN: usize = 1500;
/// The maximum length of a question on a button.
const ON_A_BUTTON: usize = 30;
/// The maximum number of answers that the list can change. A message has at most a hundred buttons.
const MOST_ANSWERS: usize = 90;

pub(super) fn open(presenter: &Presenter, tag: &Tag) -> Card {
    let confirm =
        vec![named("✅ Confirm & Start", Button::Confirm, tag), named("✏️ Edit Answers", Button::Edit, tag)];
    let has_answers = presenter.clarifying().next().is_some();
    let confirm = confirm.into_iter().take(if has_answers { 2 } else { 1 }).collect();
    let cancel = vec![named("✖ Cancel", Button::AskCancel, tag)];
    let rows = vec![confirm, cancel];
    let whole = text(presenter, usize::MAX);
    if whole.units() <= LONGEST_CARD {
        return Card { rows, ..Card::plain(whole) };
    }
    let before = Some(split::pieces(&whole, "plan.md".into(), whole.words()));
    Card { before, text: brief(presenter), rows }
}

pub(super) fn closed(presenter: &Presenter, round: &RoundView<'_>, place: usize) -> Text {
    let item = &round.items[place];
    let text = brief(presenter).plain("\n\n");
    match (item.given, round.closed) {
        (Some((answer, by)), _) if answer.confirms() => {
            text.plain("✅ ").bold("Confirmed").plain(&elsewhere(by))
        }
        (Some((answer, by)), _) => {
            text.bold(&short(&item.question.words(answer), LONGEST_TASK)).plain(&elsewhere(by))
        }
        (None, _) if presenter.session().phase() == PhaseView::Ended => text.italic("Cancelled."),
        (None, Some(how)) => text.italic(&unanswered(how)),
        (None, None) => text.italic("Being changed, see below."),
    }
}

/// The shortened card, if not everything fits.
fn brief(presenter: &Presenter) -> Text {
    text(presenter, LONGEST_PLAN).trimmed(LONGEST_CARD)
}

fn text(presenter: &Presenter, longest_plan: usize) -> Text {
    let session = presenter.session();
    let task = cut(session.created().task.trim(), LONGEST_TASK);
    let mut text = Text::new().plain("✅ ").bold("Plan Ready").plain(&format!("\n{DIVIDER}\n"));
    text = text.bold("Task:").plain(&format!(" {task}\n"));
    for (number, (question, answer)) in answers(presenter).into_iter().enumerate() {
        let words = format!(" {} → {}", short(&question, LONGEST_QUESTION), short(&answer, LONGEST_ANSWER));
        text = text.plain("\n").bold(&format!("Q{}:", number + 1)).plain(&words);
    }
    if let Some(plan) = plan(presenter) {
        if session.is_plan_behind() {
            text = text.plain(&format!("\n\n⚠️ {PLAN_IS_BEHIND}"));
        }
        text = text.plain("\n\n").text(&markdown::text(&display_text::lines(&plan)).trimmed(longest_plan));
    }
    match session.last_plan_path() {
        Some(path) => text.plain("\n\n📁 Saved to: ").code(&display_text::line(path)),
        None => text,
    }
}

/// The plan in the agent's words, if the agent made one.
fn plan(presenter: &Presenter) -> Option<String> {
    presenter.session().plan_text().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// The list of answers: one button for each, and one that returns to the plan.
pub fn edit_menu(presenter: &Presenter, tag: &Tag) -> Card {
    let text = Text::new()
        .plain("✏️ ")
        .bold("Edit Answers")
        .plain(&format!("\n{DIVIDER}\nWhich answer do you want to change?"));
    let row = |(number, (question, answer)): (usize, (String, String))| {
        let label = format!(
            "Q{}: {} → {}",
            number + 1,
            short(&question, ON_A_BUTTON),
            short(&answer, ON_A_BUTTON / 2)
        );
        vec![named(&label, Button::EditQuestion(number), tag)]
    };
    let answers = answers(presenter).into_iter().enumerate();
    let mut rows: Vec<_> = answers.take(MOST_ANSWERS).map(row).collect();
    rows.push(vec![named("↩️ Back to the plan", Button::EditCancel, tag)]);
    Card { rows, ..Card::plain(text) }
}

/// The clarifying questions, with their answers in words.
fn answers(presenter: &Presenter) -> Vec<(String, String)> {
    let rounds = presenter.session().rounds().filter(|round| !matches!(round.asker, Asker::Rapport));
    let items = rounds.flat_map(|round| round.items);
    let items = items.filter(|item| item.question.purpose == Purpose::Clarify);
    let words = items.map(|item| {
        let answer = item.given.map(|(answer, _)| answer).or(item.previous);
        (
            item.question.text.clone(),
            answer.map_or_else(|| "–".to_owned(), |answer| item.question.words(answer)),
        )
    });
    words.collect()
}
