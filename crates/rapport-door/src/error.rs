//! What can go wrong at the door.

use std::fmt;
use std::sync::Arc;

use rapport_core::{Refusal, SessionId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::seal::Seal;

/// Why a request was not carried out.
#[derive(Debug, Error)]
pub enum DoorError {
    /// The session does not take it.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// It could not be stored or read, so it did not happen.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The session can no longer be stored, so this process does nothing more in it.
    #[error("{0}")]
    Broken(Arc<StoreError>),
    /// The process that runs the session could not do it.
    #[error("{0}")]
    Failed(String),
    /// This process may not do that, or not in that name.
    #[error("{0}")]
    Forbidden(String),
    /// The process that runs the session is there and says nothing. What was sent may still count.
    #[error("session {id} is run by {holder}, which does not answer")]
    Silent { id: SessionId, holder: Holder },
    /// Rapport is stopping.
    #[error("Rapport is shutting down")]
    Closed,
}

/// The process that holds a session, and how to talk to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Its process id; 0 where nothing is known but that there is one.
    pub pid: u32,
    /// Where it listens, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The machine it is on, where that is not this one. What `pid` and `address` mean is known there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Holder {
    /// Somebody who holds a session and has not said who it is.
    pub const UNKNOWN: Holder = Holder { pid: 0, address: None, host: None };

    /// This process, which listens there.
    pub fn this_process(address: Option<String>) -> Self {
        Self { pid: std::process::id(), address, host: None }
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

/// What can go wrong with a store.
#[derive(Debug, Error)]
pub enum StoreError {
    /// There is no such session.
    #[error("there is no session {0}")]
    NotFound(SessionId),
    /// Somebody else writes.
    #[error("session {id} is held by {holder}")]
    Busy { id: SessionId, holder: Holder },
    /// Somebody else writes now, and this process no longer may: nothing was added, and nothing will be.
    #[error("session {id} was taken over by another process")]
    Superseded { id: SessionId },
    /// The log is not what was written.
    #[error("{place} is damaged at line {line}: {what}")]
    Damaged {
        place: String,
        /// Where in it.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// The log was written by a newer program.
    #[error("{place} has format {found}, this program knows formats up to {known}")]
    Newer {
        place: String,
        /// What it has.
        found: u32,
        /// What is known.
        known: u32,
    },
    /// What the log says does not count here: nothing is started for it.
    #[error("session {id} {seal}")]
    NotOurs {
        id: SessionId,
        /// Whose word it is.
        seal: Seal,
    },
    /// The system said no.
    #[error("cannot {what} {place}: {source}")]
    Io {
        /// What was tried.
        what: &'static str,
        place: String,
        /// What the system said.
        source: std::io::Error,
    },
}
