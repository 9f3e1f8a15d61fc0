//! Which sessions changed, for the calls that wait. One task watches all sessions, however many calls wait.

use std::sync::Arc;

use futures_util::StreamExt as _;
use rapport_core::SessionId;
use rapport_door::{DoorError, Sessions};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

/// The number of changes that a slow waiter may be behind. One that missed some looks at everything again.
const BEHIND: usize = 1024;

/// The news that sessions changed, until it is dropped.
#[derive(Debug)]
pub(crate) struct Changes {
    news: broadcast::Sender<SessionId>,
    watcher: JoinHandle<()>,
}

impl Changes {
    /// Begins to watch all sessions.
    pub(crate) async fn watch(sessions: Arc<dyn Sessions>) -> Result<Self, DoorError> {
        let mut seen = sessions.watch().await?;
        let (news, _) = broadcast::channel(BEHIND);
        let to = news.clone();
        let watcher = tokio::spawn(async move {
            while let Some(seen) = seen.next().await {
                // Nobody may be waiting.
                let _ = to.send(seen.session);
            }
        });
        Ok(Self { news, watcher })
    }

    /// The changes from now on.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<SessionId> {
        self.news.subscribe()
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}
