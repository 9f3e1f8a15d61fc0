//! Disks that are full, read-only, or otherwise unusual. A small file system in memory plays the disk, which needs
//! the right to mount one; without it these tests fail and say so, unless they are left out on purpose.

use std::fs;
use std::slice::from_ref;

use rapport::stores::StoreError;
use rapport::stores::blocking::{BlockingLog, BlockingStore};
use rapport::stores::files::Files;
use rapport_core::{Entry, SessionId};

use super::{HOLDER, noon, said};
use crate::support::disk::{Disk, run};
use crate::support::needs;

#[test]
fn on_a_full_disk_nothing_is_added_and_nothing_is_lost() {
    let Some(disk) = Disk::small() else { return };
    let store = BlockingStore::new(Files::new(disk.path().join("sessions")));
    let (id, first, mut log) = store.create("x", noon(), said("one"), &HOLDER).unwrap();
    fs::write(disk.path().join("filler"), vec![b'x'; 20_000]).unwrap();

    let mut written = vec![first];
    written.extend(fill(&mut log));
    assert!(written.len() > 3);
    let log_file = disk.path().join("sessions/20260124-x/log.jsonl");
    let full = fs::read(&log_file).unwrap();
    for _ in 0..3 {
        assert_full(log.append(noon(), said(&"x".repeat(5000))).unwrap_err());
        assert_eq!(fs::read(&log_file).unwrap(), full, "what was half written is taken back");
        assert_eq!(store.read(&id, 0).unwrap(), written);
    }

    fs::remove_file(disk.path().join("filler")).unwrap();
    written.push(log.append(noon(), said("there is space again")).unwrap());
    assert_eq!(store.read(&id, 0).unwrap(), written);
    drop(log);
    assert_eq!(store.hold(&id, &HOLDER).unwrap().0, written);
}

#[test]
fn on_a_full_disk_no_session_is_half_created() {
    let Some(disk) = Disk::small() else { return };
    let store = BlockingStore::new(Files::new(disk.path().join("sessions")));
    let (_, _, mut log) = store.create("x", noon(), said("one"), &HOLDER).unwrap();
    fill(&mut log);
    for _ in 0..3 {
        assert_full(store.create("y", noon(), said(&"x".repeat(5000)), &HOLDER).err().unwrap());
    }
    assert_eq!(store.list().unwrap(), [SessionId::new("20260124-x")]);
    assert_eq!(fs::read_dir(disk.path().join("sessions")).unwrap().count(), 1, "nothing stays behind");
}

#[test]
fn what_cannot_be_taken_back_at_once_is_taken_back_before_the_next_entry() {
    let Some(disk) = Disk::small() else { return };
    let store = BlockingStore::new(Files::new(disk.path().join("sessions")));
    let (id, first, mut log) = store.create("x", noon(), said("one"), &HOLDER).unwrap();
    fs::write(disk.path().join("filler"), vec![b'x'; 20_000]).unwrap();
    let mut written = vec![first];
    written.extend(fill(&mut log));
    let log_file = disk.path().join("sessions/20260124-x/log.jsonl");
    fs::remove_file(disk.path().join("filler")).unwrap();
    fs::write(disk.path().join("filler"), vec![b'x'; 16_000]).unwrap();
    let good = fs::metadata(&log_file).unwrap().len();

    // A file that can only grow cannot be cut.
    let log_path = log_file.to_str().unwrap();
    if !run("chattr", &["+a", log_path]) {
        return needs::missing("disk", "this file system has no append-only files");
    }
    assert_full(log.append(noon(), said(&"x".repeat(9000))).unwrap_err());
    assert!(fs::metadata(&log_file).unwrap().len() > good, "half a line is left");
    assert_eq!(store.read(&id, 0).unwrap(), written, "which readers ignore");
    let error = log.append(noon(), said("x")).unwrap_err().to_string();
    assert!(error.starts_with("cannot cut off the unfinished end of /"), "{error}");

    assert!(run("chattr", &["-a", log_path]));
    written.push(log.append(noon(), said("x")).unwrap());
    assert_eq!(store.read(&id, 0).unwrap(), written);
}

#[test]
fn a_read_only_disk_can_be_read_and_says_so_otherwise() {
    let Some(disk) = Disk::small() else { return };
    let store = BlockingStore::new(Files::new(disk.path().join("sessions")));
    let (id, first, log) = store.create("x", noon(), said("one"), &HOLDER).unwrap();
    drop(log);
    assert!(run("mount", &["-o", "remount,ro", disk.path().to_str().unwrap()]));

    assert_eq!(store.list().unwrap(), from_ref(&id));
    assert_eq!(store.read(&id, 0).unwrap(), [first]);
    assert_eq!(store.holder(&id).unwrap(), None);
    let place = disk.path().join("sessions").display().to_string();
    assert_eq!(
        store.create("y", noon(), said("one"), &HOLDER).err().unwrap().to_string(),
        format!("cannot create the directory {place}/20260124-y: Read-only file system (os error 30)")
    );
    assert_eq!(
        store.hold(&id, &HOLDER).err().unwrap().to_string(),
        format!("cannot open the lock {place}/20260124-x/lock: Read-only file system (os error 30)")
    );
}

#[test]
fn a_root_that_is_a_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("sessions");
    fs::write(&root, "").unwrap();
    let store = BlockingStore::new(Files::new(root.clone()));
    let id = SessionId::new("20260124-x");
    let cases = [
        (store.list().map(drop), "list the sessions in"),
        (store.read(&id, 0).map(drop), "look for sessions in"),
        (store.hold(&id, &HOLDER).map(drop), "look for sessions in"),
        (store.holder(&id).map(drop), "look for sessions in"),
        (store.create("x", noon(), said("one"), &HOLDER).map(drop), "create the directory"),
    ];
    for (result, what) in cases {
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with(&format!("cannot {what} {}: ", root.display())), "{error}");
    }
}

/// Adds entries until the disk is full, smaller and smaller ones.
fn fill(log: &mut BlockingLog) -> Vec<Entry> {
    let mut written = Vec::new();
    for size in [3000, 300, 30, 1] {
        let error = loop {
            match log.append(noon(), said(&"x".repeat(size))) {
                Ok(entry) => written.push(entry),
                Err(error) => break error,
            }
        };
        assert_full(error);
    }
    written
}

fn assert_full(error: StoreError) {
    match error {
        StoreError::Io { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {}
        other => panic!("{other}"),
    }
}
