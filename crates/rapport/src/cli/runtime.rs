//! The runtimes on which commands run what is asynchronous.

use std::io;

use tokio::runtime::{Builder, Runtime};

/// For a command that waits for one thing at a time: no thread besides the caller's.
pub(super) fn small() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// For a command that runs sessions of its own, so that an agent's output is read while a screen is drawn.
pub(super) fn of_two_threads() -> io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build()
}
