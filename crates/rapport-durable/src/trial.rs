//! Dying on purpose, for the crash tests. Debug builds only: a variable says at which of the points that a part of the
//! program passes, before and after each of its writes, this process is killed.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The points of one part of the program: `RAPPORT_TRIAL_TURNS=3` kills at the third.
pub struct Trial {
    variable: &'static str,
    due: OnceLock<Option<u64>>,
    passed: AtomicU64,
}

impl Trial {
    /// The points that this variable counts.
    pub const fn new(variable: &'static str) -> Self {
        Self { variable, due: OnceLock::new(), passed: AtomicU64::new(0) }
    }

    /// Passes a point, unless it is the one.
    pub fn point(&self) {
        let due = self.due.get_or_init(|| std::env::var(self.variable).ok()?.parse().ok());
        if due.is_some() && *due == Some(self.passed.fetch_add(1, Ordering::SeqCst) + 1) {
            let _ = kill(Pid::this(), Signal::SIGKILL);
        }
    }
}
