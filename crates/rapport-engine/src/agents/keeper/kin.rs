//! Who descends from this process.

use std::collections::HashSet;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Kills every descendant there is at this moment. Gives each that could be killed, with its name, or none where
/// it was dead already and only not buried.
pub(super) fn kill_all() -> Vec<(u32, Option<String>)> {
    let mut all = processes();
    let kin = descendants(&all, std::process::id());
    all.retain(|process| kin.contains(&process.pid));
    all.retain(|process| kill(Pid::from_raw(process.pid as i32), Signal::SIGKILL).is_ok());
    all.into_iter().map(|process| (process.pid, process.name)).collect()
}

/// One process of the machine.
#[derive(Clone, Debug)]
struct Process {
    pid: u32,
    parent: u32,
    group: u32,
    /// What it is called, while it lives.
    name: Option<String>,
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
    let (head, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let lives = !matches!(fields.next()?, "Z" | "X");
    let name = lives.then(|| head.split_once('(').map_or(head, |(_, name)| name).to_owned());
    Some(Process { pid, parent: fields.next()?.parse().ok()?, group: fields.next()?.parse().ok()?, name })
}

#[cfg(not(target_os = "linux"))]
fn processes() -> Vec<Process> {
    let ps = std::process::Command::new("ps").args(["-axo", "pid=,ppid=,pgid=,comm="]).output();
    let Ok(output) = ps else {
        return Vec::new();
    };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(process).collect()
}

#[cfg(not(target_os = "linux"))]
fn process(line: &str) -> Option<Process> {
    let mut words = line.split_ascii_whitespace();
    let mut number = || words.next()?.parse().ok();
    let (pid, parent, group) = (number()?, number()?, number()?);
    Some(Process { pid, parent, group, name: Some(words.collect::<Vec<_>>().join(" ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_whatever_their_order() {
        let process = |pid, parent| Process { pid, parent, group: 0, name: None };
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
        assert_eq!(found.name.as_deref(), Some("a) S 99 (b)"));
        assert_eq!(process(12, "12 (sh) Z 7 8 9").unwrap().name, None, "the dead have none");
    }
}
