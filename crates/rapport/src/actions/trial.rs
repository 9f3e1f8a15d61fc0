//! Dying on purpose, for the crash test. Debug builds only: `RAPPORT_TRIAL_ACTIONS=7` kills this process at the seventh
//! point at which a batch or an undo writes, or has just written, something.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub(super) fn point() {
    static DUE: OnceLock<Option<u64>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let due = DUE.get_or_init(|| std::env::var("RAPPORT_TRIAL_ACTIONS").ok()?.parse().ok());
    if due.is_some() && *due == Some(PASSED.fetch_add(1, Ordering::SeqCst) + 1) {
        let _ = kill(Pid::this(), Signal::SIGKILL);
    }
}
