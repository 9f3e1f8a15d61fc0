//! The programs that do the work, behind one trait. `tests/it/contract/agent.rs` tells every agent the same stories.

pub mod by_name;
pub mod claude;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use rapport_core::{AgentDid, CallId, CallReply, ConversationId, Order, Progress, Said, Usage};
use thiserror::Error;
use tokio::sync::mpsc;

use crate::workers::Workplace;
use crate::workers::keeper::mark::Mark;
use crate::workers::local::Directory;

pub use crate::workers::keeper;
pub use by_name::{AgentKind, AgentKinds, AgentSetup, AgentsByName, Environment};

/// A program that does the work.
///
/// What every driver holds to: it sends exactly one [`AgentDid::Leave`], as the last thing, whatever happens; when that
/// is sent, no process of the agent is left; a call waits until it gets its reply, however long that takes; the
/// process does not outlive this one, whatever ends it. Where the order says how long to linger, the end of a turn is
/// told with [`AgentDid::Finish`], and the process stays so long for [`Command::Next`].
pub trait Agent: Send + Sync {
    /// Starts a turn, or goes on with one, in this place. `run` comes back with everything it does.
    fn start(&self, run: RunId, order: Order, place: Place, reports: mpsc::Sender<Report>) -> Controls;

    /// What this agent can do.
    fn abilities(&self) -> Abilities;

    /// How it is asked something outside of any session, if it can be.
    fn one_shot(&self) -> Option<&dyn OneShot> {
        None
    }

    /// Its conversations, where another session can begin in the middle of one.
    fn conversations(&self) -> Option<&dyn Conversations> {
        None
    }

    /// How to find out whether it is installed and usable, if there is a way.
    fn diagnosis(&self) -> Option<&dyn Diagnosis> {
        None
    }
}

/// What an agent can do; nothing, where it does not say. The contract stories that need more are not told to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// How a waiting agent gives up its process.
    pub parking: Parking,
    /// Whether one call can ask several questions.
    pub several_questions: bool,
    /// Whether options come with previews.
    pub previews: bool,
    /// Whether a conversation can be taken to another directory or machine.
    pub travels: bool,
    /// Whether it asks before it uses a tool that changes something.
    pub permissions: bool,
    /// Whether it hears what is said while it works.
    pub listens: bool,
    /// Whether its process stays for another turn.
    pub stays: bool,
    /// Whether it passes on what an MCP server asks.
    pub servers: bool,
    /// Whether it carries on without its answer when its input closes, so that it must be killed first.
    pub goes_on_at_eof: bool,
}

/// How an agent that waits for an answer gives up its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parking {
    /// It is resumed at the very call that asked.
    AtTheCall,
    /// It is resumed with a message that carries the answer.
    ByMessage,
    /// It cannot be resumed, and is kept running.
    #[default]
    Never,
}

/// Asking an agent one thing, in a conversation that nobody continues.
pub trait OneShot: Send + Sync {
    /// Asks it, with only these tools, and gives its last words. Dropped before the end, the agent is ended.
    fn ask<'a>(
        &'a self,
        directory: &'a Path,
        prompt: &'a str,
        tools: &'a str,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Has it reply with JSON of a given shape.
    fn structured<'a>(
        &'a self,
        directory: &'a Path,
        call: &'a StructuredCall,
    ) -> BoxFuture<'a, Result<Structured, StructuredError>>;
}

/// A question to a model that is to be answered with JSON.
#[derive(Clone, Debug)]
pub struct StructuredCall {
    /// What the model is for.
    pub system: String,
    /// What it is told.
    pub prompt: String,
    /// The JSON schema of its reply.
    pub schema: String,
    /// Which model.
    pub model: String,
    /// How long all of it may take.
    pub timeout: Duration,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structured {
    /// The reply as text: JSON where the model kept to the schema, anything where it did not. An error where it did not
    /// even when it was told what is wrong, with that.
    pub said: Result<String, String>,
    /// What it took.
    pub usage: Usage,
}

/// Why nothing came back.
#[derive(Debug, Error)]
pub enum StructuredError {
    /// The program could not be started, or ended without a reply.
    #[error("{0}")]
    Failed(String),
    /// It took too long.
    #[error("{program} did not answer within {time:?}")]
    TooLong {
        /// Which program.
        program: String,
        /// How long it had.
        time: Duration,
    },
}

/// The conversations an agent has had.
pub trait Conversations: Send + Sync {
    /// A conversation cut before the answer to a call, for another session; `None` if the call is not in it. May block.
    fn branch(&self, cut: &Cut<'_>) -> io::Result<Option<Vec<u8>>>;

    /// The calls in a kept conversation that have no result yet, each as a whole: what the agent would continue with.
    fn pending(&self, kept: &[u8]) -> Vec<String>;
}

/// Where a conversation is cut, and where it continues.
#[derive(Clone, Debug)]
pub struct Cut<'a> {
    /// The call whose answer is left out.
    pub call: &'a CallId,
    /// Whether the agent still waits for that answer: then what there is of the conversation came before it.
    pub is_waited_for: bool,
    /// The conversation,
    pub from: Whereabouts<'a>,
    /// and the one that continues it.
    pub to: Whereabouts<'a>,
    /// What was kept of the conversation, where the agent itself no longer has it.
    pub kept: Option<Vec<u8>>,
}

/// A conversation and the directory it is about.
#[derive(Clone, Copy, Debug)]
pub struct Whereabouts<'a> {
    /// Its name.
    pub conversation: &'a ConversationId,
    /// The directory.
    pub directory: &'a str,
}

/// Finding out whether an agent is installed and usable.
pub trait Diagnosis: Send + Sync {
    /// Runs the program in this directory and says what it is and how it can be talked to. Dropped before the end, the program
    /// is ended.
    fn diagnose<'a>(&'a self, directory: &'a Path) -> BoxFuture<'a, Diagnosed>;
}

/// What a diagnosis found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Diagnosed {
    /// It works; its version, and how it asks.
    Usable(String),
    /// It works, but not with everything: what is missing, and how to get that.
    Limited {
        /// Its version, and what it cannot do.
        found: String,
        /// What helps.
        advice: String,
    },
    /// It is there, and nobody is logged in to it.
    LoggedOut {
        /// Its version.
        found: String,
        /// How to log in.
        advice: String,
    },
    /// It runs, and does not work.
    Broken(String),
    /// It cannot be run.
    Missing {
        /// Why.
        found: String,
        /// How to get it.
        advice: String,
    },
}

/// Where an agent works, and where its driver keeps what it takes to go on elsewhere.
#[derive(Clone)]
pub struct Place {
    /// The place it works in.
    pub workplace: Arc<dyn Workplace>,
    /// What is kept beside the session.
    pub conversation_store: Arc<dyn ConversationStore>,
    /// What everything that this run starts is known by.
    pub mark: Mark,
}

impl Place {
    /// The directory it works in.
    pub fn directory(&self) -> &Path {
        self.workplace.directory()
    }
}

impl From<PathBuf> for Place {
    /// A directory, with nothing kept beside it.
    fn from(directory: PathBuf) -> Self {
        Self {
            workplace: Arc::new(Directory::at(directory)),
            conversation_store: Arc::new(Nothing),
            mark: Mark::unnamed(),
        }
    }
}

/// One thing kept beside a session: an agent's conversation, which the agent itself may sweep away, or which is wanted on
/// another machine.
pub trait ConversationStore: Send + Sync {
    /// Keeps this, in place of what was kept before.
    fn keep(&self, content: Vec<u8>) -> BoxFuture<'_, io::Result<()>>;

    /// What is kept.
    fn kept(&self) -> BoxFuture<'_, io::Result<Option<Vec<u8>>>>;

    /// What the agent is to be shown in this turn, where that is a file.
    fn shown(&self) -> BoxFuture<'_, io::Result<Option<Vec<u8>>>> {
        ready(Ok(None)).boxed()
    }
}

struct Nothing;

impl ConversationStore for Nothing {
    fn keep(&self, _: Vec<u8>) -> BoxFuture<'_, io::Result<()>> {
        ready(Ok(())).boxed()
    }

    fn kept(&self) -> BoxFuture<'_, io::Result<Option<Vec<u8>>>> {
        ready(Ok(None)).boxed()
    }
}

/// One process of an agent, among all that this engine ever starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u64);

/// Something an agent did.
#[derive(Clone, Debug)]
pub struct Report {
    /// Which process.
    pub run: RunId,
    /// What.
    pub what: Happened,
}

/// What is worth keeping, and what is worth a glance.
#[derive(Clone, Debug)]
pub enum Happened {
    /// To be decided on and stored.
    Did(AgentDid),
    /// To be shown.
    Progress(Progress),
}

/// How a running agent is told things. Telling it twice does no harm.
#[derive(Clone, Debug)]
pub struct Controls {
    /// Where to.
    pub commands: mpsc::UnboundedSender<Command>,
}

/// What becomes of an agent that cannot be parked at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It stays until the call waits alone, and says so ([`AgentDid::StayHot`]).
    Wait,
    /// It is ended in the middle of everything: its host goes.
    None,
}

/// What a running agent can be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Give the waiting call its reply; if it does not wait yet, as soon as it does.
    Reply {
        /// Which call.
        call: CallId,
        /// With what.
        reply: CallReply,
    },
    /// Park the waiting call and end; ignored if it has its reply already. An agent parks a call only when that waits
    /// alone in its process: with anything else in flight it would go on with that, and without the answer.
    Park {
        /// Which call.
        call: CallId,
        /// What to do when something else is in flight.
        patience: Patience,
    },
    /// Say something to it while it works: it reads that at its next step, or in another turn if this was its last, and says so
    /// ([`AgentDid::Read`]). An agent that does not listen while it works never hears it.
    Say(Said),
    /// Take on another turn, after the one before was finished; ignored by an agent that is leaving.
    Next {
        /// What it is about.
        prompt: String,
    },
    /// End now, whatever it is doing.
    Stop,
    /// End without a word: nothing it does can be kept, and an agent that is interrupted takes that for somebody's refusal.
    Kill,
}
