//! One set of verbs (`docs/commands.md`): the session that a command uses if none is named. It is the one around the
//! current directory, else the only one that fits, else none: never simply the newest.

use serde_json::Value;

use crate::support::project::{Project, Ran};
use crate::support::scenarios::ONE_QUESTION;

/// A project with a session that waits for `q1` and that no process runs, and a session of files.
fn project() -> Project {
    let project = Project::with_scenario(ONE_QUESTION);
    ask(&project, "paint");
    project.rapport(&["new", "add-auth"]).check(0, "add-auth");
    project
}

/// Begins a session, and kills it while it asks.
fn ask(project: &Project, task: &str) {
    let mut running = project.start(&[task], &[]);
    running.until_asked();
    running.kill();
}

/// The only session with this in its name.
fn id(project: &Project, part: &str) -> String {
    let all: Vec<Value> = project.json(&["status", "--json"]);
    let ids = all.iter().map(|view| view["id"].as_str().unwrap().to_owned());
    let found: Vec<_> = ids.filter(|id| id.contains(part)).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

fn inside(project: &Project, directory: &str, args: &[&str]) -> Ran {
    Ran(project.command().current_dir(project.root().join(directory)).args(args).output().unwrap())
}

#[test]
fn the_only_session_that_fits_the_verb_is_meant() {
    let project = project();
    project.rapport(&["answer"]).check(2, "Which colour?").check(2, "--question q1 VALUE");
    project.rapport(&["answer", "Red"]).check(0, "Answered. q1: Red");
    project.rapport(&["answer"]).check(4, "there is no session with an open question");
    project
        .rapport(&["answer", "confirm"])
        .check(4, "there is no session confirm, and none with an open question");
    project.rapport(&["apply"]).check(4, "there is no session with work to apply");
    project.rapport(&["discard", "--yes"]).check(4, "there is no session with work to discard");
    project.rapport(&["diff"]).check(4, "there is no session that changed files");
    project.rapport(&["undo", "--yes"]).check(4, "there is no session with something to undo");
    project.rapport(&["plan", "-m", "x", "--dry-run"]).check(0, "Nothing was sent.");
    project.rapport(&["cancel", "paint"]).check(0, "Cancelled");
    project.rapport(&["cancel"]).check(0, "-add-auth.");
    project.rapport(&["cancel"]).check(4, "there is no session still open").check(4, "rapport status --all");
}

#[test]
fn where_several_fit_they_are_listed_and_none_is_taken() {
    let project = project();
    let (paint, auth) = (id(&project, "paint"), id(&project, "add-auth"));
    let before = project.rapport(&["status", "--json"]).out();
    let listed = project.rapport(&["cancel"]);
    listed.check(2, &format!("    {paint}  needs input  paint  (waits for q1 Which colour?)\n"));
    listed.check(2, &format!("    {auth}  idle  add-auth  (waits for a message)\n"));
    listed.check(2, "Name the one you mean: rapport cancel SESSION");
    assert_eq!(listed.out(), "");
    assert_eq!(project.rapport(&["status", "--json"]).out(), before, "nothing was done");
    let failed = project.rapport(&["cancel", "--json"]);
    assert_eq!((failed.code(), failed.out().as_str()), (2, ""));
    let error: Value = serde_json::from_str(&failed.err()).unwrap();
    let of = |place: usize| &error["error"]["candidates"][place];
    assert_eq!((of(0)["id"].as_str(), of(1)["id"].as_str()), (Some(auth.as_str()), Some(paint.as_str())));
    assert_eq!((&of(1)["status"], &of(1)["task"]), (&"needs_input".into(), &"paint".into()));
    assert_eq!(of(1)["waits_for"], "q1 Which colour?");
    for args in [&["log"][..], &["cancel"]] {
        project.rapport(args).check(2, "Name the one you mean");
    }
    // As a flag, too; and it is the same for every verb.
    project.rapport(&["log", "--session", "paint"]).check(0, "wants: paint");
    project.rapport(&["status", "--session", "paint"]).check(0, "Which colour?");
    project.rapport(&["answer", "--session", "paint", "Red"]).check(0, "Answered. q1: Red");
    project.rapport(&["cancel", "--session", "paint"]).check(0, "Cancelled");
    // A part of a name that several have lists them as well.
    ask(&project, "paint more");
    project
        .rapport(&["log", "pain"])
        .check(2, "several session names contain pain")
        .check(2, "  cancelled  ");
}

#[test]
fn the_newest_is_not_meant_because_it_is_the_newest() {
    let project = project();
    project.rapport(&["new", "second"]).check(0, "second");
    for args in [&["plan", "-m", "x"][..], &["resume"]] {
        project
            .rapport(args)
            .check(2, "Name the one you mean: rapport ")
            .check(2, "-add-auth  idle")
            .check(2, "-second  idle");
    }
    project.rapport(&["plan", "-m", "x"]).check(2, "rapport plan --session SESSION -m MESSAGE");
}

#[test]
fn the_session_around_the_current_directory_is_meant() {
    let project = project();
    let paint = id(&project, "paint");
    let folder = format!(".rapport/sessions/{paint}");
    inside(&project, &folder, &["log"]).check(0, "wants: paint");
    inside(&project, &folder, &["answer", "Red"]).check(0, "Answered. q1: Red");
    // It is meant even where it does not fit.
    inside(&project, &folder, &["apply"]).check(3, "this session worked in the project itself");
    inside(&project, &folder, &["plan", "-m", "x"]).check(3, "is not a session of files");
    inside(&project, &folder, &["cancel"]).check(0, &format!("Cancelled {paint}."));
}

/// A worktree goes away with its session; whatever is begun in it would, too.
#[test]
fn the_worktree_of_a_session_belongs_to_the_project_of_the_session() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["--worker", "worktree", "paint"], &[]);
    running.until_asked();
    let id = project.session();
    let worktree = format!(".rapport/worktrees/{id}");
    inside(&project, &worktree, &["status"]).check(0, id.as_str());
    project.rapport(&["new", "another"]).check(0, "another");
    inside(&project, &worktree, &["log"]).check(0, "wants: paint");
    let made = inside(&project, &worktree, &["new", "inside"]).out();
    assert!(!made.contains("worktrees"), "{made}");
    running.kill();
}

/// Rule 1: a slip in a session's name is no answer to another session.
#[test]
fn a_name_with_a_slip_answers_nothing() {
    let project = project();
    for words in [&["pianty", "Red"][..], &["pianty"], &["Rde"], &["pianty", "--text", "Red"]] {
        let ran = project.rapport(&[&["answer"], words].concat());
        ran.check(4, "there is no session ");
    }
    project.rapport(&["answer", "Rde"]).check(4, "rapport answer --session 2");
    let view: Value = project.json(&["status", "--json", "paint"]);
    assert_eq!(view["questions"].as_array().unwrap().len(), 1, "nothing was answered");
    project.rapport(&["answer", "-q", "q1", "2"]).check(0, "Answered. q1: Blue");
}

#[test]
fn candidates_are_listed_in_a_terminal_too() {
    let project = project();
    let mut terminal = project.terminal(&["cancel"], 120, 30);
    terminal.wait_for("Name the one you mean: rapport cancel SESSION");
    terminal.wait_for("left 2");
}

/// With many sessions a list has those that matter, and says how to see the rest.
#[test]
fn long_lists_are_cut_and_say_so() {
    let project = Project::with_scenario(ONE_QUESTION);
    for n in 10..33 {
        project.rapport(&["new", &format!("part-{n}")]).check(0, "");
    }
    let lines = |args: &[&str]| project.rapport(args).out().matches("-part-").count() / 2;
    assert_eq!(lines(&["status"]), 20, "{}", project.rapport(&["status"]).out());
    project.rapport(&["status"]).check(0, "and 3 more that go on: rapport status --all\n");
    assert_eq!(lines(&["status", "--all"]), 23);
    for args in [&["cancel"][..], &["cancel", "part"]] {
        let refused = project.rapport(args);
        refused.check(2, "13 more are listed by: rapport status --all");
        assert_eq!(refused.err().matches("-part-").count(), 10, "{}", refused.err());
    }
}
