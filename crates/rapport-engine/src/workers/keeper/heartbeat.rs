//! The heartbeat of a host, on the pipes to its keepers: only a host whose sessions another machine can take over has
//! one. Such a host may be frozen for longer than its lease, and cannot end its agents then; their keepers do.

use std::io::{PipeWriter, Write as _};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tracing::warn;

/// The byte of each beat.
pub(super) const BEAT: &[u8] = b"h";
/// The time between two beats.
const PACE: Duration = Duration::from_secs(2);
/// How long a host may be silent.
const SILENCE: Duration = Duration::from_secs(8);

static IS_BEATING: AtomicBool = AtomicBool::new(false);
static LIFELINES: Mutex<Vec<Weak<PipeWriter>>> = Mutex::new(Vec::new());

/// Lets the heart of this process beat from now on, for all processes that it starts.
pub fn begin() {
    if IS_BEATING.swap(true, Ordering::SeqCst) {
        return;
    }
    let beats = thread::Builder::new().name("heartbeat".into()).spawn(|| {
        loop {
            thread::sleep(PACE);
            lifelines().retain(|lifeline| lifeline.upgrade().is_some_and(|lifeline| beat(&lifeline)));
        }
    });
    if let Err(error) = beats {
        // Then no keeper expects a beat.
        warn!(%error, "no heartbeat");
        IS_BEATING.store(false, Ordering::SeqCst);
    }
}

/// Adds the pipe to a keeper, if the heart beats. From its first beat on, the keeper expects more.
pub(in crate::workers) fn add(lifeline: &Arc<PipeWriter>) {
    if !IS_BEATING.load(Ordering::SeqCst) {
        return;
    }
    // A keeper that reads nothing must not stop the beats of others.
    let is_ready = fcntl(lifeline.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).is_ok();
    if is_ready && beat(lifeline) {
        lifelines().push(Arc::downgrade(lifeline));
    }
}

fn lifelines() -> MutexGuard<'static, Vec<Weak<PipeWriter>>> {
    LIFELINES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends one beat; `false` if nobody can hear it any more.
fn beat(lifeline: &PipeWriter) -> bool {
    let mut lifeline = lifeline;
    lifeline.write_all(BEAT).is_ok()
}

/// Waits for a host whose heart beats; `true` if it was silent for too long. Blocks.
pub(super) fn is_silent(lifeline: &impl AsFd) -> bool {
    let until = Instant::now() + SILENCE;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut waiting = [PollFd::new(lifeline.as_fd(), PollFlags::POLLIN)];
        match poll(&mut waiting, PollTimeout::try_from(left).unwrap_or(PollTimeout::ZERO)) {
            Ok(0) => return true,
            Err(Errno::EINTR) => {}
            Ok(_) | Err(_) => return false,
        }
    }
}
