//! Methods that send: messages, files, chat actions, answers to taps.

use serde_json::Value;

use super::super::chat::{Author, ChatKind, Content, Sound, Standing};
use super::super::keyboard::{self, Takes};
use super::super::refusal::Refusal;
use super::super::request::Parameters;
use super::super::shown;
use super::super::state::{Answer, Draft, State};
use super::super::text::{self, Formatted};
use super::{Result, admit, chat, note_dropped};

/// UTF-16 units of a text.
const MOST_TEXT: usize = 4096;
/// UTF-16 units of a caption.
const MOST_CAPTION: usize = 1024;
/// Characters that are shown when a button was tapped.
const MOST_TOAST: usize = 200;

const ACTIONS: [&str; 13] = [
    "cancel",
    "typing",
    "record_video",
    "upload_video",
    "record_voice",
    "record_audio",
    "upload_voice",
    "upload_audio",
    "upload_photo",
    "upload_document",
    "choose_sticker",
    "find_location",
    "record_video_note",
];

pub(super) fn send_message(state: &mut State, parameters: &Parameters) -> Result {
    let text = message_text(parameters)?;
    send(state, parameters, "sendMessage", Content::Text, text)
}

pub(super) fn send_document(state: &mut State, parameters: &Parameters) -> Result {
    let named = parameters.text("document");
    let field = named.strip_prefix("attach://").unwrap_or("document");
    let content = match parameters.files.iter().find(|file| file.field == field) {
        Some(file) if file.bytes.is_empty() => return Err(Refusal::bad_request("file must be non-empty")),
        Some(file) => Content::Document { name: file.name.clone(), bytes: file.bytes.clone() },
        None if named.is_empty() || named.starts_with("attach://") => {
            return Err(Refusal::bad_request("there is no document in the request"));
        }
        None => Content::Document { name: named.to_owned(), bytes: Vec::new() },
    };
    let caption = match parameters.text("caption") {
        "" => Formatted::default(),
        _ => text::read(parameters, "caption", "caption_entities")?,
    };
    if text::length(&caption.text) > MOST_CAPTION {
        return Err(Refusal::bad_request("message caption is too long"));
    }
    send(state, parameters, "sendDocument", content, caption)
}

/// The text of a message that is sent or edited.
pub(super) fn message_text(parameters: &Parameters) -> Result<Formatted> {
    if parameters.text("text").is_empty() {
        return Err(Refusal::bad_request("message text is empty"));
    }
    let text = text::read(parameters, "text", "entities")?;
    if text::length(&text.text) > MOST_TEXT {
        return Err(Refusal::bad_request("message is too long"));
    }
    Ok(text)
}

fn send(
    state: &mut State,
    parameters: &Parameters,
    method: &str,
    content: Content,
    text: Formatted,
) -> Result {
    let chat = chat(state, parameters)?;
    let mut topic = topic(state, parameters, chat)?;
    let reply_to = reply_to(state, parameters, chat)?;
    let read = keyboard::read(parameters.value("reply_markup"), Takes::Any)?;
    admit(state, method, chat)?;
    match state.chats[&chat].bot {
        Standing::Member | Standing::Kicked => {}
        Standing::Unmet => return Err(Refusal::forbidden("bot can't initiate conversation with a user")),
        Standing::Blocked => return Err(Refusal::forbidden("bot was blocked by the user")),
    }
    topic = topic.or(reply_to.and_then(|id| state.message(chat, id)).and_then(|message| message.topic));
    let markup = note_dropped(state, &text, read);
    let sound = if parameters.is("disable_notification") { Sound::Silent } else { Sound::Heard };
    let draft = Draft { markup, topic, reply_to, sound, ..Draft::new(Author::Bot, content, text) };
    let id = state.say(chat, draft);
    Ok(state.message(chat, id).map(|message| shown::message(state, message)).unwrap_or_default())
}

/// The topic that is meant. Groups without topics take no notice.
fn topic(state: &State, parameters: &Parameters, chat: i64) -> Result<Option<i32>> {
    let Some(thread) = parameters.number("message_thread_id").filter(|thread| *thread != 0) else {
        return Ok(None);
    };
    let chat = &state.chats[&chat];
    if !matches!(chat.kind, ChatKind::Forum | ChatKind::Private) {
        return Ok(None);
    }
    let thread = i32::try_from(thread).unwrap_or_default();
    match chat.topics.get(&thread) {
        None => Err(Refusal::bad_request("message thread not found")),
        Some(topic) if !topic.open => Err(Refusal::bad_request("TOPIC_CLOSED")),
        Some(_) => Ok(Some(thread)),
    }
}

fn reply_to(state: &State, parameters: &Parameters, chat: i64) -> Result<Option<i32>> {
    let (id, anyway) = match parameters.value("reply_parameters") {
        Some(Value::Object(reply)) => {
            let Some(id) = reply.get("message_id").and_then(Value::as_i64) else {
                return Err(Refusal::bad_request("can't find field \"message_id\""));
            };
            (Some(id), reply.get("allow_sending_without_reply") == Some(&Value::Bool(true)))
        }
        Some(_) => return Err(Refusal::bad_request("object expected as reply parameters")),
        None => (parameters.number("reply_to_message_id"), parameters.is("allow_sending_without_reply")),
    };
    let Some(id) = id.and_then(|id| i32::try_from(id).ok()).filter(|id| *id > 0) else { return Ok(None) };
    match state.message(chat, id) {
        Some(_) => Ok(Some(id)),
        None if anyway => Ok(None),
        None => Err(Refusal::bad_request("message to be replied not found")),
    }
}

pub(super) fn send_chat_action(state: &mut State, parameters: &Parameters) -> Result {
    let action = parameters.text("action").to_lowercase();
    if !ACTIONS.contains(&action.as_str()) {
        return Err(Refusal::bad_request("wrong parameter action in request"));
    }
    let chat = chat(state, parameters)?;
    if state.chats[&chat].bot == Standing::Blocked {
        return Err(Refusal::forbidden("bot was blocked by the user"));
    }
    let thread = parameters.number("message_thread_id").and_then(|thread| i32::try_from(thread).ok());
    state.actions.push((chat, thread, action));
    Ok(true.into())
}

pub(super) fn answer_callback_query(state: &mut State, parameters: &Parameters) -> Result {
    let text = parameters.text("text").to_owned();
    let answer = Answer { alert: parameters.is("show_alert"), text };
    if answer.text.chars().count() > MOST_TOAST {
        return Err(Refusal::bad_request("MESSAGE_TOO_LONG"));
    }
    let id = parameters.text("callback_query_id");
    let lifetime = state.callback_lifetime;
    match state.callbacks.iter_mut().find(|callback| callback.id == id) {
        Some(callback)
            if callback.answer.is_none() && !callback.expired && callback.at.elapsed() <= lifetime =>
        {
            callback.answer = Some(answer);
            Ok(true.into())
        }
        _ => {
            Err(Refusal::bad_request("query is too old and response timeout expired or query ID is invalid"))
        }
    }
}
