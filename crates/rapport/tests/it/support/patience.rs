//! Waiting for a fact: looked at again and again, until it is so or has taken far too long.

use std::time::{Duration, Instant};

/// How long anything may take to become true.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until this gives something; panics, with what it was about, if it never does.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_at_most(PATIENCE, what, look)
}

/// The same with a time of one's own.
#[track_caller]
pub(crate) fn wait_at_most<T>(most: Duration, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + most;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
