//! Buttons under a message, and other keyboard markup of messages.

use reqwest::Url;
use serde_json::{Value, json};

use super::refusal::Refusal;

/// What comes after these in one row is not shown.
const MOST_IN_ROW: usize = 8;
/// What comes after these in one keyboard is not shown.
const MOST_IN_ALL: usize = 100;
/// Bytes of data that a button can carry.
const MOST_DATA: usize = 64;

/// A button under a message.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Button {
    pub(crate) text: String,
    /// What the bot is told when it is tapped.
    pub(crate) data: Option<String>,
    /// All of it.
    pub(crate) raw: Value,
}

/// What a message brings along.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Markup {
    /// Nothing.
    #[default]
    None,
    /// Buttons under the message.
    Inline(Vec<Vec<Button>>),
    /// Buttons instead of the keyboard, or their end.
    Keyboard(Value),
    /// The person's next message is made a reply to this one.
    ForceReply(Value),
}

/// Which kinds a method takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Any,
    /// Buttons under the message only.
    InlineOnly,
}

/// A markup, and the labels of the buttons Telegram passed over.
#[derive(Debug, Default)]
pub(crate) struct ReadMarkup {
    /// What is shown.
    pub(crate) markup: Markup,
    /// What is not.
    pub(crate) dropped: Vec<String>,
}

impl Markup {
    /// The buttons under the message.
    pub(crate) fn rows(&self) -> &[Vec<Button>] {
        match self {
            Self::Inline(rows) => rows,
            Self::None | Self::Keyboard(_) | Self::ForceReply(_) => &[],
        }
    }

    /// As a message shows it to the bot; only buttons under it are.
    pub(crate) fn shown(&self) -> Option<Value> {
        let rows = self.rows();
        let row = |row: &Vec<Button>| Value::Array(row.iter().map(|button| button.raw.clone()).collect());
        (!rows.is_empty()).then(|| json!({ "inline_keyboard": rows.iter().map(row).collect::<Vec<_>>() }))
    }
}

/// Reads `reply_markup`.
pub(crate) fn read(value: Option<&Value>, takes: Takes) -> Result<ReadMarkup, Refusal> {
    let Some(value) = value else { return Ok(ReadMarkup::default()) };
    let Some(fields) = value.as_object() else {
        return Err(Refusal::bad_request("object expected as reply markup"));
    };
    let is = |name: &str| fields.get(name).is_some_and(|value| *value == true);
    let markup = if fields.get("keyboard").and_then(Value::as_array).is_some_and(|rows| !rows.is_empty()) {
        Markup::Keyboard(value.clone())
    } else if let Some(rows) = fields.get("inline_keyboard").and_then(Value::as_array) {
        return inline(rows);
    } else if is("remove_keyboard") {
        Markup::Keyboard(value.clone())
    } else if is("force_reply") {
        Markup::ForceReply(value.clone())
    } else {
        Markup::None
    };
    if takes == Takes::InlineOnly && markup != Markup::None {
        return Err(Refusal::bad_request("inline keyboard expected"));
    }
    Ok(ReadMarkup { markup, dropped: Vec::new() })
}

fn inline(rows: &[Value]) -> Result<ReadMarkup, Refusal> {
    let mut shown = Vec::new();
    let mut dropped = Vec::new();
    let mut count = 0;
    for row in rows {
        let Some(row) = row.as_array() else {
            return Err(Refusal::bad_request(
                "field \"inline_keyboard\" of the InlineKeyboardMarkup must be an Array of Arrays",
            ));
        };
        let mut buttons = Vec::new();
        for button in row {
            let button = read_button(button)?;
            if button.text.is_empty() || buttons.len() == MOST_IN_ROW || count == MOST_IN_ALL {
                dropped.push(button.text);
                continue;
            }
            check(&button)?;
            count += 1;
            buttons.push(button);
        }
        if !buttons.is_empty() {
            shown.push(buttons);
        }
    }
    let markup = if shown.is_empty() { Markup::None } else { Markup::Inline(shown) };
    Ok(ReadMarkup { markup, dropped })
}

fn read_button(value: &Value) -> Result<Button, Refusal> {
    let wrong = |why: &str| Refusal::bad_request(format!("can't parse inline keyboard button: {why}"));
    let Some(fields) = value.as_object() else { return Err(wrong("InlineKeyboardButton must be an Object")) };
    let Some(text) = fields.get("text").and_then(Value::as_str) else {
        return Err(wrong("Can't find field \"text\""));
    };
    let filled = |name: &str| fields.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let does = filled("url").is_some()
        || filled("callback_data").is_some()
        || [
            "switch_inline_query",
            "switch_inline_query_current_chat",
            "copy_text",
            "web_app",
            "login_url",
            "pay",
        ]
        .iter()
        .any(|name| fields.contains_key(*name));
    if !does {
        return Err(wrong("Text buttons are unallowed in the inline keyboard"));
    }
    let data = if filled("url").is_some() { None } else { filled("callback_data").map(str::to_owned) };
    Ok(Button { text: text.to_owned(), data, raw: value.clone() })
}

fn check(button: &Button) -> Result<(), Refusal> {
    if button.data.as_ref().is_some_and(|data| data.len() > MOST_DATA) {
        return Err(Refusal::bad_request("BUTTON_DATA_INVALID"));
    }
    match button.raw["url"].as_str().filter(|url| !url.is_empty()) {
        Some(url) => check_url(url),
        None => Ok(()),
    }
}

fn check_url(url: &str) -> Result<(), Refusal> {
    let whole = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let wrong =
        |why| Err(Refusal::bad_request(format!("inline keyboard button URL '{url}' is invalid: {why}")));
    match Url::parse(&whole) {
        Ok(parsed) if parsed.scheme() == "tg" => Ok(()),
        Ok(parsed) if !["http", "https", "ton"].contains(&parsed.scheme()) => {
            wrong("Unsupported URL protocol")
        }
        Ok(parsed) if parsed.host_str().is_some_and(|host| host.contains('.')) => Ok(()),
        Ok(_) | Err(_) => wrong("Wrong HTTP URL"),
    }
}
