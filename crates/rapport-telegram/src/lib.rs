//! The Telegram channel. What is said and when is the flow's business; here below is how it travels: the client
//! (`api`), what goes out (`outbox`, kept to Telegram's `rates`), what comes in (`poll` or `webhook`, through `intake`,
//! noted in the `ledger`), one process per bot (`lease`), who may use it (`access`), and how words become messages
//! (`text`, `markdown`, `split`).

pub mod access;
pub mod api;
pub mod api_error;
pub mod backoff;
pub mod bot_api;
pub mod channel;
pub mod file_error;
pub mod flow;
pub mod intake;
pub mod lease;
pub mod ledger;
pub mod markdown;
pub mod notice;
pub mod outbox;
pub mod outgoing;
pub mod pairing;
pub mod poll;
pub mod rates;
pub mod room;
pub mod split;
pub mod text;
pub mod users;
pub mod webhook;

mod durable;
mod entities;
mod format;
mod lane;
mod paste;
mod web_server;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rapport_door::NewFile;

/// What this channel is called where somebody's answer is told.
pub const CHANNEL: &str = "telegram";

/// Where the time comes from. Tests bring their own.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Turns a voice message into words, or says why it cannot.
pub type Transcriber = Arc<dyn Fn(NewFile) -> BoxFuture<'static, Result<String, String>> + Send + Sync>;

/// The files of one bot: `$RAPPORT_HOME/telegram/<bot id>.*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotFiles {
    folder: PathBuf,
    bot: u64,
}

impl BotFiles {
    /// The files of this bot in Rapport's home.
    pub fn new(home: &std::path::Path, bot: u64) -> Self {
        Self { folder: home.join("telegram"), bot }
    }

    /// What was received, and what of it is done.
    pub fn offset(&self) -> PathBuf {
        self.named("offset")
    }

    /// Who receives.
    pub fn lock(&self) -> PathBuf {
        self.named("lock")
    }

    /// Who was let in by a code.
    pub fn users(&self) -> PathBuf {
        self.named("users.yaml")
    }

    /// What was shown, where.
    pub fn cards(&self) -> PathBuf {
        self.named("cards.jsonl")
    }

    /// What could not be read.
    pub fn unread(&self) -> PathBuf {
        self.named("unread.jsonl")
    }

    fn named(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.bot))
    }
}
