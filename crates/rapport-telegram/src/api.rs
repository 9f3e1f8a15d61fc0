//! The Bot API over one shared HTTP client. The token is part of every URL, so this file removes it from every error
//! text.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use crate::bot_api::{AllowedUpdate, MessageEntity};
use crate::bot_api::{
    AnswerCallbackQueryParams, DeleteMessageParams, DeleteWebhookParams, EditMessageReplyMarkupParams,
    EditMessageTextParams, GetFileParams, GetUpdatesParams, ReactionType, SendChatActionParams,
    SendMessageParams, SetMessageReactionParams, SetMyCommandsParams, SetWebhookParams,
};
use reqwest::multipart::{Form, Part};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::api_error::{ApiError, Parameters, refused};

/// The address of the Bot API.
pub const API_URL: &str = "https://api.telegram.org";
/// The kinds of update to fetch; the others would only be discarded.
pub const ALLOWED_UPDATES: [AllowedUpdate; 4] = [
    AllowedUpdate::Message,
    AllowedUpdate::EditedMessage,
    AllowedUpdate::CallbackQuery,
    AllowedUpdate::MyChatMember,
];

/// The long-polling timeout: how long Telegram holds a call while there are no updates.
const LONG_POLL: Duration = Duration::from_secs(50);
/// Network time allowed in addition to the long-polling timeout.
const MARGIN: Duration = Duration::from_secs(15);
/// The time limit for opening a connection.
const CONNECT: Duration = Duration::from_secs(10);
/// The time limit for an ordinary call.
const CALL: Duration = Duration::from_secs(30);
/// The time limit for an upload or a download.
const TRANSFER: Duration = Duration::from_secs(180);

/// A client for one bot.
#[derive(Clone)]
pub struct Api {
    client: Client,
    /// The URL up to the token.
    base: String,
    token: SecretString,
    bot: u64,
}

/// The bot's own account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Me {
    pub id: u64,
    #[serde(default)]
    pub first_name: String,
    /// The bot's user name, without the `@`.
    pub username: Option<String>,
}

/// A message that was sent. Only its id is parsed, so a change to the rest of the response does no harm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Posted {
    pub message_id: i32,
}

/// The webhook settings of the bot, as Telegram reports them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct WebhookInfo {
    /// The URL to which Telegram delivers updates; empty if no webhook is set.
    pub url: String,
    /// The number of updates that wait for delivery.
    #[serde(default)]
    pub pending_update_count: u64,
    /// The last delivery error.
    pub last_error_message: Option<String>,
}

/// A file that Telegram keeps for the bot.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct RemoteFile {
    /// The path to download the file from; missing if the bot may not download it.
    pub file_path: Option<String>,
}

/// A file to send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Document {
    pub name: String,
    pub bytes: Vec<u8>,
    pub caption: String,
    /// The formatting of the caption.
    pub entities: Vec<MessageEntity>,
    /// The topic to which the file is sent.
    pub thread: Option<i32>,
    /// Whether to send it without a sound.
    pub silent: bool,
}

impl Api {
    /// A client for the bot with this token.
    pub fn new(base: &str, token: SecretString) -> Result<Self, ApiError> {
        let bot = bot_id(token.expose_secret())?;
        if !is_address(base) {
            return Err(ApiError::Address);
        }
        // This fails if the process has already installed a provider, which then stays in use.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A redirect would send the token to another server.
        let client = Client::builder().connect_timeout(CONNECT).timeout(CALL).redirect(Policy::none());
        let client = client.build().map_err(|error| ApiError::Unreachable(causes(&error.without_url())))?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned(), token, bot })
    }

    /// The bot's id, which the token begins with.
    pub fn bot(&self) -> u64 {
        self.bot
    }

    /// Fetches the bot's own account.
    pub async fn get_me(&self) -> Result<Me, ApiError> {
        self.call("getMe", &Nothing {}).await
    }

    /// Waits for updates from this id on, and confirms all before it. Updates are returned unparsed, so that one
    /// invalid update does not affect the others.
    pub async fn get_updates(&self, offset: Option<i64>) -> Result<Vec<Box<RawValue>>, ApiError> {
        let params = GetUpdatesParams {
            offset,
            limit: 100,
            timeout: LONG_POLL.as_secs(),
            allowed_updates: ALLOWED_UPDATES.to_vec(),
        };
        let request = self.request("getUpdates").json(&params).timeout(LONG_POLL + MARGIN);
        self.send(request).await
    }

    /// Checks that updates can be fetched, without waiting for any or confirming any.
    pub async fn try_updates(&self) -> Result<(), ApiError> {
        let params = GetUpdatesParams {
            offset: None,
            limit: 1,
            timeout: 0,
            allowed_updates: ALLOWED_UPDATES.to_vec(),
        };
        self.tell("getUpdates", &params).await
    }

    pub async fn send_message(&self, params: &SendMessageParams) -> Result<Posted, ApiError> {
        self.call("sendMessage", params).await
    }

    /// Edits a message. Without a keyboard its buttons are removed.
    pub async fn edit_message_text(&self, params: &EditMessageTextParams) -> Result<(), ApiError> {
        self.tell("editMessageText", params).await
    }

    pub async fn edit_message_reply_markup(
        &self,
        params: &EditMessageReplyMarkupParams,
    ) -> Result<(), ApiError> {
        self.tell("editMessageReplyMarkup", params).await
    }

    /// Answers a callback query. Telegram accepts that for some seconds only, so it does not go through the outbox.
    pub async fn answer_callback_query(&self, params: &AnswerCallbackQueryParams) -> Result<(), ApiError> {
        self.tell("answerCallbackQuery", params).await
    }

    /// Shows the bot's current activity in a chat, such as "typing".
    pub async fn send_chat_action(&self, params: &SendChatActionParams) -> Result<(), ApiError> {
        self.tell("sendChatAction", params).await
    }

    /// Acknowledges a message by a reaction to it.
    pub async fn react(&self, chat: i64, message: i32) -> Result<(), ApiError> {
        let reaction = vec![ReactionType { type_field: "emoji", emoji: "👀" }];
        let params = SetMessageReactionParams { chat_id: chat, message_id: message, reaction };
        self.tell("setMessageReaction", &params).await
    }

    pub async fn send_document(&self, chat: i64, document: &Document) -> Result<Posted, ApiError> {
        let file = Part::bytes(document.bytes.clone()).file_name(document.name.clone());
        let mut form = Form::new().text("chat_id", chat.to_string()).part("document", file);
        if let Some(thread) = document.thread {
            form = form.text("message_thread_id", thread.to_string());
        }
        if document.silent {
            form = form.text("disable_notification", "true");
        }
        if !document.caption.is_empty() {
            form = form.text("caption", document.caption.clone());
        }
        if !document.entities.is_empty() {
            let entities = serde_json::to_string(&document.entities)
                .map_err(|error| ApiError::Refused { code: 0, description: error.to_string() })?;
            form = form.text("caption_entities", entities);
        }
        self.send(self.request("sendDocument").multipart(form).timeout(TRANSFER)).await
    }

    /// Sets the commands in the bot's menu.
    pub async fn set_my_commands(&self, params: &SetMyCommandsParams) -> Result<(), ApiError> {
        self.tell("setMyCommands", params).await
    }

    pub async fn delete_message(&self, params: &DeleteMessageParams) -> Result<(), ApiError> {
        self.tell("deleteMessage", params).await
    }

    /// Looks up the download path of a file that a person sent.
    pub async fn get_file(&self, id: &str) -> Result<RemoteFile, ApiError> {
        self.call("getFile", &GetFileParams { file_id: id.to_owned() }).await
    }

    /// Downloads a file of at most this many bytes.
    pub async fn download(&self, path: &str, most: usize) -> Result<Vec<u8>, ApiError> {
        if path.starts_with('/') || path.contains("..") || path.contains(['?', '#', '\\']) {
            return Err(unfetched("Telegram gave an invalid path for it"));
        }
        let unreachable =
            |error: reqwest::Error| ApiError::Unreachable(self.redacted(causes(&error.without_url())));
        let url = format!("{}/file/bot{}/{path}", self.base, self.token.expose_secret());
        let mut response = self.client.get(url).timeout(TRANSFER).send().await.map_err(unreachable)?;
        if !response.status().is_success() {
            return Err(stranger(response.status()));
        }
        let mut content = Vec::new();
        while let Some(piece) = response.chunk().await.map_err(unreachable)? {
            if content.len() + piece.len() > most {
                return Err(unfetched("it is larger than Telegram said"));
            }
            content.extend_from_slice(&piece);
        }
        Ok(content)
    }

    pub async fn set_webhook(&self, params: &SetWebhookParams) -> Result<(), ApiError> {
        self.tell("setWebhook", params).await
    }

    /// Removes the webhook, so that updates are kept until they are fetched.
    pub async fn delete_webhook(&self, params: &DeleteWebhookParams) -> Result<(), ApiError> {
        self.tell("deleteWebhook", params).await
    }

    /// Fetches the webhook settings of the bot.
    pub async fn get_webhook_info(&self) -> Result<WebhookInfo, ApiError> {
        self.call("getWebhookInfo", &Nothing {}).await
    }

    async fn tell(&self, method: &str, params: &impl Serialize) -> Result<(), ApiError> {
        self.call::<IgnoredAny>(method, params).await.map(drop)
    }

    async fn call<T: DeserializeOwned>(&self, method: &str, params: &impl Serialize) -> Result<T, ApiError> {
        self.send(self.request(method).json(params)).await
    }

    fn request(&self, method: &str) -> RequestBuilder {
        self.client.post(format!("{}/bot{}/{method}", self.base, self.token.expose_secret()))
    }

    async fn send<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ApiError> {
        let unreachable =
            |error: reqwest::Error| ApiError::Unreachable(self.redacted(causes(&error.without_url())));
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let body = response.bytes().await.map_err(unreachable)?;
        self.read(status, &body)
    }

    fn read<T: DeserializeOwned>(&self, status: StatusCode, body: &[u8]) -> Result<T, ApiError> {
        let Ok(envelope) = serde_json::from_slice::<Envelope>(body) else {
            return Err(stranger(status));
        };
        if envelope.ok {
            let result = envelope.result.map_or("null", RawValue::get);
            // Telegram has executed the call; a retry would execute it twice.
            return serde_json::from_str(result).map_err(|error| ApiError::Refused {
                code: i64::from(status.as_u16()),
                description: self.redacted(format!("its response cannot be parsed: {error}")),
            });
        }
        let code = envelope.error_code.unwrap_or(i64::from(status.as_u16()));
        let description = self.redacted(envelope.description.unwrap_or_else(|| status.to_string()));
        Err(refused(code, description, envelope.parameters.unwrap_or_default()))
    }

    /// Removes the token from a text. The part after the colon is the secret.
    fn redacted(&self, words: String) -> String {
        let secret = self.token.expose_secret().split_once(':').map_or("", |(_, secret)| secret);
        if secret.is_empty() { words } else { words.replace(secret, "***") }
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("bot", &self.bot).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Deserialize)]
struct Envelope<'a> {
    ok: bool,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    description: Option<String>,
    error_code: Option<i64>,
    parameters: Option<Parameters>,
}

/// The error for a response that came from a proxy between this process and the Bot API.
fn stranger(status: StatusCode) -> ApiError {
    let description = format!("something other than Telegram responded with {status}");
    match status.as_u16() {
        429 => ApiError::TooMany { retry_after: Duration::from_secs(1) },
        400 | 413 => ApiError::Refused { code: i64::from(status.as_u16()), description },
        500.. => ApiError::Failing(description),
        _ => ApiError::Unreachable(description),
    }
}

fn unfetched(why: &str) -> ApiError {
    ApiError::Refused { code: 0, description: why.to_owned() }
}

/// The bot id at the beginning of a token. Any other form could change the URL, so it is refused.
fn bot_id(token: &str) -> Result<u64, ApiError> {
    let harmless = |secret: &str| {
        !secret.is_empty() && secret.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
    };
    let id = token.split_once(':').filter(|(_, secret)| harmless(secret));
    let id = id.and_then(|(id, _)| id.parse().ok());
    id.ok_or_else(|| ApiError::Unauthorized("it is not of the form 123456:letters-and-digits".into()))
}

/// Whether `base` is a URL to which calls can be sent.
fn is_address(base: &str) -> bool {
    Url::parse(base).is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https") && url.query().is_none() && url.fragment().is_none()
    })
}

/// The text of an error and of its sources. The text of `reqwest` alone is only "error sending request".
fn causes(error: &reqwest::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        words.push_str(": ");
        words.push_str(&error.to_string());
        cause = error.source();
    }
    words
}
