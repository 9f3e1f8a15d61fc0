//! What a container lets through, on this machine and on another one, as a script in it reports.

use std::path::Path;

use rapport::workers::Worker as _;
use rapport::workers::network::Network;

use super::sandbox::{assert_only_named_hosts, echo, reaching};
use super::{containers, id, project};
use crate::support::{needs, remote};

/// A credential is not in the workplace. Only the agent's own service gets it.
#[tokio::test]
async fn the_hosts_proxy_adds_credentials_and_lets_only_named_hosts_through() {
    proxied(needs::engine()).await;
}

/// The same through the stream of the engine.
#[tokio::test]
async fn on_another_machine_the_proxy_is_the_hosts_own() {
    proxied(remote::engine()).await;
}

async fn proxied(engine: Option<String>) {
    let Some(engine) = engine else { return };
    let folder = tempfile::tempdir().unwrap();
    let (allowed, other) = (echo(), echo());
    let network = Network::Allowlist(vec![allowed.to_string().parse().unwrap()]);
    let containers = containers(folder.path(), engine, network);
    let (_project, created) = project("container");
    let place = containers.open(&id(), &created).unwrap();
    let said = reaching((&*place, Path::new("/nowhere")), allowed, other).await;
    assert_only_named_hosts(&said);
    drop(place);
    containers.clear(&id(), &created).unwrap();
}
