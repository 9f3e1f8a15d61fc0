//! Parses the input of the question tool.

use rapport_core::{Choice, NewQuestion};
use serde_json::Value;
use serde_json::value::RawValue;

/// The questions in a tool's input. The tool's own form is objects; plain strings are accepted too; anything else is
/// ignored.
pub fn drafts(input: Option<&RawValue>) -> Vec<NewQuestion> {
    let input: Value = input.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let questions = input.get("questions").and_then(Value::as_array);
    questions.into_iter().flatten().filter_map(draft).collect()
}

fn draft(question: &Value) -> Option<NewQuestion> {
    let text = question.as_str().or_else(|| word(question, "question"))?;
    let options = question.get("options").and_then(Value::as_array);
    Some(NewQuestion {
        text: text.to_owned(),
        header: word(question, "header").map(str::to_owned),
        options: options.into_iter().flatten().filter_map(choice).collect(),
        multi: question.get("multiSelect").and_then(Value::as_bool).unwrap_or_default(),
        // The tool has an implicit option "Other".
        free_text: true,
        field: None,
    })
    .filter(|draft| !draft.text.trim().is_empty())
}

fn choice(option: &Value) -> Option<Choice> {
    let label = option.as_str().or_else(|| word(option, "label"))?;
    let description = word(option, "description").map(str::to_owned);
    let preview = word(option, "preview").filter(|preview| !preview.trim().is_empty()).map(str::to_owned);
    Some(Choice { description, preview, ..Choice::plain(label) })
        .filter(|choice| !choice.label.trim().is_empty())
}

fn word<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}
