//! Errors of calls to Telegram, distinguished by what the caller has to do about them.

use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;

/// Why a call to Telegram failed. No variant contains the token.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ApiError {
    /// The configured address of the Bot API is not a usable URL. The error does not repeat it, because it may contain
    /// a password.
    #[error("the address of Telegram's Bot API is not a plain http or https URL")]
    Address,
    /// The token is wrong or was revoked.
    #[error("Telegram does not accept the bot's token: {0}")]
    Unauthorized(String),
    /// Another process receives the updates of this bot.
    #[error("{0}")]
    Conflict(String),
    /// The bot sent too much, and Telegram demands a pause.
    #[error("Telegram demands a pause of {} s", .retry_after.as_secs())]
    TooMany {
        /// The length of the pause.
        retry_after: Duration,
    },
    /// The edit would not change the message.
    #[error("the message already has this content")]
    NotModified,
    /// The message no longer exists, or can no longer be changed.
    #[error("the message cannot be changed: {0}")]
    MessageGone(String),
    /// The person blocked the bot, or the bot may not write in that chat.
    #[error("the bot may not write there: {0}")]
    Blocked(String),
    /// The button was pressed so long ago that Telegram no longer accepts an answer.
    #[error("the press of the button is too old to be answered")]
    QueryTooOld,
    /// The group became a supergroup, which has another chat id.
    #[error("the group is now {to}")]
    Moved {
        /// The id of the supergroup.
        to: i64,
    },
    /// The topic is closed or gone.
    #[error("the topic does not accept messages: {0}")]
    TopicGone(String),
    /// Telegram refused the call.
    #[error("Telegram refuses it ({code}): {description}")]
    Refused { code: i64, description: String },
    /// The queue of this chat is full. The message was not queued.
    #[error("too many messages are already queued for this chat")]
    Full,
    /// Telegram cannot be reached.
    #[error("Telegram cannot be reached: {0}")]
    Unreachable(String),
    /// Telegram, or a proxy on the way, returned a server error. It may be overloaded, or fail on this call only.
    #[error("Telegram failed: {0}")]
    Failing(String),
    /// The channel is being stopped.
    #[error("the channel is being stopped")]
    Stopped,
}

/// The parameters of an error response.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Parameters {
    pub(super) retry_after: Option<u64>,
    pub(super) migrate_to_chat_id: Option<i64>,
}

/// Phrases in Telegram's error descriptions, grouped by meaning.
const NOT_MODIFIED: [&str; 1] = ["message is not modified"];
const GONE: [&str; 6] = [
    "message to edit not found",
    "message to delete not found",
    "message can't be edited",
    "message can't be deleted",
    "message_id_invalid",
    "message identifier is not specified",
];
const TOPIC_GONE: [&str; 3] = ["message thread not found", "topic_closed", "topic_deleted"];
const TOO_OLD: [&str; 2] = ["query is too old", "query id is invalid"];

/// Classifies an error response.
pub(super) fn refused(code: i64, description: String, parameters: Parameters) -> ApiError {
    let words = description.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    match code {
        401 => ApiError::Unauthorized(description),
        // Telegram's response to a token that never existed.
        404 if words == "not found" => ApiError::Unauthorized(description),
        403 => ApiError::Blocked(description),
        409 => ApiError::Conflict(description),
        429 => ApiError::TooMany { retry_after: Duration::from_secs(parameters.retry_after.unwrap_or(1)) },
        500.. => ApiError::Failing(description),
        _ if says(&NOT_MODIFIED) => ApiError::NotModified,
        _ if says(&GONE) => ApiError::MessageGone(description),
        _ if says(&TOPIC_GONE) => ApiError::TopicGone(description),
        _ if says(&TOO_OLD) => ApiError::QueryTooOld,
        _ => match parameters.migrate_to_chat_id {
            Some(to) => ApiError::Moved { to },
            None => ApiError::Refused { code, description },
        },
    }
}
