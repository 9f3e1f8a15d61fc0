//! The prompts for a model that makes rounds of questions (CHAT-6, CHAT-7), and for one that may ask in its reply
//! (CHAT-36).

use serde_json::{Value, json};

use crate::question_round::Brief;

/// The line before the answers.
pub(crate) const ANSWERS_SO_FAR: &str = "Answers gathered so far:";
/// The beginning of the reason for which a model is asked again.
pub(crate) const NOT_USABLE: &str = "Your last reply could not be used:";

/// The model's instructions, the same for all rounds.
pub(crate) const INSTRUCTIONS: &str = "\
You prepare a task for a coding agent by asking the person who wants it done. You do not carry the task out, and you do \
not answer it.

Ask what would change the result and what only the person can know: what they want, how it should behave, which of \
several good ways they prefer. Do not ask what the code itself tells, and do not ask for the sake of asking. Each \
question stands alone, is short (at most 80 characters where that is possible), and is written in the language of the \
task.

Reply with one JSON object and nothing else:
{
  \"goal\": \"a name for the goal in two or three words, such as dark-mode\",
  \"description\": \"a name for the task in a few words, such as add-dark-mode-to-the-app\",
  \"questions\": [
    {
      \"question\": \"the question\",
      \"options\": [
        {\"label\": \"what the person reads, at most 25 characters\", \"value\": \"the answer in a word or a slug\",
         \"description\": \"what choosing it means, in a sentence, or empty\", \"recommended\": true}
      ],
      \"allowFreeText\": false,
      \"multiSelect\": false
    }
  ],
  \"done\": false
}
Give each question 2 to 4 options that differ, and recommend at most one of them. Set allowFreeText only where words of \
one's own are truly needed, and multiSelect where several options can be right together.";

/// Added to the end of an agent's system prompt, so that it asks by a signal that can be shown as buttons (CHAT-36).
pub const INTERACTIVE: &str = "\
INTERACTIVE MODE INSTRUCTIONS:
If the request is complex or ambiguous, or you need to know more before you can carry it out well, you MUST reply with \
ONLY this JSON and no other text:
{
  \"interactive\": true,
  \"goal\": \"short-slug-for-goal\",
  \"description\": \"short-slug-for-description\",
  \"questions\": [
    {
      \"id\": \"q1\",
      \"question\": \"The question\",
      \"options\": [{\"label\": \"Option A\", \"value\": \"a\"}, {\"label\": \"Option B\", \"value\": \"b\"}],
      \"allowFreeText\": false
    }
  ]
}
Ask 3 to 7 focused questions with 2 to 4 options each. Use allowFreeText: true only where the answer truly needs words of \
the person's own. If the request is clear enough to be carried out as it is, answer normally, without this JSON.";

/// The message for a round.
pub(crate) fn round(brief: &Brief) -> String {
    let task = &brief.task;
    if brief.round <= 1 {
        return format!(
            "Task: {task}\nGenerate 2–4 clarifying questions. Return JSON: {{goal, description, questions, done: false}}"
        );
    }
    let answers: String = brief
        .answered
        .iter()
        .map(|(question, answer)| format!("Q: {} → {}\n", one_line(question), one_line(answer)))
        .collect();
    format!(
        "Task: {task}\n\n{ANSWERS_SO_FAR}\n{answers}\nDo you need more clarifying questions?\n\
         - If yes: return {{done: false, questions: [...]}} (2–4 more, no repeats)\n\
         - If enough context: return {{done: true, questions: []}}\n\
         Max {} rounds total.",
        brief.max_rounds
    )
}

/// The message for a round again, after a reply that could not be parsed.
pub(crate) fn round_again(brief: &Brief, problem: &str) -> String {
    format!("{}\n\n{NOT_USABLE} {problem}\nReply with the JSON object and nothing else.", round(brief))
}

/// The JSON schema of a reply. As the Messages API requires, every field is required and no other is allowed; the
/// schema cannot express limits on lengths.
pub(crate) fn schema(round: u32) -> Value {
    let text = || json!({"type": "string"});
    let flag = || json!({"type": "boolean"});
    let list = |items: Value| json!({"type": "array", "items": items});
    let option =
        object([("label", text()), ("value", text()), ("description", text()), ("recommended", flag())]);
    let question = object([
        ("question", text()),
        ("options", list(option)),
        ("allowFreeText", flag()),
        ("multiSelect", flag()),
    ]);
    let questions = list(question);
    if round <= 1 {
        object([("goal", text()), ("description", text()), ("questions", questions), ("done", flag())])
    } else {
        object([("done", flag()), ("questions", questions)])
    }
}

fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let required: Vec<_> = fields.iter().map(|(name, _)| (*name).to_owned()).collect();
    let properties: serde_json::Map<_, _> =
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
