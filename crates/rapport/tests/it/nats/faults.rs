//! Servers that refuse, are full, or have lost everything; hosts with one name, another clock, an older program.

use std::time::Duration;

use rapport::stores::nats::{Nats, NatsKind};
use rapport::stores::{CopyState, Store as _, StoreError, StoreKind as _};
use rapport_door::Diagnosis;

use super::{TestHost, holder, noon, said, texts};
use crate::support::disk::Disk;
use crate::support::nats;

/// Users, one of whom may only send acts.
const USERS: &str = r#"
authorization { users: [
  { user: host, password: right }
  { user: client, password: right, permissions: {
      publish: ["rapport.act.>", "$JS.API.>"], subscribe: ["_INBOX.>"] } }
] }
"#;

/// A wrong password, and a subject without permission: the error says so, and nothing is stored.
#[tokio::test]
async fn who_may_not_write_is_told_so() {
    let Some(servers) = nats::configured(USERS) else { return };
    let folder = tempfile::tempdir().unwrap();
    let login = |user: &str, password: &str| {
        let file = folder.path().join(user);
        std::fs::write(&file, format!("user: {user}\npassword: {password}\n")).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let open = async |home: &str, file: &str| {
        let home = folder.path().join(home);
        Nats::opened(servers.site_with(&home, "users", &[("RAPPORT_NATS_CREDENTIALS", file)])).await
    };
    let refused = open("one", &login("host", "wrong")).await.unwrap_err().to_string();
    assert!(refused.contains("authorization violation"), "{refused}");
    let missing = open("two", "/nowhere/login").await.unwrap_err().to_string();
    assert!(missing.contains("/nowhere/login"), "{missing}");
    let host = open("three", &login("host", "right")).await.unwrap();
    host.create("x", noon(), said("a"), &holder(1)).await.unwrap();
    let client = open("four", &login("client", "right")).await.unwrap();
    let refused = client.create("y", noon(), said("a"), &holder(1)).await.err().unwrap().to_string();
    assert!(refused.to_lowercase().contains("permissions violation"), "{refused}");
    assert_eq!(host.list().await.unwrap().len(), 1);
}

/// Streams that were deleted by hand are made again, and filled from the copies.
#[tokio::test]
async fn streams_that_were_deleted_are_restored() {
    let Some(servers) = nats::configured("") else { return };
    let host = TestHost::new(&servers, "deleted").await;
    let (id, _, mut log) = host.store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
    log.append(noon(), said("b")).await.unwrap();
    drop(log);
    host.store.holder(&id).await.unwrap();
    host.store.delete_streams().await.unwrap();
    let again =
        Nats::opened(servers.site_with(host.folder.path(), "deleted", &[("RAPPORT_NATS_HOST", "again")]));
    let again = again.await.unwrap();
    assert_eq!(again.list().await.unwrap(), []);
    assert_eq!(again.copies().await.unwrap().unwrap(), [(id.clone(), CopyState::Ahead { missing: 2 })]);
    assert_eq!(again.restore(&id).await.unwrap(), 2);
    assert_eq!(texts(&again.counted(&id, 0).await.unwrap()), ["a", "b"]);
}

/// A full disk at one server stops nothing: the others have a majority.
#[tokio::test]
async fn a_full_disk_at_one_server_loses_nothing() {
    let Some(disk) = Disk::sized("24m") else { return };
    let Some(servers) = nats::cluster_storing_in(disk.path()) else { return };
    let host = TestHost::new(&servers, "full").await;
    let long = "x".repeat(200_000);
    let (id, _, mut log) = host.store.create("x", noon(), said("0"), &holder(1)).await.unwrap();
    let mut expected = vec!["0".to_owned()];
    for number in 0..150 {
        let text = format!("{number}{long}");
        log.append(noon(), said(&text)).await.unwrap();
        expected.push(text);
    }
    assert!(texts(&host.store.counted(&id, 0).await.unwrap()) == expected);
}

/// Two hosts with one name are told apart by their ids, and `doctor` tells it.
#[tokio::test]
async fn two_hosts_with_one_name_are_told_apart() {
    let Some(servers) = nats::single() else { return };
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let named = [("RAPPORT_NATS_HOST", "desk")];
    let first = Nats::opened(servers.site_with(one.path(), "names", &named)).await.unwrap();
    let (id, _, _log) = first.create("x", noon(), said("a"), &holder(std::process::id())).await.unwrap();
    let second = Nats::opened(servers.site_with(two.path(), "names", &named)).await.unwrap();
    assert_eq!(first.holder(&id).await.unwrap().unwrap().host, None, "it is here");
    assert_eq!(second.holder(&id).await.unwrap().unwrap().host.as_deref(), Some("desk"), "it is not here");
    match NatsKind.diagnose(servers.site_with(two.path(), "names", &named)).await {
        Diagnosis::Bad { found, .. } => {
            assert!(found.contains("another machine has the name desk"), "{found}");
            assert!(found.contains("has 1 replicas, and needs 3"), "{found}");
        }
        Diagnosis::Good(found) => panic!("{found}"),
    }
}

/// Leases are the servers' business: a host whose clock is an hour off neither loses nor keeps anything by it. Only the
/// times in its entries are wrong.
#[tokio::test]
async fn a_clock_that_is_an_hour_off_changes_only_times() {
    let Some(servers) = nats::single() else { return };
    let desk = TestHost::new(servers, "clock").await;
    let late = noon() - Duration::from_secs(3600);
    let (id, _, mut log) = desk.store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
    log.append(late, said("b")).await.unwrap();
    let laptop = desk.with_key_of(servers, "clock").await;
    let busy = laptop.store.hold(&id, &holder(2)).await.err().unwrap();
    assert!(matches!(busy, StoreError::Busy { .. }), "{busy}");
    drop(log);
    desk.store.holder(&id).await.unwrap();
    let (entries, mut log) = laptop.store.hold(&id, &holder(2)).await.unwrap();
    assert_eq!(texts(&entries), ["a", "b"]);
    log.append(late, said("c")).await.unwrap();
    assert_eq!(texts(&desk.store.counted(&id, 0).await.unwrap()), ["a", "b", "c"]);
}

/// An older program refuses a log that a newer one wrote, and changes nothing in it.
#[tokio::test]
async fn a_newer_log_is_refused() {
    let Some(servers) = nats::single() else { return };
    let host = TestHost::new(servers, "newer").await;
    let (id, _, log) = host.store.create("x", noon(), said("a"), &holder(1)).await.unwrap();
    drop(log);
    let body = r#"{"v":9,"seq":2,"at":"2026-01-24T12:00:00Z","facts":[]"#;
    let line = format!("{body},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(body.as_bytes()));
    host.store.add_line(&id, line.into_bytes()).await.unwrap();
    let refused = host.store.hold(&id, &holder(1)).await.err().unwrap();
    assert!(matches!(&refused, StoreError::Newer { found: 9, .. }), "{refused}");
    assert_eq!(host.store.holder(&id).await.unwrap(), None);
    // What is not even a line is damage, and is told with its number.
    let (other, _, log) = host.store.create("y", noon(), said("a"), &holder(1)).await.unwrap();
    drop(log);
    host.store.add_line(&other, b"garbage\n".to_vec()).await.unwrap();
    let refused = host.store.read(&other, 0).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Damaged { line: 2, .. }), "{refused}");
}
