//! Puts a state of the files into the project, path by path, or takes it back out. Each file is complete before it gets its name there, a path is
//! only touched while it is as it was, and what fails takes back what it did. After a kill the same is done again: what is there
//! already is left alone.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rapport_core::{FileChange, StatePair, UndoneFiles};
use rapport_durable as durable;

use super::git::{git, line};
use super::{WorkerError, local};

/// How many paths git is given at once.
const AT_ONCE: usize = 500;
/// The mode of what is not there.
const ABSENT: &[u8] = b"000000";
/// The mode of a repository within the repository.
const REPOSITORY: &[u8] = b"160000";

/// What a path is in a state: its mode, and the name of its content.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    mode: Vec<u8>,
    content: Vec<u8>,
}

impl Entry {
    fn is_absent(&self) -> bool {
        self.mode == ABSENT
    }
}

/// A path that differs between two states.
#[derive(Clone, Debug)]
struct Step {
    path: PathBuf,
    old: Entry,
    new: Entry,
}

impl Step {
    /// Whether it is about a repository within the repository, which has a history of its own.
    fn is_of_a_repository(&self) -> bool {
        [&self.old, &self.new].iter().any(|entry| entry.mode == REPOSITORY)
    }

    fn back(&self) -> Self {
        Self { path: self.path.clone(), old: self.new.clone(), new: self.old.clone() }
    }
}

/// Brings the project from one state to the other.
pub(super) fn take_over(project: &Path, merged: &StatePair) -> Result<Vec<FileChange>, WorkerError> {
    let top = PathBuf::from(line(project, &["rev-parse", "--show-toplevel"])?);
    let steps = steps(&top, &merged.from, &merged.to)?;
    let due = due(&top, project, steps, &merged.from)?;
    carry_out_or_go_back(&top, merged, &due)?;
    local::files_between(project, &merged.from, &merged.to)
}

/// Brings the project back from one state to the one before, path by path. What is as it was left is brought back; what somebody
/// changed since stays, and is listed. Done twice, it is the same as done once.
pub fn take_back(project: &Path, states: &StatePair) -> Result<UndoneFiles, WorkerError> {
    local::is_there(project)?;
    let top = PathBuf::from(line(project, &["rev-parse", "--show-toplevel"])?);
    for state in [&states.from, &states.to] {
        let tree = format!("{state}^{{tree}}");
        git(&top, None, &["cat-file", "-e", &tree])
            .map_err(|_| WorkerError::StateGone { state: state.clone() })?;
    }
    // The states hold all of the repository; what is outside of the project is not the session's.
    let inside = PathBuf::from(line(project, &["rev-parse", "--show-prefix"])?);
    let mut steps = differences(&top, &states.from, &states.to)?;
    steps.retain(|step| step.path.starts_with(&inside));
    let name = |path: &Path| path.strip_prefix(&inside).unwrap_or(path).to_string_lossy().into_owned();
    let (repositories, steps): (Vec<_>, Vec<_>) = steps.into_iter().partition(Step::is_of_a_repository);
    let paths: Vec<_> = steps.iter().map(|step| step.path.clone()).collect();
    let now = local::snapshot_with(project, &top, &paths)?;
    let since: BTreeMap<_, _> =
        self::steps(&top, &states.from, &now)?.into_iter().map(|step| (step.path, step.new)).collect();
    let remaining = repositories.iter().map(|step| format!("{} (a repository of its own)", name(&step.path)));
    let mut undone = UndoneFiles { remaining: remaining.collect(), ..UndoneFiles::default() };
    let mut due = Vec::new();
    for step in steps {
        let name = name(&step.path);
        match since.get(&step.path) {
            Some(now) if *now != step.new => undone.kept.push(name),
            found => {
                due.extend(found.is_none().then(|| step.clone()));
                if step.new.is_absent() { undone.removed.push(name) } else { undone.restored.push(name) }
            }
        }
    }
    carry_out_or_go_back(&top, states, &due)?;
    Ok(undone)
}

/// Brings these paths from one state to the other, all of them or none.
fn carry_out_or_go_back(top: &Path, states: &StatePair, due: &[Step]) -> Result<(), WorkerError> {
    let mut done = Vec::new();
    carry_out(top, &states.to, due, &mut done).inspect_err(|_| {
        let back: Vec<_> = done.iter().rev().map(Step::back).collect();
        // What cannot be taken back either is named by the error that began it.
        let _ = carry_out(top, &states.from, &back, &mut Vec::new());
    })
}

/// The steps that are still to be done. Refuses where a path is neither as it was nor as it will be.
fn due(top: &Path, project: &Path, steps: Vec<Step>, from: &str) -> Result<Vec<Step>, WorkerError> {
    let since: BTreeMap<_, _> = self::steps(top, from, &local::snapshot(project)?)?
        .into_iter()
        .map(|step| (step.path, step.new))
        .collect();
    let is_done = |step: &Step| since.get(&step.path) == Some(&step.new);
    // A directory goes with the last file in it.
    let goes = |folder: &Path| {
        let is_below = |step: &Step| step.path != folder && step.path.starts_with(folder);
        steps.iter().any(|step| step.new.is_absent() && is_below(step))
    };
    // What git ignores is in no state, and may be in the way.
    let is_in_the_way = |step: &Step| {
        let found = top.join(&step.path).symlink_metadata();
        step.old.is_absent() && found.is_ok_and(|found| !(found.is_dir() && goes(&step.path)))
    };
    let due = || steps.iter().filter(|step| !is_done(step));
    let changed = due().filter(|step| since.contains_key(&step.path) || is_in_the_way(step));
    let files: Vec<_> = changed.map(|step| step.path.to_string_lossy().into_owned()).collect();
    if files.is_empty() { Ok(due().cloned().collect()) } else { Err(WorkerError::ChangedMeanwhile { files }) }
}

/// How to get from one state to another, as far as the repository itself has it.
fn steps(top: &Path, from: &str, to: &str) -> Result<Vec<Step>, WorkerError> {
    let mut steps = differences(top, from, to)?;
    steps.retain(|step| !step.is_of_a_repository());
    Ok(steps)
}

fn differences(top: &Path, from: &str, to: &str) -> Result<Vec<Step>, WorkerError> {
    let (from, to) = (local::named(from)?, local::named(to)?);
    let out = git(top, None, &["diff-tree", "-r", "-z", "--no-renames", from, to])?;
    let mut fields = out.split(|byte| *byte == 0);
    let mut steps = Vec::new();
    // `:old-mode new-mode old-name new-name status`, then the path.
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let words: Vec<_> =
            head.strip_prefix(b":").unwrap_or(head).split(|byte| *byte == b' ').map(<[u8]>::to_vec).collect();
        let [old_mode, new_mode, old, new, _] = words.as_slice() else { break };
        let entry =
            |mode: &[u8], content: &[u8]| Entry { mode: mode.to_owned(), content: content.to_owned() };
        let (old, new) = (entry(old_mode, old), entry(new_mode, new));
        steps.push(Step { path: PathBuf::from(OsStr::from_bytes(path)), old, new });
    }
    Ok(steps)
}

/// Removes first, so that a directory can take the place of a file; then puts every file there.
fn carry_out(top: &Path, state: &str, steps: &[Step], done: &mut Vec<Step>) -> Result<(), WorkerError> {
    let (removed, written): (Vec<_>, Vec<_>) = steps.iter().partition(|step| step.new.is_absent());
    let staging = Staging::make(top, state, &written)?;
    for step in removed {
        remove(top, &step.path).map_err(failed("remove", &step.path))?;
        done.push(step.clone());
    }
    for step in written {
        put(top, &staging.file(&step.path), &step.path).map_err(failed("write", &step.path))?;
        done.push(step.clone());
    }
    Ok(())
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WorkerError {
    move |error| WorkerError::File { what, path: path.to_owned(), error }
}

fn remove(top: &Path, path: &Path) -> io::Result<()> {
    let target = top.join(path);
    leads_inside(top, target.parent())?;
    durable::remove(&target)?;
    // Git knows no empty directories.
    for folder in target.ancestors().skip(1).take_while(|folder| *folder != top) {
        if !durable::remove_if_empty(folder) {
            break;
        }
    }
    Ok(())
}

fn put(top: &Path, staged: &Path, path: &Path) -> io::Result<()> {
    let target = top.join(path);
    let Some(folder) = target.parent() else { return Ok(()) };
    leads_inside(top, folder.ancestors().find(|folder| folder.exists()))?;
    durable::folder(folder)?;
    leads_inside(top, Some(folder))?;
    // A kill may have left the directory that a file takes the place of.
    if target.is_dir() {
        durable::remove_if_empty(&target);
    }
    durable::put(staged, &target)
}

/// A folder on the way may be a link that leads out of the project.
fn leads_inside(top: &Path, folder: Option<&Path>) -> io::Result<()> {
    let Some(folder) = folder.filter(|folder| folder.exists()) else { return Ok(()) };
    if folder.canonicalize()?.starts_with(top.canonicalize()?) {
        return Ok(());
    }
    Err(io::Error::other("its folder is a link that leads out of the project"))
}

/// Files of a state beside the project, within git's directory, ready to be given their names. Removed when this is dropped, and
/// by whoever does the same again after a kill.
struct Staging {
    folder: PathBuf,
}

impl Staging {
    fn make(top: &Path, state: &str, steps: &[&Step]) -> Result<Self, WorkerError> {
        let name = format!("rapport/take-over-{state}");
        let folder = top.join(line(top, &["rev-parse", "--git-path", &name])?);
        let staging = Self { folder };
        staging.clear();
        durable::folder(&staging.folder.join("files"))?;
        let index = staging.folder.join("index");
        git(top, Some(&index), &["read-tree", state])?;
        let mut prefix = OsString::from("--prefix=");
        prefix.push(staging.folder.join("files"));
        prefix.push("/");
        let checkout = [OsStr::new("checkout-index"), OsStr::new("--quiet"), &prefix, OsStr::new("--")];
        for some in steps.chunks(AT_ONCE) {
            let paths: Vec<_> = some.iter().map(|step| step.path.as_os_str()).collect();
            git(top, Some(&index), &[&checkout[..], &paths].concat())?;
        }
        for step in steps {
            durable::sync_file(&staging.file(&step.path))?;
        }
        Ok(staging)
    }

    fn file(&self, path: &Path) -> PathBuf {
        self.folder.join("files").join(path)
    }

    fn clear(&self) {
        let _ = durable::remove_folder(&self.folder);
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        self.clear();
    }
}
