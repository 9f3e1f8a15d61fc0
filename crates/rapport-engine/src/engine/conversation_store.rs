//! Stores an agent's conversation with its session, because the agent's own copy may have been removed when it is
//! needed again.

use std::io;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use futures_util::{FutureExt as _, TryFutureExt as _};
use rapport_core::{Order, SessionId};

use crate::agents::ConversationStore;
use crate::stores::{Attacher, Store};
use rapport_durable as durable;

/// The name of the attachment.
pub const CONVERSATION: &str = "conversation";

/// The name of the attachment with the work of a workplace that may be removed: a patch since its beginning.
pub(super) const WORK: &str = "work.patch";

/// The file of what an agent is shown in a turn with a directory.
const SHOWN: &str = "_context.log";

pub(super) struct Conversation {
    store: Arc<dyn Store>,
    attacher: Arc<dyn Attacher>,
    session: SessionId,
    name: String,
    folder: Option<String>,
    /// The digest of what the agent is shown, if the facts have it.
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
        // A turn with a directory has its own conversation, and a new one if it is planned again.
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

    fn keep_work(&self, work: Vec<u8>) -> BoxFuture<'_, io::Result<()>> {
        self.attacher.attach(WORK, work).map_err(io::Error::other).boxed()
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
    let what = format!("{name} was changed after planning began, so the agent cannot use it");
    io::Error::other(format!("{what}: restore it, or plan again with rapport plan --instead -m MESSAGE"))
}
