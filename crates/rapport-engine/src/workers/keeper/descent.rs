//! Checks whether a process descends from an agent, or from a command of a plan: then it may not act for a person. A
//! keeper and everything it starts carry a mark in their environment, and orphans are reparented to the keeper: so a
//! process is found by one of its ancestors even if it has cleared its own environment and left its group and session.
//!
//! This keeps the record honest. It is not a security boundary: a program of the same user can read that user's files,
//! and can get itself started by something else than the agent. Only a sandbox or a container is one.

use rapport_core::SessionId;

use super::{descendants, mark};

/// The maximum number of ancestors to check.
const DEEPEST: usize = 1000;
/// The number of attempts if an ancestor ends meanwhile.
const TRIES: usize = 10;

/// Whether this process descends from an agent. If it is gone, it is treated as if it did.
pub fn is_of_an_agent(pid: u32) -> bool {
    (0..TRIES).find_map(|_| has_mark_above(pid)).unwrap_or(true)
}

/// The session of the agents that this process descends from, if all of them belong to the same one: a process can
/// write any mark into its own environment, but not into that of the keeper above it.
pub fn session_of(pid: u32) -> Option<SessionId> {
    let marks = (0..TRIES).find_map(|_| marks_above(pid))?;
    let mut sessions = marks.iter().map(|mark| mark::session(mark));
    let first = sessions.next()??;
    sessions.all(|session| session.as_ref() == Some(&first)).then_some(first)
}

/// `None` if the chain of ancestors broke off.
fn has_mark_above(pid: u32) -> Option<bool> {
    marks_above(pid).map(|marks| !marks.is_empty())
}

/// The marks of this process and of its ancestors; `None` if the chain of ancestors broke off.
fn marks_above(pid: u32) -> Option<Vec<String>> {
    let mut next = pid;
    let mut found = Vec::new();
    for _ in 0..DEEPEST {
        found.extend(descendants::variable(next, mark::VARIABLE));
        // The root of the process tree (in a sandbox, the keeper), or a process in a namespace that is not visible
        // here.
        if next <= 1 {
            return Some(found);
        }
        next = descendants::find(next)?.parent;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::workers::keeper::mark::Mark;

    /// A shell that carries a mark, with a child that carries another one. The child waits for a line of input before
    /// it ends.
    fn nested(outer: &str, inner: &str) -> Child {
        let line = format!("{}={inner} sh -c 'echo $$; read end'; true", mark::VARIABLE);
        let mut command = Command::new("sh");
        command.args(["-c", &line]).env(mark::VARIABLE, outer);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    }

    fn inner_pid(child: &mut Child) -> u32 {
        let mut line = String::new();
        let mut out = std::io::BufReader::new(child.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut out, &mut line).unwrap();
        line.trim().parse().unwrap()
    }

    /// A worker that writes the mark of its lead into its own environment is still a worker, and speaks for no
    /// session.
    #[test]
    fn a_worker_cannot_pose_as_its_lead() {
        let mark = |name: &str| Mark::of(&SessionId::new(name)).to_string();
        for (outer, inner, expected) in
            [("lead", "lead", Some("lead")), ("worker", "lead", None), ("lead", "worker", None)]
        {
            let mut child = nested(&mark(outer), &mark(inner));
            let found = session_of(inner_pid(&mut child));
            drop(child.stdin.take());
            child.wait().unwrap();
            assert_eq!(found, expected.map(SessionId::new), "{inner} below {outer}");
        }
    }
}
