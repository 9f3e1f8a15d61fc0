//! `rapport undo` after `rapport run` (`docs/commands.md`): the agent's changes since its work began are undone in
//! files that are as it left them; other files stay and are listed. Killed anywhere and repeated, it has the same
//! result.

use std::collections::BTreeMap;
use std::path::Path;

use rapport_core::Event;
use serde_json::{Value, json};

use crate::support::project::Project;

/// The agent changes a file, one that is not committed, and one that it has git ignore from then on; it adds one and
/// removes one.
const WORK: &str = r##"
version: 1
name: undo
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: README.md, content: "# A painted app\n" }
      - write: { path: draft.txt, content: "painted\n" }
      - write: { path: deep/down/new.txt, content: "new\n" }
      - bash: { command: "rm gone.txt; chmod +x tool.sh; printf '*.log\n' > .gitignore; echo painted > own.log" }
    result: "Painted."
"##;

/// Work that asks in the middle, so that the state is noted there.
const ASKING: &str = r##"
version: 1
name: asking
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: before.txt, content: "before\n" }
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue }] }] }
      - write: { path: after.txt, content: "after\n" }
    result: "Painted."
"##;

fn project(scenario: &str) -> Project {
    let project = Project::with_scenario(scenario);
    for (path, content) in [("gone.txt", "gone\n"), ("tool.sh", "true\n")] {
        std::fs::write(project.root().join(path), content).unwrap();
    }
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "Files"]);
    for (path, content) in [("draft.txt", "not committed\n"), ("own.log", "mine\n")] {
        std::fs::write(project.root().join(path), content).unwrap();
    }
    project
}

/// Has the work done.
fn work(project: &Project, more: &[&str]) {
    let run = project.spawn(&[&["run"], more, &["paint"]].concat());
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert!(run.wait_with_output().unwrap().status.success());
}

/// Every file with its content and whether it can be run, without what is git's and ours.
fn files(project: &Project) -> BTreeMap<String, (String, bool)> {
    fn collect(root: &Path, folder: &Path, found: &mut BTreeMap<String, (String, bool)>) {
        use std::os::unix::fs::PermissionsExt as _;
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            if [".git", ".rapport", ".claude"].contains(&name.as_str()) {
                continue;
            }
            if path.is_dir() {
                collect(root, &path, found);
            } else {
                let runs = path.metadata().unwrap().permissions().mode() & 0o100 != 0;
                found.insert(name, (std::fs::read_to_string(&path).unwrap(), runs));
            }
        }
    }
    let mut found = BTreeMap::new();
    collect(&project.root(), &project.root(), &mut found);
    found
}

#[test]
fn what_the_agent_did_is_taken_back() {
    let project = project(WORK);
    let before = files(&project);
    work(&project, &[]);
    let done = files(&project);
    assert_ne!(done, before);
    let id = project.session();
    let refused = project.rapport(&["undo"]);
    refused.check(3, "nobody can be asked").check(3, &format!("rapport undo {id} --yes"));
    assert_eq!(files(&project), done, "nothing was undone");

    let undone: Value = project.json(&["undo", "--yes", "--json"]);
    let expected = json!({
        "session": id, "restored": ["README.md", "draft.txt", "gone.txt", "tool.sh"],
        "removed": [".gitignore", "deep/down/new.txt"], "kept": ["own.log"], "remaining": [], "set_aside": {},
    });
    assert_eq!(undone, expected);
    // Files that git ignored at the end of the work are in no state, so it is unknown who changed them.
    let mut wanted = before.clone();
    wanted.insert("own.log".into(), ("painted\n".into(), false));
    assert_eq!(files(&project), wanted);
    assert!(!project.root().join("deep").exists(), "git knows no empty directories");
    assert_eq!(project.git(&["diff", "--cached", "--stat"]), "", "the index is as it was");

    // The same again comes to the same end, and there is nothing else to undo.
    assert_eq!(project.json::<Value>(&["undo", "paint", "--yes", "--json"]), expected);
    project.rapport(&["undo", "--yes"]).check(4, "with something to undo");
    project
        .rapport(&["log", "paint"])
        .check(0, "the work is undone: 4 restored, 2 removed, 1 left as they are");
    let view: Value = project.json(&["status", "paint", "--json"]);
    assert_eq!(view["undone"]["removed"][0], ".gitignore");
    assert_eq!(view["status"], "completed");
}

#[test]
fn what_somebody_changed_since_stays_and_is_listed() {
    let project = project(WORK);
    let before = files(&project);
    work(&project, &[]);
    for (path, content) in [("README.md", "# Mine by now\n"), ("gone.txt", "back, and other\n")] {
        std::fs::write(project.root().join(path), content).unwrap();
    }
    std::fs::remove_file(project.root().join("draft.txt")).unwrap();
    std::fs::write(project.root().join("another.txt"), "of somebody else\n").unwrap();
    let said = project.rapport(&["undo", "--yes"]);
    for file in ["README.md", "gone.txt", "draft.txt"] {
        said.check(0, &format!("left as it is, because it was changed since: {file}"));
    }
    said.check(0, "restored: tool.sh").check(0, "removed: deep/down/new.txt");
    assert_eq!(project.file("README.md"), "# Mine by now\n");
    assert_eq!(project.file("gone.txt"), "back, and other\n");
    assert!(!project.root().join("draft.txt").exists());
    assert_eq!(project.file("another.txt"), "of somebody else\n");
    assert_eq!(files(&project)["tool.sh"], before["tool.sh"]);
}

#[test]
fn in_a_terminal_it_is_shown_and_asked_about() {
    let project = project(WORK);
    let before = files(&project);
    work(&project, &[]);
    let done = files(&project);
    let mut terminal = project.terminal(&["undo"], 100, 40);
    terminal.wait_for("modified  README.md");
    terminal.wait_for("deleted   gone.txt");
    terminal.wait_for("Undo these changes?");
    terminal.send("x\rn");
    terminal.wait_for("left 130");
    assert_eq!(files(&project), done);
    let mut terminal = project.terminal(&["undo", "--plain"], 100, 40);
    terminal.wait_for("Undo these changes?");
    terminal.send("y\r");
    terminal.wait_for("restored: README.md");
    terminal.wait_for("left 0");
    assert_eq!(files(&project)["README.md"], before["README.md"]);
}

/// Until the session is over the agent may continue, with files that it does not know.
#[test]
fn a_session_that_is_not_over_is_cancelled_first() {
    let project = project(ASKING);
    let mut running = project.start(&["paint"], &[]);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "");
    running.until(|fact| matches!(fact, Event::Snapshotted { .. }));
    let id = project.session();
    let refused = format!("Cancel it first: rapport cancel {id}");
    project.rapport(&["undo", "paint", "--yes"]).check(3, &refused);
    running.kill();
    // The same when no process runs the session.
    project.rapport(&["undo", "paint", "--yes"]).check(3, &refused);
    assert_eq!(project.file("before.txt"), "before\n");
    project.rapport(&["cancel", "paint"]).check(0, "Cancelled");
    std::fs::write(project.root().join("after.txt"), "after\n").unwrap();
    project.rapport(&["undo", "--yes"]).check(0, "removed: before.txt");
    assert!(!project.root().join("before.txt").exists());
    assert_eq!(project.file("after.txt"), "after\n", "made after the last state that was noted");
}

/// Work in the middle of which nothing is asked: no state is noted before the agent is gone.
const SILENT: &str = r##"
version: 1
name: silent
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: before.txt, content: "before\n" }
      - write: { path: README.md, content: "# Half painted\n" }
      - hang: true
    result: "Painted."
"##;

/// Starts the work, until the agent has written.
fn half_done(project: &Project) -> crate::support::running::Running {
    let mut running = project.start(&["paint"], &[]);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "");
    running.until(|fact| matches!(fact, Event::Used { what, .. } if what.contains("README.md")));
    crate::support::patience::wait_for("the file", || {
        (project.file("README.md") == "# Half painted\n").then_some(())
    });
    running
}

/// The state in which the agent left the files is noted once it is gone, so that what it did before can be undone.
#[test]
fn what_a_cancelled_agent_left_is_taken_back() {
    let project = project(SILENT);
    let before = files(&project);
    let running = half_done(&project);
    project.rapport(&["cancel", "paint"]).check(0, "Cancelled");
    assert_eq!(running.finish(), 8);
    std::fs::write(project.root().join("mine.txt"), "mine\n").unwrap();
    project.rapport(&["log", "paint"]).check(0, "the state in which the agent left the files is recorded");
    let diff = project.rapport(&["diff", "paint"]);
    diff.check(0, "before.txt");
    assert!(!diff.out().contains("mine.txt"), "{}", diff.out());
    project.rapport(&["undo", "--yes"]).check(0, "removed: before.txt").check(0, "restored: README.md");
    let mut wanted = before;
    wanted.insert("mine.txt".into(), ("mine\n".into(), false));
    assert_eq!(files(&project), wanted);
}

/// The same for a session that no process ran when it was cancelled.
#[test]
fn what_an_agent_left_that_was_cut_off_is_taken_back() {
    let project = project(SILENT);
    let before = files(&project);
    half_done(&project).kill();
    project.rapport(&["cancel", "paint"]).check(0, "Cancelled");
    project.rapport(&["undo", "--yes"]).check(0, "removed: before.txt").check(0, "restored: README.md");
    assert_eq!(files(&project), before);
}

#[test]
fn work_that_was_applied_is_taken_back_from_the_project() {
    let project = project(WORK);
    work(&project, &["--worker", "worktree"]);
    project
        .rapport(&["undo", "paint", "--yes"])
        .check(3, "its work is not in the project; discard it instead");
    let before = files(&project);
    project.rapport(&["apply"]).check(0, "Applied to");
    assert_ne!(files(&project), before);
    project
        .rapport(&["undo", "--yes"])
        .check(0, "restored: README.md")
        .check(0, "removed: deep/down/new.txt");
    assert_eq!(files(&project), before);
    project.rapport(&["apply", "paint"]).check(3, "its work was undone");
    assert_eq!(files(&project), before);
}

/// Paths of the repository beside the project are not the session's, whatever happened there meanwhile.
#[test]
fn what_is_beside_the_project_in_its_repository_stays() {
    let project = project(WORK);
    let inner = project.root().join("inner");
    std::fs::create_dir_all(inner.join(".rapport")).unwrap();
    for (path, content) in
        [("inner/README.md", "# Inner\n"), ("inner/gone.txt", "gone\n"), ("inner/tool.sh", "")]
    {
        std::fs::write(project.root().join(path), content).unwrap();
    }
    let within = ["--project", inner.to_str().unwrap()];
    let rapport = |args: &[&str]| project.rapport(&[args, &within].concat());
    let run = project.spawn(&[&["run", "paint"], &within[..]].concat());
    crate::support::patience::wait_for("the plan", || {
        let all: Vec<Value> = project.json(&[&["status", "--json"], &within[..]].concat());
        all.first().filter(|view| view["status"] == "needs_input").map(drop)
    });
    std::fs::write(project.root().join("gone.txt"), "changed beside it\n").unwrap();
    project.git(&["add", "gone.txt"]);
    rapport(&["answer", "yes"]).check(0, "");
    assert!(run.wait_with_output().unwrap().status.success());
    rapport(&["undo", "--yes"]).check(0, "restored: README.md").check(0, "restored: gone.txt");
    assert_eq!(project.file("inner/gone.txt"), "gone\n");
    assert_eq!(project.file("gone.txt"), "changed beside it\n");
}

/// A submodule has a history of its own, which no state of the project holds: it is named instead of passed over.
#[test]
fn a_changed_submodule_is_named_as_what_cannot_be_undone() {
    let project = project(
        r##"
version: 1
name: submodule
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "cd library && git -c user.name=a -c user.email=a@b commit --quiet --allow-empty -m Paint" }
    result: "Painted."
"##,
    );
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.git", "library"];
    project.git(&add);
    project.git(&["commit", "--quiet", "-m", "Library"]);
    work(&project, &[]);
    let undone: Value = project.json(&["undo", "paint", "--yes", "--json"]);
    assert_eq!(undone["remaining"], json!(["library (a repository of its own)"]));
    project.rapport(&["undo", "paint", "--yes"]).check(0, "library (a repository of its own)");
}

#[test]
fn without_git_nothing_is_known_to_go_back_to() {
    let project = project(WORK);
    std::fs::remove_dir_all(project.root().join(".git")).unwrap();
    work(&project, &[]);
    project.rapport(&["undo", "--yes"]).check(4, "in a git repository");
    project.rapport(&["undo", "paint", "--yes"]).check(3, "the project was not in a git repository");
}

/// Killed at every durable write, and given again, it comes to the same end.
#[test]
fn killed_while_it_is_undone_it_comes_out_the_same() {
    let mut point = 1;
    loop {
        let project = project(WORK);
        let before = files(&project);
        work(&project, &[]);
        let mut command = project.command();
        command.args(["undo", "paint", "--yes"]).env("RAPPORT_TRIAL_WRITES", point.to_string());
        let killed = command.output().unwrap();
        if killed.status.code() == Some(0) {
            assert!(point > 8, "only {point} points");
            return;
        }
        assert_eq!(killed.status.code(), None, "{point}: {killed:?}");
        let undone: Value = project.json(&["undo", "paint", "--yes", "--json"]);
        assert_eq!(undone["restored"], json!(["README.md", "draft.txt", "gone.txt", "tool.sh"]), "{point}");
        assert_eq!(undone["removed"], json!([".gitignore", "deep/down/new.txt"]), "{point}");
        assert_eq!(undone["kept"], json!(["own.log"]), "{point}");
        let mut wanted = before;
        wanted.insert("own.log".into(), ("painted\n".into(), false));
        assert_eq!(files(&project), wanted, "{point}");
        let undone = project.facts().into_iter().filter(|fact| matches!(fact, Event::WorkUndone { .. }));
        assert_eq!(undone.count(), 1, "{point}");
        point += 1;
    }
}

/// Has git remove everything that nothing in the repository refers to.
fn collect_garbage(project: &Project) {
    project.git(&["reflog", "expire", "--expire=now", "--all"]);
    project.git(&["gc", "--quiet", "--prune=now"]);
}

/// Nothing in the repository refers to the states before and after the work: the session has them.
#[test]
fn what_git_removed_can_still_be_shown_and_undone() {
    let project = project(WORK);
    let mut wanted = files(&project);
    wanted.insert("own.log".into(), ("painted\n".into(), false));
    let refs = project.git(&["for-each-ref"]);
    work(&project, &[]);
    assert_eq!(project.git(&["for-each-ref"]), refs);
    let diff: Value = project.json(&["diff", "--json"]);
    assert!(diff["diff"].as_str().unwrap().contains("+# A painted app"), "{diff}");
    collect_garbage(&project);
    assert_eq!(project.json::<Value>(&["diff", "--json"]), diff);
    // The commit that had most of the files may be gone as well.
    project.git(&["commit", "--quiet", "--amend", "--all", "-m", "Other files"]);
    collect_garbage(&project);
    assert_eq!(project.json::<Value>(&["diff", "--json"]), diff);
    collect_garbage(&project);
    let undone: Value = project.json(&["undo", "--yes", "--json"]);
    assert_eq!(undone["restored"], json!(["README.md", "draft.txt", "gone.txt", "tool.sh"]));
    assert_eq!(files(&project), wanted);
}

/// The same after the work of a worktree was applied.
#[test]
fn what_git_removed_of_applied_work_can_still_be_shown_and_undone() {
    let project = project(WORK);
    let before = files(&project);
    let refs = project.git(&["for-each-ref"]);
    work(&project, &["--worker", "worktree"]);
    project.rapport(&["apply"]).check(0, "Applied to");
    assert_eq!(project.git(&["for-each-ref"]), refs);
    let diff: Value = project.json(&["diff", "paint", "--json"]);
    assert!(diff["diff"].as_str().unwrap().contains("+# A painted app"), "{diff}");
    collect_garbage(&project);
    assert_eq!(project.json::<Value>(&["diff", "paint", "--json"]), diff);
    collect_garbage(&project);
    project.rapport(&["undo", "--yes"]).check(0, "restored: README.md");
    assert_eq!(files(&project), before);
}

/// While an agent waits, nothing is lost either: not even a file that is in no commit.
#[test]
fn what_git_removes_during_the_work_is_not_missed() {
    let project = project(ASKING);
    let before = files(&project);
    let mut running = project.start(&["paint"], &[]);
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    running.until(|fact| matches!(fact, Event::Snapshotted { .. }));
    collect_garbage(&project);
    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    let view: Value = project.json(&["status", "paint", "--json"]);
    assert_eq!(view["changes"]["unknown"], Value::Null, "{view}");
    collect_garbage(&project);
    project.rapport(&["undo", "--yes"]).check(0, "removed: before.txt").check(0, "removed: after.txt");
    assert_eq!(files(&project), before);
}

/// Without what the session kept, the reason is said.
#[test]
fn what_is_gone_for_good_is_said() {
    let project = project(WORK);
    work(&project, &[]);
    let done = files(&project);
    let kept = project.root().join(".rapport/sessions").join(project.session().as_str()).join("kept");
    for entry in std::fs::read_dir(kept).unwrap().flatten() {
        if entry.file_name().to_string_lossy().starts_with("states-") {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    collect_garbage(&project);
    let gone = "of the files is no longer in the git repository";
    project.rapport(&["diff"]).check(3, gone).check(3, "the session has no copy of it");
    project.rapport(&["undo", "--yes"]).check(6, gone).check(6, "Nothing was undone.");
    assert_eq!(files(&project), done);
}
