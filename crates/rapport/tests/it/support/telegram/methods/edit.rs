//! Methods that change messages afterwards.

use std::time::Instant;

use serde_json::Value;

use super::super::chat::{Came, ChatKind, Content, Version};
use super::super::keyboard::{self, Markup, Takes};
use super::super::refusal::Refusal;
use super::super::request::Parameters;
use super::super::shown;
use super::super::state::State;
use super::super::text::Formatted;
use super::send::message_text;
use super::{Result, admit, chat, note_dropped};

pub(super) fn edit_message_text(state: &mut State, parameters: &Parameters) -> Result {
    let text = message_text(parameters)?;
    let read = keyboard::read(parameters.value("reply_markup"), Takes::InlineOnly)?;
    let (chat, id) = own_message(state, parameters)?;
    if state.message(chat, id).is_some_and(|message| message.content != Content::Text) {
        return Err(Refusal::bad_request("there is no text in the message to edit"));
    }
    let markup = note_dropped(state, &text, read);
    edit(state, "editMessageText", (chat, id), (text.text, text.entities), markup)
}

pub(super) fn edit_message_reply_markup(state: &mut State, parameters: &Parameters) -> Result {
    let read = keyboard::read(parameters.value("reply_markup"), Takes::InlineOnly)?;
    let (chat, id) = own_message(state, parameters)?;
    let markup = note_dropped(state, &Formatted::default(), read);
    let now = state.message(chat, id).map(|message| message.now().clone());
    let text = now.map(|now| (now.text, now.entities)).unwrap_or_default();
    edit(state, "editMessageReplyMarkup", (chat, id), text, markup)
}

pub(super) fn set_message_reaction(state: &mut State, parameters: &Parameters) -> Result {
    let chat = chat(state, parameters)?;
    let id = message_id(parameters);
    if state.message(chat, id).is_none() {
        return Err(Refusal::bad_request("message to react not found"));
    }
    let reactions = parameters.value("reaction").and_then(Value::as_array).cloned().unwrap_or_default();
    // A bot may set one.
    if reactions.len() > 1 {
        return Err(Refusal::bad_request("REACTIONS_TOO_MANY"));
    }
    let emoji = reactions.first().map(|reaction| reaction["emoji"].as_str().unwrap_or_default().to_owned());
    state.reactions.insert((chat, id), emoji.unwrap_or_default());
    Ok(true.into())
}

pub(super) fn delete_message(state: &mut State, parameters: &Parameters) -> Result {
    let id = message_id(parameters);
    if parameters.value("chat_id").is_none() {
        return Err(Refusal::bad_request("chat identifier is not specified"));
    }
    if id == 0 {
        return Err(Refusal::bad_request("message identifier is not specified"));
    }
    let chat = chat(state, parameters)?;
    let kind = state.chats[&chat].kind;
    let Some(message) = state.message_mut(chat, id) else {
        return Err(Refusal::bad_request("message to delete not found"));
    };
    if !message.is_by_bot() && kind != ChatKind::Private {
        return Err(Refusal::bad_request("message can't be deleted"));
    }
    message.deleted = true;
    Ok(true.into())
}

/// A message of the bot that is to be edited.
fn own_message(state: &State, parameters: &Parameters) -> Result<(i64, i32)> {
    let id = message_id(parameters);
    if parameters.value("chat_id").is_none() && id == 0 {
        return Err(Refusal::bad_request("message identifier is not specified"));
    }
    let chat = chat(state, parameters)?;
    match state.message(chat, id) {
        None => Err(Refusal::bad_request("message to edit not found")),
        Some(message) if message.is_by_bot() && !message.has_other_markup() => Ok((chat, id)),
        Some(_) => Err(Refusal::bad_request("message can't be edited")),
    }
}

fn message_id(parameters: &Parameters) -> i32 {
    parameters.number("message_id").and_then(|id| i32::try_from(id).ok()).unwrap_or_default()
}

fn edit(
    state: &mut State,
    method: &str,
    (chat, id): (i64, i32),
    (text, entities): (String, Vec<Value>),
    markup: Markup,
) -> Result {
    admit(state, method, chat)?;
    let moment = state.tick();
    let Some(message) = state.message_mut(chat, id) else {
        return Err(Refusal::bad_request("message to edit not found"));
    };
    let now = message.now();
    if now.text == text && now.entities == entities && now.markup.rows() == markup.rows() {
        return Err(Refusal::bad_request(
            "message is not modified: specified new message content and reply markup are exactly the same as a \
             current content and reply markup of the message",
        ));
    }
    message.versions.push(Version { text, entities, markup, came: Came::Edit, moment, at: Instant::now() });
    Ok(state.message(chat, id).map(|message| shown::message(state, message)).unwrap_or_default())
}
