//! What the host of the channel is told about the way to Telegram, once each.

use std::fmt;
use std::path::PathBuf;

use jiff::Timestamp;
use tokio::sync::mpsc;

/// Where notices go. Nobody has to listen.
pub type Notices = mpsc::UnboundedSender<Notice>;

/// Something the host should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Telegram cannot be reached; it is tried again until it can.
    Unreachable {
        /// Since when.
        since: Timestamp,
        /// What happened.
        why: String,
    },
    /// Telegram is back.
    Reachable {
        /// Since when it had not been.
        since: Timestamp,
    },
    /// Somebody else receives the updates of this bot; it is tried again until they stop.
    Conflict {
        /// What Telegram says about it.
        why: String,
    },
    /// Nobody else does any more.
    ConflictOver,
    /// A webhook was set, and was removed so that updates can be fetched.
    WebhookRemoved {
        /// Where updates went until now.
        url: String,
    },
    /// An update could not be read or handled; it is kept in a file.
    Unread {
        /// Which file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// Nobody may use the bot yet; whoever sends it this code may.
    Code {
        /// The code.
        code: String,
        /// Until when it is good.
        until: Timestamp,
    },
    /// Somebody was let in.
    LetIn {
        /// Their id.
        user: u64,
        /// What they call themselves.
        name: String,
    },
    /// Telegram does not take a question. It waits until the bot is let in again, or somebody does something in its chat.
    Unshown {
        /// Whose question it is.
        session: String,
        /// What Telegram says about it.
        why: String,
    },
    /// Telegram does not take what happened in a session. Said once of each.
    Untold {
        /// Which session.
        session: String,
        /// What Telegram says about it.
        why: String,
    },
    /// A session whose log does not count here. It is not taken up, and nobody is told of it in a chat.
    NotOurs {
        /// Which session.
        session: String,
        /// Whose word it is.
        why: String,
    },
    /// A session is not followed, so its questions cannot be shown.
    Lost {
        /// Which session.
        session: String,
        /// Why.
        why: String,
    },
    /// The sessions cannot be listed, so none that began before is shown.
    Unlisted {
        /// Why.
        why: String,
    },
    /// Something could not be written.
    Unwritten {
        /// What the system said, and about which file.
        why: String,
    },
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable { since, why } => {
                write!(f, "Telegram cannot be reached since {}: {why}", minute(*since))
            }
            Self::Reachable { since } => {
                write!(f, "Telegram is back; it could not be reached since {}", minute(*since))
            }
            Self::Conflict { why } => write!(f, "somebody else receives the updates of this bot: {why}"),
            Self::ConflictOver => write!(f, "updates of this bot come here again"),
            Self::WebhookRemoved { url } => {
                write!(
                    f,
                    "updates of this bot went to {url}; that webhook was removed so that they can be fetched"
                )
            }
            Self::Unread { path, why } => {
                write!(f, "an update was put aside unread ({why}); it is kept in {}", path.display())
            }
            Self::Code { code, until } => {
                write!(f, "nobody may use this bot yet; send it this code until {}: {code}", minute(*until))
            }
            Self::LetIn { user, name } => write!(f, "{name} ({user}) may use this bot from now on"),
            Self::Unshown { session, why } => write!(
                f,
                "a question of {session} cannot be shown in its chat ({why}); it is shown as soon as somebody \
                 writes there, or answer it with: rapport answer {session}"
            ),
            Self::Untold { session, why } => write!(
                f,
                "what happened in {session} could not be told in its chat ({why}); see it with: rapport log {session}"
            ),
            Self::NotOurs { session, why } => {
                write!(
                    f,
                    "session {session} {why}. Nothing is done for it; look at it with: rapport trust {session}"
                )
            }
            Self::Lost { session, why } => write!(f, "session {session} cannot be followed: {why}"),
            Self::Unlisted { why } => write!(f, "the sessions cannot be listed: {why}"),
            Self::Unwritten { why } => write!(f, "{why}"),
        }
    }
}

fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
