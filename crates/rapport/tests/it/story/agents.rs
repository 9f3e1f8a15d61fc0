//! A session knows its agent: commands that resume, answer or branch it later need not name one.

use nix::sys::signal::Signal;
use rapport_core::Event;

use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// A project whose settings name an agent that is not there, and the command of one that is.
fn project() -> (Project, String) {
    let project = Project::with_agent("/nowhere/claude");
    let scenario = project.path("question.yaml");
    std::fs::write(&scenario, ONE_QUESTION).unwrap();
    (project, format!("rehearsal --scenario {}", scenario.display()))
}

#[test]
fn a_session_is_resumed_with_the_agent_it_was_begun_with() {
    let (project, agent) = project();
    let mut running = project.start(&["--agent", &agent, "paint"], &[]);
    running.until_asked();
    running.signal(Signal::SIGKILL);
    running.finish();
    project.rapport(&["answer", "paint", "Red"]).check(0, "No process runs it now.");
    let mut running = project.start(&["--resume", "paint"], &[]);
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.rapport(&["answer", "paint", "confirm"]).check(0, "");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "Red\n");
}

#[test]
fn a_branch_has_the_agent_of_the_session_it_comes_from() {
    let (project, agent) = project();
    let mut running = project.start(&["--agent", &agent, "paint"], &[]);
    running.until_asked();
    running.signal(Signal::SIGTERM);
    running.finish();
    project.rapport(&["branch", "paint", "--at", "q1"]).check(0, "Branched");
    project.rapport(&["answer", "paint-branch", "Blue"]).check(0, "");
    let mut running = project.start(&["--resume", "paint-branch"], &[]);
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.rapport(&["answer", "paint-branch", "confirm"]).check(0, "");
    assert_eq!(running.finish(), 0);
}

/// Named for one run, another command counts for a session that was begun with this one: the program may have moved.
#[test]
fn an_agent_that_is_named_counts_for_this_run() {
    let (project, agent) = project();
    let mut running = project.start(&["--agent", &agent, "paint"], &[]);
    running.until_asked();
    running.signal(Signal::SIGKILL);
    running.finish();
    project.rapport(&["answer", "paint", "Red"]).check(0, "");
    let resumed = project.rapport(&["run", "--resume", "paint", "--agent", "/nowhere/else"]);
    resumed.check(7, "/nowhere/else");
}
