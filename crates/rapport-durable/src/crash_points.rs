//! Kills the process, and simulates disk failures, for the crash tests. Debug builds only.
//!
//! `RAPPORT_TRIAL_WRITES=3` kills this process at the third point that it passes, `RAPPORT_TRIAL_WRITES=report.md:3`
//! at the third whose path contains `report.md`. There is a point before and after every write, and one at which half
//! of a line is written. `RAPPORT_TRIAL_SYNC=log.jsonl:3` simulates a broken disk at the third line that is appended
//! to such a file: the line is in the file, does not become durable, and cannot be truncated.

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

/// A point at which the process dies in the middle of a write: half of it reaches the file. Release builds ignore it.
#[inline]
pub(crate) fn torn(path: &Path, half: impl FnOnce()) {
    #[cfg(debug_assertions)]
    armed::torn(path, half);
    #[cfg(not(debug_assertions))]
    let _ = (path, half);
}

/// Fails if the line that was just appended to this file must not become durable. Does nothing in release builds.
#[inline]
pub(crate) fn before_sync(path: &Path) -> io::Result<()> {
    #[cfg(debug_assertions)]
    armed::before_sync(path)?;
    #[cfg(not(debug_assertions))]
    let _ = path;
    Ok(())
}

/// Fails if such a line must not be truncated either. Does nothing in release builds.
#[inline]
pub(crate) fn before_cut(path: &Path) -> io::Result<()> {
    #[cfg(debug_assertions)]
    armed::before_cut(path)?;
    #[cfg(not(debug_assertions))]
    let _ = path;
    Ok(())
}

#[cfg(debug_assertions)]
mod armed {
    use std::cmp::Ordering::{Equal, Less};
    use std::io;
    use std::path::Path;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use nix::errno::Errno;
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    struct Orders {
        /// The text that the path has to contain.
        within: String,
        due: u64,
        passed: AtomicU64,
    }

    static KILL: LazyLock<Option<Orders>> = LazyLock::new(|| Orders::from("RAPPORT_TRIAL_WRITES"));
    static BREAK: LazyLock<Option<Orders>> = LazyLock::new(|| Orders::from("RAPPORT_TRIAL_SYNC"));

    impl Orders {
        fn from(variable: &str) -> Option<Self> {
            let orders = std::env::var(variable).ok()?;
            let (within, due) = orders.rsplit_once(':').unwrap_or(("", &orders));
            Some(Self { within: within.to_owned(), due: due.parse().ok()?, passed: AtomicU64::new(0) })
        }

        fn concern(&self, path: &Path) -> bool {
            path.to_string_lossy().contains(&self.within)
        }

        /// Increments the count, and compares it with the configured number.
        fn count(&self) -> std::cmp::Ordering {
            (self.passed.fetch_add(1, Ordering::SeqCst) + 1).cmp(&self.due)
        }
    }

    pub(super) fn point(path: &Path) {
        torn(path, || {});
    }

    pub(super) fn torn(path: &Path, half: impl FnOnce()) {
        if KILL.as_ref().is_some_and(|orders| orders.concern(path) && orders.count() == Equal) {
            half();
            let _ = kill(Pid::this(), Signal::SIGKILL);
        }
    }

    pub(super) fn before_sync(path: &Path) -> io::Result<()> {
        match BREAK.as_ref() {
            Some(orders) if orders.concern(path) && orders.count() != Less => Err(Errno::EIO.into()),
            _ => Ok(()),
        }
    }

    pub(super) fn before_cut(path: &Path) -> io::Result<()> {
        let is_broken =
            |orders: &Orders| orders.concern(path) && orders.passed.load(Ordering::SeqCst) >= orders.due;
        if BREAK.as_ref().is_some_and(is_broken) { Err(Errno::EIO.into()) } else { Ok(()) }
    }
}
