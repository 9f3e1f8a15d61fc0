//! Finds mistakes that Telegram accepts: parameters that do not exist, and values of the wrong type. Calls are parsed
//! with the types that bots use, and compared with the request.

use frankenstein::methods::{
    AnswerCallbackQueryParams, DeleteMessageParams, DeleteWebhookParams, EditMessageReplyMarkupParams,
    EditMessageTextParams, GetChatParams, GetFileParams, GetMyCommandsParams, GetUpdatesParams,
    SendChatActionParams, SendDocumentParams, SendMessageParams, SetMessageReactionParams,
    SetMyCommandsParams, SetWebhookParams,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::request::Parameters;
use super::state::Violation;

/// What is wrong with the parameters of this call.
pub(crate) fn notice(method: &str, parameters: &Parameters) -> Vec<Violation> {
    let mut values = parameters.values.clone();
    for file in &parameters.files {
        values.entry(file.field.clone()).or_insert_with(|| format!("attach://{}", file.field).into());
    }
    let compared = match method {
        "getUpdates" => compare::<GetUpdatesParams>(values),
        "setWebhook" => compare::<SetWebhookParams>(values),
        "deleteWebhook" => compare::<DeleteWebhookParams>(values),
        "sendMessage" => compare::<SendMessageParams>(values),
        "sendDocument" => compare::<SendDocumentParams>(values),
        "editMessageText" => compare::<EditMessageTextParams>(values),
        "editMessageReplyMarkup" => compare::<EditMessageReplyMarkupParams>(values),
        "deleteMessage" => compare::<DeleteMessageParams>(values),
        "answerCallbackQuery" => compare::<AnswerCallbackQueryParams>(values),
        "sendChatAction" => compare::<SendChatActionParams>(values),
        "setMessageReaction" => compare::<SetMessageReactionParams>(values),
        "setMyCommands" => compare::<SetMyCommandsParams>(values),
        "getMyCommands" => compare::<GetMyCommandsParams>(values),
        "getFile" => compare::<GetFileParams>(values),
        "getChat" => compare::<GetChatParams>(values),
        _ => Ok(values.into_iter().map(|(name, _)| name).collect()),
    };
    let method = method.to_owned();
    match compared {
        Ok(unknown) => {
            let note = |parameter| Violation::UnknownParameter { method: method.clone(), parameter };
            unknown.into_iter().map(note).collect()
        }
        Err(why) => vec![Violation::WrongType { method, why }],
    }
}

/// What is lost when it is read and written again.
fn compare<T: DeserializeOwned + Serialize>(values: Map<String, Value>) -> Result<Vec<String>, String> {
    let sent = Value::Object(values);
    let read: T = serde_json::from_value(sent.clone()).map_err(|error| error.to_string())?;
    let kept = serde_json::to_value(read).map_err(|error| error.to_string())?;
    let mut lost = Vec::new();
    find_lost("", &sent, &kept, &mut lost);
    Ok(lost)
}

fn find_lost(way: &str, sent: &Value, kept: &Value, lost: &mut Vec<String>) {
    let below = |name: &str| if way.is_empty() { name.to_owned() } else { format!("{way}.{name}") };
    match (sent, kept) {
        (Value::Object(sent), kept) => {
            for (name, value) in sent.iter().filter(|(_, value)| !value.is_null()) {
                match kept.get(name) {
                    Some(kept) => find_lost(&below(name), value, kept, lost),
                    None => lost.push(below(name)),
                }
            }
        }
        (Value::Array(sent), Value::Array(kept)) => {
            for (at, (sent, kept)) in sent.iter().zip(kept).enumerate() {
                find_lost(&below(&at.to_string()), sent, kept, lost);
            }
        }
        _ => {}
    }
}
