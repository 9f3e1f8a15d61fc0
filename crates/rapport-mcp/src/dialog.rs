//! Turns a question into a form for the person at a client, and the filled-in form into an answer. A form that was
//! closed or left empty is not an answer.

use rapport_core::{OpenQuestion, Purpose, QuestionId, Reply, SessionId, View, display_text};
use rapport_durable::digest;
use rmcp::model::{
    ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, JsonObject,
};
use serde_json::{Value, json};

use crate::words;

/// The names of the form's fields: the choice, and the person's own words.
const CHOICE: &str = "answer";
const WORDS: &str = "words";

/// The number of lines that every client shows. Some clients show only these, and the number of the others.
const SHOWN: usize = 3;

/// The maximum number of characters of a form. A longer question is shown elsewhere, because a person would not read
/// it in a dialog and must not decide about what they have not seen.
const LONGEST: usize = 10_000;

/// A question as a form.
#[derive(Clone, Debug)]
pub(crate) struct Dialog {
    pub(crate) session: SessionId,
    pub(crate) question: QuestionId,
    /// Derived from what the person sees, so that a reply to an earlier wording does not answer this one.
    pub(crate) key: String,
    pub(crate) request: ElicitRequest,
}

impl Dialog {
    /// A question as a form; with `refused`, the reason why the first attempt to answer it was refused. `None` if the
    /// question is too long for a form.
    pub(crate) fn of(view: &View, open: &OpenQuestion, refused: Option<&str>) -> Option<Self> {
        let (message, schema) = (message(view, open, refused), schema(open));
        let shown = format!("{message}\n{}", Value::Object(schema.clone()));
        if shown.chars().count() > LONGEST {
            return None;
        }
        let requested_schema = ElicitationSchema::from_json_schema(schema).ok()?;
        let form = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        let print: String = digest(shown.as_bytes()).chars().take(16).collect();
        Some(Self {
            session: view.id.clone(),
            question: open.id.clone(),
            key: format!("{}/{}/{print}", view.id, open.id),
            request: ElicitRequest::new(form),
        })
    }
}

/// Whether a client shows forms to its person. A client that declares elicitation without a mode means forms.
pub(crate) fn are_shown_by(client: Option<&ClientCapabilities>) -> bool {
    let modes = client.and_then(|client| client.elicitation.as_ref());
    modes.is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
}

/// Everything that the person decides about, the most important first.
fn message(view: &View, open: &OpenQuestion, refused: Option<&str>) -> String {
    let task = words::shorten(&view.task);
    let about = match &open.purpose {
        Purpose::Permission(asked) => asked.text(),
        Purpose::LeavePlanMode { plan } => display_text::lines(plan),
        Purpose::Confirm => {
            view.plan.as_ref().map(|plan| display_text::lines(&plan.text)).unwrap_or_default()
        }
        Purpose::Elicit(field) => format!("The MCP server {} asks this.", display_text::line(&field.server)),
        Purpose::Clarify | Purpose::Budget { .. } | Purpose::Idle => String::new(),
    };
    let parts = [
        refused.map(|why| format!("That was not accepted: {why}.")),
        Some(display_text::lines(&open.text)),
        Some(about),
        open.draft
            .as_ref()
            .map(|draft| format!("{} proposes: {}", draft.by, display_text::lines(&draft.answer))),
        open.previous.as_ref().map(|answer| format!("The answer was: {}", display_text::lines(answer))),
        Some(format!("A worker of Rapport asks this. Its task: {}", display_text::line(&task))),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n");
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines.split_first() {
        // Clients may cut off the rest, so the message says where all of it can be read.
        Some((first, rest)) if lines.len() > SHOWN => {
            format!("{first} All of it: rapport answer {}\n{}", view.id, rest.join("\n"))
        }
        _ => lines.join("\n"),
    }
}

fn schema(open: &OpenQuestion) -> JsonObject {
    let title = |label: &str, about: Option<&String>| match about.filter(|about| !about.trim().is_empty()) {
        Some(about) => format!("{}: {}", display_text::line(label), display_text::line(about)),
        None => display_text::line(label),
    };
    let options: Vec<_> = open
        .options
        .iter()
        .map(|option| {
            json!({ "const": option.value, "title": title(&option.label, option.description.as_ref()) })
        })
        .collect();
    let (mut properties, mut required) = (JsonObject::new(), Vec::new());
    let takes_words = open.free_text || options.is_empty();
    if !options.is_empty() {
        let choice = match open.multi {
            true => json!({ "type": "array", "title": "Your answer", "items": { "anyOf": options } }),
            false => json!({ "type": "string", "title": "Your answer", "oneOf": options }),
        };
        properties.insert(CHOICE.into(), choice);
        if !takes_words {
            required.push(CHOICE);
        }
    }
    if takes_words {
        properties.insert(WORDS.into(), json!({ "type": "string", "title": "In your own words" }));
        if open.options.is_empty() {
            required.push(WORDS);
        }
    }
    let mut schema = JsonObject::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), Value::Object(properties));
    schema.insert("required".into(), json!(required));
    schema
}

/// What a person made of a form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FilledIn {
    Answer(Reply),
    /// They closed it, or left it empty: they did not decide.
    Nothing,
    /// The form has a value that it does not offer.
    Nonsense(String),
}

/// Reads what the person at a client made of a form.
pub(crate) fn read(open: &OpenQuestion, result: &ElicitResult) -> FilledIn {
    if result.action != ElicitationAction::Accept {
        return FilledIn::Nothing;
    }
    let Some(content) = result.content.as_ref().and_then(Value::as_object) else { return FilledIn::Nothing };
    let chosen: Vec<&str> = match content.get(CHOICE) {
        Some(Value::String(value)) => vec![value],
        Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let mut places = Vec::new();
    for value in chosen.into_iter().filter(|value| !value.is_empty()) {
        match open.options.iter().position(|option| option.value == value) {
            Some(place) => places.push(place),
            None => return FilledIn::Nonsense(format!("{value:?} is not one of the options")),
        }
    }
    let text = content.get(WORDS).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty());
    match (places.is_empty(), text) {
        (true, None) => FilledIn::Nothing,
        (false, None) => FilledIn::Answer(Reply::Choices(places)),
        (true, Some(text)) => FilledIn::Answer(Reply::Text(text.to_owned())),
        (false, Some(text)) => FilledIn::Answer(Reply::Both(places, text.to_owned())),
    }
}
