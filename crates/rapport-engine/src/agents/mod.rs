//! The programs that do the work, behind one trait. `tests/it/contract/agent.rs` tells every agent the same stories.

pub mod claude;
pub mod keeper;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use rapport_core::{AgentDid, CallId, CallReply, Order, Progress};
use tokio::sync::mpsc;

use keeper::mark::Mark;

/// A program that does the work.
///
/// What every driver holds to: it sends exactly one [`AgentDid::Leave`], as the last thing, whatever happens; when that
/// is sent, no process of the agent is left; a call waits until it gets its reply, however long that takes; the
/// process does not outlive this one, whatever ends it. Where the order says how long to linger, the end of a turn is
/// told with [`AgentDid::Finish`], and the process stays so long for [`Command::Next`].
pub trait Agent: Send + Sync {
    /// Starts a turn, or goes on with one, in this place. `run` comes back with everything it does.
    fn start(&self, run: RunId, order: Order, place: Place, reports: mpsc::Sender<Report>) -> Controls;
}

/// Where an agent works, and where its driver keeps what it takes to go on elsewhere.
#[derive(Clone)]
pub struct Place {
    /// The directory it works in.
    pub directory: PathBuf,
    /// What is kept beside the session.
    pub keepsake: Arc<dyn Keepsake>,
    /// What everything that this run starts is known by.
    pub mark: Mark,
}

impl From<PathBuf> for Place {
    /// A directory, with nothing kept beside it.
    fn from(directory: PathBuf) -> Self {
        Self { directory, keepsake: Arc::new(Nothing), mark: Mark::unnamed() }
    }
}

/// One thing kept beside a session: an agent's conversation, which the agent itself may sweep away, or which is wanted on
/// another machine. May block.
pub trait Keepsake: Send + Sync {
    /// Keeps this, in place of what was kept before.
    fn keep(&self, content: &[u8]) -> io::Result<()>;

    /// What is kept.
    fn kept(&self) -> io::Result<Option<Vec<u8>>>;

    /// What the agent is to be shown in this turn, where that is a file.
    fn shown(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }
}

struct Nothing;

impl Keepsake for Nothing {
    fn keep(&self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn kept(&self) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
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
    /// Put the waiting call away and end; ignored if it has its reply already.
    Park {
        /// Which call.
        call: CallId,
    },
    /// Say something to it while it works: it reads that at its next step, or in another turn if this was its last.
    /// An agent that does not listen while it works never hears it.
    Say {
        /// What.
        text: String,
    },
    /// Take on another turn, after the one before was finished; ignored by an agent that is leaving.
    Next {
        /// What it is about.
        prompt: String,
    },
    /// End now, whatever it is doing.
    Stop,
}
