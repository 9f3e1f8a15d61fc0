//! The processes of this machine: ancestry, identity, and initial environment.

use std::collections::HashSet;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Kills all current descendants. Returns each that could be killed, with its name, or `None` if it was a zombie.
pub(super) fn kill_all() -> Vec<(u32, Option<String>)> {
    let mut all = processes();
    let kin = descendants(&all, std::process::id());
    all.retain(|process| kin.contains(&process.pid));
    all.retain(|process| kill(Pid::from_raw(process.pid as i32), Signal::SIGKILL).is_ok());
    all.into_iter().map(|process| (process.pid, process.name)).collect()
}

/// One process of the machine.
#[derive(Clone, Debug)]
pub(super) struct ProcessInfo {
    pub(super) pid: u32,
    pub(super) parent: u32,
    group: u32,
    /// When it started, in the system's units; 0 if unknown.
    pub(super) start: u64,
    /// Its name; `None` for a zombie.
    pub(super) name: Option<String>,
}

/// Children, their children, and so on. Where orphans are reparented elsewhere, the members of this process group too.
fn descendants(all: &[ProcessInfo], me: u32) -> Vec<u32> {
    let by_group = !cfg!(target_os = "linux");
    let mut kin = HashSet::from([me]);
    loop {
        let related = |p: &&ProcessInfo| kin.contains(&p.parent) || by_group && p.group == me;
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
pub(super) fn processes() -> Vec<ProcessInfo> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(find).collect()
}

/// The process with this id, if there is one.
#[cfg(target_os = "linux")]
pub(super) fn find(pid: u32) -> Option<ProcessInfo> {
    process(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// The value of this variable when a process started; also `None` if its environment may not be read.
#[cfg(target_os = "linux")]
pub(super) fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut pairs = environment.split(|byte| *byte == 0);
    let value = pairs.find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    Some(String::from_utf8_lossy(value).into_owned())
}

/// Parses `pid (name) state ppid pgrp ...`, where the name may contain anything, even `) `.
#[cfg(target_os = "linux")]
fn process(pid: u32, stat: &str) -> Option<ProcessInfo> {
    let (head, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let lives = !matches!(fields.next()?, "Z" | "X");
    let name = lives.then(|| head.split_once('(').map_or(head, |(_, name)| name).to_owned());
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let start = fields.nth(START - 3)?.parse().ok()?;
    Some(ProcessInfo { pid, parent, group, start, name })
}

/// The index of the start time, counted from the state.
#[cfg(target_os = "linux")]
const START: usize = 19;

#[cfg(not(target_os = "linux"))]
pub(super) fn find(pid: u32) -> Option<ProcessInfo> {
    processes().into_iter().find(|process| process.pid == pid)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn variable(pid: u32, name: &str) -> Option<String> {
    let ps =
        std::process::Command::new("ps").args(["eww", "-o", "command=", "-p", &pid.to_string()]).output();
    let words = String::from_utf8_lossy(&ps.ok()?.stdout).into_owned();
    words
        .split_ascii_whitespace()
        .find_map(|word| Some(word.strip_prefix(name)?.strip_prefix('=')?.to_owned()))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn processes() -> Vec<ProcessInfo> {
    let ps = std::process::Command::new("ps").args(["-axo", "pid=,ppid=,pgid=,comm="]).output();
    let Ok(output) = ps else {
        return Vec::new();
    };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(process).collect()
}

#[cfg(not(target_os = "linux"))]
fn process(line: &str) -> Option<ProcessInfo> {
    let mut words = line.split_ascii_whitespace();
    let mut number = || words.next()?.parse().ok();
    let (pid, parent, group) = (number()?, number()?, number()?);
    Some(ProcessInfo { pid, parent, group, start: 0, name: Some(words.collect::<Vec<_>>().join(" ")) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_whatever_their_order() {
        let process = |pid, parent| ProcessInfo { pid, parent, group: 0, start: 0, name: None };
        let all = [process(5, 4), process(4, 3), process(3, 1), process(9, 1), process(1, 0), process(7, 3)];
        let mut found = descendants(&all, 3);
        found.sort_unstable();
        assert_eq!(found, [4, 5, 7]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_may_hold_anything() {
        let rest = "9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 777 1000";
        let found = process(12, &format!("12 (a) S 99 (b)) S 7 8 {rest}")).unwrap();
        assert_eq!(found.start, 777);
        assert_eq!((found.pid, found.parent, found.group), (12, 7, 8));
        assert_eq!(found.name.as_deref(), Some("a) S 99 (b)"));
        assert_eq!(process(12, &format!("12 (sh) Z 7 8 {rest}")).unwrap().name, None, "the dead have none");
    }
}
