//! Sessions that are committed, cloned by another person or moved: they continue where they are.

use std::path::Path;
use std::process::Command;

use super::{create, greeting, plan, planning, project, without_session};
use crate::support::project::{Project, Ran};

fn rapport_in(project: &Project, directory: &Path, args: &[&str]) -> Ran {
    Ran(project.command().current_dir(directory).args(args).output().unwrap())
}

fn git(directory: &Path, args: &[&str]) -> String {
    let output = Command::new("git").current_dir(directory).args(args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

// FILE-1: a complete history in files, whatever the project ignores and however git treats line ends; and another
// person continues it, in their own directory.
#[test]
fn file_1_a_session_that_was_cloned_goes_on_there() {
    let second = plan("Second", &[], &[], &[create("second.txt", "2")]);
    let project = project(&[&greeting(), &second]).recorded();
    std::fs::write(project.root().join(".gitignore"), "*.log\n*.jsonl\nreport.md\n").unwrap();
    std::fs::write(project.root().join(".gitattributes"), "* text=auto\n").unwrap();
    std::fs::write(project.root().join("dos.txt"), "a\r\nb\r\n").unwrap();
    std::fs::write(project.folder().join("session.context"), "dos.txt\n").unwrap();
    project.plan_turn("one").check(0, "");
    project.rapport(&["resume", "-y"]).check(0, "Completed");
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "A turn"]);
    let clone = project.path("clone");
    project.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    let ours = git(&clone, &["ls-files", ".rapport"]);
    assert!(ours.contains("/01/_context.log") && ours.contains("/log.jsonl"), "{ours}");
    assert!(!ours.contains("/lock") && !ours.contains("batches"), "{ours}");
    // The first one is gone, so that nothing can be taken from there.
    std::fs::rename(project.root(), project.path("gone")).unwrap();
    // Nothing that came with a clone is trusted until a person has seen it.
    rapport_in(&project, &clone, &["plan", "-m", "two"]).check(9, "rapport trust ");
    rapport_in(&project, &clone, &["trust", "--yes", "add-greeting"]).check(0, "is trusted from now on");
    let ran = rapport_in(&project, &clone, &["plan", "-m", "two"]);
    ran.check(0, "Second");
    assert_eq!(ran.err(), "", "what was sealed there is as it was");
    rapport_in(&project, &clone, &["resume", "-y"]).check(0, "Completed");
    assert_eq!(std::fs::read_to_string(clone.join("second.txt")).unwrap(), "2\n");
    rapport_in(&project, &clone, &["status", "--json"])
        .check(0, &format!("{:?}", clone.display().to_string()));
}

/// Where the first one is still there, the agent is not sent into it.
#[test]
fn the_agent_of_a_clone_works_in_the_clone() {
    let project = project(&[&greeting()]).recorded();
    project.git(&["add", "--all"]);
    project.git(&["commit", "--quiet", "-m", "A session"]);
    let clone = project.path("clone");
    project.git(&["clone", "--quiet", ".", clone.to_str().unwrap()]);
    rapport_in(&project, &clone, &["trust", "--yes", "add-greeting"]).check(0, "is trusted from now on");
    rapport_in(&project, &clone, &["plan", "-m", "one"]).check(0, "");
    let folder = clone.join(".rapport/sessions").join(project.session().as_str());
    let conversation = std::fs::read_to_string(folder.join("kept/conversation-01-1")).unwrap();
    assert!(conversation.contains(&format!("\"cwd\":{:?}", clone.display().to_string())), "{conversation}");
    assert_eq!(project.turn_names(), Vec::<String>::new());
}

/// Reading a directory of turns that came without a log writes nothing; it gets a log when a person says that it is
/// theirs.
#[test]
fn looking_at_turns_without_a_log_writes_nothing() {
    let project = without_session(planning(&[&greeting()]));
    let turn = project.root().join(".rapport/sessions/20260124-older/01");
    std::fs::create_dir_all(&turn).unwrap();
    std::fs::write(turn.join("plan.md"), greeting()).unwrap();
    let before = everything(&project.root().join(".rapport"));
    for words in
        [&["status"][..], &["log", "20260124-older"], &["log", "--tree"], &["diff"], &["context", "show"]]
    {
        project.rapport(words);
        assert_eq!(everything(&project.root().join(".rapport")), before, "{words:?}");
    }
    project.rapport(&["resume", "-y", "--session", "20260124-older"]).check(9, "is not signed");
    assert_eq!(everything(&project.root().join(".rapport")), before, "nobody has said that it counts");
    project.rapport(&["trust", "20260124-older", "--yes"]).check(0, "is trusted from now on");
    assert!(turn.with_file_name("log.jsonl").exists(), "who goes on with it has one");
}

/// Every file below this directory, with what is in it.
fn everything(folder: &std::path::Path) -> std::collections::BTreeMap<std::path::PathBuf, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        match entry.unwrap().path() {
            path if path.is_dir() => found.extend(everything(&path)),
            path => drop(found.insert(path.clone(), std::fs::read(path).unwrap())),
        }
    }
    found
}
