//! Crash points for the crash tests, in debug builds only: `RAPPORT_TRIAL_WRITES=3` kills this process at the third
//! point that it passes, `RAPPORT_TRIAL_WRITES=report.md:3` at the third whose path contains `report.md`. There is a
//! point before and after every write.

use std::io;
use std::path::Path;

/// A point at which a crash test may kill this process, before or after a write to this path. Release builds ignore it.
/// It is public for writes that another program, such as git, does for Rapport.
#[inline]
pub fn point(path: &Path) {
    #[cfg(debug_assertions)]
    armed::point(path);
    #[cfg(not(debug_assertions))]
    let _ = path;
}

/// Performs a write, with a crash point before and after it.
pub(crate) fn counted<T>(path: &Path, write: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    point(path);
    let written = write();
    point(path);
    written
}

#[cfg(debug_assertions)]
mod armed {
    use std::path::Path;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    struct Orders {
        /// The text that the path has to contain.
        within: String,
        due: u64,
        passed: AtomicU64,
    }

    static ORDERS: LazyLock<Option<Orders>> = LazyLock::new(|| {
        let orders = std::env::var("RAPPORT_TRIAL_WRITES").ok()?;
        let (within, due) = orders.rsplit_once(':').unwrap_or(("", &orders));
        Some(Orders { within: within.to_owned(), due: due.parse().ok()?, passed: AtomicU64::new(0) })
    });

    pub(super) fn point(path: &Path) {
        let Some(orders) = ORDERS.as_ref() else { return };
        if !path.to_string_lossy().contains(&orders.within) {
            return;
        }
        if orders.passed.fetch_add(1, Ordering::SeqCst) + 1 == orders.due {
            let _ = kill(Pid::this(), Signal::SIGKILL);
        }
    }
}
