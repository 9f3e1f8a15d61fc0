//! Finished work is checked by a command of the person's settings, in its workplace, before a person reviews it.

use rapport_core::{Event, Status, WorkCheck};

use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::{Project, Running};

/// An agent that writes a file, and another when it is told to do more.
const WRITES: &str = r##"
version: 1
name: writes
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: paint.txt, content: "blue\n" }
    result: "Painted."
  - steps:
      - write: { path: more.txt, content: "more\n" }
    result: "More."
"##;

/// A check that records that it runs, and continues when a file exists.
const WAITS: &str = "echo run >> runs.txt; while [ ! -e go.txt ]; do sleep 0.05; done; echo went on";

/// The kinds of places that can be used here.
fn workers() -> impl Iterator<Item = &'static str> {
    let is_there = |worker: &&str| match *worker {
        "sandbox" => needs::sandbox(),
        "container" => needs::engine().is_some(),
        _ => true,
    };
    ["local", "worktree", "sandbox", "container"].into_iter().filter(is_there)
}

fn project(worker: &str, check: &str) -> Project {
    Project::with_scenario(WRITES).working_in(worker).set("RAPPORT_WORKER_CHECK", check)
}

/// Begins, and agrees to the plan.
fn begun(project: &Project) -> Running {
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    running
}

fn checks(project: &Project) -> Vec<WorkCheck> {
    let checks = project.facts().into_iter().filter_map(|fact| match fact {
        Event::Checked { check, .. } => Some(check),
        _ => None,
    });
    checks.collect()
}

/// How often the check was begun, as it noted itself.
fn runs(project: &Project, worker: &str) -> usize {
    let noted = match worker {
        "local" => project.file("runs.txt"),
        _ => project.rapport(&["shell", "paint", "--", "cat", "runs.txt"]).out(),
    };
    noted.lines().filter(|line| *line == "run").count()
}

fn until_running(project: &Project, worker: &str, times: usize) {
    wait_for("the check", || (runs(project, worker) == times).then_some(()));
}

fn let_go_on(project: &Project, worker: &str) {
    match worker {
        "local" => std::fs::write(project.root().join("go.txt"), "").unwrap(),
        _ => drop(project.rapport(&["shell", "paint", "--", "touch", "go.txt"]).check(0, "")),
    }
}

/// In every workplace the check sees the work, its outcome is a fact, and the person reads it with the work.
#[test]
fn the_outcome_is_a_fact_and_is_shown_with_the_work() {
    for worker in workers() {
        for (code, words) in [(0, "passed in"), (3, "failed with exit code 3 in")] {
            let command = format!("cat paint.txt; echo tested $((1 + 1)); exit {code}");
            let project = project(worker, &command);
            assert_eq!(begun(&project).finish(), 0, "{worker}");
            let found = checks(&project);
            assert_eq!(found.len(), 1, "{worker}");
            assert_eq!(
                (found[0].exit, found[0].has_passed()),
                (Some(code), code == 0),
                "{worker}: {found:?}"
            );
            assert_eq!(found[0].output, "blue\ntested 2", "{worker}");
            let view = project.view();
            assert_eq!((view.status, view.check.as_ref()), (Status::Completed, found.first()), "{worker}");
            let status = project.rapport(&["status", "paint"]);
            status.check(0, &format!("the check {command} {words}"));
            assert_eq!(status.out().contains("tested 2"), code != 0, "only a failure needs its output");
            let diff = project.rapport(&["diff", "paint"]);
            assert!(diff.err().contains(words) && !diff.out().contains(words), "{worker}: {}", diff.err());
            let diff: serde_json::Value = project.json(&["diff", "paint", "--json"]);
            assert_eq!(diff["check"]["exit"], code, "{worker}");
        }
    }
}

/// The card at the end of the work in a terminal has it too.
#[test]
fn the_terminal_shows_it_under_the_changes() {
    let project = project("worktree", "echo 1 test failed; exit 1");
    let mut terminal = project.terminal(&["run", "paint"], 100, 40);
    terminal.wait_for("enter or c confirm");
    terminal.send("c");
    terminal.wait_for("✗ the check echo 1 test failed; exit 1 failed with exit code 1");
    terminal.wait_for("  1 test failed");
    terminal.wait_for("left 0");
}

/// A host that is killed during the check has lost nothing: nothing of the check is left running, and it runs again.
#[test]
fn killed_during_the_check_it_runs_again() {
    for worker in workers() {
        let project = project(worker, WAITS);
        let running = begun(&project);
        until_running(&project, worker, 1);
        assert_eq!(project.view().checking.as_deref(), Some(WAITS), "{worker}");
        project.rapport(&["status", "paint"]).check(0, "checking  echo run");
        running.kill();
        wait_for("the end of the check", || checking(&project).is_empty().then_some(()));
        let session = project.session();
        let resumed = project.start(&["--resume", session.as_str()], &[]);
        until_running(&project, worker, 2);
        let_go_on(&project, worker);
        assert_eq!(resumed.finish(), 0, "{worker}");
        let found = checks(&project);
        assert_eq!((found.len(), found[0].has_passed()), (1, true), "{worker}: {found:?}");
        assert_eq!(found[0].output, "went on", "{worker}");
        if worker != "local" {
            project.rapport(&["apply", "paint"]).check(0, "Applied to");
        }
        assert_eq!(project.file("paint.txt"), "blue\n", "{worker}");
    }
}

/// The processes of checks of this project, wherever they run: their parents, or they themselves, wait for the file.
fn checking(project: &Project) -> Vec<String> {
    let mark = format!("RAPPORT_RUN={}/", project.session());
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let found = processes.filter_map(|process| {
        let read = |name: &str| std::fs::read(process.join(name)).unwrap_or_default();
        let environment = read("environ");
        let is_ours = environment.split(|byte| *byte == 0).any(|pair| pair.starts_with(mark.as_bytes()));
        let command = String::from_utf8_lossy(&read("cmdline")).into_owned();
        (is_ours && command.contains("go.txt")).then_some(command)
    });
    found.collect()
}

/// A message or a cancellation does not wait for the check: the check is stopped, and further work is checked again.
#[test]
fn words_and_a_cancellation_stop_the_check() {
    for worker in workers() {
        let project = project(worker, WAITS);
        let running = begun(&project);
        until_running(&project, worker, 1);
        project.rapport(&["say", "paint", "and more"]).check(0, "");
        until_running(&project, worker, 2);
        assert_eq!(checks(&project), [], "{worker}: a stopped check says nothing");
        project.rapport(&["cancel", "paint"]).check(0, "");
        wait_for("the end of the check", || checking(&project).is_empty().then_some(()));
        assert_ne!(running.finish(), 0, "{worker}");
        assert_eq!(project.view().status, Status::Cancelled, "{worker}");
    }
}

/// An untrusted project cannot make Rapport run a command.
#[test]
fn an_untrusted_project_sets_no_check() {
    let project = Project::with_scenario(WRITES);
    let folder = project.root().join(".rapport");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.yaml"), "worker: { check: 'touch checked.txt' }\n").unwrap();
    let running = begun(&project);
    let (code, said) = running.finish_saying();
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("worker.check") && said.contains("is ignored"), "{said}");
    assert_eq!(checks(&project), []);
    assert!(!project.root().join("checked.txt").exists());
    project.rapport(&["trust", "--yes"]).check(0, "");
    let mut running = project.start(&["again"], &[]);
    running.until_asked();
    project.rapport(&["answer", "again", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert!(project.root().join("checked.txt").exists());
}
