//! Checks for whom a calling process may act. Every caller is a program of this user, so it may act for this user
//! at the terminal, unless it descends from an agent. Only the process that runs a channel may act for the people of
//! that channel: it holds a lease that names it. A claim that a caller may not make is refused, never changed into
//! another.

use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::Uid;
use rapport_core::{By, RuleSource, SessionId};
use rapport_durable::{Lock, Taken, private_folder};
use tokio::task::spawn_blocking;

use super::socket::person;
use crate::workers::keeper::descent;

/// The refusal of a process that descends from an agent.
pub const AGENTS_ANSWER_NOTHING: &str =
    "this was started by an agent, and an agent cannot act in a person's name";

/// The name under which a process takes the lease to act for leads.
pub const LEADS: &str = "lead";

/// The right to act for the people of a channel, until it is dropped. The system releases it when the process dies.
#[derive(Debug)]
pub struct ChannelLease {
    lock: Option<Lock>,
}

impl ChannelLease {
    /// Takes the lease for this channel, in the directory where the processes of this home find one another.
    pub async fn take(folder: &Path, channel: &'static str) -> io::Result<Self> {
        let folder = folder.to_owned();
        let take = move || {
            private_folder(&folder)?;
            match Lock::take(&lease(&folder, channel, std::process::id()), channel.as_bytes())? {
                Taken::Ours(lock) => Ok(Self { lock: Some(lock) }),
                Taken::Theirs(_) => Err(io::ErrorKind::WouldBlock.into()),
            }
        };
        spawn_blocking(take).await?
    }
}

impl Drop for ChannelLease {
    fn drop(&mut self) {
        // The lease is named after this process, so no other process takes it.
        self.lock.take().into_iter().for_each(Lock::remove);
    }
}

/// The directory of the leases.
#[derive(Clone, Debug)]
pub(super) struct Claims {
    folder: PathBuf,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    pub(super) uid: Uid,
    pub(super) pid: Option<u32>,
}

impl Claims {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// For whom a caller acts, or why it may not. Blocks.
    pub(super) fn speaker(&self, claim: Option<By>, caller: Caller) -> Result<By, String> {
        if caller.uid != Uid::effective() {
            return Err("this session belongs to another user".into());
        }
        let Some(pid) = caller.pid else {
            return Err("the system does not say which process is calling".into());
        };
        if descent::is_of_an_agent(pid) {
            return Err(AGENTS_ANSWER_NOTHING.into());
        }
        let here = person(caller.uid);
        match claim {
            None => Ok(here),
            Some(by) if by == here || self.runs_channel_of(&by, pid) => Ok(by),
            Some(by) => Err(format!("process {pid} may not speak for {by}")),
        }
    }

    /// Whether a caller belongs to the agent of this session: only such a process uses the tools of that lead. Blocks.
    pub(super) fn is_of_session(session: &SessionId, caller: Caller) -> bool {
        caller.uid == Uid::effective()
            && caller.pid.is_some_and(|pid| descent::session_of(pid).as_ref() == Some(session))
    }

    fn runs_channel_of(&self, by: &By, pid: u32) -> bool {
        match by {
            By::Person { channel, .. } => {
                // The name comes from a caller and becomes part of a path.
                let is_name = channel.chars().all(|c| c.is_ascii_alphanumeric());
                is_name && !by.is_at_terminal() && is_held(&lease(&self.folder, channel, pid))
            }
            // A process that serves leads holds one lease for all of them, so it may use any lead's name. That is
            // safe: the core lets a lead do less than the person, and such a process could act as the person.
            By::Lead { .. } => is_held(&lease(&self.folder, LEADS, pid)),
            // Any process that runs sessions asks their leads. That is safe: it could act as the person, who may do
            // more.
            By::Rule { source, .. } => *source == RuleSource::Routing,
            // Other processes never answer as a model.
            By::Model { .. } => false,
        }
    }
}

fn lease(folder: &Path, channel: &str, pid: u32) -> PathBuf {
    folder.join(format!("{channel}.{pid}.lease"))
}

fn is_held(path: &Path) -> bool {
    Lock::holder(path).is_ok_and(|holder| holder.is_some())
}
