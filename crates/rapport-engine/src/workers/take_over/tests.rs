//! What happens when something fails, or somebody changes a file, in the middle.

use std::fs;
use std::os::unix::fs::symlink;

use rapport_core::SessionId;

use super::*;

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

/// The states before and after these changes, of which nothing is left in the files.
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
    entries.map(|entry| entry.file_name().into_string().unwrap()).filter(|name| name != "lock").collect()
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
    let error = take_over(&project, &merged, &note(&project)).unwrap_err();
    assert_eq!(error.to_string(), "cannot write z/z.txt: its folder is a link that leads out of the project");
    assert_eq!((read(&project, "a.txt").as_deref(), read(&project, "new/n.txt")), (Some("a\n"), None));
    assert!(!project.directory().join("new").exists() && !folder.path().join("outside/z.txt").exists());
    assert_eq!(left_in_git(&project), [""; 0]);
}

/// A kill left some files written; then a person changed another. Applying puts back what it wrote, and nothing else.
#[test]
fn continued_after_a_kill_it_is_still_all_or_nothing() {
    let (_folder, project) = repository(&[("a.txt", "a\n"), ("b.txt", "b\n"), ("c.txt", "c\n")]);
    let merged = states(&project, &[("a.txt", "A\n"), ("b.txt", "B\n"), ("c.txt", "C\n")]);
    let note = note(&project);
    note.begin(&merged, ["a.txt", "b.txt"].map(Path::new).into_iter()).unwrap();
    // `c.txt` is as it will be, but nobody noted that it was to be written: a person did.
    write(project.directory(), &[("a.txt", "A\n"), ("b.txt", "mine\n"), ("c.txt", "C\n")]);
    let error = take_over(&project, &merged, &note).unwrap_err();
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
    assert_eq!(take_over(&project, &merged, &note).unwrap().len(), 2);
    write(project.directory(), &[("b.txt", "mine\n")]);
    assert_eq!(take_over(&project, &merged, &note).unwrap().len(), 2);
    assert_eq!(["a.txt", "b.txt"].map(|path| read(&project, path).unwrap()), ["A\n", "mine\n"]);
}

/// What somebody changed while it went on is not put back, and named.
#[test]
fn what_cannot_be_put_back_is_named() {
    let (_folder, project) = repository(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let merged = states(&project, &[("a.txt", "A\n"), ("b.txt", "B\n")]);
    let place = Place::of(&project).unwrap();
    let due = |step: Step| (step.clone(), Stamp::of(&place.top, &step));
    let due: Vec<_> = place.steps(&merged).unwrap().0.into_iter().map(due).collect();
    let mut placing = Placing::new(&place, &merged).unwrap();
    placing.prepare(&due).unwrap();
    placing.place(due).unwrap();
    assert_eq!(read(&project, "a.txt").as_deref(), Some("A\n"));
    fs::write(project.directory().join("a.txt"), "mine, just now\n").unwrap();
    let error = placing.go_back(WorkerError::NotApart);
    assert!(matches!(&error, WorkerError::HalfDone { files, .. } if *files == ["a.txt"]), "{error}");
    assert!(error.to_string().ends_with("already done and not taken back: a.txt"), "{error}");
    assert_eq!(["a.txt", "b.txt"].map(|path| read(&project, path).unwrap()), ["mine, just now\n", "b\n"]);
}

/// A file that changes after it was looked at is not written over.
#[test]
fn what_changes_after_it_was_looked_at_is_not_touched() {
    let (_folder, project) = repository(&[("a.txt", "a\n")]);
    let merged = states(&project, &[("a.txt", "A\n")]);
    let place = Place::of(&project).unwrap();
    let (due, _) = place.steps(&merged).unwrap();
    let due: Vec<_> = due.into_iter().map(|step| (step.clone(), Stamp::of(&place.top, &step))).collect();
    let mut placing = Placing::new(&place, &merged).unwrap();
    placing.prepare(&due).unwrap();
    fs::write(project.directory().join("a.txt"), "mine, just now\n").unwrap();
    let error = placing.place(due).unwrap_err();
    assert_eq!(error.to_string(), "a.txt changed in the project just now");
    assert_eq!(read(&project, "a.txt").as_deref(), Some("mine, just now\n"));
}

/// Undoing that was killed has brought some files back: when the rest fails, these are named.
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

/// Two that are taken back at once, in the same repository and between the same states, do not destroy each other's.
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

/// What the agent staged is staged no more; what a person did stays.
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

/// Where git cannot write its index, that is told.
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
