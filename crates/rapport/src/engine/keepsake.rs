//! An agent's conversation, kept with its session: it may be gone from where the agent had it when it is wanted again.

use std::io;
use std::sync::Arc;

use rapport_core::SessionId;

use crate::agents::Keepsake;
use crate::stores::Store;

/// What it is kept as.
const NAME: &str = "conversation";

pub(super) struct Conversation {
    store: Arc<dyn Store>,
    session: SessionId,
}

impl Conversation {
    pub(super) fn of(store: Arc<dyn Store>, session: SessionId) -> Self {
        Self { store, session }
    }
}

impl Keepsake for Conversation {
    fn keep(&self, content: &[u8]) -> io::Result<()> {
        self.store.keep(&self.session, NAME, content).map_err(io::Error::other)
    }

    fn kept(&self) -> io::Result<Option<Vec<u8>>> {
        self.store.kept(&self.session, NAME).map_err(io::Error::other)
    }
}
