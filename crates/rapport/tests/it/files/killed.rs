//! The crash test of turns: killed with `kill -9` around every durable write of planning and of running, and
//! repeated. The expected result is written down here, once, and every run is compared with it.

use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;

use rapport::agents::rehearsal::scenario::Scenario;
use rapport::stores::blocking::{BlockingStore, wait};
use rapport::stores::files::Files;
use rapport::turns::batches::{Batches, Naming};
use rapport::turns::{Folder, discovery};
use rapport_core::{Event, Input, Session, TurnStage, World};

use super::{greeting, without_session};
use crate::crash::terminal::every_point;
use crate::support::project::Project;

const NEW: &[&str] = &["new", "add-greeting"];
const PLAN: &[&str] = &["plan", "-m", "Greet."];
const RESUME: &[&str] = &["resume", "-y"];

#[test]
fn killed_around_any_write_of_planning_it_comes_out_the_same() {
    let killed = killed_at_every_point(PLAN);
    assert!(killed >= 14, "there were only {killed} points to be killed at");
}

#[test]
fn killed_around_any_write_of_carrying_out_it_comes_out_the_same() {
    let killed = killed_at_every_point(RESUME);
    assert!(killed >= 20, "there were only {killed} points to be killed at");
}

#[test]
fn killed_around_any_write_of_a_new_session_it_comes_out_the_same() {
    let killed = killed_at_every_point(NEW);
    assert!(killed >= 10, "there were only {killed} points to be killed at");
}

/// Dies at every point there is; gives how many there were.
fn killed_at_every_point(command: &[&str]) -> usize {
    every_point(|point| {
        let project = without_session(Scenario::new("plan").respond_with_text(&greeting()));
        if command != NEW {
            project.rapport(NEW).check(0, "add-greeting");
        }
        if command == RESUME {
            project.rapport(PLAN).check(0, "Add a greeting");
        }
        let trial = point.to_string();
        let output = project.command().args(command).env("RAPPORT_TRIAL_WRITES", &trial).output().unwrap();
        finish(&project, &format!("point {point} of {command:?}"));
        output.status.signal().is_some()
    })
}

/// Says what is missing again, as a person would, and looks at what came out.
fn finish(project: &Project, story: &str) {
    project.wait_alone(std::time::Duration::from_secs(5));
    if project.store().list().unwrap().is_empty() {
        project.rapport(NEW).check(0, "add-greeting");
    }
    if !project.folder().join("01/plan.md").exists() {
        let ran = project.rapport(PLAN);
        assert_eq!(ran.code(), 0, "{story}: {}", ran.err());
    }
    if !project.folder().join("01/report.md").exists() {
        let ran = project.rapport(RESUME);
        assert_eq!(ran.code(), 0, "{story}: {}", ran.err());
    }
    for (file, content) in [
        ("session.context", "# What every turn of this session is shown"),
        ("../../global.context", "# What every turn of every session is shown"),
    ] {
        assert!(project.turn_file(file).starts_with(content), "{story}: {file} is missing");
    }
    assert_eq!(project.turn_names(), ["01"], "{story}");
    assert_eq!(project.turn_file("01/plan.md"), greeting(), "{story}");
    assert_eq!(project.changes(), [" M README.md", "?? hello.txt"], "{story}");
    assert_eq!(
        (project.file("README.md"), project.file("hello.txt")),
        ("# A friendly app\n".into(), "Hello\n".into())
    );
    assert_eq!(project.file(".rapport/memos.yaml"), "- Greetings are in English.\n", "{story}");
    let report = project.turn_file("01/report.md");
    assert!(report.contains("3 Total / 3 Approved") && report.contains("Completed"), "{story}: {report}");
    // Whatever was not sealed is by the next command, which then tells what became of the turn.
    let next = project.rapport(&["resume"]);
    if next.code() == 0 {
        next.check(0, "Completed 🟢: 3 of 3 actions done");
    }
    project.rapport(&["resume"]).check(2, "without a terminal you cannot be asked what to plan next");
    same_as_the_directory(project, story);
    let count = |is: fn(&Event) -> bool| project.facts().iter().filter(|fact| is(fact)).count();
    assert_eq!(count(|fact| matches!(fact, Event::PlanStarted { .. })), 1, "{story}");
    assert_eq!(count(|fact| matches!(fact, Event::Sealed { .. })), 1, "{story}");
    project.rapport(&["undo", "--yes"]).check(0, "removed: hello.txt").check(0, "restored: README.md");
    assert_eq!(project.changes(), Vec::<String>::new(), "{story}");
}

/// The facts are the state: the directory tells nothing that they do not.
fn same_as_the_directory(project: &Project, story: &str) {
    let id = project.session();
    let store = BlockingStore::new(Files::new(project.root().join(".rapport/sessions")));
    let session = Session::replay(&store.read(&id, 0).unwrap()).unwrap();
    let folder = Folder::new(Arc::new(Files::new(project.root().join(".rapport/sessions"))), &id);
    let turns = wait(discovery::turns(&folder)).unwrap();
    let found = discovery::with_batches(&id, turns, &Batches::of(&project.root(), Naming::ByTurn)).unwrap();
    let [turn] = found.turns.as_slice() else { panic!("{story}: {found:?}") };
    let known = session.file_turn("01").unwrap();
    assert_eq!((known.stage, known.status), (TurnStage::Complete, turn.status), "{story}");
    assert_eq!(known.origin.as_ref(), Some(&turn.origin), "{story}");
    let (batch, journal) = (known.batch().unwrap(), turn.batches.last().unwrap());
    assert_eq!(batch.ended.values().cloned().collect::<Vec<_>>(), journal.ended, "{story}");
    assert_eq!((batch.is_ended, batch.has_changes), (journal.is_ended, journal.has_changes), "{story}");
    assert_eq!((batch.approved_at, &batch.chosen), (journal.approved_at, &journal.chosen), "{story}");
    let news = session.decide(&Input::World(World::Found(found)), batch.approved_at).unwrap();
    assert_eq!(news, [], "{story}");
}
