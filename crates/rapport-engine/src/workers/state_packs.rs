//! Recorded states as packs of git objects. Nothing in the repository refers to a recorded state, so git removes its
//! objects some time later, or at once if a person asks for that (`git gc --prune=now`). A pack is kept with the session
//! instead, and gives the repository what it lacks.

use std::collections::BTreeSet;

use rapport_durable::point;

use super::git::{git, git_fed};
use super::local::{Directory, named, top};
use super::project_update::changed_objects;
use super::{LARGEST_FILE, WorkerError, Workplace as _};

/// The largest pack of a state before the work, in bytes. Most of such a state never becomes part of a change.
const LARGEST_BEFORE: u64 = 8 * 1024 * 1024;

/// Compares no objects with each other to make a smaller pack, because a person or an agent waits for it.
const PACK: [&str; 4] = ["pack-objects", "--stdout", "--quiet", "--window=0"];

/// What the project's commit lacks of a state; `None` if that is nothing, or too much.
pub(crate) fn pack_before(project: &Directory, state: &str) -> Result<Option<Vec<u8>>, WorkerError> {
    let state = named(state)?;
    let args = [&PACK[..], &["--revs", "--sparse"]].concat();
    let pack = |list: String| git_fed(project.git_at(), None, &args, (list.as_bytes(), LARGEST_BEFORE));
    // Without a commit, it is all of the state.
    let pack = pack(format!("{state}\n^HEAD^{{tree}}\n")).or_else(|_| pack(format!("{state}\n")))?;
    Ok(pack.filter(|pack| !is_empty(pack)))
}

/// What differs between two states, as both have it; `None` if that is too much.
pub(crate) fn pack_between(
    project: &Directory,
    from: &str,
    to: &str,
) -> Result<Option<Vec<u8>>, WorkerError> {
    let mut objects: BTreeSet<_> = changed_objects(&top(project.git_at())?, from, to)?.into_iter().collect();
    objects.extend([named(from)?.to_owned(), named(to)?.to_owned()]);
    let list: String = objects.iter().map(|object| format!("{object}\n")).collect();
    git_fed(project.git_at(), None, &PACK, (list.as_bytes(), LARGEST_FILE))
}

/// Gives the repository the objects of a pack: all of them, or none.
pub(crate) fn unpack(project: &Directory, pack: &[u8]) -> Result<(), WorkerError> {
    point(project.directory());
    git_fed(project.git_at(), None, &["index-pack", "--stdin"], (pack, LARGEST_FILE))?;
    point(project.directory());
    Ok(())
}

/// Refuses if the repository lacks one of these states.
pub fn check_states(project: &Directory, states: &[&str]) -> Result<(), WorkerError> {
    for state in states {
        let tree = format!("{}^{{tree}}", named(state)?);
        git(project.git_at(), None, &["cat-file", "-e", &tree])
            .map_err(|_| WorkerError::StateGone { state: (*state).to_owned() })?;
    }
    Ok(())
}

/// Whether a pack has no objects: the number of them is in its header, after a word and the version.
fn is_empty(pack: &[u8]) -> bool {
    pack.get(8..12).is_none_or(|count| count == [0; 4])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn run(at: &Path, args: &[&str]) {
        git(at, None, args).unwrap();
    }

    fn collect_garbage(at: &Path) {
        run(at, &["reflog", "expire", "--expire=now", "--all"]);
        run(at, &["gc", "--quiet", "--prune=now"]);
    }

    /// Even after the commit that had the files is gone, the diff between two states can be made from their pack.
    #[test]
    fn what_git_removed_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path();
        run(app, &["init", "--quiet"]);
        fs::create_dir_all(app.join("deep/same")).unwrap();
        for path in ["a.txt", "deep/b.txt", "deep/same/c.txt"] {
            fs::write(app.join(path), "committed\n").unwrap();
        }
        run(app, &["add", "--all"]);
        run(app, &["commit", "--quiet", "--message", "Files"]);
        fs::write(app.join("untracked.txt"), "mine\n").unwrap();
        let project = Directory::at(app);
        let from = project.state().unwrap();
        let before = pack_before(&project, &from).unwrap().unwrap();
        for path in ["a.txt", "deep/b.txt", "untracked.txt"] {
            fs::write(app.join(path), "changed\n").unwrap();
        }
        let to = project.state().unwrap();
        let diff = project.diff(&from, &to).unwrap();
        let between = pack_between(&project, &from, &to).unwrap().unwrap();
        collect_garbage(app);
        assert!(matches!(check_states(&project, &[&from, &to]), Err(WorkerError::StateGone { .. })));
        unpack(&project, &before).unwrap();
        check_states(&project, &[&from]).unwrap();
        assert!(check_states(&project, &[&to]).is_err());
        collect_garbage(app);
        run(app, &["commit", "--quiet", "--amend", "--all", "--message", "Other files"]);
        collect_garbage(app);
        unpack(&project, &between).unwrap();
        assert_eq!(project.diff(&from, &to).unwrap(), diff);
    }

    #[test]
    fn a_state_that_is_committed_needs_no_pack() {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), &["init", "--quiet"]);
        fs::write(folder.path().join("a.txt"), "a\n").unwrap();
        let project = Directory::at(folder.path());
        let state = project.state().unwrap();
        assert!(pack_before(&project, &state).unwrap().is_some(), "there is no commit");
        run(folder.path(), &["add", "--all"]);
        run(folder.path(), &["commit", "--quiet", "--message", "Files"]);
        assert_eq!(pack_before(&project, &project.state().unwrap()).unwrap(), None);
        fs::write(folder.path().join("a.txt"), vec![b'a'; 1000]).unwrap();
        let larger = project.state().unwrap();
        let input = format!("{larger}\n");
        let args = [&PACK[..], &["--revs"]].concat();
        assert_eq!(git_fed(folder.path(), None, &args, (input.as_bytes(), 20)).unwrap(), None, "too large");
    }
}
