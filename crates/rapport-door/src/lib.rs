//! The one door to sessions, wherever they run: in this process, in another one, or nowhere just now.
//!
//! A channel (terminal, Telegram, ...) depends on this crate and on the core, and on nothing behind the door. The engine
//! implements [`Sessions`]; a test can implement it as well.

mod channel;
mod error;
mod seal;

use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use rapport_core::review::Group;
use rapport_core::{Act, ActionEnd, By, Created, Entry, Progress, QuestionRound, Rule, SessionId, View};

pub use channel::{Channel, ChannelError, ChannelNotice, Served};
pub use error::{DoorError, Holder, StoreError};
pub use seal::Seal;

/// Every session of a project, whichever process runs it.
pub trait Sessions: Send + Sync {
    /// Every session there is, the oldest first.
    fn list(&self) -> Reply<'_, Vec<SessionId>>;

    /// A session as it stands.
    fn view<'a>(&'a self, id: &'a SessionId) -> Reply<'a, View>;

    /// The facts of a session after this entry (0 for all). A log that does not count here is refused, here and where
    /// sessions are followed, as [`StoreError::NotOurs`] says: it would be told to people, and acted on.
    fn entries<'a>(&'a self, id: &'a SessionId, after: u64) -> Reply<'a, Vec<Entry>>;

    /// The process that runs a session, if one does.
    fn holder<'a>(&'a self, id: &'a SessionId) -> Reply<'a, Option<Holder>>;

    /// Follows a session from after this entry: every fact once, in order, as soon as it is durable. What the agent is
    /// doing just now is told as well where the session runs in this process. The stream ends when the process that runs
    /// the session stops.
    fn follow<'a>(&'a self, id: &'a SessionId, after: u64) -> Reply<'a, BoxStream<'static, Update>>;

    /// Follows all sessions, those that are yet to begin included, from now on. Facts may be repeated, and those of a
    /// session that has not been seen yet begin with its first.
    fn watch(&self) -> Reply<'_, BoxStream<'static, Seen>>;

    /// Streams something that belongs to a session, in pieces.
    fn read<'a>(&'a self, id: &'a SessionId, what: Content) -> Reply<'a, Pieces>;

    /// Keeps a file beside a session's facts, in place of one of the same name.
    fn attach<'a>(&'a self, id: &'a SessionId, name: &'a str, content: &'a [u8]) -> Reply<'a, ()>;

    /// Keeps files for the agent of a session, in place of those of the same names. Returns where the agent finds each.
    fn receive<'a>(&'a self, id: &'a SessionId, files: &'a [NewFile]) -> Reply<'a, Vec<String>>;

    /// Does something in a session, in somebody's name. When this returns, it is durable. A claim that this process may
    /// not make is refused.
    fn act<'a>(&'a self, id: &'a SessionId, by: &'a By, act: &'a Act) -> Reply<'a, Reached>;

    /// Begins a session, perhaps with its first round of questions, and runs it in this process.
    fn create(&self, created: Created, first: Option<QuestionRound>) -> Reply<'_, SessionId>;

    /// The same with files for its agent, which its task names. They are there before the session is.
    fn create_with_files<'a>(&'a self, created: Created, files: &'a [NewFile]) -> Reply<'a, SessionId>;

    /// What agents may do in the project without asking, in every session. What holds in one session is in its facts.
    fn rules(&self) -> Reply<'_, Vec<Rule>>;

    /// Takes such a rule back. One that is not there is taken back already.
    fn forget_rule<'a>(&'a self, rule: &'a Rule) -> Reply<'a, ()>;

    /// Runs a session in this process. One that another process runs is left to it, as [`StoreError::Busy`] says.
    fn resume<'a>(&'a self, id: &'a SessionId) -> Reply<'a, ()>;

    /// Runs a session here no longer, unless something still goes on in it.
    fn release<'a>(&'a self, id: &'a SessionId) -> Reply<'a, ()>;
}

/// What a door gives back, once it is there.
pub type Reply<'a, T> = BoxFuture<'a, Result<T, DoorError>>;

/// Content, piece by piece. A piece that cannot be read ends it.
pub type Pieces = BoxStream<'static, Result<Vec<u8>, DoorError>>;

/// A file that somebody has for an agent. Clones share the content.
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

/// Something that belongs to a session and may be too long to be held whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The log as it is stored.
    Log,
    /// What the session changed so far, as a diff.
    Diff,
    /// What would be done by an item of a plan that waits for review: content, a diff, a command.
    Preview {
        turn: String,
        /// The part of the plan,
        group: Group,
        /// and which item of it, from 0.
        item: usize,
    },
    /// A file kept beside the facts.
    Attachment(String),
    /// All of it as one document: what was asked and answered, plan, result and log.
    Export,
    /// A file of where the session works, by its path there.
    File(String),
}

/// Something seen while following a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Update {
    /// Facts, durable, in order, each exactly once.
    Entry(Entry),
    /// What the agent is doing just now; some may be missed.
    Progress(Progress),
    /// What an action of a batch is doing just now; some may be missed.
    Action(Doing),
    /// The session is not followed here any more, and why: its log cannot be read, or another process took it over. To
    /// follow one session ends with this; where all are followed, it is told once.
    Lost(String),
}

/// What an action of a running batch is doing just now. Shown and forgotten, never stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It begins; its place in the plan, from 0.
    Started(usize),
    /// Its command wrote a line, safe to show.
    Output(usize, String),
    /// It is settled, or was passed over.
    Ended(ActionEnd),
}

/// Something seen in one of all sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub session: SessionId,
    /// What, in order.
    pub updates: Vec<Update>,
}

/// Where an act arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// At the process that runs the session, which carries on with it.
    Process,
    /// In the log; nothing happens until a process runs the session.
    Log,
}
