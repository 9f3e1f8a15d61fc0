//! Who descends from this process.

use std::collections::HashSet;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Kills every descendant there is at this moment. Tells how many could be killed.
pub(super) fn kill_all() -> usize {
    let kin = descendants(&processes(), std::process::id());
    kin.into_iter().filter(|pid| kill(Pid::from_raw(*pid as i32), Signal::SIGKILL).is_ok()).count()
}

/// One process of the machine.
#[derive(Clone, Copy, Debug)]
struct Process {
    pid: u32,
    parent: u32,
    group: u32,
}

/// Children, their children, and so on. Where orphans fall to somebody else, the members of our group as well.
fn descendants(all: &[Process], me: u32) -> Vec<u32> {
    let by_group = !cfg!(target_os = "linux");
    let mut kin = HashSet::from([me]);
    loop {
        let related = |p: &&Process| kin.contains(&p.parent) || by_group && p.group == me;
        let found: Vec<u32> = all.iter().filter(related).map(|p| p.pid).collect();
        let before = kin.len();
        kin.extend(found);
        if kin.len() == before {
            kin.remove(&me);
            return kin.into_iter().collect();
        }
    }
}

#[cfg(target_os = "linux")]
fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| process(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?))
        .collect()
}

/// `pid (name) state ppid pgrp ...`, where the name may hold anything, even `) `.
#[cfg(target_os = "linux")]
fn process(pid: u32, stat: &str) -> Option<Process> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(1);
    Some(Process { pid, parent: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()? })
}

#[cfg(not(target_os = "linux"))]
fn processes() -> Vec<Process> {
    let ps = std::process::Command::new("ps").args(["-axo", "pid=,ppid=,pgid="]).output();
    let Ok(output) = ps else {
        return Vec::new();
    };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(process).collect()
}

#[cfg(not(target_os = "linux"))]
fn process(line: &str) -> Option<Process> {
    let mut numbers = line.split_ascii_whitespace().map(|word| word.parse().ok());
    Some(Process { pid: numbers.next()??, parent: numbers.next()??, group: numbers.next()?? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_whatever_their_order() {
        let process = |pid, parent| Process { pid, parent, group: 0 };
        let all = [process(5, 4), process(4, 3), process(3, 1), process(9, 1), process(1, 0), process(7, 3)];
        let mut found = descendants(&all, 3);
        found.sort_unstable();
        assert_eq!(found, [4, 5, 7]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_may_hold_anything() {
        let found = process(12, "12 (a) S 99 (b)) S 7 8 9").unwrap();
        assert_eq!((found.pid, found.parent, found.group), (12, 7, 8));
    }
}
