//! Several processes at one store. The others are this test binary again, which the environment tells what to do.

use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::slice::from_ref;
use std::thread;

use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport::stores::{Holder, StoreError};
use rapport_core::{Event, SessionId};

use super::{HOLDER, Written, noon, said};

const ROLE: &str = "RAPPORT_TEST_STORE_ROLE";
const ROOT: &str = "RAPPORT_TEST_STORE_ROOT";
const CREATES: usize = 20;

#[test]
fn a_holder_in_another_process_excludes_until_it_is_killed() {
    let written = Written::new();
    let mut other = Other::start("hold", written.dir.path());
    other.wait_until_ready();
    let expected = Holder { pid: other.child.id(), address: Some("/run/other".into()), host: None };
    assert_eq!(written.store.holder(&written.id).unwrap(), Some(expected.clone()));
    match written.store.hold(&written.id, &HOLDER) {
        Err(StoreError::Busy { holder, .. }) => assert_eq!(holder, expected),
        other => panic!("{:?}", other.map(|_| "held twice")),
    }
    assert_eq!(written.store.read(&written.id, 0).unwrap(), written.entries, "anybody may read");

    other.child.kill().unwrap();
    other.child.wait().unwrap();
    assert_eq!(written.store.holder(&written.id).unwrap(), None);
    assert_eq!(written.store.hold(&written.id, &HOLDER).unwrap().0, written.entries);
}

#[test]
fn a_holder_that_has_not_signed_is_somebody() {
    let written = Written::new();
    let lock = std::fs::File::create(written.dir.path().join("20260124-x/lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(written.store.holder(&written.id).unwrap(), Some(Holder::UNKNOWN));
    let error = written.store.hold(&written.id, &HOLDER).err().unwrap();
    assert_eq!(error.to_string(), "session 20260124-x is held by another process");
}

#[test]
fn what_a_dead_holder_left_in_the_lock_means_nothing() {
    let written = Written::new();
    for text in ["", "{\"pid\":", r#"{"pid":1,"address":"/run/a/very/long/address"}"#, "\0\0"] {
        std::fs::write(written.dir.path().join("20260124-x/lock"), text).unwrap();
        assert_eq!(written.store.holder(&written.id).unwrap(), None);
        let (_, log) = written.store.hold(&written.id, &HOLDER).unwrap();
        assert_eq!(written.store.holder(&written.id).unwrap(), Some(HOLDER));
        drop(log);
    }
}

#[test]
fn looking_never_keeps_anybody_from_holding() {
    let written = Written::new();
    thread::scope(|scope| {
        let lookers: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| (0..2000).for_each(|_| drop(written.store.holder(&written.id).unwrap()))))
            .collect();
        while lookers.iter().any(|looker| !looker.is_finished()) {
            drop(written.store.hold(&written.id, &HOLDER).unwrap());
        }
    });
}

#[test]
fn sessions_created_at_once_by_many_get_names_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("project/.rapport/sessions");
    let store = BlockingStore::new(Files::new(root.clone()));
    let mut others: Vec<_> = (0..3).map(|_| Other::start("create", &root)).collect();
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| create_many(&store, "thread"));
        }
    });
    for other in &mut others {
        assert!(other.child.wait().unwrap().success());
    }
    let ids = store.list().unwrap();
    let facts: Vec<_> = ids.iter().map(|id| store.read(id, 0).unwrap()).collect();
    let names: BTreeSet<_> = facts.iter().map(|entries| format!("{:?}", entries[0].facts)).collect();
    assert_eq!(ids.len(), 6 * CREATES);
    assert_eq!(names.len(), 6 * CREATES, "each has the facts it was created from, and only those");
    assert!(facts.iter().all(|entries| entries.len() == 1));
}

#[test]
fn somebody_without_permission_is_told_what_they_may_not_do() {
    let written = Written::new();
    let session = written.dir.path().join("20260124-x");
    let chmod = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    chmod(&session, 0o000);
    chmod(written.dir.path(), 0o555);
    let mut command = role("peek", written.dir.path());
    command.current_dir("/");
    if nix::unistd::geteuid().is_root() {
        command.uid(65534).gid(65534); // Permissions do not bind root.
    }
    let status = command.stdout(Stdio::null()).status().unwrap();
    chmod(written.dir.path(), 0o755);
    chmod(&session, 0o755);
    assert!(status.success());
}

/// What another process does. On its own, as an ordinary test, it does nothing.
#[test]
fn other_process() {
    let (Ok(role), Ok(root)) = (env::var(ROLE), env::var(ROOT)) else { return };
    let store = BlockingStore::new(Files::new(root.into()));
    let id = SessionId::new("20260124-x");
    match role.as_str() {
        "hold" => {
            let holder = Holder { pid: std::process::id(), address: Some("/run/other".into()), host: None };
            let _held = store.hold(&id, &holder).unwrap();
            println!("\nready");
            loop {
                thread::park();
            }
        }
        "create" => create_many(&store, "process"),
        "peek" => {
            assert_eq!(store.list().unwrap(), from_ref(&id), "it is there");
            let denied = [
                store.read(&id, 0).unwrap_err(),
                store.hold(&id, &HOLDER).err().unwrap(),
                store.create("y", noon(), said("one"), &HOLDER).err().unwrap(),
            ];
            for error in denied {
                assert!(error.to_string().ends_with(": Permission denied (os error 13)"), "{error}");
            }
        }
        other => panic!("{other}"),
    }
}

fn create_many(store: &BlockingStore, kind: &str) {
    for number in 0..CREATES {
        let who = format!("{kind} {} {:?} {number}", std::process::id(), thread::current().id());
        let facts = vec![Event::Failed { reason: who }];
        let (id, first, _log) = store.create("The same words", noon(), facts, &HOLDER).unwrap();
        assert_eq!(store.read(&id, 0).unwrap(), [first]);
    }
}

fn role(role: &str, root: &Path) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "faults::store::processes::other_process", "--nocapture"]);
    command.env(ROLE, role).env(ROOT, root);
    command
}

/// Another process, killed when dropped.
struct Other {
    child: Child,
}

impl Other {
    fn start(what: &str, root: &Path) -> Self {
        Self { child: role(what, root).stdout(Stdio::piped()).spawn().unwrap() }
    }

    fn wait_until_ready(&mut self) {
        let output = BufReader::new(self.child.stdout.take().unwrap());
        assert!(output.lines().map_while(Result::ok).any(|line| line == "ready"), "it ended");
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
