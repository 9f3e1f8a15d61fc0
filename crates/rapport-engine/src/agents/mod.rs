//! Agents: the programs that do the work, behind one trait. `tests/it/contract/agent.rs` runs the same stories on every
//! agent.

pub mod claude;
pub mod registry;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use rapport_core::{AgentDid, CallId, CallReply, ConversationId, Order, Progress, SentMessage, Usage};
use thiserror::Error;
use tokio::sync::mpsc;

use crate::workers::Workplace;
use crate::workers::keeper::mark::Mark;
use crate::workers::local::Directory;

pub use crate::workers::keeper;
pub use registry::{AgentKind, AgentKinds, AgentSetup, AgentsByName, Environment};

impl AgentKinds {
    /// The kinds that come with Rapport. A new kind needs a line here and its module above.
    pub fn builtin() -> Self {
        Self::of(vec![Arc::new(claude::ClaudeCode)])
    }
}

/// A program that does the work.
///
/// The contract of every driver: it sends exactly one [`AgentDid::Leave`], as the last report, whatever happens; when
/// that is sent, no process of the agent is left; a call waits until it gets its reply, however long that takes; the
/// process does not outlive this one, whatever ends it. If the order has a linger time, the end of a turn is reported
/// with [`AgentDid::Finish`], and the process waits that long for [`Command::Next`].
pub trait Agent: Send + Sync {
    /// Starts or resumes a turn in this place. Every report contains `run`.
    fn start(
        &self,
        run: RunId,
        order: Order,
        context: AgentContext,
        reports: mpsc::Sender<Report>,
    ) -> Controls;

    fn abilities(&self) -> Abilities;

    /// Calls outside of any session, if it supports them.
    fn one_shot(&self) -> Option<&dyn OneShot> {
        None
    }

    /// Its conversations, if another session can begin in the middle of one.
    fn conversations(&self) -> Option<&dyn Conversations> {
        None
    }

    /// Diagnosis of its installation, if it supports that.
    fn diagnosis(&self) -> Option<&dyn Diagnosis> {
        None
    }
}

/// The abilities of an agent; none by default. The engine requests nothing that an agent cannot do (`parking`,
/// `listens`, `stays`); the other abilities select the contract stories that it has to pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// How a waiting agent gives up its process.
    pub parking: Parking,
    /// Whether one call can ask several questions.
    pub several_questions: bool,
    /// Whether options have previews.
    pub previews: bool,
    /// Whether a conversation can be moved to another directory or machine.
    pub travels: bool,
    /// Whether it asks before it uses a tool that changes something.
    pub permissions: bool,
    /// Whether it reads messages while it works.
    pub listens: bool,
    /// Whether its process stays for another turn.
    pub stays: bool,
    /// Whether it forwards the questions of MCP servers.
    pub servers: bool,
}

/// How an agent that waits for an answer gives up its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parking {
    /// It is resumed at the call that asked.
    AtTheCall,
    /// It is resumed with a message that contains the answer.
    ByMessage,
    /// It cannot be resumed, and is kept running. If its process ends in the middle of a turn, the session fails.
    #[default]
    Never,
}

/// A single prompt to an agent, in a conversation that is never resumed.
pub trait OneShot: Send + Sync {
    /// Sends the prompt, with only these tools, and returns the last text. Dropping the future ends the agent.
    fn ask<'a>(
        &'a self,
        directory: &'a Path,
        prompt: &'a str,
        tools: &'a str,
    ) -> BoxFuture<'a, Result<String, String>>;

    /// Requests a JSON reply of a given schema.
    fn structured<'a>(
        &'a self,
        directory: &'a Path,
        call: &'a StructuredCall,
    ) -> BoxFuture<'a, Result<Structured, StructuredError>>;
}

/// A prompt to a model that is answered with JSON.
#[derive(Clone, Debug)]
pub struct StructuredCall {
    /// The system prompt.
    pub system: String,
    pub prompt: String,
    /// The JSON schema of its reply.
    pub schema: String,
    pub model: String,
    /// The time limit.
    pub timeout: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Structured {
    /// The reply as text: JSON if the model followed the schema, anything otherwise. An error if it did not follow it
    /// even after a correction, with the reason.
    pub said: Result<String, String>,
    pub usage: Usage,
}

#[derive(Debug, Error)]
pub enum StructuredError {
    /// The program could not be started, or ended without a reply.
    #[error("{0}")]
    Failed(String),
    #[error("{program} did not answer within {time:?}")]
    TooLong { program: String, time: Duration },
}

pub trait Conversations: Send + Sync {
    /// A conversation cut before the answer to a call, for another session; `None` if it does not contain the call.
    /// Blocks.
    fn branch(&self, cut: &Cut<'_>) -> io::Result<Option<Vec<u8>>>;

    /// The calls in a stored conversation without a result, each as a whole: the agent would continue with them.
    fn pending(&self, kept: &[u8]) -> Vec<String>;
}

/// Where a conversation is cut, and where it continues.
#[derive(Clone, Debug)]
pub struct Cut<'a> {
    /// The call whose answer is left out.
    pub call: &'a CallId,
    /// Whether the agent still waits for that answer: then all lines of the conversation precede it.
    pub is_waited_for: bool,
    /// The original conversation.
    pub from: Whereabouts<'a>,
    /// The conversation that continues it.
    pub to: Whereabouts<'a>,
    /// The stored copy of the conversation, if the agent itself no longer has it.
    pub kept: Option<Vec<u8>>,
}

/// A conversation and its directory.
#[derive(Clone, Copy, Debug)]
pub struct Whereabouts<'a> {
    pub conversation: &'a ConversationId,
    pub directory: &'a str,
}

/// Diagnosis of an agent's installation.
pub trait Diagnosis: Send + Sync {
    /// Runs the program in this directory, and returns what it is and which channel it supports. Dropping the future
    /// ends the program.
    fn diagnose<'a>(&'a self, directory: &'a Path) -> BoxFuture<'a, Diagnosed>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Diagnosed {
    /// It works; its version and channel.
    Usable(String),
    /// It runs, and its agents cannot ask.
    CannotAsk {
        found: String,
        /// How to get one that can.
        advice: String,
    },
    /// It is installed, and no person is logged in to it.
    LoggedOut {
        found: String,
        /// How to log in.
        advice: String,
    },
    /// It runs, but does not work.
    Broken(String),
    /// It cannot be run.
    Missing {
        found: String,
        /// How to get it.
        advice: String,
    },
}

/// Where an agent works, and where its driver stores what another machine needs to continue.
#[derive(Clone)]
pub struct AgentContext {
    pub workplace: Arc<dyn Workplace>,
    /// The store of its conversation.
    pub conversation_store: Arc<dyn ConversationStore>,
    /// The mark that everything of this run carries.
    pub mark: Mark,
    /// Where Rapport's own tools are reached, if this process offers them.
    pub reached_at: Option<String>,
}

impl AgentContext {
    pub fn directory(&self) -> &Path {
        self.workplace.directory()
    }
}

impl From<PathBuf> for AgentContext {
    /// A directory without a conversation store.
    fn from(directory: PathBuf) -> Self {
        Self {
            workplace: Arc::new(Directory::at(directory)),
            conversation_store: Arc::new(Nothing),
            mark: Mark::unnamed(),
            reached_at: None,
        }
    }
}

/// The stored copy of an agent's conversation, for the case that the agent removes its own, or that the session
/// continues on another machine.
pub trait ConversationStore: Send + Sync {
    /// Stores a copy, replacing the previous one.
    fn keep(&self, content: Vec<u8>) -> BoxFuture<'_, io::Result<()>>;

    fn kept(&self) -> BoxFuture<'_, io::Result<Option<Vec<u8>>>>;

    /// Also stores the agent's work, replacing the previous state, if its workplace could be gone later.
    fn keep_work(&self, _work: Vec<u8>) -> BoxFuture<'_, io::Result<()>> {
        ready(Ok(())).boxed()
    }

    /// What the agent is shown in this turn, if that is in a file.
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

/// The id of one process of an agent, unique in this engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RunId(pub u64);

/// A report of an agent.
#[derive(Clone, Debug)]
pub struct Report {
    pub run: RunId,
    pub what: AgentReport,
}

/// A fact to store, progress to show, or an estimate of the cost.
#[derive(Clone, Debug)]
pub enum AgentReport {
    /// To be decided and stored.
    Did(AgentDid),
    Progress(Progress),
    /// The estimated cost of the current response so far, in millionths of a US dollar.
    Cost(u64),
}

/// The sending side of an agent's commands. Sending one twice does no harm.
#[derive(Clone, Debug)]
pub struct Controls {
    pub commands: mpsc::UnboundedSender<Command>,
}

/// What to do if an agent cannot be parked at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// The agent stays until the call waits alone, and reports that it stays ([`AgentDid::StayHot`]).
    Wait,
    /// The agent is killed: its host is ending.
    None,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Send the reply to the waiting call; if it does not wait yet, as soon as it does.
    Reply {
        call: CallId,
        reply: CallReply,
    },
    /// Park the waiting call and end; ignored if the call already has its reply. Not sent to an agent that cannot be
    /// parked. An agent parks a call only if it is the only one in flight: otherwise the process would continue with
    /// the others, without the answer.
    Park {
        call: CallId,
        /// What to do if something else is in flight.
        patience: Patience,
    },
    /// Send a message while it works: the agent reads it at its next step, or in another turn if this was its last, and
    /// reports that ([`AgentDid::Read`]). Not sent to an agent that does not listen.
    Say(SentMessage),
    /// Start another turn, after the previous one was finished; ignored by an agent that is ending.
    Next {
        prompt: String,
    },
    Stop,
    /// Kill the agent without an interrupt: nothing that it does can be stored, and an interrupted agent would take
    /// the interrupt for a refusal.
    Kill,
}
