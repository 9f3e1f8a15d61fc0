//! Whether a process descends from an agent, or from a command that an agent wrote: then it speaks for no person. A keeper
//! and all that it starts carry a mark in their environment, and orphans fall to the keeper: so a process is found
//! by one of its ancestors even if it has cleared its own environment and left its group and session.
//!
//! This keeps the record honest. It is no wall: a program of the same user can reach the files of that user, and whoever
//! wants to can be started by something else than the agent. Only a sandbox or a container is one.

use super::{descendants, mark};

/// How many ancestors are looked at. Nobody has as many.
const DEEPEST: usize = 1000;
/// How often the way up is begun again when it broke off because somebody on it just ended.
const TRIES: usize = 10;

/// Whether this process descends from an agent. Where that cannot be told, because it is gone, it counts as one that
/// does.
pub fn is_of_an_agent(pid: u32) -> bool {
    (0..TRIES).find_map(|_| has_mark_above(pid)).unwrap_or(true)
}

/// `None` where the way up broke off.
fn has_mark_above(pid: u32) -> Option<bool> {
    let mut next = pid;
    for _ in 0..DEEPEST {
        if descendants::variable(next, mark::VARIABLE).is_some() {
            return Some(true);
        }
        // The parent of all (in a sandbox that is the keeper), or one in a space of numbers that cannot be seen from here.
        if next <= 1 {
            return Some(false);
        }
        next = descendants::find(next)?.parent;
    }
    None
}
