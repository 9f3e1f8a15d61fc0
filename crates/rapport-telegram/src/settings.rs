//! Settings of the channel.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use jiff::SignedDuration;
use rapport_settings::{ConfigError, Dollars, Secret, Setting, Sources, section, words};
use serde::Deserialize as _;
use serde::de::Deserializer;

/// The default address of the Bot API.
const API_URL: &str = "https://api.telegram.org";
/// The default time after which a person is reminded of an open question.
const REMIND: SignedDuration = SignedDuration::from_mins(15);

section! {
    /// Settings of the channel.
    pub struct TelegramLayer in "telegram.", blank variables: Unset {
        token: Secret, Trusted, Masked, or "TELEGRAM_BOT_TOKEN";
        /// The ids of the users with access.
        users: UserIds, Trusted, Masked, or "TELEGRAM_USER_ID";
        /// The ids of the users who may only look.
        lookers: UserIds, Trusted, Masked;
        /// The address of the Bot API.
        api_url: String, Trusted, Masked;
        /// The time after which a person is reminded of an open question (`15m`); `0s` for never.
        remind: SignedDuration, Trusted, Shown;
        /// An older name of `serve.project`.
        project: PathBuf, Trusted, Masked;
        /// A factor by which Telegram's rate limits are exceeded, for a server with other limits.
        faster: NonZeroU32, Trusted, Shown;
        /// The quiet hours, such as `22:00-07:00`.
        quiet: String, Trusted, Shown;
        /// What `/status` compares the spending of a day with, in dollars; `agent.daily_budget` if it is not set.
        budget: Dollars, Trusted, Shown;
        /// The command that transcribes a voice message: it gets the path of a file, and prints the text. It gets what the
        /// person says, so only the person's own settings may name it.
        transcriber: String, Person, Masked;
        /// Whether the conversation with the bot is a lead, which plans tasks and is asked first (true).
        lead: bool, Trusted, Shown;
    }
    sections {
        webhook: WebhookLayer;
    }
}

section! {
    /// Settings of the webhook, by which updates are delivered instead of being fetched.
    pub struct WebhookLayer in "telegram.webhook.", blank variables: Unset {
        /// The public address for Telegram.
        url: String, Trusted, Masked;
        /// The address to listen on.
        listen: SocketAddr, Trusted, Masked;
        /// The secret that only Telegram knows.
        secret: Secret, Trusted, Masked;
    }
    sections {}
}

/// The effective settings of the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelegramSettings {
    /// The bot's token; without one there is no channel.
    pub token: Option<Secret>,
    /// The ids of the users with access, in addition to those who paired with a code.
    pub users: Vec<u64>,
    /// The ids of the users who may only look.
    pub lookers: Vec<u64>,
    /// The address of the Bot API.
    pub api_url: String,
    /// The time after which a person is reminded of an open question; zero for never.
    pub remind: SignedDuration,
    /// The factor by which Telegram's rate limits are exceeded.
    pub faster: NonZeroU32,
    /// The quiet hours, unparsed.
    pub quiet: Option<String>,
    /// The daily budget for agents.
    pub budget: Option<Dollars>,
    /// The command that transcribes voice messages, as words; empty if there is none.
    pub transcriber: Vec<String>,
    /// Whether the conversation with the bot is a lead.
    pub lead: bool,
    /// Delivers updates by webhook instead of fetching them.
    pub webhook: Option<WebhookSettings>,
}

/// The effective settings of the webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookSettings {
    /// The public address for Telegram.
    pub url: String,
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The secret that only Telegram knows; random if not set.
    pub secret: Option<Secret>,
}

impl TelegramSettings {
    /// The settings of these sources.
    pub fn load(sources: &Sources) -> Result<Self, ConfigError> {
        let layer: TelegramLayer = sources.load()?;
        Ok(Self {
            token: layer.token,
            users: layer.users.unwrap_or_default().0,
            lookers: layer.lookers.unwrap_or_default().0,
            api_url: layer.api_url.unwrap_or_else(|| API_URL.into()),
            remind: layer.remind.unwrap_or(REMIND),
            faster: layer.faster.unwrap_or(NonZeroU32::MIN),
            transcriber: layer.transcriber.map(|line| words(&line)).unwrap_or_default(),
            quiet: layer.quiet,
            budget: layer.budget,
            lead: layer.lead.unwrap_or(true),
            webhook: layer.webhook.settings()?,
        })
    }
}

impl WebhookLayer {
    fn settings(self) -> Result<Option<WebhookSettings>, ConfigError> {
        match (self.url, self.listen) {
            (None, None) => Ok(None),
            (Some(url), Some(listen)) => Ok(Some(WebhookSettings { url, listen, secret: self.secret })),
            (Some(_), None) | (None, Some(_)) => Err(ConfigError::Wrong {
                place: "telegram.webhook".into(),
                what: "needs both url (where Telegram finds it) and listen (such as 127.0.0.1:8443)".into(),
            }),
        }
    }
}

/// The ids of users. Those of an older variable have access too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserIds(pub Vec<u64>);

impl Setting for UserIds {
    fn parse(words: &str) -> Result<Self, String> {
        let id =
            |word: &str| word.parse().map_err(|_| format!("{word:?} is not a user's id such as 123456789"));
        words.split([',', ' ']).filter(|word| !word.is_empty()).map(id).collect::<Result<_, _>>().map(Self)
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self)
    }

    fn and_older(mut self, older: Self) -> Self {
        self.0.extend(older.0);
        self
    }
}
