//! How commands fail: what, why, what to do next, and a documented exit code.

use std::fmt;
use std::io::{self, Write as _};

use rapport_core::Refusal;
use rapport_door::{ChannelError, ProjectError};
use serde::Serialize;
use serde_json::json;

use crate::channels::terminal::terminal_text;
use crate::config::ConfigError;
use crate::engine::DoorError;
use crate::output;
use crate::projects::files::FileError;
use crate::stores::{Holder, StoreError};
use crate::turns::TurnError;

/// The hint if something cannot be stored.
pub(crate) const KEPT: &str = "Nothing that was confirmed is lost. Once that is fixed, continue from there.";

/// What to do about invalid content of a file.
const FIX: &str = "Nothing was changed. Fix or remove it.";

/// The hint if settings are wrong.
pub(crate) const FIX_SETTINGS: &str = "Fix or remove what is named there.";

/// The exit codes. `docs/commands.md` lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// An unforeseen problem, or an error of the system.
    Trouble = 1,
    /// The command line or the settings are wrong.
    Usage = 2,
    /// The session refused it: already answered, no such option, not now.
    Refused = 3,
    /// There is no such session.
    NotFound = 4,
    /// Another process holds the session.
    Busy = 5,
    /// The log cannot be read or written.
    Store = 6,
    /// The agent failed; the session can be resumed.
    Agent = 7,
    /// The session was cancelled.
    Cancelled = 8,
    /// Something that is not trusted would start something.
    Untrusted = 9,
    /// The reader closed the pipe; nothing is printed.
    Quiet = 141,
    /// Stopped before the end; the session waits and can be resumed.
    Interrupted = 130,
}

/// A failure, for a person.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: Code,
    /// What failed and why.
    pub message: String,
    /// The sessions that may have been meant, if it is ambiguous.
    pub candidates: Vec<Candidate>,
    /// What to do next: full sentences with the command to run.
    pub hints: Vec<String>,
}

/// A session that may have been meant.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    pub id: String,
    /// Its status, in one word.
    pub status: &'static str,
    /// The same for people.
    #[serde(skip)]
    pub word: &'static str,
    /// The beginning of its task.
    pub task: String,
    /// What it waits for, if it does.
    pub waits_for: Option<String>,
}

pub type Outcome = Result<(), Failure>;

impl Failure {
    /// A failure of this kind.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), candidates: Vec::new(), hints: Vec::new() }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// A session that may have been meant.
    #[must_use]
    pub fn candidate(mut self, candidate: Candidate) -> Self {
        self.candidates.push(candidate);
        self
    }

    /// Prints it on stderr, in words or as JSON.
    pub fn print(&self, as_json: bool) {
        if self.code == Code::Quiet || self.message.is_empty() && self.hints.is_empty() {
            return;
        }
        let words = if as_json {
            let mut error = json!({ "code": self.code as u8, "message": self.message, "hints": self.hints });
            if !self.candidates.is_empty() {
                error["candidates"] = json!(self.candidates);
            }
            terminal_text::json(&json!({ "error": error }).to_string())
        } else {
            // Messages quote plans, files and arguments.
            let words = terminal_text::lines(&self.to_string()).join("\n");
            output::columns(&io::stderr()).map(|columns| output::wrapped(&words, columns)).unwrap_or(words)
        };
        // If this fails too, only the exit code says it.
        let _ = io::stderr().write_all(format!("{words}\n").as_bytes());
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = (!self.message.is_empty()).then(|| format!("rapport: {}", self.message));
        let candidates = self.candidates.iter().map(|candidate| format!("    {candidate}"));
        let hints = self.hints.iter().map(|hint| format!("  {hint}"));
        let lines: Vec<_> = what.into_iter().chain(candidates).chain(hints).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  {}  {}", self.id, self.word, self.task)?;
        match &self.waits_for {
            Some(what) => write!(f, "  (waits for {what})"),
            None => Ok(()),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        // The reader closed the pipe: `rapport log | head`.
        let is_closed = error.kind() == io::ErrorKind::BrokenPipe;
        Self::new(if is_closed { Code::Quiet } else { Code::Trouble }, error.to_string())
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::new(Code::Usage, error.to_string()).hint(FIX_SETTINGS)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let failure = Self::new(Code::Refused, refusal.to_string());
        match refusal {
            Refusal::WhichQuestion { .. } => failure.hint("Name it with: --question ID"),
            Refusal::NoSuchOption { number, .. } => {
                failure.hint(format!("If {number} is the answer itself, give it as words: --text {number}"))
            }
            Refusal::NoDecision { .. } => {
                failure.hint("Say yes or no, or one of its options. Words of your own: --text WORDS")
            }
            Refusal::ReservedWord { word, .. } => {
                failure.hint(format!("If \"{word}\" is the answer itself, give it as words: --text {word}"))
            }
            Refusal::OptionsOrText { options, text, .. } => failure
                .hint(format!("Options and free text: {options} --text \"{text}\""))
                .hint(format!("Free text only: --text \"{options} {text}\"")),
            Refusal::NoSuchRule { .. } => failure.hint("See what is allowed with: rapport revoke"),
            Refusal::EmptyTask => failure.hint("Say what to do: rapport run \"add a greeting\""),
            Refusal::TooLong { .. } => {
                failure.hint("Put the long part into a file of the project and name the file.")
            }
            Refusal::UnknownQuestion { .. } | Refusal::NothingOpen => {
                failure.hint("See what waits with: rapport status")
            }
            _ => failure,
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::NotFound(_) => Self::new(Code::NotFound, message)
                .hint("See what there is with: rapport status")
                .hint("If it is a session of another project, name that one: --project DIR"),
            StoreError::Busy { id, .. } => Self::new(Code::Busy, message)
                .hint(format!("See it with: rapport status {id}"))
                .hint(format!("If it asks something, answer it from here (it goes on in that process): rapport answer {id}")),
            StoreError::Superseded { id } => Self::new(Code::Busy, message)
                .hint(format!("See who runs it now with: rapport status {id}")),
            StoreError::Damaged { .. } => Self::new(Code::Store, message).hint(
                "Nothing was changed. Restore the file from a backup or from version control, or move the session's \
                 directory away.",
            ),
            StoreError::Newer { .. } => {
                Self::new(Code::Store, message).hint("Nothing was changed. Use the newer program for this session.")
            }
            StoreError::NotOurs { id, .. } => Self::new(Code::Untrusted, message)
                .hint(format!("Nothing was started. Read it with: rapport log {id}"))
                .hint(format!("See what it would do, and trust it if you want: rapport trust {id}")),
            StoreError::Unavailable { .. } => Self::new(Code::Store, message)
                .hint("The setting `store` and its section say which store is used.")
                .hint("See what is wrong with it: rapport doctor"),
            StoreError::Io { .. } => Self::new(Code::Store, message).hint(KEPT),
        }
    }
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Self {
        let failure = Self::new(Code::Store, error.to_string());
        match error {
            FileError::Io { .. } => failure.hint(KEPT),
            FileError::Wrong { .. } => failure.hint(FIX),
        }
    }
}

impl From<ProjectError> for Failure {
    fn from(error: ProjectError) -> Self {
        let message = error.to_string();
        match error {
            ProjectError::Unknown { known, .. } => {
                let names = (!known.is_empty()).then(|| format!("There are: {}", known.join(", ")));
                let failure = Self::new(Code::NotFound, message);
                names
                    .into_iter()
                    .fold(failure, Self::hint)
                    .hint("Make one known with: rapport project add NAME DIR")
            }
            ProjectError::Missing { name, .. } => Self::new(Code::NotFound, message)
                .hint(format!("If it moved, say where it is: rapport project add {name} DIR"))
                .hint(format!("If it is gone for good: rapport project remove {name}")),
            ProjectError::Taken { .. } => {
                Self::new(Code::Refused, message).hint("See what there is with: rapport project list")
            }
            ProjectError::Wrong(_) => Self::new(Code::Usage, message),
            ProjectError::NoLearning { name, .. } => Self::new(Code::NotFound, message)
                .hint(format!("See what is known with: rapport project show {name}")),
            ProjectError::NeedsPerson(_) | ProjectError::Forbidden(_) => Self::new(Code::Refused, message),
            ProjectError::Broken { .. } => Self::new(Code::Store, message).hint(FIX),
            ProjectError::Newer { .. } => Self::new(Code::Store, message)
                .hint("Nothing was changed. Use the newer program for this project."),
            ProjectError::Io { .. } => Self::new(Code::Store, message).hint(KEPT),
            ProjectError::Failed(_) => Self::new(Code::Trouble, message),
        }
    }
}

impl From<TurnError> for Failure {
    fn from(error: TurnError) -> Self {
        let message = error.to_string();
        match error {
            TurnError::Store(error) => error.into(),
            TurnError::File(error) => error.into(),
            TurnError::Journal(_) => Self::new(Code::Store, message),
            TurnError::Wrong { .. } => Self::new(Code::Store, message).hint(FIX),
            TurnError::NoTurn { .. } => {
                Self::new(Code::NotFound, message).hint("See what there is with: rapport log --tree")
            }
            TurnError::Full { session } => {
                let name = session.split_once('-').map_or(session.as_str(), |(_, name)| name);
                Self::new(Code::Refused, message)
                    .hint(format!("Go on in another session: rapport new {name}-2"))
            }
        }
    }
}

impl From<ChannelError> for Failure {
    fn from(error: ChannelError) -> Self {
        let message = error.to_string();
        match error {
            ChannelError::Settings { hint, .. } => {
                hint.into_iter().fold(Self::new(Code::Usage, message), Self::hint)
            }
            ChannelError::Busy(_) => Self::new(Code::Busy, message),
            ChannelError::Broken(_) => Self::new(Code::Trouble, message),
            ChannelError::Door(error) => error.into(),
        }
    }
}

impl From<DoorError> for Failure {
    fn from(error: DoorError) -> Self {
        let message = error.to_string();
        match error {
            DoorError::Refused(refusal) => refusal.into(),
            DoorError::Store(error) => error.into(),
            DoorError::Broken(error) => Self::new(Code::Store, error.to_string()).hint(
                "Nothing that was confirmed is lost. Once it can be written again: rapport resume SESSION",
            ),
            DoorError::Failed(why) => Self::new(Code::Store, why).hint(KEPT),
            DoorError::Forbidden(why) => Self::new(Code::Refused, why)
                .hint("Let the person do it, in a terminal of their own or in a channel such as Telegram."),
            DoorError::Silent { id, holder: Holder { pid, .. } } => Self::new(Code::Busy, message)
                .hint(format!(
                    "What you sent may still take effect. Before you send it again: rapport status {id}"
                ))
                .hint(format!("If that process was stopped, resume it with: kill -CONT {pid}"))
                .hint(format!("Or end it, nothing is lost: kill -KILL {pid}")),
            DoorError::Closed => Self::new(Code::Interrupted, error.to_string()),
        }
    }
}
