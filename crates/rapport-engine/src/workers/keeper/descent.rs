//! Checks whether a process descends from an agent, or from a command of a plan: then it may not act for a person. A
//! keeper and everything it starts carry a mark in their environment, and orphans are reparented to the keeper: so a
//! process is found by one of its ancestors even if it has cleared its own environment and left its group and session.
//!
//! This keeps the record honest. It is not a security boundary: a program of the same user can read that user's files,
//! and can get itself started by something else than the agent. Only a sandbox or a container is one.

use super::{descendants, mark};

/// The maximum number of ancestors to check.
const DEEPEST: usize = 1000;
/// The number of attempts if an ancestor ends meanwhile.
const TRIES: usize = 10;

/// Whether this process descends from an agent. If it is gone, it is treated as one that does.
pub fn is_of_an_agent(pid: u32) -> bool {
    (0..TRIES).find_map(|_| has_mark_above(pid)).unwrap_or(true)
}

/// `None` if the chain of ancestors broke off.
fn has_mark_above(pid: u32) -> Option<bool> {
    let mut next = pid;
    for _ in 0..DEEPEST {
        if descendants::variable(next, mark::VARIABLE).is_some() {
            return Some(true);
        }
        // The root of the process tree (in a sandbox, the keeper), or a process in a namespace that is not visible
        // here.
        if next <= 1 {
            return Some(false);
        }
        next = descendants::find(next)?.parent;
    }
    None
}
