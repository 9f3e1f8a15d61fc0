//! Moves files from one state to another, and back on failure. Both states of every file are prepared before the first
//! is touched, so that either direction only needs renames.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rapport_durable::{self as durable, point};

use super::RepositoryPath;
use super::steps::{Entry, FileStep};
use crate::workers::git::{AT_ONCE, git, git_fed, line};
use crate::workers::{LARGEST_FILE, WorkerError, file_error, leads_inside};

/// Detects whether a file was touched since it was compared. `None` if the file does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp(Option<(u64, u64, i64, i64)>);

impl FileStamp {
    pub(super) fn of(top: &Path, step: &FileStep) -> Self {
        let found = top.join(&step.path).symlink_metadata().ok().filter(|about| !about.is_dir());
        Self(found.map(|about| (about.ino(), about.size(), about.mtime(), about.mtime_nsec())))
    }
}

/// The state that a file is brought to.
#[derive(Clone, Copy, Debug)]
enum Direction {
    Forward,
    Back,
}

impl Direction {
    fn folder(self) -> &'static str {
        match self {
            Direction::Forward => "to",
            Direction::Back => "from",
        }
    }

    fn entry(self, step: &FileStep) -> &Entry {
        match self {
            Direction::Forward => &step.new,
            Direction::Back => &step.old,
        }
    }
}

/// The files placed so far, and what is needed to continue or revert.
pub(super) struct Placing<'a> {
    repository: &'a RepositoryPath<'a>,
    staging: Staging,
    is_prepared: bool,
    /// The paths that this or an earlier attempt began.
    begun: BTreeSet<PathBuf>,
    /// The completed steps, in order.
    done: Vec<(FileStep, FileStamp)>,
}

impl<'a> Placing<'a> {
    /// Starts, and removes the leftovers of a killed process.
    pub(super) fn new(repository: &'a RepositoryPath<'a>) -> Result<Self, WorkerError> {
        let (staging, begun) = (Staging::make(&repository.top)?, BTreeSet::new());
        Ok(Self { repository, staging, is_prepared: false, begun, done: Vec::new() })
    }

    /// The same with the paths that an earlier attempt began, and those that it placed.
    pub(super) fn continuing(self, begun: BTreeSet<PathBuf>, placed: Vec<(FileStep, FileStamp)>) -> Self {
        Self { begun, done: in_order(placed), ..self }
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.done.iter().map(|(step, _)| step.path.as_path())
    }

    /// Prepares the files of both states: those to place, and those that may have to be reverted.
    pub(super) fn prepare(&mut self, due: &[(FileStep, FileStamp)]) -> Result<(), WorkerError> {
        let steps: Vec<_> = self.done.iter().chain(due).map(|(step, _)| step).collect();
        self.staging.fill(&self.repository.top, &steps)?;
        self.is_prepared = true;
        Ok(())
    }

    /// Writes the files of the first state, and returns where each is; `None` for an absent one. They stay until this is
    /// dropped.
    pub(super) fn earlier_files(&mut self, steps: &[FileStep]) -> Result<Vec<Option<PathBuf>>, WorkerError> {
        let steps_of: Vec<_> = steps.iter().collect();
        self.staging.check_out(&self.repository.top, Direction::Back, &steps_of)?;
        let file =
            |step: &FileStep| (!step.old.is_absent()).then(|| self.staging.file(Direction::Back, &step.path));
        Ok(steps.iter().map(file).collect())
    }

    pub(super) fn place(&mut self, due: Vec<(FileStep, FileStamp)>) -> Result<(), WorkerError> {
        for (step, seen) in in_order(due) {
            self.begun.insert(step.path.clone());
            let placed = self.bring(Direction::Forward, &step, seen)?;
            self.done.push((step, placed));
        }
        Ok(())
    }

    /// Reverts everything that was placed and not touched since. Returns the reason, and what is left.
    pub(super) fn go_back(&mut self, why: WorkerError) -> WorkerError {
        // An earlier attempt may have placed something, and this one may have failed before preparing anything.
        let prepared = if self.is_prepared { Ok(()) } else { self.prepare(&[]) };
        let mut left = Vec::new();
        while let Some((step, placed)) = self.done.pop() {
            if prepared.is_err() || self.bring(Direction::Back, &step.back(), placed).is_err() {
                left.push(self.repository.name(&step.path));
            }
        }
        self.begun.iter().for_each(|path| remove_empty_folders(&self.repository.top, path));
        if left.is_empty() { why } else { WorkerError::HalfDone { why: Box::new(why), files: left } }
    }

    /// Brings one path to its new state, if it is as it was seen.
    fn bring(
        &self,
        direction: Direction,
        step: &FileStep,
        seen: FileStamp,
    ) -> Result<FileStamp, WorkerError> {
        let top = &self.repository.top;
        if FileStamp::of(top, step) != seen {
            return Err(WorkerError::ChangedMeanwhile { files: vec![self.repository.name(&step.path)] });
        }
        let named = PathBuf::from(self.repository.name(&step.path));
        if step.new.is_absent() {
            remove(top, &step.path).map_err(file_error("remove", &named))?;
        } else {
            let staged = self.staging.file(direction, &step.path);
            put(top, &staged, &step.path).map_err(file_error("write", &named))?;
        }
        Ok(FileStamp::of(top, step))
    }
}

/// Removals first, so that a directory can take the place of a file.
fn in_order(steps: Vec<(FileStep, FileStamp)>) -> Vec<(FileStep, FileStamp)> {
    let (mut removed, written): (Vec<_>, Vec<_>) =
        steps.into_iter().partition(|(step, _)| step.new.is_absent());
    removed.extend(written);
    removed
}

fn remove(top: &Path, path: &Path) -> io::Result<()> {
    let target = top.join(path);
    leads_inside(top, target.parent().unwrap_or(top))?;
    durable::remove(&target)?;
    remove_empty_folders(top, path);
    Ok(())
}

/// Removes the empty parent directories of a path, which git does not track.
fn remove_empty_folders(top: &Path, path: &Path) {
    let target = top.join(path);
    let folders = target.ancestors().skip(1).take_while(|folder| *folder != top);
    for folder in folders.filter(|folder| folder.exists()) {
        if !durable::remove_if_empty(folder) {
            break;
        }
    }
}

fn put(top: &Path, staged: &Path, path: &Path) -> io::Result<()> {
    let target = top.join(path);
    let folder = target.parent().unwrap_or(top);
    leads_inside(top, folder)?;
    durable::folder(folder)?;
    leads_inside(top, folder)?;
    // A kill may have left the directory that a file replaces.
    if target.is_dir() && !target.is_symlink() {
        durable::remove_if_empty(&target);
    }
    durable::take_permissions(staged, &target)?;
    durable::put(staged, &target)
}

/// Files of both states within git's directory, ready to be renamed into place. Its owner holds the lock. Removed on
/// drop, and by the next process after a kill.
struct Staging {
    folder: PathBuf,
}

impl Staging {
    fn make(top: &Path) -> Result<Self, WorkerError> {
        let folder = top.join(line(top, &["rev-parse", "--git-path", "rapport/placing"])?);
        let staging = Self { folder };
        staging.clear();
        Ok(staging)
    }

    /// Writes the files of these steps, in both states. Leftovers of an earlier attempt would be mistaken for them, so
    /// they are removed first.
    fn fill(&self, top: &Path, steps: &[&FileStep]) -> Result<(), WorkerError> {
        self.clear();
        self.check_out(top, Direction::Forward, steps)?;
        self.check_out(top, Direction::Back, steps)
    }

    /// Writes the files of these steps that the state in this direction has. Only these are in the index: the rest of the
    /// state may no longer be in the repository.
    fn check_out(&self, top: &Path, direction: Direction, steps: &[&FileStep]) -> Result<(), WorkerError> {
        let there: Vec<_> = steps.iter().filter(|step| !direction.entry(step).is_absent()).collect();
        let paths: Vec<_> = there.iter().map(|step| step.path.as_path()).collect();
        let lines: Vec<_> =
            there.iter().flat_map(|step| direction.entry(step).index_line(&step.path)).collect();
        let folder = self.folder.join(direction.folder());
        durable::folder(&folder).map_err(file_error("make", &folder))?;
        let index = self.folder.join("index");
        point(&index);
        git(top, Some(&index), &["read-tree", "--empty"])?;
        git_fed(top, Some(&index), &["update-index", "-z", "--index-info"], (&lines, LARGEST_FILE))?;
        let mut prefix = OsString::from("--prefix=");
        prefix.push(&folder);
        prefix.push("/");
        let checkout = [OsStr::new("checkout-index"), OsStr::new("--quiet"), &prefix, OsStr::new("--")];
        for some in paths.chunks(AT_ONCE) {
            let names: Vec<_> = some.iter().map(|path| path.as_os_str()).collect();
            git(top, Some(&index), &[&checkout[..], &names].concat())?;
        }
        point(&index);
        for path in paths {
            let file = self.file(direction, path);
            durable::sync_file(&file).map_err(file_error("sync", &file))?;
        }
        Ok(())
    }

    fn file(&self, direction: Direction, path: &Path) -> PathBuf {
        self.folder.join(direction.folder()).join(path)
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
