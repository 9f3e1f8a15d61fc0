//! Waits for a condition: checks it again and again, until it holds or has taken far too long.

use std::time::{Duration, Instant};

/// How long anything may take to become true.
const PATIENCE: Duration = Duration::from_secs(30);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until this gives something; panics, with what it was about, if it never does.
#[track_caller]
pub(crate) fn wait_for<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_at_most(PATIENCE, what, look)
}

/// The same with a time of one's own.
#[track_caller]
pub(crate) fn wait_at_most<T>(most: Duration, what: &str, look: impl FnMut() -> Option<T>) -> T {
    look_at_most(most, look).unwrap_or_else(|| panic!("waited in vain for {what}"))
}

/// The same where something is to be done if it is in vain: then it gives nothing.
pub(crate) fn look_at_most<T>(most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + most;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= deadline {
            return found;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The same in a test whose other tasks have to continue meanwhile.
pub(crate) async fn look_beside_tasks<T>(most: Duration, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + most;
    loop {
        let found = look();
        if found.is_some() || Instant::now() >= deadline {
            return found;
        }
        tokio::time::sleep(PAUSE).await;
    }
}
