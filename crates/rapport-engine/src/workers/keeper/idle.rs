//! The first program of a container, which only waits. It ends, and the container with it, when nothing else has run
//! there for a while: so an unused container costs nothing, whatever happened to its host.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use super::descendants;

/// The argument, followed by the number of seconds.
pub(in crate::workers) const IDLE: &str = "--idle";

/// How often to check for other processes.
const PAUSE: Duration = Duration::from_millis(500);

/// The file in which the host notes how many seconds are left if the session has been waiting since before the last
/// use. A process that can write it can shorten the life of its own container, but not prolong it.
pub(in crate::workers) const NOTE: &str = "/work/left";
/// The length of the longest note.
const LONGEST: u64 = 20;
/// How much older than the last use a note may be and still count: the script that writes the note is a use itself.
const SLACK: Duration = Duration::from_secs(5);

/// Waits until nothing else has run here for this long, or for as long as the host noted. A process that runs for
/// less than a pause counts too, because it took a process id.
pub(super) fn wait(seconds: &str) -> io::Result<u8> {
    let time = seconds.parse().map(Duration::from_secs).map_err(io::Error::other)?;
    let begun = SystemTime::now();
    let (mut used, mut newest) = ((Instant::now(), begun), newest_process());
    loop {
        let now_newest = newest_process();
        if is_used() || now_newest != newest {
            (used, newest) = ((Instant::now(), SystemTime::now()), now_newest);
        }
        if used.0.elapsed() >= left(time, (begun, used.1), note()) {
            return Ok(0);
        }
        sleep(PAUSE.min(time));
    }
}

/// How long after the last use the container ends. A note counts if it was written since the container started, and
/// the container was not used after it: a restarted container is in use again.
fn left(
    time: Duration,
    (begun, used): (SystemTime, SystemTime),
    note: Option<(SystemTime, Duration)>,
) -> Duration {
    match note {
        Some((made, left)) if made >= begun && made + SLACK >= used => left.min(time),
        _ => time,
    }
}

/// The seconds that the host noted, and when it did.
fn note() -> Option<(SystemTime, Duration)> {
    // Reading anything but a small regular file could block, or never end.
    let found = std::fs::symlink_metadata(NOTE).ok();
    let made = found.filter(|found| found.is_file() && found.len() <= LONGEST)?.modified().ok()?;
    let left = std::fs::read_to_string(NOTE).ok()?.trim().parse().ok()?;
    Some((made, Duration::from_secs(left)))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// WORK-17: the time counts from the question, even if an agent waited for the answer in the container at first.
    #[test]
    fn a_note_shortens_the_time_until_the_next_use() {
        let (time, made) = (Duration::from_secs(600), SystemTime::UNIX_EPOCH + Duration::from_secs(1000));
        let note = |seconds: u64| Some((made, Duration::from_secs(seconds)));
        let after = |seconds: u64| made + Duration::from_secs(seconds);
        let before = made - Duration::from_secs(100);
        for (begun, used, note, expected) in [
            (before, made, None, 600),
            (before, after(1), note(300), 300),
            (before, after(1), note(0), 0),
            (before, after(1), note(9_999), 600),
            (before, after(10), note(300), 600),
            (after(1), after(1), note(0), 600),
        ] {
            let found = left(time, (begun, used), note);
            assert_eq!(found, Duration::from_secs(expected), "{begun:?} {used:?} {note:?}");
        }
    }
}
