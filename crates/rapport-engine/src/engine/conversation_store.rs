//! An agent's conversation, kept with its session: it may be gone from where the agent had it when it is wanted again.

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, TryFutureExt as _};
use rapport_core::{Order, SessionId};

use crate::agents::ConversationStore;
use crate::stores::{Attacher, Store};
use rapport_durable as durable;

/// What it is kept as.
pub const CONVERSATION: &str = "conversation";

/// What an agent is shown in a turn that has a directory.
const SHOWN: &str = "_context.log";

pub(super) struct Conversation {
    store: Arc<dyn Store>,
    attacher: Arc<dyn Attacher>,
    session: SessionId,
    name: String,
    folder: Option<String>,
    /// The digest of what the agent is to be shown, where the facts say it.
    digest: Option<String>,
}

impl Conversation {
    pub(super) fn of(
        store: Arc<dyn Store>,
        attacher: Arc<dyn Attacher>,
        session: SessionId,
        order: &Order,
        digest: Option<String>,
    ) -> Self {
        // A turn in a directory has a conversation of its own, and another one where it is planned anew.
        let name = match &order.folder {
            Some(folder) => format!("{CONVERSATION}-{folder}-{}", order.turn),
            None => CONVERSATION.to_owned(),
        };
        Self { store, attacher, session, name, folder: order.folder.clone(), digest }
    }
}

impl ConversationStore for Conversation {
    fn keep(&self, content: Vec<u8>) -> BoxFuture<'_, io::Result<()>> {
        self.attacher.attach(&self.name, content).map_err(io::Error::other).boxed()
    }

    fn kept(&self) -> BoxFuture<'_, io::Result<Option<Vec<u8>>>> {
        self.store.attached(&self.session, &self.name).map_err(io::Error::other).boxed()
    }

    fn shown(&self) -> BoxFuture<'_, io::Result<Option<Vec<u8>>>> {
        async {
            let Some(folder) = &self.folder else { return Ok(None) };
            let name = format!("{folder}/{SHOWN}");
            let shown = self.store.attached(&self.session, &name).await.map_err(io::Error::other)?;
            match (&shown, &self.digest) {
                (Some(shown), Some(digest)) if durable::digest(shown) != *digest => Err(changed(&name)),
                _ => Ok(shown),
            }
        }
        .boxed()
    }
}

fn changed(name: &str) -> io::Error {
    let what = format!("{name} was changed after planning began, so the agent is not shown it");
    io::Error::other(format!("{what}: bring it back, or plan again with rapport plan --instead -m MESSAGE"))
}
