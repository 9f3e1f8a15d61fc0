//! Tells which sessions change. One consumer per project reads the numbers of all messages; the servers deliver them in
//! order, and only after they are stored.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::pull::OrderedConfig;
use futures_util::StreamExt as _;
use rapport_core::SessionId;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tracing::debug;

use super::cluster::Cluster;
use super::subjects::Subjects;
use crate::stores::{Changes, StoreError};

/// The pause before the next attempt to read.
const PAUSE: Duration = Duration::from_millis(200);
/// How long the servers may take until changes are read.
const PATIENCE: Duration = Duration::from_secs(10);

/// Those who want to know which sessions change.
#[derive(Clone, Debug, Default)]
pub(super) struct Watchers(Arc<Mutex<WatcherList>>);

#[derive(Debug, Default)]
struct WatcherList {
    watchers: Vec<mpsc::UnboundedSender<SessionId>>,
    /// Whether changes are read, since there was a first watcher.
    reading: Option<watch::Receiver<bool>>,
}

impl Watchers {
    /// The sessions that change from now on.
    pub(super) async fn watch(
        &self,
        cluster: &Arc<Cluster>,
        subjects: &Subjects,
    ) -> Result<Changes, StoreError> {
        let (tell, told) = mpsc::unbounded_channel();
        let reading = {
            let mut list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            list.watchers.push(tell);
            list.reading.get_or_insert_with(|| {
                let (ready, reading) = watch::channel(false);
                let watchers = Arc::downgrade(&self.0);
                tokio::spawn(read(cluster.clone(), subjects.all_logs(), watchers, ready));
                reading
            });
            list.reading.clone()
        };
        if let Some(mut reading) = reading
            && timeout(PATIENCE, async { reading.wait_for(|began| *began).await.is_ok() }).await.is_err()
        {
            return Err(cluster.unreachable("watch", &subjects.all_logs(), "no answer"));
        }
        Ok(Changes::new(told, ()))
    }
}

/// Reads the changes until nobody watches any more.
async fn read(
    cluster: Arc<Cluster>,
    matching: String,
    watchers: Weak<Mutex<WatcherList>>,
    ready: watch::Sender<bool>,
) {
    // The number of the last message that was read, or that was there before.
    let mut last = None;
    loop {
        if let Err(why) = read_from(&cluster, &matching, &watchers, &mut last, &ready).await {
            debug!(why, "changes not read");
        }
        if watchers.strong_count() == 0 {
            return;
        }
        sleep(PAUSE).await;
    }
}

async fn read_from(
    cluster: &Cluster,
    matching: &str,
    watchers: &Weak<Mutex<WatcherList>>,
    last: &mut Option<u64>,
    ready: &watch::Sender<bool>,
) -> Result<(), String> {
    let say = |error: &dyn std::fmt::Display| error.to_string();
    let from = match *last {
        Some(last) => last,
        None => cluster.sessions.get_info().await.map_err(|error| say(&error))?.state.last_sequence,
    };
    *last = Some(from);
    let config = OrderedConfig {
        filter_subject: matching.to_owned(),
        headers_only: true,
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: from + 1 },
        ..OrderedConfig::default()
    };
    let consumer = cluster.sessions.create_consumer(config).await.map_err(|error| say(&error))?;
    let mut messages = consumer.messages().await.map_err(|error| say(&error))?;
    ready.send_replace(true);
    while let Some(message) = messages.next().await {
        let message = message.map_err(|error| say(&error))?;
        let number = message.info().map_err(|error| say(&error))?.stream_sequence;
        *last = Some(number);
        let Some(list) = watchers.upgrade() else { return Ok(()) };
        let Some(id) = Subjects::session(&message.subject) else { continue };
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        list.watchers.retain(|watcher| watcher.send(id.clone()).is_ok());
    }
    Ok(())
}
