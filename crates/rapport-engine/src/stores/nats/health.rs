//! What `doctor` says about the servers: whether they keep what is promised.

use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use super::cluster::{Body, Cluster, Purpose};
use super::lease;
use super::site::NatsSite;
use crate::stores::StoreError;

/// The first version whose known losses of data are fixed.
const VERSION: (i64, i64, i64) = (2, 12, 3);
/// How many servers have to store each entry, so that one may be lost.
const REPLICAS: usize = 3;
/// How much the clocks may differ. The times in logs are those of the hosts, and people read them.
const CLOCKS: Duration = Duration::from_secs(60);
/// How long the message that tells the servers' time is kept.
const BRIEFLY: Duration = Duration::from_secs(1);

impl NatsSite {
    /// What is wrong with the servers, or with the clock of this host, in clauses.
    pub(super) async fn problems(&self) -> Result<Vec<String>, StoreError> {
        let mut problems = self.cluster.problems().await?;
        let here = Timestamp::now();
        let there = self.cluster.time().await?;
        let apart = here.duration_since(there).unsigned_abs();
        if apart > CLOCKS {
            problems.push(format!(
                "the clock of this machine differs from the servers' by {} s",
                apart.as_secs()
            ));
        }
        let hosts = self.hosts().await?;
        let twin = |host: &&crate::stores::HostProcess| host.host == self.host.name && !host.is_here;
        if hosts.iter().any(|host| twin(&host)) {
            problems.push(format!("another machine has the name {}, too (nats.host)", self.host.name));
        }
        Ok(problems)
    }
}

impl Cluster {
    async fn problems(&self) -> Result<Vec<String>, StoreError> {
        let mut problems = Vec::new();
        let (major, minor, patch) = VERSION;
        if !self.client().is_server_compatible(major, minor, patch) {
            let found = self.client().server_info().version;
            problems.push(format!("the server has version {found}, older than {major}.{minor}.{patch}"));
        }
        for stream in [&self.sessions, &self.owners] {
            let info = stream.get_info().await;
            let info = info.map_err(|error| self.unreachable("look at", "the stream", &error.to_string()))?;
            let (name, replicas) = (&info.config.name, info.config.num_replicas);
            if replicas < REPLICAS {
                problems.push(format!("the stream {name} has {replicas} replicas, and needs {REPLICAS}"));
            }
            let peers = info.cluster.map(|cluster| cluster.replicas).unwrap_or_default();
            for peer in peers.iter().filter(|peer| peer.offline || !peer.current) {
                let how = if peer.offline { "is offline" } else { "is behind" };
                problems.push(format!("the server {} of the stream {name} {how}", peer.name));
            }
        }
        Ok(problems)
    }

    /// The time at the servers.
    async fn time(&self) -> Result<Timestamp, StoreError> {
        let subject = self.of_lease(lease::WORD, &format!("clock-{}", Uuid::new_v4().simple()));
        self.write(&subject, None, Purpose::Lease(BRIEFLY), &Body::Whole(Vec::new())).await?;
        let written = self.owners.get_last_raw_message_by_subject(&subject).await;
        let written = written.map_err(|error| self.unreachable("read", &subject, &error.to_string()))?;
        let time = Timestamp::from_nanosecond(written.time.unix_timestamp_nanos());
        time.map_err(|error| self.unreachable("read", &subject, &error.to_string()))
    }
}
