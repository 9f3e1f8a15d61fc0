//! The mark of a run: an environment variable of everything that an agent or a command starts. It identifies leftover
//! processes when both the keeper and the host are gone and cannot kill them.

use std::fmt;
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport_core::SessionId;

use super::descendants;

/// The variable's name.
pub const VARIABLE: &str = "RAPPORT_RUN";

/// The maximum number of rounds: a process that is just being started is found in the next one.
const ROUNDS: usize = 100;
/// How long killed processes may take to disappear before the next round.
const PAUSE: Duration = Duration::from_millis(10);

/// The mark of one run: its session, the process that started it, and a unique token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Empty if the run belongs to no session.
    session: String,
    host: Host,
    token: String,
}

impl Mark {
    /// A mark for a run of this session.
    pub fn of(session: &SessionId) -> Self {
        Self { session: session.to_string(), ..Self::unnamed() }
    }

    /// A mark for a run of no session.
    pub fn unnamed() -> Self {
        Self { session: String::new(), host: Host::this(), token: uuid::Uuid::new_v4().simple().to_string() }
    }

    /// The session of the run, if it belongs to one.
    pub fn session(&self) -> Option<&str> {
        Some(self.session.as_str()).filter(|session| !session.is_empty())
    }

    /// Kills everything of this run, wherever it is in the process tree.
    pub(crate) fn end_all(&self) {
        end(|mark| mark == self);
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (session, host, token) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { session: session.to_owned(), host: Host::parse(host)?, token: token.to_owned() })
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Host { pid, start, world } = &self.host;
        write!(f, "{}/{pid}.{start}.{world}/{}", self.session, self.token)
    }
}

/// The session of a mark, if it belongs to one.
pub(super) fn session(mark: &str) -> Option<SessionId> {
    let mark = Mark::parse(mark)?;
    (!mark.session.is_empty()).then(|| SessionId::new(mark.session))
}

/// Kills everything else of the run that this process belongs to.
pub(super) fn end_own() {
    if let Some(mark) = std::env::var(VARIABLE).ok().and_then(|text| Mark::parse(&text)) {
        mark.end_all();
    }
}

/// Kills leftover processes of this session's runs, and of runs without a session, if the process that started them is
/// gone. A living host keeps its processes, even under the same session name: a copy of the project may be in use
/// elsewhere.
pub(crate) fn end_left_behind(session: &SessionId) {
    end(|mark| (mark.session.is_empty() || mark.session == session.as_str()) && mark.host.is_gone());
}

/// Kills all processes with such a mark, and repeats until there are none.
fn end(is_meant: impl Fn(&Mark) -> bool) {
    let this = std::process::id();
    for _ in 0..ROUNDS {
        let processes = descendants::processes().into_iter().filter(|process| process.pid != this);
        let carries = |pid| descendants::variable(pid, VARIABLE).and_then(|text| Mark::parse(&text));
        let meant = processes.filter(|process| carries(process.pid).is_some_and(|mark| is_meant(&mark)));
        let killed = meant.filter(|found| kill(Pid::from_raw(found.pid as i32), Signal::SIGKILL).is_ok());
        if killed.count() == 0 {
            return;
        }
        sleep(PAUSE);
    }
}

/// A host process, distinguished from a later one with the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Host {
    pid: u32,
    start: u64,
    /// The PID namespace: in a container the same number is another process.
    world: String,
}

impl Host {
    fn this() -> Self {
        let pid = std::process::id();
        Self { pid, start: descendants::find(pid).map_or(0, |process| process.start), world: world() }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (pid, start, world) = (parts.next()?, parts.next()?, parts.next()?);
        Some(Self { pid: pid.parse().ok()?, start: start.parse().ok()?, world: world.to_owned() })
    }

    /// Whether it is certainly gone.
    fn is_gone(&self) -> bool {
        let found = descendants::find(self.pid).filter(|process| process.name.is_some());
        self.world == world() && found.is_none_or(|process| process.start != self.start)
    }
}

/// The PID namespace of this process.
fn world() -> String {
    let link = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let mark = Mark::of(&SessionId::new("20260124-add-auth"));
        assert_eq!(Mark::parse(&mark.to_string()), Some(mark.clone()));
        assert_ne!(mark, Mark::of(&SessionId::new("20260124-add-auth")), "each run has its own");
        assert_eq!(Mark::parse("anything"), None);
        assert!(!mark.host.is_gone());
    }

    #[test]
    fn the_same_number_in_another_space_is_nobody_known() {
        let elsewhere = Host { pid: u32::MAX - 1, start: 1, world: "1".into() };
        assert!(!elsewhere.is_gone());
        assert!(Host { world: world(), ..elsewhere }.is_gone());
    }
}
