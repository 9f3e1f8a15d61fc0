//! Writes files on a thread of its own, in order: appends lines, replaces and removes files.

use std::collections::HashMap;
use std::path::PathBuf;

use rapport_durable::Flush;
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;

use crate::durable;
use crate::notice::{Notice, Notices};

/// A job for the thread.
enum Job {
    Append(PathBuf, String),
    Replace(PathBuf, Option<Vec<u8>>),
    Flush(oneshot::Sender<()>),
}

/// A handle to the writing thread. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Writer(mpsc::UnboundedSender<Job>);

impl Writer {
    /// Starts the thread. Failed writes are reported as notices.
    pub(super) fn start(notices: Notices) -> Self {
        let (jobs, taken) = mpsc::unbounded_channel();
        spawn_blocking(move || write(taken, &notices));
        Self(jobs)
    }

    /// Appends a line to a file. It is not synced: a line lost in a power cut only means that a message is sent again.
    pub(super) fn append(&self, path: PathBuf, line: String) {
        let _ = self.0.send(Job::Append(path, line));
    }

    /// Replaces a file. It is whole after a kill; what a power cut damages is written again at the next start.
    pub(super) fn replace(&self, path: PathBuf, content: Vec<u8>) {
        let _ = self.0.send(Job::Replace(path, Some(content)));
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, path: PathBuf) {
        let _ = self.0.send(Job::Replace(path, None));
    }

    /// Waits until everything queued so far is written.
    pub(super) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.0.send(Job::Flush(done)).is_ok() {
            let _ = flushed.await;
        }
    }
}

fn write(mut jobs: mpsc::UnboundedReceiver<Job>, notices: &Notices) {
    while let Some(first) = jobs.blocking_recv() {
        let (mut lines, mut files, mut flushes) = (Vec::new(), HashMap::new(), Vec::new());
        let mut next = Some(first);
        // If a file changes faster than the disk can write it, only its last content is written.
        while let Some(job) = next {
            match job {
                Job::Append(path, line) => lines.push((path, line)),
                Job::Replace(path, content) => drop(files.insert(path, content)),
                Job::Flush(done) => flushes.push(done),
            }
            next = jobs.try_recv().ok();
        }
        append_all(lines, notices);
        for (path, content) in files {
            let written = match content {
                Some(content) => durable::replace_later(&path, &content),
                None => rapport_durable::remove(&path),
            };
            tell(written, &path, notices);
        }
        for done in flushes {
            let _ = done.send(());
        }
    }
}

fn append_all(lines: Vec<(PathBuf, String)>, notices: &Notices) {
    let mut by_file: HashMap<PathBuf, String> = HashMap::new();
    for (path, line) in lines {
        let text = by_file.entry(path).or_default();
        text.push_str(&line);
        text.push('\n');
    }
    for (path, text) in by_file {
        tell(append(&path, &text), &path, notices);
    }
}

fn append(path: &std::path::Path, text: &str) -> std::io::Result<()> {
    durable::make_folder(path)?;
    rapport_durable::append(path, text.as_bytes(), Flush::Later)
}

fn tell(written: std::io::Result<()>, path: &std::path::Path, notices: &Notices) {
    if let Err(error) = written {
        let _ = notices.send(Notice::Unwritten { why: format!("cannot write {}: {error}", path.display()) });
    }
}
