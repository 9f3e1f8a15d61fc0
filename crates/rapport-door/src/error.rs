//! Errors of the door.

use std::fmt;
use std::sync::Arc;

use rapport_core::{Refusal, SessionId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::seal::Seal;

/// Why a request was not carried out.
#[derive(Debug, Error)]
pub enum DoorError {
    /// The session refused it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It could not be stored or read, so it did not happen.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session can no longer be stored, so this process does nothing more with it.
    #[error("{0}")]
    Broken(Arc<StoreError>),
    /// The process that runs the session could not do it.
    #[error("{0}")]
    Failed(String),
    /// This process may not do that, or not in that person's name.
    #[error("{0}")]
    Forbidden(String),
    /// The process that runs the session exists but does not respond. The request may still take effect.
    #[error("session {id} is run by {holder}, which does not answer")]
    Silent { id: SessionId, holder: Holder },
    /// Rapport is stopping.
    #[error("Rapport is shutting down")]
    Closed,
}

/// The process that holds a session, and how to talk to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id; 0 if nothing is known about it.
    pub pid: u32,
    /// The address it listens on, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Its machine, if that is not this one. `pid` and `address` are only meaningful there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Holder {
    /// A holder that has not identified itself yet.
    pub const UNKNOWN: Holder = Holder { pid: 0, address: None, host: None };

    /// This process, listening at this address.
    pub fn this_process(address: Option<String>) -> Self {
        Self { pid: std::process::id(), address, host: None }
    }

    /// Whether it is this process.
    pub fn is_this_process(&self) -> bool {
        self.host.is_none() && self.pid == std::process::id()
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            0 => f.write_str("another process")?,
            pid => write!(f, "process {pid}")?,
        }
        self.host.as_ref().map_or(Ok(()), |host| write!(f, " on {host}"))
    }
}

/// Errors of a store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no such session.
    #[error("there is no session {0}")]
    NotFound(SessionId),
    /// Another process has the session's lock.
    #[error("session {id} is held by {holder}")]
    Busy { id: SessionId, holder: Holder },
    /// Another process has taken the session over, so this one may no longer write: nothing was appended, and nothing
    /// will be.
    #[error("session {id} was taken over by another process")]
    Superseded { id: SessionId },
    /// The session works in a directory of another machine, so only that machine can run it.
    #[error("session {id} works on {host}, and waits for it")]
    Elsewhere {
        id: SessionId,
        /// The name of the machine.
        host: String,
    },
    /// The log differs from what was written.
    #[error("{place} is damaged at line {line}: {what}")]
    Damaged {
        place: String,
        /// The damaged line, from 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
    /// The log was written by a newer program.
    #[error("{place} has format {found}, this program knows formats up to {known}")]
    Newer {
        place: String,
        /// The format of the log.
        found: u32,
        /// The newest format that this program knows.
        known: u32,
    },
    /// The log is not trusted here, so nothing is started for it.
    #[error("session {id} {seal}")]
    NotOurs {
        id: SessionId,
        /// The result of checking its signature.
        seal: Seal,
    },
    /// The store cannot be reached, or its settings are wrong.
    #[error("cannot open the store {store}: {why}")]
    Unavailable {
        /// The name of its kind.
        store: &'static str,
        why: String,
    },
    /// The operating system reported an error.
    #[error("cannot {what} {place}: {source}")]
    Io {
        /// What was attempted.
        what: &'static str,
        place: String,
        /// The system's error.
        source: std::io::Error,
    },
}
