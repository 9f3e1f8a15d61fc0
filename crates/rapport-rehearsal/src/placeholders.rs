//! `{{answer:QUESTION}}`, `{{answer:2}}` and, quoted for a shell, `{{answer:2|sh}}`: the answers so far.

use serde_json::Value;

/// An answer: the question's text and the answer's.
pub(super) type Answer = (String, String);

/// The placeholder's value if there is no answer.
const NOTHING: &str = "(no answer)";

/// Fills in the answers in a text.
pub(super) fn fill(text: &str, answers: &[Answer]) -> String {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("{{answer:") {
        let Some(length) = rest[start..].find("}}") else {
            break;
        };
        filled.push_str(&rest[..start]);
        filled.push_str(&lookup(&rest[start + "{{answer:".len()..start + length], answers));
        rest = &rest[start + length + "}}".len()..];
    }
    filled + rest
}

/// Fills in the answers in every text of a JSON value.
pub(super) fn fill_value(value: &Value, answers: &[Answer]) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text, answers)),
        Value::Array(items) => items.iter().map(|item| fill_value(item, answers)).collect(),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, item)| (key.clone(), fill_value(item, answers))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// The answer without its author: a script uses the answer, as a model would.
fn said(answer: &str) -> &str {
    let attributed = answer.strip_suffix(')').and_then(|text| text.rsplit_once(" (answered by "));
    attributed.map_or(answer, |(said, _)| said)
}

fn lookup(name: &str, answers: &[Answer]) -> String {
    let (name, for_shell) = match name.strip_suffix("|sh") {
        Some(name) => (name.trim(), true),
        None => (name.trim(), false),
    };
    let by_number = name.parse::<usize>().ok().and_then(|n| answers.get(n.checked_sub(1)?));
    let answer = by_number.or_else(|| answers.iter().rev().find(|(question, _)| question == name));
    let text = answer.map_or(NOTHING, |(_, text)| said(text));
    if for_shell { shell_word(text) } else { text.to_owned() }
}

/// The text quoted as one shell word.
fn shell_word(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found_by_question_and_by_number() {
        let answers =
            [("Which?".to_owned(), "JWT".to_owned()), ("Where?".to_owned(), "it's $HOME".to_owned())];
        for (text, expected) in [
            ("use {{answer:Which?}}.", "use JWT."),
            ("{{answer:1}}/{{answer:2}}", "JWT/it's $HOME"),
            ("{{answer:2|sh}}", r"'it'\''s $HOME'"),
            ("{{answer:9}} {{answer:Who?}}", "(no answer) (no answer)"),
            ("{{answer:open", "{{answer:open"),
            ("{{other}}", "{{other}}"),
        ] {
            assert_eq!(fill(text, &answers), expected);
        }
    }
}
