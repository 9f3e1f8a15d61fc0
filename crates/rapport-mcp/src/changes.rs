//! Which sessions changed, for the calls that wait. One task watches all sessions, however many calls wait.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use rapport_core::SessionId;
use rapport_door::{DoorError, Seen, Sessions, Update};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

/// The number of changes that a slow waiter may be behind. One that missed some looks at everything again.
const BEHIND: usize = 1024;

/// The news that sessions changed, until it is dropped.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Never read: waiters begin from it. The watcher alone has the sender, so that waiters notice its end.
    news: broadcast::Receiver<SessionId>,
    watcher: JoinHandle<()>,
}

impl Changes {
    /// Begins to watch all sessions.
    pub(crate) async fn watch(sessions: Arc<dyn Sessions>) -> Result<Self, DoorError> {
        Ok(Self::of(sessions.watch().await?))
    }

    fn of(mut seen: BoxStream<'static, Seen>) -> Self {
        let (to, news) = broadcast::channel(BEHIND);
        let watcher = tokio::spawn(async move {
            while let Some(seen) = seen.next().await {
                if seen.updates.iter().any(is_change) {
                    // There is a receiver as long as this task runs.
                    let _ = to.send(seen.session);
                }
            }
        });
        Self { news, watcher }
    }

    /// The changes from now on. It is closed when nothing is watched any more.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<SessionId> {
        self.news.resubscribe()
    }
}

/// Whether an update changes what is told of a task. What an agent does at the moment is not in the log, and there is much of it.
fn is_change(update: &Update) -> bool {
    match update {
        Update::Entry(_) | Update::Lost(_) => true,
        Update::Progress(_) | Update::Action(_) => false,
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use rapport_core::{Entry, Progress, Usage};
    use rapport_door::Doing;
    use tokio::sync::broadcast::error::RecvError;

    use super::*;

    /// Only what is in a log, or that it is lost, makes waiters read it again; and they notice when nothing is watched any more.
    #[tokio::test]
    async fn facts_and_lost_logs_are_changes_and_the_end_is_told() {
        let entry = || Update::Entry(Entry { seq: 1, at: jiff::Timestamp::UNIX_EPOCH, facts: Vec::new() });
        let progress = || Update::Progress(Progress { doing: None, usage: Usage::default() });
        let all = [
            ("progress", vec![progress()]),
            ("fact", vec![progress(), entry()]),
            ("action", vec![Update::Action(Doing::Started(0))]),
            ("lost", vec![Update::Lost("damaged".into())]),
        ];
        let seen = all.map(|(name, updates)| Seen { session: SessionId::new(name), updates });
        let changes = Changes::of(stream::iter(seen).boxed());
        let mut heard = changes.subscribe();
        assert_eq!(heard.recv().await.unwrap().as_str(), "fact");
        assert_eq!(heard.recv().await.unwrap().as_str(), "lost");
        assert_eq!(heard.recv().await, Err(RecvError::Closed));
        assert_eq!(changes.subscribe().recv().await, Err(RecvError::Closed));
    }
}
