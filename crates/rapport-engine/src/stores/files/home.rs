//! The project of a session is the one that contains the session's directory. The log names the directory in which it
//! was begun, but a project may be moved or cloned with its sessions, and a log from elsewhere must not send an agent
//! into another directory.

use std::path::Path;

use rapport_core::{Entry, Event};

use crate::stores::is_plain_name;

/// The directories of branches' worktrees, in a project.
const WORKTREES: [&str; 2] = ["/.rapport/worktrees/", "/.teddy/worktrees/"];

/// The entries of a log, with the project's current directory.
pub(in crate::stores) fn at_home(mut entries: Vec<Entry>, project: Option<&Path>) -> Vec<Entry> {
    let first = entries.first_mut().and_then(|entry| entry.facts.first_mut());
    if let (Some(Event::Created(created)), Some(project)) = (first, project.and_then(Path::to_str)) {
        let worktree = created.branched_from.as_ref().and_then(|_| worktree(project, &created.project));
        created.project = worktree.unwrap_or_else(|| project.to_owned());
    }
    entries
}

/// The new path of a branch's worktree, which moves with the project.
fn worktree(project: &str, begun: &str) -> Option<String> {
    WORKTREES.iter().find_map(|below| {
        let (_, name) = begun.rsplit_once(below)?;
        name.split('/').all(is_plain_name).then(|| format!("{project}{below}{name}"))
    })
}

#[cfg(test)]
mod tests {
    use super::worktree;

    #[test]
    fn a_worktree_comes_along_and_leads_nowhere_else() {
        for (begun, here) in [
            ("/old/app/.rapport/worktrees/20260124-x", Some("/new/app/.rapport/worktrees/20260124-x")),
            ("/old/app/.teddy/worktrees/20260124-x/sub", Some("/new/app/.teddy/worktrees/20260124-x/sub")),
            ("/a/.rapport/worktrees/x/.rapport/worktrees/y", Some("/new/app/.rapport/worktrees/y")),
            ("/old/app/.rapport/worktrees/../../..", None),
            ("/home/ann", None),
        ] {
            assert_eq!(worktree("/new/app", begun).as_deref(), here, "{begun}");
        }
    }
}
