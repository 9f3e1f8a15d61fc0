//! The file store when files, disks and processes fail.

mod damage;
mod disk;
mod processes;
mod roundtrip;

use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport::stores::{Holder, StoreError};
use rapport_core::{Entry, Event, SessionId};
use tempfile::TempDir;

const HOLDER: Holder = Holder { pid: 7, address: None, host: None };

/// A session of three entries that no process holds.
struct Written {
    dir: TempDir,
    store: BlockingStore,
    id: SessionId,
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

impl Written {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let store = BlockingStore::new(Files::new(dir.path().to_owned()));
        let (id, first, mut log) = store.create("x", noon(), said("one"), &HOLDER).unwrap();
        let second = log.append(noon(), said("zwei \u{1f980}\n\"")).unwrap();
        let third = log.append(noon(), said("three")).unwrap();
        let bytes = fs::read(dir.path().join("20260124-x/log.jsonl")).unwrap();
        Self { dir, store, id, entries: vec![first, second, third], bytes }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("20260124-x/log.jsonl")
    }

    /// Puts these bytes in place of the log, and reads it without and with a hold.
    fn read(&self, bytes: &[u8]) -> Result<Vec<Entry>, StoreError> {
        fs::write(self.path(), bytes).unwrap();
        let read = self.store.read(&self.id, 0);
        let held = self.store.hold(&self.id, &HOLDER).map(|(entries, _log)| entries);
        match (read, held) {
            (Ok(read), Ok(held)) => {
                assert_eq!(read, held);
                Ok(read)
            }
            (Err(read), Err(held)) => {
                assert_eq!(read.to_string(), held.to_string());
                assert_eq!(fs::read(self.path()).unwrap(), bytes, "what is refused is left alone");
                Err(read)
            }
            (read, held) => panic!("read gives {read:?}, hold gives {held:?}"),
        }
    }

    fn lines(&self) -> Vec<&[u8]> {
        self.bytes.split_inclusive(|&byte| byte == b'\n').collect()
    }
}

/// A line as a program with this idea of the format would write it.
fn line(checked: &str) -> String {
    format!("{checked},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(checked.as_bytes()))
}

fn said(text: &str) -> Vec<Event> {
    vec![Event::Failed { reason: text.to_owned() }]
}

fn noon() -> Timestamp {
    "2026-01-24T12:00:00Z".parse().unwrap()
}
