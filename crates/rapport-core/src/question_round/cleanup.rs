//! Cleans a model's questions: keeps those that can be shown and answered and were not asked before.

use std::collections::BTreeSet;

use super::wire::{WireOption, WireQuestion};
use crate::input::NewQuestion;
use crate::question::Choice;

/// The maximum number of options of a question (CHAT-15).
const MAX_OPTIONS: usize = 4;

/// The questions that can be asked, up to a maximum, without those that were `asked` before.
pub(super) fn questions<'a>(
    wire: Vec<WireQuestion>,
    asked: impl Iterator<Item = &'a str>,
    most: usize,
) -> Vec<NewQuestion> {
    let mut known: BTreeSet<String> = asked.map(gist).collect();
    let drafts = wire.into_iter().filter_map(draft);
    drafts.filter(|draft| known.insert(gist(&draft.text))).take(most).collect()
}

fn draft(wire: WireQuestion) -> Option<NewQuestion> {
    let text = wire.question.trim().to_owned();
    if text.is_empty() {
        return None;
    }
    let multi = wire.multi_select.unwrap_or(false);
    let options = options(wire.options.unwrap_or_default(), multi);
    Some(NewQuestion {
        text,
        header: wire.header.and_then(filled),
        multi: multi && options.len() > 1,
        // Without at least two options, free text is the only possible answer.
        free_text: wire.allow_free_text.unwrap_or(false) || options.len() < 2,
        options,
        field: None,
    })
}

/// The options that have a label, without duplicate labels and values.
fn options(wire: Vec<WireOption>, multi: bool) -> Vec<Choice> {
    let mut labels = BTreeSet::new();
    let named = wire.into_iter().filter_map(choice);
    let mut options: Vec<_> =
        named.filter(|option| labels.insert(option.label.to_lowercase())).take(MAX_OPTIONS).collect();
    let values: BTreeSet<_> = options.iter().map(|option| &option.value).collect();
    if values.len() < options.len() {
        for option in &mut options {
            option.value.clone_from(&option.label);
        }
    }
    if !multi {
        let recommended = options.iter_mut().filter(|option| option.recommended);
        recommended.skip(1).for_each(|option| option.recommended = false);
    }
    options
}

fn choice(wire: WireOption) -> Option<Choice> {
    let (label, value, description, recommended) = match wire {
        WireOption::Label(label) => (label, None, None, None),
        WireOption::Full { label, value, description, recommended } => {
            (label, value, description, recommended)
        }
    };
    let plain = Choice::plain(filled(label)?);
    Some(Choice {
        value: value.and_then(|value| filled(value.into_text())).unwrap_or_else(|| plain.label.clone()),
        description: description.and_then(filled),
        recommended: recommended.unwrap_or(false) || plain.recommended,
        ..plain
    })
}

fn filled(text: String) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// A key that is equal for questions that differ only in case, punctuation and spaces. `C`, `C++` and `C#` differ.
fn gist(text: &str) -> String {
    let matters = |c: &char| c.is_alphanumeric() || matches!(c, '+' | '#');
    let gist: String = text.chars().filter(matters).flat_map(char::to_lowercase).collect();
    if gist.is_empty() { text.split_whitespace().collect() } else { gist }
}
