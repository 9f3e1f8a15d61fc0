//! Sessions that several machines share: three servers of NATS, and hosts with homes of their own.

mod checker;
mod failover;
mod faults;
mod hosts;
mod servers;
mod story;

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use rapport::stores::nats::Nats;
use rapport::stores::{Holder, Store};
use rapport_core::{Entry, Event};

use crate::support::nats::NatsServers;

/// A host: its home and its directory of the project.
struct TestHost {
    folder: tempfile::TempDir,
    store: Nats,
}

impl TestHost {
    /// A host with a key of its own.
    async fn new(servers: &NatsServers, project: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Nats::opened(servers.site(folder.path(), project)).await.unwrap();
        Self { folder, store }
    }

    /// Another host of the same person, who has copied the key there.
    async fn with_key_of(&self, servers: &NatsServers, project: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        self.copy_key(folder.path());
        let store = Nats::opened(servers.site(folder.path(), project)).await.unwrap();
        Self { folder, store }
    }

    fn copy_key(&self, to: &Path) {
        let (from, to) = (self.folder.path().join("home/keys"), to.join("home/keys"));
        std::fs::create_dir_all(&to).unwrap();
        for file in ["own.key", "own.pub"] {
            std::fs::copy(from.join(file), to.join(file)).unwrap();
        }
    }

    fn store(&self) -> Arc<dyn Store> {
        Arc::new(self.store.clone())
    }
}

fn noon() -> Timestamp {
    "2026-01-24T12:00:00Z".parse().unwrap()
}

fn said(text: &str) -> Vec<Event> {
    vec![Event::Failed { reason: text.to_owned() }]
}

fn texts(entries: &[Entry]) -> Vec<String> {
    let facts = entries.iter().flat_map(|entry| &entry.facts);
    facts
        .map(|fact| if let Event::Failed { reason } = fact { reason.clone() } else { String::new() })
        .collect()
}

fn holder(pid: u32) -> Holder {
    Holder { pid, address: None, host: None }
}
