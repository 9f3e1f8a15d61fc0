//! Notices to the host of the channel about the connection to Telegram. Each one is sent once.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc;

/// Where notices go. The receiver may be gone.
pub type Notices = mpsc::UnboundedSender<Notice>;

/// A notice to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Telegram cannot be reached; the channel retries until it can.
    Unreachable { since: Timestamp, why: String },
    /// Telegram can be reached again.
    Reachable {
        /// Since when Telegram was unreachable.
        since: Timestamp,
    },
    /// Telegram demands a long pause in a chat. The messages are sent afterwards; none is lost.
    Paused { chat: i64, length: Duration },
    /// Another process receives the updates of this bot; the channel retries until it stops.
    Conflict { why: String },
    /// The conflict is over.
    ConflictOver,
    /// A webhook was set, and was removed so that updates can be fetched.
    WebhookRemoved { url: String },
    /// An update could not be parsed or handled; it is stored in a file.
    Unread { path: PathBuf, why: String },
    /// No user has access yet. The first person who sends this code gets access.
    Code {
        code: String,
        /// Until when the code is valid.
        until: Timestamp,
    },
    /// A user paired.
    LetIn {
        user: u64,
        /// The name that the user chose.
        name: String,
    },
    /// Telegram refuses a question. The question waits until its chat accepts messages again, or until a person does
    /// something in it.
    Unshown {
        /// The session of the question.
        session: String,
        why: String,
    },
    /// Telegram refuses an announcement of a session. Reported once per session.
    Untold { session: String, why: String },
    /// The log of a session is not trusted here. The session is not resumed, and no chat shows it.
    NotOurs {
        session: String,
        /// The result of checking the log's signature.
        why: String,
    },
    /// A session cannot be followed, so its questions cannot be shown.
    Lost { session: String, why: String },
    /// The sessions cannot be listed, so no earlier session is shown.
    Unlisted { why: String },
    /// A file could not be written.
    Unwritten {
        /// The system's error, with the path of the file.
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
            Self::Paused { chat, length } => write!(
                f,
                "Telegram demands a pause of {} in chat {chat}; what waits there is sent afterwards",
                rough(*length)
            ),
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

/// A duration in one unit, spelled out.
fn rough(length: Duration) -> String {
    match length.as_secs() {
        seconds if seconds >= 3 * 3600 => format!("{} hours", seconds.div_ceil(3600)),
        seconds if seconds >= 3 * 60 => format!("{} minutes", seconds.div_ceil(60)),
        seconds => format!("{seconds} seconds"),
    }
}

fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M UTC").to_string()
}
