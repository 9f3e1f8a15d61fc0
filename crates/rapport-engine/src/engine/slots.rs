//! Limits how many agents work at the same time, over all processes of a person (`worker.at_once`). A slot is the
//! lock of a file, which the system releases when its holder dies. A waiting session has a ticket, and the oldest
//! ticket is next.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rapport_durable::{Lock, Taken, private_folder, remove};

/// How often to check for a free slot.
pub(super) const PAUSE: Duration = Duration::from_millis(200);

/// The slots for agents; by default there is no limit.
#[derive(Clone, Debug, Default)]
pub struct AgentSlots {
    /// The directory of the locks, and the number of slots.
    limit: Option<(PathBuf, u32)>,
}

/// The slot of an agent, until this is dropped.
#[derive(Debug)]
pub(super) struct AgentSlot {
    _lock: Lock,
}

/// A position in the queue, until this is dropped.
#[derive(Debug)]
pub(super) struct Ticket {
    lock: Option<Lock>,
    name: String,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(lock) = self.lock.take() {
            lock.remove();
        }
    }
}

impl AgentSlots {
    /// At most this many slots, shared by all processes that use this folder.
    pub fn at_most(count: u32, folder: PathBuf) -> Self {
        Self { limit: Some((folder, count)) }
    }

    /// Whether the number of agents is limited.
    pub(super) fn are_limited(&self) -> bool {
        self.limit.is_some()
    }

    /// Takes a free slot, if there is one and no older ticket waits; otherwise waits in the queue with a ticket.
    /// Blocks for a short time.
    pub(super) fn take(&self, ticket: &mut Option<Ticket>, now: Timestamp) -> io::Result<Option<AgentSlot>> {
        // Callers ask for a slot only if there is a limit.
        let Some((folder, count)) = &self.limit else { return Err(io::Error::other("there is no limit")) };
        let queue = folder.join("queue");
        private_folder(&queue)?;
        if !waits_before(&queue, ticket.as_ref())? {
            for number in 1..=*count {
                if let Taken::Ours(lock) = Lock::take(&folder.join(number.to_string()), b"agent")? {
                    *ticket = None;
                    return Ok(Some(AgentSlot { _lock: lock }));
                }
            }
        }
        if ticket.is_none() {
            *ticket = Some(Ticket::new(&queue, now)?);
        }
        Ok(None)
    }
}

impl Ticket {
    fn new(queue: &Path, now: Timestamp) -> io::Result<Self> {
        let name = format!("{:020}-{}", now.as_nanosecond(), uuid::Uuid::new_v4().simple());
        match Lock::take(&queue.join(&name), b"agent")? {
            Taken::Ours(lock) => Ok(Self { lock: Some(lock), name }),
            Taken::Theirs(_) => Err(io::Error::other("the ticket has another holder")),
        }
    }
}

/// Whether an older ticket than this one waits. Tickets of processes that died are removed.
fn waits_before(queue: &Path, ticket: Option<&Ticket>) -> io::Result<bool> {
    for entry in std::fs::read_dir(queue)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if ticket.is_some_and(|ticket| ticket.name <= name) {
            continue;
        }
        if Lock::holder(&entry.path())?.is_some() {
            return Ok(true);
        }
        remove(&entry.path())?;
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    /// A time after all earlier ones.
    fn now() -> Timestamp {
        static LAST: AtomicI64 = AtomicI64::new(1);
        Timestamp::from_second(LAST.fetch_add(1, Ordering::Relaxed)).unwrap()
    }

    #[test]
    fn the_oldest_ticket_is_next_and_the_dead_keep_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let slots = AgentSlots::at_most(2, folder.path().into());
        let mut no_ticket = None;
        let first = slots.take(&mut no_ticket, now()).unwrap().unwrap();
        let second = slots.take(&mut no_ticket, now()).unwrap().unwrap();
        assert!(no_ticket.is_none());
        let (mut third, mut fourth) = (None, None);
        assert!(slots.take(&mut third, now()).unwrap().is_none() && third.is_some());
        assert!(slots.take(&mut fourth, now()).unwrap().is_none());
        drop(first);
        assert!(slots.take(&mut fourth, now()).unwrap().is_none(), "another one waits longer");
        assert!(slots.take(&mut None, now()).unwrap().is_none(), "newcomers wait, too");
        let third_slot = slots.take(&mut third, now()).unwrap().unwrap();
        assert!(third.is_none());
        assert!(slots.take(&mut fourth, now()).unwrap().is_none(), "both are taken");
        drop(second);
        // The ticket of a process that was killed while it waited.
        std::fs::write(folder.path().join("queue/00000000000000000001-dead"), "").unwrap();
        let _fourth_slot = slots.take(&mut fourth, now()).unwrap().unwrap();
        drop(third_slot);
        assert_eq!(std::fs::read_dir(folder.path().join("queue")).unwrap().count(), 0, "nothing is left");
    }
}
