//! The first program of a container, which does nothing but wait for others. It ends, and the container with it, when
//! nothing else has run there for a while: so an unused container costs nothing, whatever became of its host.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::descendants;

/// The argument, followed by the number of seconds.
pub(in crate::workers) const IDLE: &str = "--idle";

/// How often to look.
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until nothing else has run here for this long. What runs for less than a pause counts too, because it was given a
/// process id.
pub(super) fn wait(seconds: &str) -> io::Result<u8> {
    let time = seconds.parse().map(Duration::from_secs).map_err(io::Error::other)?;
    let (mut used, mut newest) = (Instant::now(), newest_process());
    while used.elapsed() < time {
        let now_newest = newest_process();
        if is_used() || now_newest != newest {
            (used, newest) = (Instant::now(), now_newest);
        }
        sleep(PAUSE.min(time));
    }
    Ok(0)
}

/// The id of the process that was started last here.
fn newest_process() -> Option<String> {
    let told = std::fs::read_to_string("/proc/loadavg").ok()?;
    told.split_whitespace().last().map(str::to_owned)
}

/// Whether anything runs here besides this process and the one that reaps orphans.
fn is_used() -> bool {
    let (this, parent) = (std::process::id(), nix::unistd::getppid().as_raw() as u32);
    let is_other = |pid: u32| pid != this && pid != parent && pid != 1;
    descendants::processes().iter().any(|found| is_other(found.pid) && found.name.is_some())
}
