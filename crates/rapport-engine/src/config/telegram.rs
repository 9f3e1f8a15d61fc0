//! Settings of the Telegram channel.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use jiff::SignedDuration;
use serde::Deserialize;

use super::layer::{duration, parsed, some_duration};
use super::secret::Secret;
use super::{ConfigError, words};

/// The default address of the Bot API.
const API_URL: &str = "https://api.telegram.org";
/// The default time after which a person is reminded of an open question.
const REMIND: SignedDuration = SignedDuration::from_mins(15);

#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TelegramLayer {
    pub token: Option<Secret>,
    /// The ids of the users with access.
    pub users: Option<Vec<u64>>,
    /// The address of the Bot API.
    pub api_url: Option<String>,
    /// The time after which a person is reminded of an open question (`15m`); `0s` for never.
    #[serde(deserialize_with = "some_duration")]
    pub remind: Option<SignedDuration>,
    /// The project the bot works in.
    pub project: Option<PathBuf>,
    /// A factor by which Telegram's rate limits are exceeded, for a server with other limits.
    pub faster: Option<NonZeroU32>,
    /// The quiet hours, such as `22:00-07:00`.
    pub quiet: Option<String>,
    /// The daily budget for agents, in dollars, which `/status` shows.
    pub budget: Option<Dollars>,
    /// The command that transcribes a voice message: it gets the path of a file, and prints the text.
    pub transcriber: Option<String>,
    /// Delivers updates by webhook instead of fetching them.
    pub webhook: WebhookLayer,
}

/// Settings of the webhook.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebhookLayer {
    /// The public address for Telegram.
    pub url: Option<String>,
    /// The address to listen on.
    pub listen: Option<SocketAddr>,
    /// The secret that only Telegram knows.
    pub secret: Option<Secret>,
}

/// The effective settings of the Telegram channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelegramSettings {
    /// The bot's token; without one there is no channel.
    pub token: Option<Secret>,
    /// The ids of the users with access, in addition to those who paired with a code.
    pub users: Vec<u64>,
    /// The address of the Bot API.
    pub api_url: String,
    /// The time after which a person is reminded of an open question; zero for never.
    pub remind: SignedDuration,
    /// The project the bot works in; by default the one it is started in.
    pub project: Option<PathBuf>,
    /// The factor by which Telegram's rate limits are exceeded.
    pub faster: NonZeroU32,
    /// The quiet hours, unparsed.
    pub quiet: Option<String>,
    /// The daily budget for agents.
    pub budget: Option<Dollars>,
    /// The command that transcribes voice messages, as words; empty if there is none.
    pub transcriber: Vec<String>,
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

impl TelegramLayer {
    /// Reads the layer from the environment, including `TELEGRAM_BOT_TOKEN`, `TELEGRAM_USER_ID` and `PROJECT_DIR`.
    pub(super) fn from_env(env: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let said = |name: &str| env(name).filter(|value| !value.is_empty());
        let mut users = Vec::new();
        for name in ["RAPPORT_TELEGRAM_USERS", "TELEGRAM_USER_ID"] {
            users.extend(parsed(said, name, ids)?.unwrap_or_default());
        }
        Ok(Self {
            token: said("RAPPORT_TELEGRAM_TOKEN").or_else(|| said("TELEGRAM_BOT_TOKEN")).map(Secret::new),
            users: (!users.is_empty()).then_some(users),
            api_url: said("RAPPORT_TELEGRAM_API_URL"),
            remind: parsed(said, "RAPPORT_TELEGRAM_REMIND", duration)?,
            project: said("RAPPORT_TELEGRAM_PROJECT").or_else(|| said("PROJECT_DIR")).map(PathBuf::from),
            faster: parsed(said, "RAPPORT_TELEGRAM_FASTER", times)?,
            transcriber: said("RAPPORT_TELEGRAM_TRANSCRIBER"),
            quiet: said("RAPPORT_TELEGRAM_QUIET"),
            budget: parsed(said, "RAPPORT_TELEGRAM_BUDGET", dollars)?,
            webhook: WebhookLayer {
                url: said("RAPPORT_TELEGRAM_WEBHOOK_URL"),
                listen: parsed(said, "RAPPORT_TELEGRAM_WEBHOOK_LISTEN", address)?,
                secret: said("RAPPORT_TELEGRAM_WEBHOOK_SECRET").map(Secret::new),
            },
        })
    }

    /// This layer, overridden by another one.
    pub(super) fn under(self, upper: Self) -> Self {
        Self {
            token: upper.token.or(self.token),
            users: upper.users.or(self.users),
            api_url: upper.api_url.or(self.api_url),
            remind: upper.remind.or(self.remind),
            project: upper.project.or(self.project),
            faster: upper.faster.or(self.faster),
            transcriber: upper.transcriber.or(self.transcriber),
            quiet: upper.quiet.or(self.quiet),
            budget: upper.budget.or(self.budget),
            webhook: WebhookLayer {
                url: upper.webhook.url.or(self.webhook.url),
                listen: upper.webhook.listen.or(self.webhook.listen),
                secret: upper.webhook.secret.or(self.webhook.secret),
            },
        }
    }

    /// The effective settings.
    pub(super) fn settings(self) -> Result<TelegramSettings, ConfigError> {
        Ok(TelegramSettings {
            token: self.token,
            users: self.users.unwrap_or_default(),
            api_url: self.api_url.unwrap_or_else(|| API_URL.into()),
            remind: self.remind.unwrap_or(REMIND),
            project: self.project,
            faster: self.faster.unwrap_or(NonZeroU32::MIN),
            transcriber: self.transcriber.map(|line| words(&line)).unwrap_or_default(),
            quiet: self.quiet,
            budget: self.budget,
            webhook: self.webhook.settings()?,
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

/// An amount of money, in millionths of a dollar. It is written in dollars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "f64")]
pub struct Dollars(pub u64);

impl TryFrom<f64> for Dollars {
    type Error = String;

    fn try_from(dollars: f64) -> Result<Self, Self::Error> {
        dollars_of(&dollars.to_string())
            .ok_or_else(|| format!("{dollars} is not an amount such as 5 or 2.50"))
    }
}

fn dollars(words: &str) -> Result<Dollars, String> {
    dollars_of(words).ok_or_else(|| format!("{words:?} is not an amount in dollars such as 5 or 2.50"))
}

/// Parsed digit by digit, to avoid rounding.
fn dollars_of(words: &str) -> Option<Dollars> {
    let (whole, part) = words.trim().split_once('.').unwrap_or((words.trim(), "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(part) || part.len() > 6 {
        return None;
    }
    let millionths: u64 = format!("{part:0<6}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(millionths).map(Dollars)
}

fn ids(words: &str) -> Result<Vec<u64>, String> {
    let id = |word: &str| word.parse().map_err(|_| format!("{word:?} is not a user's id such as 123456789"));
    words.split([',', ' ']).filter(|word| !word.is_empty()).map(id).collect()
}

fn times(words: &str) -> Result<NonZeroU32, String> {
    words.parse().map_err(|_| format!("{words:?} is not a whole number from 1 on"))
}

fn address(words: &str) -> Result<SocketAddr, String> {
    words.parse().map_err(|_| format!("{words:?} is not an address such as 127.0.0.1:8443"))
}
