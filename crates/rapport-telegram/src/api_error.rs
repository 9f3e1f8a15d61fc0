//! Why a call to Telegram failed, by what the caller has to do about it.

use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;

/// Why a call to Telegram failed. None of it ever holds the token.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ApiError {
    /// The token is wrong or was revoked.
    #[error("Telegram does not accept the bot's token: {0}")]
    Unauthorized(String),
    /// Somebody else receives the updates of this bot.
    #[error("{0}")]
    Conflict(String),
    /// Too much was sent; nothing may be sent for a while.
    #[error("Telegram wants a pause of {} s", .retry_after.as_secs())]
    TooMany {
        /// How long.
        retry_after: Duration,
    },
    /// The message looks like that already.
    #[error("the message is as it should be already")]
    NotModified,
    /// The message is not there any more, or cannot be changed any more.
    #[error("the message cannot be changed: {0}")]
    MessageGone(String),
    /// The person blocked the bot, or it may not write there.
    #[error("the bot may not write there: {0}")]
    Blocked(String),
    /// The press of a button was so long ago that it cannot be answered any more.
    #[error("the press of the button is too old to be answered")]
    QueryTooOld,
    /// The group became a supergroup, with another id.
    #[error("the group is now {to}")]
    Moved {
        /// Its id now.
        to: i64,
    },
    /// The topic is closed or gone.
    #[error("the topic takes no messages: {0}")]
    TopicGone(String),
    /// Telegram does not take it.
    #[error("Telegram refuses it ({code}): {description}")]
    Refused {
        /// Telegram's code.
        code: i64,
        /// Telegram's words.
        description: String,
    },
    /// Too much waits for this chat already; nothing was queued.
    #[error("too much waits to be sent to this chat already")]
    Full,
    /// Telegram cannot be reached.
    #[error("Telegram cannot be reached: {0}")]
    Unreachable(String),
    /// Telegram, or something on the way, cannot do it: it may be in trouble, or stumble over just this.
    #[error("Telegram is in trouble: {0}")]
    Failing(String),
    /// The channel is being stopped.
    #[error("the channel is being stopped")]
    Stopped,
}

/// What Telegram says beside the words.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Parameters {
    pub(super) retry_after: Option<u64>,
    pub(super) migrate_to_chat_id: Option<i64>,
}

/// Words of refusals that mean one thing.
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

/// The error behind a refusal.
pub(super) fn refused(code: i64, description: String, parameters: Parameters) -> ApiError {
    let words = description.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    match code {
        401 => ApiError::Unauthorized(description),
        // What a token gets that never was one.
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
