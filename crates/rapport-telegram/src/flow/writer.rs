//! Writes files on a thread of its own, in order: appends lines, replaces and removes files.
//!
//! The amount of data that waits for the disk is bounded: of a file that is replaced, only the last content waits, and
//! the waiting lines have a limit.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rapport_durable::Flush;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::durable;
use crate::notice::{Notice, Notices};

/// The maximum number of bytes of waiting lines. If a line is left out, a message is sent again after a restart.
const MOST_BYTES: usize = 8 << 20;

/// The data that waits to be written.
#[derive(Debug, Default)]
struct Waiting {
    /// Lines to append, by file.
    lines: HashMap<PathBuf, String>,
    /// The size of the waiting lines, in bytes.
    bytes: usize,
    /// The number of lines that were left out.
    left_out: usize,
    /// The last content of files to replace; `None` to remove one.
    files: HashMap<PathBuf, Option<Vec<u8>>>,
    /// The callers to notify when all of this is written.
    flushes: Vec<oneshot::Sender<()>>,
}

impl Waiting {
    fn append(&mut self, path: PathBuf, line: &str) {
        let bytes = line.len() + 1;
        if self.bytes + bytes > MOST_BYTES {
            self.left_out += 1;
            return;
        }
        self.bytes += bytes;
        let text = self.lines.entry(path).or_default();
        text.push_str(line);
        text.push('\n');
    }

    fn write(self, notices: &Notices) {
        for (path, text) in self.lines {
            tell(append(&path, &text), &path, notices);
        }
        for (path, content) in self.files {
            let written = match content {
                Some(content) => durable::replace_later(&path, &content),
                None => rapport_durable::remove(&path),
            };
            tell(written, &path, notices);
        }
        if self.left_out > 0 {
            let why = format!("{} notes were left out, because the disk is too slow", self.left_out);
            let _ = notices.send(Notice::Unwritten { why });
        }
        for done in self.flushes {
            let _ = done.send(());
        }
    }
}

/// A handle to the writing thread. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    waiting: Arc<Mutex<Waiting>>,
    /// Wakes the thread. The thread ends when the last sender is dropped.
    wake: mpsc::Sender<()>,
}

impl Writer {
    /// Starts the thread. Failed writes are reported as notices.
    pub(super) fn start(notices: Notices) -> Self {
        let (wake, mut woken) = mpsc::channel(1);
        let waiting = Arc::new(Mutex::default());
        let taken = Arc::clone(&waiting);
        spawn_blocking(move || {
            while woken.blocking_recv().is_some() {
                let all = std::mem::take(&mut *lock(&taken));
                all.write(&notices);
            }
        });
        Self { waiting, wake }
    }

    /// Appends a line to a file, without syncing it: a line that a power cut loses only means that a message is sent
    /// again.
    pub(super) fn append(&self, path: PathBuf, line: &str) {
        self.add(|waiting| waiting.append(path, line));
    }

    /// Replaces a file. After a kill it is complete; a file that a power cut damages is written again at the next
    /// start.
    pub(super) fn replace(&self, path: PathBuf, content: Vec<u8>) {
        self.add(|waiting| drop(waiting.files.insert(path, Some(content))));
    }

    /// Removes a file, if it exists.
    pub(super) fn remove(&self, path: PathBuf) {
        self.add(|waiting| drop(waiting.files.insert(path, None)));
    }

    /// Waits until everything queued so far is written.
    pub(super) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        self.add(|waiting| waiting.flushes.push(done));
        let _ = flushed.await;
    }

    fn add(&self, change: impl FnOnce(&mut Waiting)) {
        change(&mut lock(&self.waiting));
        // If the queue is full, the thread has already been woken and will find the new data.
        let _ = self.wake.try_send(());
    }
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}

fn append(path: &Path, text: &str) -> std::io::Result<()> {
    durable::make_folder(path)?;
    rapport_durable::append(path, text.as_bytes(), Flush::Later)
}

fn tell(written: std::io::Result<()>, path: &Path, notices: &Notices) {
    if let Err(error) = written {
        let _ = notices.send(Notice::Unwritten { why: format!("cannot write {}: {error}", path.display()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(waiting: Waiting) -> Vec<Notice> {
        let (notices, mut told) = mpsc::unbounded_channel();
        waiting.write(&notices);
        std::iter::from_fn(|| told.try_recv().ok()).collect()
    }

    /// With a slow disk, the waiting data does not grow without limit, and no caller waits forever.
    #[test]
    fn what_waits_for_the_disk_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let (notes, file) = (folder.path().join("notes"), folder.path().join("file"));
        let mut waiting = Waiting::default();
        for number in 0..1000 {
            waiting.files.insert(file.clone(), Some(vec![b'x'; number]));
        }
        let line = "x".repeat((1 << 20) - 1);
        (0..10).for_each(|_| waiting.append(notes.clone(), &line));
        assert_eq!((waiting.files.len(), waiting.bytes, waiting.left_out), (1, MOST_BYTES, 2));
        let told = written(waiting);
        let why = "2 notes were left out, because the disk is too slow".to_owned();
        assert_eq!(told, [Notice::Unwritten { why }]);
        let size = |path: &Path| std::fs::metadata(path).unwrap().len();
        assert_eq!((size(&file), size(&notes)), (999, MOST_BYTES as u64));
    }

    /// Lines are written in order, and everything queued before the end is written.
    #[tokio::test]
    async fn everything_is_written_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let (notes, file) = (folder.path().join("notes"), folder.path().join("file"));
        let (notices, mut told) = mpsc::unbounded_channel();
        let writer = Writer::start(notices);
        for number in 0..100 {
            writer.append(notes.clone(), &number.to_string());
            writer.replace(file.clone(), number.to_string().into_bytes());
        }
        writer.flush().await;
        let lines: Vec<_> = (0..100).map(|number| format!("{number}\n")).collect();
        assert_eq!(std::fs::read_to_string(&notes).unwrap(), lines.concat());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "99");
        writer.remove(file.clone());
        writer.flush().await;
        assert!(!file.exists());
        assert!(told.try_recv().is_err());
    }
}
