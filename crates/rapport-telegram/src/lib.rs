//! The Telegram channel. The flow decides what is said and when. The modules here are the transport: the client
//! (`api`), sending (`outbox`, within Telegram's `rates`), receiving (`poll` or `webhook`, through `intake`, recorded
//! in the `ledger`), one process per bot (`lease`), access control (`access`), and formatting (`text`, `markdown`,
//! `split`). `kind` describes the channel to the program before it runs, `settings` is its section of the settings, and
//! `relay` imports the files of the program that preceded this one.

pub mod access;
pub mod api;
pub mod api_error;
pub mod backoff;
pub mod bot_api;
pub mod channel;
pub mod file_error;
pub mod flow;
pub mod intake;
pub mod kind;
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
pub mod settings;
pub mod split;
pub mod text;
pub mod users;
pub mod webhook;

mod durable;
mod entities;
mod format;
mod lane;
mod paste;
mod relay;
mod transcriber;

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rapport_door::NewFile;

/// The channel's name in answers.
pub const CHANNEL: &str = "telegram";

/// A clock, which tests replace.
pub type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Transcribes a voice message. The error says why that failed.
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

    /// The ledger of updates.
    pub fn offset(&self) -> PathBuf {
        self.named("offset")
    }

    /// The lock of the lease.
    pub fn lock(&self) -> PathBuf {
        self.named("lock")
    }

    /// The users who paired with a code.
    pub fn users(&self) -> PathBuf {
        self.named("users.yaml")
    }

    /// The notes about cards.
    pub fn cards(&self) -> PathBuf {
        self.named("cards.jsonl")
    }

    /// The updates that could not be parsed.
    pub fn unread(&self) -> PathBuf {
        self.named("unread.jsonl")
    }

    fn named(&self, ending: &str) -> PathBuf {
        self.folder.join(format!("{}.{ending}", self.bot))
    }
}
