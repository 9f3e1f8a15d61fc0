//! The methods, and their common checks: which chat is meant, whether the bot may write there, how often.

mod about;
mod edit;
mod send;
mod webhook;

use std::time::Instant;

use serde_json::Value;

use super::chat::{ChatKind, Standing};
use super::keyboard::{Markup, ReadMarkup};
use super::rates::Sending;
use super::refusal::Refusal;
use super::request::Parameters;
use super::state::{State, Violation};
use super::text::Formatted;
pub(super) use webhook::allow;

/// What a method gives.
pub(crate) type Result<T = Value> = std::result::Result<T, Refusal>;

type Method = fn(&mut State, &Parameters) -> Result;

/// All but `getUpdates`, which takes its time.
const METHODS: [(&str, Method); 16] = [
    ("getMe", about::get_me),
    ("getChat", about::get_chat),
    ("setMyCommands", about::set_my_commands),
    ("getMyCommands", about::get_my_commands),
    ("getFile", about::get_file),
    ("sendMessage", send::send_message),
    ("sendDocument", send::send_document),
    ("sendChatAction", send::send_chat_action),
    ("answerCallbackQuery", send::answer_callback_query),
    ("setMessageReaction", edit::set_message_reaction),
    ("editMessageText", edit::edit_message_text),
    ("editMessageReplyMarkup", edit::edit_message_reply_markup),
    ("deleteMessage", edit::delete_message),
    ("setWebhook", webhook::set_webhook),
    ("deleteWebhook", webhook::delete_webhook),
    ("getWebhookInfo", webhook::get_webhook_info),
];

/// The method of this name, spelled as documented; capitals do not matter to Telegram.
pub(crate) fn named(name: &str) -> Option<&'static str> {
    let known = METHODS.iter().map(|(known, _)| *known).chain(["getUpdates"]);
    known.into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

/// Does what is asked.
pub(crate) fn execute(state: &mut State, method: &str, parameters: &Parameters) -> Result {
    match METHODS.iter().find(|(known, _)| *known == method) {
        Some((_, execute)) => execute(state, parameters),
        None => Err(Refusal::new(404, "Not Found: method not found")),
    }
}

/// The chat that is meant.
fn chat(state: &State, parameters: &Parameters) -> Result<i64> {
    let id = match parameters.value("chat_id") {
        None => return Err(Refusal::bad_request("chat_id is empty")),
        Some(Value::String(text)) if text.is_empty() => return Err(Refusal::bad_request("chat_id is empty")),
        Some(value) => value.as_i64(),
    };
    let Some(chat) = id.and_then(|id| state.chats.get(&id)) else {
        return Err(Refusal::bad_request("chat not found"));
    };
    match (chat.kind, chat.bot) {
        (ChatKind::Upgraded(to), _) => Err(Refusal::upgraded(to)),
        (ChatKind::Group, Standing::Kicked) => Err(Refusal::forbidden("bot was kicked from the group chat")),
        (ChatKind::Supergroup | ChatKind::Forum, Standing::Kicked) => {
            Err(Refusal::forbidden("bot was kicked from the supergroup chat"))
        }
        _ => Ok(chat.id),
    }
}

/// Whether one more message or edit may go there now.
fn admit(state: &mut State, method: &str, chat: i64) -> Result<()> {
    let Err(limited) = state.limiter.ask_to(Sending::by(method), chat, Instant::now()) else { return Ok(()) };
    if limited.early {
        state.violations.push(Violation::Early { method: method.to_owned(), chat });
    }
    Err(Refusal::too_many_requests(limited.retry_after))
}

/// Notes what nobody will see.
fn note_dropped(state: &mut State, text: &Formatted, read: ReadMarkup) -> Markup {
    if text.dropped > 0 {
        state.violations.push(Violation::EntitiesDropped(text.dropped));
    }
    if !read.dropped.is_empty() {
        state.violations.push(Violation::ButtonsDropped(read.dropped));
    }
    read.markup
}
