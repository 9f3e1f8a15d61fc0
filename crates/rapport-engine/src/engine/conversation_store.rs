//! An agent's conversation, kept with its session: it may be gone from where the agent had it when it is wanted again.

use std::io;
use std::sync::Arc;

use rapport_core::{Order, SessionId};

use crate::agents::ConversationStore;
use crate::stores::Store;

/// What it is kept as.
pub const CONVERSATION: &str = "conversation";

/// What an agent is shown in a turn that has a directory.
const SHOWN: &str = "_context.log";

pub(super) struct Conversation {
    store: Arc<dyn Store>,
    session: SessionId,
    name: String,
    folder: Option<String>,
}

impl Conversation {
    pub(super) fn of(store: Arc<dyn Store>, session: SessionId, order: &Order) -> Self {
        // A turn in a directory has a conversation of its own, and another one where it is planned anew.
        let name = match &order.folder {
            Some(folder) => format!("{CONVERSATION}-{folder}-{}", order.turn),
            None => CONVERSATION.to_owned(),
        };
        Self { store, session, name, folder: order.folder.clone() }
    }
}

impl ConversationStore for Conversation {
    fn keep(&self, content: &[u8]) -> io::Result<()> {
        self.store.attach(&self.session, &self.name, content).map_err(io::Error::other)
    }

    fn kept(&self) -> io::Result<Option<Vec<u8>>> {
        self.store.attached(&self.session, &self.name).map_err(io::Error::other)
    }

    fn shown(&self) -> io::Result<Option<Vec<u8>>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        self.store.attached(&self.session, &format!("{folder}/{SHOWN}")).map_err(io::Error::other)
    }
}
