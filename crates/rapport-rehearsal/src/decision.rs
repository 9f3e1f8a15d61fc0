//! The host's decisions about tool calls, parsed from its control responses.

use serde_json::Value;

use super::placeholders::Answer;

/// The decision of a `PreToolUse` hook.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum HookDecision {
    /// Continue, with this input if it was changed.
    Allow(Option<Value>),
    Deny(String),
    /// Not now: end here and ask again on resume.
    Defer,
    Pass,
}

/// The response to `can_use_tool`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Permission {
    /// Yes, with this input if it was changed, and permanently if there are updates.
    Allow { input: Option<Value>, updates: Vec<Value> },
    /// No, with a reason; `interrupt` ends the whole turn.
    Deny { message: String, interrupt: bool },
    /// The host could not decide.
    Failed(String),
}

/// Parses the response to a `hook_callback`.
pub(super) fn hook_decision(response: &Value) -> HookDecision {
    let output = &response["response"]["hookSpecificOutput"];
    let reason = output["permissionDecisionReason"].as_str().unwrap_or("Denied by a hook");
    match output["permissionDecision"].as_str() {
        Some("allow") => HookDecision::Allow(object(&output["updatedInput"])),
        Some("deny") => HookDecision::Deny(reason.to_owned()),
        Some("defer") => HookDecision::Defer,
        _ => HookDecision::Pass,
    }
}

/// Parses the response to `can_use_tool`.
pub(super) fn permission(response: &Value) -> Permission {
    if response["subtype"] == "error" {
        return Permission::Failed(response["error"].as_str().unwrap_or("unknown").to_owned());
    }
    let body = &response["response"];
    match body["behavior"].as_str() {
        Some("allow") => Permission::Allow {
            input: object(&body["updatedInput"]),
            updates: body["updatedPermissions"].as_array().cloned().unwrap_or_default(),
        },
        Some("deny") => Permission::Deny {
            message: body["message"].as_str().unwrap_or("Denied").to_owned(),
            interrupt: body["interrupt"] == true,
        },
        _ => Permission::Failed("neither allow nor deny".to_owned()),
    }
}

/// The answers in the input of a question, in the order of its questions; empty if there are none.
pub(super) fn answers_in(input: &Value) -> Vec<Answer> {
    question_texts(input)
        .into_iter()
        .filter_map(|question| {
            let answer = match &input["answers"][&question] {
                Value::Null => return None,
                Value::String(text) if text.is_empty() => return None,
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some((question, answer))
        })
        .collect()
}

/// The texts of the questions a tool input asks.
pub(super) fn question_texts(input: &Value) -> Vec<String> {
    let questions = input["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    questions
        .iter()
        .filter_map(|question| question.as_str().or_else(|| question["question"].as_str()))
        .map(str::to_owned)
        .collect()
}

/// The first line of a message that answers questions (CLARIFY-11).
pub(super) const ANSWERS_HEADER: &str = "Here are my answers to your questions:";

/// The answers in a message to the questions that it repeats: lines such as `A2: ...` or `2. ...`, else line by line,
/// else the whole text.
pub(super) fn answers_in_message(message: &str) -> Vec<Answer> {
    let questions = questions_in_message(message);
    let text = message.split_once("My answers:").map_or(message, |(_, text)| text).trim();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let answer = |index: usize| {
        let n = index + 1;
        let labels = [format!("A{n}:"), format!("{n}."), format!("{n})"), format!("{n}:")];
        let labelled =
            labels.iter().find_map(|l| lines.iter().find_map(|line| line.strip_prefix(l.as_str())));
        let by_line = lines.get(index).filter(|_| lines.len() == questions.len()).copied();
        labelled.or(by_line).unwrap_or(text).trim().to_owned()
    };
    questions.iter().enumerate().map(|(index, question)| (question.clone(), answer(index))).collect()
}

/// The answers in a message to the questions of one call; `None` if it is about others. A message that repeats no
/// question is about all open ones.
pub(super) fn answers_to(questions: &[String], message: &str) -> Option<Vec<Answer>> {
    let said = answers_in_message(message);
    if said.is_empty() {
        let text = message.split_once("My answers:").map_or(message, |(_, text)| text).trim();
        return Some(questions.iter().map(|question| (question.clone(), text.to_owned())).collect());
    }
    let found: Vec<_> = said.into_iter().filter(|(asked, _)| questions.contains(asked)).collect();
    (!found.is_empty()).then_some(found)
}

/// The questions that a message repeats: `Q1: ...`, `Q2: ...`.
fn questions_in_message(message: &str) -> Vec<String> {
    let lines = || message.lines().map(str::trim);
    (1..)
        .map(|n| lines().find_map(|line| line.strip_prefix(&format!("Q{n}:"))))
        .map_while(|question| question.map(|text| text.trim().to_owned()))
        .collect()
}

fn object(value: &Value) -> Option<Value> {
    value.is_object().then(|| value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clarify_11_answers_are_read_from_a_message() {
        let questions = ["Which?".to_owned(), "Where?".to_owned()];
        let head = "Here are my answers to your questions:\n\nQ1: Which?\nQ2: Where?\n\n";
        for (tail, first, second) in [
            ("My answers:\nJWT\nin a cookie", "JWT", "in a cookie"),
            ("A1: JWT\nA2: in a cookie", "JWT", "in a cookie"),
            ("My answers:\n1. JWT\n2. in a cookie\nand that is all", "JWT", "in a cookie"),
            ("My answers:\nJWT everywhere", "JWT everywhere", "JWT everywhere"),
        ] {
            let message = format!("{head}{tail}");
            assert_eq!(questions_in_message(&message), questions);
            let answers = answers_in_message(&message);
            assert_eq!((answers[0].1.as_str(), answers[1].1.as_str()), (first, second), "{tail}");
        }
    }

    #[test]
    fn a_message_answers_the_calls_it_is_about() {
        let numbered = "Q1: Which?\nQ2: Where?\n\nMy answers:\n1. JWT\n2. here";
        for (questions, message, expected) in [
            (&["Where?"][..], numbered, Some(&["here"][..])),
            (&["Where?", "When?"], numbered, Some(&["here"])),
            (&["When?"], numbered, None),
            (&["When?"], "My answers:\nsoon", Some(&["soon"])),
        ] {
            let questions: Vec<_> = questions.iter().map(|text| (*text).to_owned()).collect();
            let answers = answers_to(&questions, message);
            let answers = answers.map(|answers| answers.into_iter().map(|(_, a)| a).collect::<Vec<_>>());
            assert_eq!(
                answers.as_deref(),
                expected.map(|e| e.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>()).as_deref()
            );
        }
    }
}
