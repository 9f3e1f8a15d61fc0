//! Changes the project from one state of its files to another: applies work, or undoes it. Each file is complete before
//! it gets its name, a path is only touched while it is as it was seen, and a failure reverts what was done.
//!
//! Applying is all or nothing, even across a kill: a write-ahead note ([`WriteAhead`]) lists the paths to be written,
//! so that the next attempt can tell written files from a person's changes, and can revert them.

mod index;
mod placement;
mod steps;
mod write_ahead;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rapport_core::{FileChange, Merged, UndoneFiles};

use super::local::{self, Directory};
use super::separate_work::lock;
use super::state_packs::check_states;
use super::{WorkerError, Workplace as _};
use placement::{FileStamp, Placing};
use steps::{Entry, FileStep};
use write_ahead::EarlierAttempt;

pub(super) use steps::{changed_objects, steps};
pub(super) use write_ahead::WriteAhead;

/// A project, and its path in its repository.
struct RepositoryPath<'a> {
    project: &'a Directory,
    top: PathBuf,
    inside: PathBuf,
}

impl<'a> RepositoryPath<'a> {
    fn of(project: &'a Directory) -> Result<Self, WorkerError> {
        Ok(Self { project, top: local::top(project.directory())?, inside: project.inside()? })
    }

    /// The differences between two states, as far as the session may change them: in the repository itself, and in
    /// nested repositories.
    fn steps(&self, states: &Merged) -> Result<(Vec<FileStep>, Vec<FileStep>), WorkerError> {
        let steps = steps(&self.top, &states.from, &states.to)?.into_iter();
        let covered = steps.filter(|step| self.project.covers(&self.inside, &step.path));
        Ok(covered.partition(|step| !step.is_of_a_repository()))
    }

    /// The current differences from the state `from`, by path. The paths of these steps are included even if git
    /// ignores them.
    fn since(&self, from: &str, steps: &[FileStep]) -> Result<BTreeMap<PathBuf, Entry>, WorkerError> {
        let paths: Vec<_> = steps.iter().map(|step| step.path.clone()).collect();
        let now = self.project.state_with(&paths)?;
        Ok(steps::steps(&self.top, from, &now)?.into_iter().map(|step| (step.path, step.new)).collect())
    }

    /// The name of a path for a person.
    fn name(&self, path: &Path) -> String {
        local::seen_from(&self.inside, path)
    }
}

/// What the first of two states has at a path that differs between them.
pub(crate) enum EarlierFile<'a> {
    Absent,
    /// This file or symbolic link, as a checkout writes it. It exists only during the visit.
    CheckedOut(&'a Path),
    /// A repository of its own, before or after.
    Repository,
}

/// Visits the paths that differ between two states, with what the first state has there. Paths are seen from the project.
pub(crate) fn visit_changed(
    project: &Directory,
    from: &str,
    to: &str,
    visit: &mut dyn FnMut(String, EarlierFile<'_>),
) -> Result<(), WorkerError> {
    let _lock = lock(project.directory())?;
    let repository = RepositoryPath::of(project)?;
    let states = Merged { from: from.to_owned(), to: to.to_owned(), ..Merged::default() };
    let (steps, repositories) = repository.steps(&states)?;
    let mut placing = Placing::new(&repository)?;
    let earlier = placing.earlier_files(&steps)?;
    for (step, file) in steps.iter().zip(&earlier) {
        let file = file.as_deref().map_or(EarlierFile::Absent, EarlierFile::CheckedOut);
        visit(repository.name(&step.path), file);
    }
    repositories.iter().for_each(|step| visit(repository.name(&step.path), EarlierFile::Repository));
    Ok(())
}

/// Applies a merge to the project: all of it, or nothing if the project was changed meanwhile. The caller holds the
/// lock.
pub(super) fn apply(
    project: &Directory,
    merged: &Merged,
    note: &WriteAhead,
) -> Result<Vec<FileChange>, WorkerError> {
    let repository = RepositoryPath::of(project)?;
    let placing = Placing::new(&repository)?;
    // Listed before anything is written, so that every file that is written is reported as applied.
    let files = project.files_between(&merged.from, &merged.to);
    let begun = match note.read(merged)? {
        // Later changes are changes to the applied work.
        EarlierAttempt::Complete => return files,
        EarlierAttempt::Begun(paths) => paths,
        EarlierAttempt::Nothing => BTreeSet::new(),
    };
    let begun_before = || begun.iter().map(|path| repository.name(path)).collect();
    let files = files.map_err(|error| half_done(error, begun_before()))?;
    let (steps, _) = repository.steps(merged).map_err(|error| half_done(error, begun_before()))?;
    // Before the state is read, so that the stamps show later changes.
    let stamps: Vec<_> = steps.iter().map(|step| FileStamp::of(&repository.top, step)).collect();
    let since = repository.since(&merged.from, &steps).map_err(|error| half_done(error, begun_before()))?;
    let is_done = |step: &FileStep| since.get(&step.path) == Some(&step.new);
    let changed = changed(&repository, &steps, &since);
    let (done, due): (Vec<_>, Vec<_>) = steps.into_iter().zip(stamps).partition(|(step, _)| is_done(step));
    let ours = done.into_iter().filter(|(step, _)| begun.contains(&step.path)).collect();
    let mut placing = placing.continuing(begun, ours);
    let placed = if changed.is_empty() {
        place_all(&mut placing, due, merged, note)
    } else {
        Err(WorkerError::ChangedMeanwhile { files: changed })
    };
    if let Err(error) = placed {
        let error = placing.go_back(error);
        // A note that stays does no harm: the next attempt with the same states continues from it.
        if let Err(unclear) = note.clear() {
            tracing::warn!(error = %unclear, "the note of an apply was not removed");
        }
        return Err(error);
    }
    Ok(files)
}

fn place_all(
    placing: &mut Placing<'_>,
    due: Vec<(FileStep, FileStamp)>,
    merged: &Merged,
    note: &WriteAhead,
) -> Result<(), WorkerError> {
    placing.prepare(&due)?;
    note.begin(merged, placing.paths().chain(due.iter().map(|(step, _)| step.path.as_path())))?;
    placing.place(due)?;
    note.complete(merged)
}

/// The files that are neither in the old nor in the new state, or are in the way.
fn changed(
    repository: &RepositoryPath<'_>,
    steps: &[FileStep],
    since: &BTreeMap<PathBuf, Entry>,
) -> Vec<String> {
    // A directory is removed with its last file.
    let goes = |folder: &Path| {
        let is_below = |step: &FileStep| step.path != folder && step.path.starts_with(folder);
        steps.iter().any(|step| step.new.is_absent() && is_below(step))
    };
    // A file that git cannot add is in no state, but may be in the way.
    let is_in_the_way = |step: &FileStep| {
        let found = repository.top.join(&step.path).symlink_metadata();
        step.old.is_absent() && found.is_ok_and(|found| !(found.is_dir() && goes(&step.path)))
    };
    let is_done = |step: &FileStep| since.get(&step.path) == Some(&step.new);
    let is_changed = |step: &FileStep| since.contains_key(&step.path) || is_in_the_way(step);
    let changed = steps.iter().filter(|step| !is_done(step) && is_changed(step));
    changed.map(|step| repository.name(&step.path)).collect()
}

/// Reverts the project from one state to the one before, path by path. A path that is as the work left it is
/// reverted. A path that was changed since then stays, and is listed. Idempotent.
pub fn take_back(project: &Directory, states: &Merged) -> Result<UndoneFiles, WorkerError> {
    local::is_there(project.directory())?;
    let _lock = lock(project.directory())?;
    let repository = RepositoryPath::of(project)?;
    check_states(project, &[&states.from, &states.to])?;
    let (steps, repositories) = repository.steps(states)?;
    let stamps: Vec<_> = steps.iter().map(|step| FileStamp::of(&repository.top, step)).collect();
    let since = repository.since(&states.from, &steps)?;
    let mut undone = UndoneFiles::default();
    let (mut due, mut done_before) = (Vec::new(), Vec::new());
    for (step, stamp) in steps.iter().cloned().zip(stamps) {
        let name = repository.name(&step.path);
        match since.get(&step.path) {
            Some(now) if *now != step.new => {
                undone.kept.push(name);
                continue;
            }
            Some(_) => done_before.push(name.clone()),
            None => due.push((step.clone(), stamp)),
        }
        if step.new.is_absent() { undone.removed.push(name) } else { undone.restored.push(name) }
    }
    let mut placing = Placing::new(&repository)?;
    placing
        .prepare(&due)
        .and_then(|()| placing.place(due))
        .map_err(|error| half_done(placing.go_back(error), done_before))?;
    let is_kept = |step: &FileStep| undone.kept.contains(&repository.name(&step.path));
    let taken_back: Vec<_> = steps.iter().filter(|step| !is_kept(step)).collect();
    let mut inside: BTreeSet<_> = repositories.iter().map(|step| repository.name(&step.path)).collect();
    if project.is_worked_in() {
        inside.extend(project.changed_repositories(&states.to, &states.from)?);
    }
    undone.remaining = inside.iter().map(|name| format!("{name} (a repository of its own)")).collect();
    undone.remaining.extend(index::unstage(&repository, &taken_back));
    Ok(undone)
}

/// Reverts several stretches of work, one after the other. A file that one of them reverts is not listed as changed
/// by another: the change may come from this very undo, or the file was reverted to a person's change.
pub fn take_all_back(project: &Directory, stretches: &[Merged]) -> Result<UndoneFiles, WorkerError> {
    let mut all = UndoneFiles::default();
    for states in stretches {
        let done = [&all.restored[..], &all.removed[..]].concat();
        let undone = take_back(project, states).map_err(|error| half_done(error, done))?;
        let is_removed = |name: &String| undone.removed.contains(name);
        all.restored.retain(|name| !is_removed(name));
        all.removed.retain(|name| !undone.restored.contains(name));
        all.restored.extend(undone.restored);
        all.removed.extend(undone.removed);
        all.kept.extend(undone.kept);
        all.remaining.extend(undone.remaining);
    }
    for names in [&mut all.restored, &mut all.removed, &mut all.kept, &mut all.remaining] {
        names.sort();
        names.dedup();
    }
    let is_back = |name: &String| all.restored.contains(name) || all.removed.contains(name);
    all.kept.retain(|name| !is_back(name));
    Ok(all)
}

/// Adds the files of an earlier attempt to an error.
fn half_done(error: WorkerError, done_before: Vec<String>) -> WorkerError {
    match error {
        error if done_before.is_empty() => error,
        WorkerError::HalfDone { why, mut files } => {
            files.extend(done_before);
            WorkerError::HalfDone { why, files }
        }
        error => WorkerError::HalfDone { why: Box::new(error), files: done_before },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use rapport_core::SessionId;

    use super::*;
    use crate::workers::git::git;

    /// A repository with these files, and a directory beside it.
    fn repository(files: &[(&str, &str)]) -> (tempfile::TempDir, Directory) {
        let folder = tempfile::tempdir().unwrap();
        let app = folder.path().join("app");
        fs::create_dir(&app).unwrap();
        fs::create_dir(folder.path().join("outside")).unwrap();
        git(&app, None, &["init", "--quiet"]).unwrap();
        write(&app, files);
        git(&app, None, &["add", "--all"]).unwrap();
        git(&app, None, &["commit", "--quiet", "--message", "Files"]).unwrap();
        let project = Directory::with_repository(app);
        (folder, project)
    }

    fn write(app: &Path, files: &[(&str, &str)]) {
        for (path, content) in files {
            let path = app.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }

    fn read(project: &Directory, path: &str) -> Option<String> {
        fs::read_to_string(project.directory().join(path)).ok()
    }

    /// The states before and after these changes, none of which stays in the files.
    fn states(project: &Directory, changes: &[(&str, &str)]) -> Merged {
        let from = project.state().unwrap();
        write(project.directory(), changes);
        let to = project.state().unwrap();
        git(project.directory(), None, &["read-tree", &from]).unwrap();
        git(project.directory(), None, &["checkout-index", "--all", "--force"]).unwrap();
        git(project.directory(), None, &["clean", "--quiet", "-d", "--force"]).unwrap();
        assert_eq!(project.state().unwrap(), from);
        Merged { from, to, ..Merged::default() }
    }

    fn note(project: &Directory) -> WriteAhead {
        WriteAhead::of(project.directory(), &SessionId::new("20260124-one")).unwrap()
    }

    fn left_in_git(project: &Directory) -> Vec<String> {
        let entries = fs::read_dir(project.directory().join(".git/rapport")).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    }

    /// A directory that is a link, which git ignores: nothing can be written there.
    fn lead_out(folder: &tempfile::TempDir, project: &Directory, name: &str) {
        symlink(folder.path().join("outside"), project.directory().join(name)).unwrap();
        let excluded = project.directory().join(".git/info/exclude");
        fs::create_dir_all(excluded.parent().unwrap()).unwrap();
        fs::write(excluded, format!("{name}\n")).unwrap();
    }

    #[test]
    fn what_fails_in_the_middle_changes_nothing() {
        let (folder, project) = repository(&[("a.txt", "a\n"), ("gone.txt", "gone\n")]);
        let merged = states(&project, &[("a.txt", "A\n"), ("new/n.txt", "n\n"), ("z/z.txt", "z\n")]);
        lead_out(&folder, &project, "z");
        let error = apply(&project, &merged, &note(&project)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot write z/z.txt: its folder is a link that leads out of the project"
        );
        assert_eq!((read(&project, "a.txt").as_deref(), read(&project, "new/n.txt")), (Some("a\n"), None));
        assert!(!project.directory().join("new").exists() && !folder.path().join("outside/z.txt").exists());
        assert_eq!(left_in_git(&project), [""; 0]);
    }

    /// After a kill some files are written; then a person changed another. Applying reverts what it wrote, and nothing
    /// else.
    #[test]
    fn continued_after_a_kill_it_is_still_all_or_nothing() {
        let (_folder, project) = repository(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
        let merged = states(&project, &[("a.txt", "A\n"), ("b.txt", "B\n"), ("c.txt", "C\n")]);
        let note = note(&project);
        note.begin(&merged, ["a.txt", "b.txt"].map(Path::new).into_iter()).unwrap();
        // `c.txt` has the new content, but the note does not list it: a person wrote it.
        write(project.directory(), &[("a.txt", "A\n"), ("b.txt", "mine\n"), ("c.txt", "C\n")]);
        let error = apply(&project, &merged, &note).unwrap_err();
        assert_eq!(error.to_string(), "b.txt changed in the project just now");
        let now = ["a.txt", "b.txt", "c.txt"].map(|path| read(&project, path).unwrap());
        assert_eq!(now, ["a\n", "mine\n", "C\n"]);
        assert_eq!(left_in_git(&project), [""; 0]);
    }

    #[test]
    fn what_is_changed_once_it_is_complete_stays() {
        let (_folder, project) = repository(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
        let merged = states(&project, &[("a.txt", "A\n"), ("b.txt", "B\n")]);
        let note = note(&project);
        assert_eq!(apply(&project, &merged, &note).unwrap().len(), 2);
        write(project.directory(), &[("b.txt", "mine\n")]);
        assert_eq!(apply(&project, &merged, &note).unwrap().len(), 2);
        assert_eq!(["a.txt", "b.txt"].map(|path| read(&project, path).unwrap()), ["A\n", "mine\n"]);
    }

    /// A file that was changed meanwhile is not reverted, but listed.
    #[test]
    fn what_cannot_be_put_back_is_named() {
        let (_folder, project) = repository(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
        let merged = states(&project, &[("a.txt", "A\n"), ("b.txt", "B\n")]);
        let repository = RepositoryPath::of(&project).unwrap();
        let due = |step: FileStep| (step.clone(), FileStamp::of(&repository.top, &step));
        let due: Vec<_> = repository.steps(&merged).unwrap().0.into_iter().map(due).collect();
        let mut placing = Placing::new(&repository).unwrap();
        placing.prepare(&due).unwrap();
        placing.place(due).unwrap();
        assert_eq!(read(&project, "a.txt").as_deref(), Some("A\n"));
        fs::write(project.directory().join("a.txt"), "mine, just now\n").unwrap();
        let error = placing.go_back(WorkerError::NotApart);
        assert!(matches!(&error, WorkerError::HalfDone { files, .. } if *files == ["a.txt"]), "{error}");
        assert!(error.to_string().ends_with("already done and not reverted: a.txt"), "{error}");
        assert_eq!(["a.txt", "b.txt"].map(|path| read(&project, path).unwrap()), ["mine, just now\n", "b\n"]);
    }

    /// A file that changes after it was compared is not overwritten.
    #[test]
    fn what_changes_after_it_was_looked_at_is_not_touched() {
        let (_folder, project) = repository(&[("a.txt", "a\n")]);
        let merged = states(&project, &[("a.txt", "A\n")]);
        let repository = RepositoryPath::of(&project).unwrap();
        let (due, _) = repository.steps(&merged).unwrap();
        let due: Vec<_> =
            due.into_iter().map(|step| (step.clone(), FileStamp::of(&repository.top, &step))).collect();
        let mut placing = Placing::new(&repository).unwrap();
        placing.prepare(&due).unwrap();
        fs::write(project.directory().join("a.txt"), "mine, just now\n").unwrap();
        let error = placing.place(due).unwrap_err();
        assert_eq!(error.to_string(), "a.txt changed in the project just now");
        assert_eq!(read(&project, "a.txt").as_deref(), Some("mine, just now\n"));
    }

    /// A killed undo has reverted some files: if the rest fails, these are listed.
    #[test]
    fn undoing_names_what_is_half_done() {
        let (folder, project) = repository(&[("a.txt", "a\n"), ("z/z.txt", "z\n")]);
        let before = project.state().unwrap();
        write(project.directory(), &[("a.txt", "A\n")]);
        fs::remove_dir_all(project.directory().join("z")).unwrap();
        let states = Merged { from: project.state().unwrap(), to: before, ..Merged::default() };
        write(project.directory(), &[("a.txt", "a\n")]);
        lead_out(&folder, &project, "z");
        let error = take_back(&project, &states).unwrap_err();
        assert!(matches!(&error, WorkerError::HalfDone { files, .. } if *files == ["a.txt"]), "{error}");
        assert_eq!(read(&project, "a.txt").as_deref(), Some("a\n"));
    }

    /// Two concurrent undos in the same repository and between the same states do not disturb each other.
    #[test]
    fn several_are_taken_back_at_once() {
        let many: Vec<_> = (0..40).map(|n| format!("many/{n}.txt")).collect();
        let (_folder, project) = repository(&[("a.txt", "a\n")]);
        let before = project.state().unwrap();
        for _ in 0..5 {
            write(project.directory(), &many.iter().map(|path| (path.as_str(), "new\n")).collect::<Vec<_>>());
            write(project.directory(), &[("a.txt", "A\n")]);
            let states = Merged { from: project.state().unwrap(), to: before.clone(), ..Merged::default() };
            std::thread::scope(|scope| {
                let all: Vec<_> = (0..4).map(|_| scope.spawn(|| take_back(&project, &states))).collect();
                for undone in all {
                    let undone = undone.join().unwrap().unwrap();
                    assert_eq!((undone.restored.len(), undone.removed.len(), undone.kept.len()), (1, 40, 0));
                }
            });
            assert_eq!(project.state().unwrap(), before);
        }
    }

    /// What the agent staged is unstaged; a person's changes to the index stay.
    #[test]
    fn what_the_work_staged_is_unstaged() {
        let (_folder, project) = repository(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
        let app = project.directory();
        write(app, &[("c.txt", "mine\n")]);
        git(app, None, &["add", "c.txt"]).unwrap();
        let before = project.state().unwrap();
        git(app, None, &["mv", "a.txt", "moved.txt"]).unwrap();
        write(app, &[("b.txt", "B\n"), ("c.txt", "C\n")]);
        git(app, None, &["add", "b.txt"]).unwrap();
        let states = Merged { from: project.state().unwrap(), to: before, ..Merged::default() };
        let undone = take_back(&project, &states).unwrap();
        assert_eq!(undone.remaining, [""; 0]);
        assert_eq!(
            (undone.restored, undone.removed),
            (vec!["a.txt".into(), "b.txt".into(), "c.txt".into()], vec!["moved.txt".into()])
        );
        let staged = git(app, None, &["diff", "--cached", "--name-only"]).unwrap();
        assert_eq!(String::from_utf8(staged).unwrap(), "c.txt\n");
        assert_eq!(String::from_utf8(git(app, None, &["show", ":c.txt"]).unwrap()).unwrap(), "mine\n");
    }

    /// Git records only whether a file can be executed: all other permissions stay.
    #[test]
    fn a_private_file_stays_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, project) = repository(&[("secret", "a\n"), ("tool", "a\n")]);
        let path = |name: &str| project.directory().join(name);
        let merged = states(&project, &[("secret", "A\n"), ("tool", "A\n")]);
        for (name, mode) in [("secret", 0o600), ("tool", 0o640)] {
            fs::set_permissions(path(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let modes =
            || ["secret", "tool"].map(|name| path(name).metadata().unwrap().permissions().mode() & 0o777);
        apply(&project, &merged, &note(&project)).unwrap();
        assert_eq!((read(&project, "secret").as_deref(), modes()), (Some("A\n"), [0o600, 0o640]));
        take_back(&project, &Merged { from: merged.to, to: merged.from, ..Merged::default() }).unwrap();
        assert_eq!((read(&project, "secret").as_deref(), modes()), (Some("a\n"), [0o600, 0o640]));
    }

    /// Changes in a repository within the project are in no state: that they stay is said.
    #[test]
    fn what_is_changed_in_a_repository_within_is_mentioned() {
        let (_folder, project) = repository(&[("a.txt", "a\n")]);
        let project = Directory::at(project.directory());
        let sub = project.directory().join("sub");
        fs::create_dir(&sub).unwrap();
        git(&sub, None, &["init", "--quiet"]).unwrap();
        write(&sub, &[("b.txt", "b\n")]);
        git(&sub, None, &["add", "--all"]).unwrap();
        git(&sub, None, &["commit", "--quiet", "--message", "Files"]).unwrap();
        git(project.directory(), None, &["add", "--all"]).unwrap();
        git(project.directory(), None, &["commit", "--quiet", "--message", "Sub"]).unwrap();
        let before = project.state().unwrap();
        write(project.directory(), &[("a.txt", "A\n")]);
        assert_eq!(project.changes(&before).unwrap().unknown, None);
        write(&sub, &[("b.txt", "B\n")]);
        let changes = project.changes(&before).unwrap();
        let expected = "what is inside of a repository of its own is neither shown nor undone (sub)";
        assert_eq!(changes.unknown.as_deref(), Some(expected));
        let states = Merged { from: changes.result.unwrap(), to: before, ..Merged::default() };
        let undone = take_back(&project, &states).unwrap();
        assert_eq!(
            (undone.restored, undone.remaining),
            (vec!["a.txt".into()], vec!["sub (a repository of its own)".into()])
        );
        assert_eq!(fs::read_to_string(sub.join("b.txt")).unwrap(), "B\n");
    }

    /// If git cannot write its index, that is reported.
    #[test]
    fn what_stays_staged_is_told() {
        let (_folder, project) = repository(&[("a.txt", "a\n")]);
        let app = project.directory();
        let before = project.state().unwrap();
        git(app, None, &["mv", "a.txt", "moved.txt"]).unwrap();
        let states = Merged { from: project.state().unwrap(), to: before, ..Merged::default() };
        fs::write(app.join(".git/index.lock"), "").unwrap();
        let undone = take_back(&project, &states).unwrap();
        assert_eq!(read(&project, "a.txt").as_deref(), Some("a\n"));
        assert!(
            undone.remaining[0].starts_with("what is staged in git (git reset failed: "),
            "{:?}",
            undone.remaining
        );
    }
}
