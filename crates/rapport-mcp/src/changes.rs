//! Tells waiting calls which sessions changed. One task watches all sessions for all of them.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use rapport_core::SessionId;
use rapport_door::{DoorError, Seen, Sessions, Update};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

/// The number of changes that a slow waiter may lag behind. One that missed some reads everything again.
const BEHIND: usize = 1024;

/// The watch of all sessions, until it is dropped.
#[derive(Debug)]
pub(crate) struct Changes {
    /// Never read: waiters subscribe through it. Only the watching task has the sender, so that waiters notice when
    /// the watch ends.
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
                    // Sending cannot fail: the receiver lives as long as this task.
                    let _ = to.send(seen.session);
                }
            }
        });
        Self { news, watcher }
    }

    /// The changes from now on. The receiver is closed when the watch ends.
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<SessionId> {
        self.news.resubscribe()
    }
}

/// Whether an update changes the report of a task. Frequent updates about what an agent does at the moment are not in
/// the log, and do not.
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

    /// Only new facts, or a lost log, make waiters read a session again; waiters also notice the end of the watch.
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
