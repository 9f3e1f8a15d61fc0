//! The one door to sessions, wherever they run: in this process, in another one, or nowhere at the moment.
//!
//! A channel (terminal, Telegram, ...) depends on this crate and on the core, and on nothing behind the door. The
//! engine implements [`Sessions`]; a test can implement it too. [`Projects`] is a second door of the same kind: to
//! what is known about projects.

mod channel;
mod channel_kind;
mod clock;
mod diff;
mod digest;
mod error;
mod joint;
mod log_kind;
mod neighbours;
mod projects;
mod role;
mod seal;

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use jiff::Timestamp;
use rapport_core::review::Group;
use rapport_core::{
    Act, ActionEnd, By, Created, Entry, Event, Progress, QuestionRound, Rule, SessionId, View,
};

pub use channel::{Channel, ChannelError, ChannelNotice, Notices, Served};
pub use channel_kind::{
    ChannelKind, ChannelSetup, Diagnosis, LimitWish, Missing, NewBranch, NewSeparateSession, NewSession,
    NewWork, ProjectSetup, WorkWish, WorkerChoice, WorkplaceWarnings,
};
pub use clock::Clock;
pub use diff::diff_names;
pub use digest::digest;
pub use error::{DoorError, Holder, StoreError};
pub use joint::{JointSessions, ProjectDoor};
pub use log_kind::variant;
pub use projects::{ContextUpdate, KnownProject, LoadedProject, ProjectError, ProjectReply, Projects};
pub use role::{MAY_ONLY_LOOK, projects_for, sessions_for};
pub use seal::Seal;

/// Every session of a project, or of several ([`JointSessions`]), whichever process runs it.
pub trait Sessions: Send + Sync {
    /// All sessions, the oldest first.
    fn list(&self) -> Reply<'_, Vec<SessionId>>;

    /// The current state of a session.
    fn view<'a>(&'a self, id: &'a SessionId) -> Reply<'a, View>;

    /// The facts of a session after this entry (0 for all). A log that is not trusted here is refused with
    /// [`StoreError::NotOurs`], both here and by the methods that follow sessions, because people would see it and act
    /// on it.
    fn entries<'a>(&'a self, id: &'a SessionId, after: u64) -> Reply<'a, Vec<Entry>>;

    /// The process that runs a session, if one does.
    fn holder<'a>(&'a self, id: &'a SessionId) -> Reply<'a, Option<Holder>>;

    /// How many other sessions work in the same directory as this one: their changes to files cannot be told apart. 0
    /// if it has a workplace of its own.
    fn beside<'a>(&'a self, id: &'a SessionId) -> Reply<'a, usize> {
        Box::pin(neighbours::count(self, id))
    }

    /// The workplace of a session as it is now, if it can start and stop; `None` also if its worker does not answer.
    fn workplace<'a>(&'a self, _id: &'a SessionId) -> Reply<'a, Option<WorkplaceNow>> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Follows a session from after this entry: every fact once, in order, as soon as it is durable. The stream also
    /// reports the agent's current activity if the session runs in this process. It ends when the process that runs the
    /// session stops.
    fn follow<'a>(&'a self, id: &'a SessionId, after: u64) -> Reply<'a, BoxStream<'static, Update>>;

    /// Follows all sessions from now on, including those that begin later. Facts may be repeated, and those of a
    /// session that has not been seen yet begin with its first.
    fn watch(&self) -> Reply<'_, BoxStream<'static, Seen>>;

    /// Streams content that belongs to a session.
    fn read<'a>(&'a self, id: &'a SessionId, what: Content) -> Reply<'a, Pieces>;

    /// Stores a file beside a session's facts, replacing one of the same name.
    fn attach<'a>(&'a self, id: &'a SessionId, name: &'a str, content: &'a [u8]) -> Reply<'a, ()>;

    /// Stores files for the agent of a session, replacing those of the same names. Returns the path at which the agent
    /// finds each.
    fn receive<'a>(&'a self, id: &'a SessionId, files: &'a [NewFile]) -> Reply<'a, Vec<String>>;

    /// Submits an act in a session, in a person's name. It is durable when this returns. A claim that this process may
    /// not make is refused.
    fn act<'a>(&'a self, id: &'a SessionId, by: &'a By, act: &'a Act) -> Reply<'a, Reached>;

    /// Begins a session, optionally with its first round of questions, and runs it in this process.
    fn create(&self, created: Created, first: Option<QuestionRound>) -> Reply<'_, SessionId>;

    /// The same with files for its agent, which its task mentions. They are stored before the session begins.
    fn create_with_files<'a>(&'a self, created: Created, files: &'a [NewFile]) -> Reply<'a, SessionId>;

    /// Stores a session that began in another program, with all its facts since then. No process runs it yet.
    fn import(&self, facts: Vec<Event>, since: Timestamp) -> Reply<'_, SessionId>;

    /// The rules that allow calls in every session of the project. The rules of one session are in its facts.
    fn rules(&self) -> Reply<'_, Vec<Rule>>;

    /// Revokes such a rule; succeeds if there is no such rule.
    fn forget_rule<'a>(&'a self, rule: &'a Rule) -> Reply<'a, ()>;

    /// Runs a session in this process, unless another process runs it ([`StoreError::Busy`]).
    fn resume<'a>(&'a self, id: &'a SessionId) -> Reply<'a, ()>;

    /// Stops running a session in this process, unless something is still in progress.
    fn release<'a>(&'a self, id: &'a SessionId) -> Reply<'a, ()>;

    /// The sessions of one project, by its directory, if this door leads to several.
    fn of_project(&self, _path: &Path) -> Option<Arc<dyn Sessions>> {
        None
    }
}

/// The result of a request to the door.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, DoorError>>;

/// Content in pieces. The stream ends at the first piece that cannot be read.
pub type Pieces = BoxStream<'static, Result<Vec<u8>, DoorError>>;

/// A file for an agent. Clones share the content.
#[derive(Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Its name: one part of a path.
    pub name: String,
    pub content: Arc<[u8]>,
}

impl std::fmt::Debug for NewFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({} bytes)", self.name, self.content.len())
    }
}

/// Content of a session that may be too long to be kept in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The log as it is stored.
    Log,
    /// The session's changes so far, as a diff.
    Diff,
    /// The preview of an item of a plan that waits for review: content, a diff, a command.
    Preview {
        turn: String,
        /// The part of the plan.
        group: Group,
        /// The index of the item in that part, from 0.
        item: usize,
    },
    /// A file stored beside the facts.
    Attachment(String),
    /// The whole session as one document: questions, answers, plan, result and log.
    Export,
    /// A file in the session's workplace, by its path there.
    File(String),
}

/// An update from a followed session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// Facts, durable, in order, each exactly once.
    Entry(Entry),
    /// The agent's current activity. Some updates may be missed.
    Progress(Progress),
    /// The current activity of an action in a batch. Some updates may be missed.
    Action(Doing),
    /// The session can no longer be followed, and why: its log cannot be read, or another process took it over. This
    /// ends the stream of one session; when all sessions are followed, it is reported once.
    Lost(String),
}

/// The current activity of an action in a running batch. It is shown and never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It begins; its index in the plan, from 0.
    Started(usize),
    /// Its command wrote a line, safe to show.
    Output(usize, String),
    /// It ended, or was skipped.
    Ended(ActionEnd),
}

/// Updates from one of all followed sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub session: SessionId,
    /// The updates, in order.
    pub updates: Vec<Update>,
}

/// A workplace that can start and stop, as its worker describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkplaceNow {
    /// Its id there.
    pub id: String,
    pub is_running: bool,
}

/// Where an act was delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The process that runs the session; it continues with it.
    Process,
    /// The log; nothing happens until a process runs the session.
    Log,
}
