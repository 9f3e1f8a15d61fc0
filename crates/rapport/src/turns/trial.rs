//! Dying on purpose, for the crash test. Debug builds only: `RAPPORT_TRIAL_TURNS=3` kills this process at the third point at
//! which a file of a session is about to be written, or has just been.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

pub(super) fn point() {
    static DUE: OnceLock<Option<u64>> = OnceLock::new();
    static PASSED: AtomicU64 = AtomicU64::new(0);
    let due = DUE.get_or_init(|| std::env::var("RAPPORT_TRIAL_TURNS").ok()?.parse().ok());
    if due.is_some() && *due == Some(PASSED.fetch_add(1, Ordering::SeqCst) + 1) {
        let _ = kill(Pid::this(), Signal::SIGKILL);
    }
}
