//! The text of a message with its entities, counted in UTF-16 units, and checked and normalized as Telegram does.

use serde_json::Value;

use super::refusal::Refusal;
use super::request::Parameters;
use super::{html, markdown};

/// More entities than these are not shown.
const MOST_ENTITIES: usize = 100;
/// More bytes than these are not even looked at.
const MOST_BYTES: usize = 1 << 15;

/// Entities that a bot may set.
const SETTABLE: [&str; 13] = [
    "bold",
    "italic",
    "underline",
    "strikethrough",
    "spoiler",
    "code",
    "pre",
    "text_link",
    "text_mention",
    "custom_emoji",
    "blockquote",
    "expandable_blockquote",
    "date_time",
];
/// Entities that Telegram finds by itself, and passes over when a bot sets them.
const FOUND: [&str; 8] =
    ["mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number"];

/// A text as people see it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Formatted {
    pub(crate) text: String,
    /// The entities in it, in order.
    pub(crate) entities: Vec<Value>,
    /// How many entities were passed over, being too many.
    pub(crate) dropped: usize,
}

/// The length of a text as Telegram counts.
pub(crate) fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Reads the text and entities of a call.
pub(crate) fn read(parameters: &Parameters, text: &str, entities: &str) -> Result<Formatted, Refusal> {
    let text = parameters.text(text);
    if text.len() > MOST_BYTES {
        return Err(Refusal::bad_request("text is too long"));
    }
    let unparsed = |why: String| Refusal::bad_request(format!("can't parse entities: {why}"));
    let mode = parameters.text("parse_mode").to_lowercase();
    let (text, entities) = match mode.as_str() {
        "" | "none" => (text.to_owned(), listed(parameters.value(entities))?),
        "markdownv2" => markdown::parse(text).map_err(unparsed)?,
        "html" => html::parse(text).map_err(unparsed)?,
        // The legacy mode "Markdown" is left out on purpose: it cannot be escaped, so nobody should use it.
        _ => return Err(Refusal::bad_request("unsupported parse_mode")),
    };
    tidy(&text, entities)
}

/// Entities as they were listed, those left out that Telegram finds by itself.
fn listed(value: Option<&Value>) -> Result<Vec<Value>, Refusal> {
    let wrong = |why: &str| Refusal::bad_request(format!("can't parse MessageEntity: {why}"));
    let mut entities = Vec::new();
    for entity in value.and_then(Value::as_array).into_iter().flatten() {
        if !entity.is_object() {
            return Err(wrong("expected an Object"));
        }
        for field in ["offset", "length", "type"] {
            if entity[field].is_null() {
                return Err(wrong(&format!("Can't find field \"{field}\"")));
            }
        }
        let kind = entity["type"].as_str().unwrap_or_default();
        if kind == "text_link" && entity["url"].is_null() {
            return Err(wrong("Can't find field \"url\""));
        }
        if SETTABLE.contains(&kind) {
            entities.push(entity.clone());
        } else if !FOUND.contains(&kind) {
            return Err(wrong("Unsupported type specified"));
        }
    }
    Ok(entities)
}

/// Checks where the entities are, cleans the text, takes white space off its ends.
fn tidy(text: &str, mut entities: Vec<Value>) -> Result<Formatted, Refusal> {
    for entity in &entities {
        for field in ["offset", "length"] {
            let number = entity[field].as_i64().unwrap_or(-1);
            if !(0..=1_000_000).contains(&number) {
                return Err(Refusal::bad_request(format!(
                    "receive an entity with incorrect {field} {number}"
                )));
            }
        }
    }
    entities.retain(|entity| entity["length"] != 0);
    entities.sort_by_key(|entity| (start(entity), usize::MAX - end(entity)));
    let (cleaned, places) = clean(text);
    for entity in &entities {
        check_place(text, entity)?;
    }
    for entity in &mut entities {
        put(entity, places[start(entity)].unwrap_or_default(), places[end(entity)].unwrap_or_default());
    }
    let dropped = entities.len().saturating_sub(MOST_ENTITIES);
    entities.truncate(MOST_ENTITIES);
    trim(&cleaned, entities, dropped)
}

fn check_place(text: &str, entity: &Value) -> Result<(), Refusal> {
    let (from, to, all) = (start(entity), end(entity), length(text));
    if from > all {
        return Err(Refusal::bad_request(format!(
            "entity begins after the end of the text at UTF-16 offset {from}"
        )));
    }
    if let Err(byte) = boundary(text, from) {
        return Err(Refusal::bad_request(format!(
            "entity begins in a middle of a UTF-16 symbol at byte offset {byte}"
        )));
    }
    if to > all {
        return Err(Refusal::bad_request(format!(
            "entity beginning at UTF-16 offset {from} ends after the end of the text at UTF-16 offset {to}"
        )));
    }
    boundary(text, to).map_err(|byte| {
        Refusal::bad_request(format!(
            "entity beginning at UTF-16 offset {from} ends in a middle of a UTF-16 symbol at byte offset {byte}"
        ))
    })
}

/// Whether a character begins at this unit; if not, the byte at which the next one does.
fn boundary(text: &str, unit: usize) -> Result<(), usize> {
    let mut at = 0;
    for (byte, character) in text.char_indices() {
        if at >= unit {
            return if at == unit { Ok(()) } else { Err(byte) };
        }
        at += character.len_utf16();
    }
    if at == unit { Ok(()) } else { Err(text.len()) }
}

/// Control characters become spaces, carriage returns go; and where each unit has gone.
fn clean(text: &str) -> (String, Vec<Option<usize>>) {
    let mut cleaned = String::new();
    let mut places = Vec::new();
    let mut at = 0;
    for character in text.chars() {
        places.push(Some(at));
        places.extend((1..character.len_utf16()).map(|_| None));
        match character {
            '\r' => continue,
            '\n' => cleaned.push('\n'),
            control if control < ' ' => cleaned.push(' '),
            other => cleaned.push(other),
        }
        at += character.len_utf16();
    }
    places.push(Some(at));
    (cleaned, places)
}

fn trim(text: &str, entities: Vec<Value>, dropped: usize) -> Result<Formatted, Refusal> {
    let white = |character: char| character == ' ' || character == '\n';
    let text = text.trim_end_matches(white);
    let first = entities.iter().map(start).min().unwrap_or(usize::MAX);
    let skipped = text.chars().take_while(|character| white(*character)).count().min(first);
    let text = text[skipped..].to_owned();
    if text.is_empty() {
        return Err(Refusal::bad_request("text must be non-empty"));
    }
    let all = length(&text);
    let mut kept = Vec::new();
    for mut entity in entities {
        let (from, to) = (start(&entity) - skipped, (end(&entity) - skipped).min(all));
        if from < to {
            put(&mut entity, from, to);
            kept.push(entity);
        }
    }
    Ok(Formatted { text, entities: kept, dropped })
}

fn start(entity: &Value) -> usize {
    entity["offset"].as_u64().unwrap_or_default() as usize
}

fn end(entity: &Value) -> usize {
    start(entity) + entity["length"].as_u64().unwrap_or_default() as usize
}

fn put(entity: &mut Value, from: usize, to: usize) {
    entity["offset"] = from.into();
    entity["length"] = (to - from).into();
}
