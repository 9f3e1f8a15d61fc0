//! Runs that are killed or stopped, and resumed.

use std::time::Duration;

use nix::sys::signal::Signal;
use rapport_core::{Event, Status};

use crate::support::project::Project;
use crate::support::scenarios::{BUSY, ONE_QUESTION};

const A_SECOND: Duration = Duration::from_secs(1);

const PLAN: &str = ".claude/todos/paint/paint.md";

fn count(facts: &[Event], which: impl Fn(&Event) -> bool) -> usize {
    facts.iter().filter(|fact| which(fact)).count()
}

/// Takes a session up and answers what is still open; it has to come to its end.
fn finish(project: &Project) {
    let mut running = project.start(&["--resume", project.session().as_str()], &[]);
    if project.view().plan.is_none() {
        running.until(|fact| matches!(fact, Event::PlanProposed { .. }));
    }
    project.wait_asked_for("confirm");
    project.rapport(&["answer", project.session().as_str(), "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.view().status, Status::Completed);
}

#[test]
fn killed_with_a_question_open_nothing_is_asked_twice_and_the_agent_is_told_once() {
    let project = Project::with_scenario(ONE_QUESTION).recorded();
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    assert!(!project.agents_alive().is_empty());
    running.kill();
    project.wait_alone(A_SECOND);

    project
        .rapport(&["answer", "paint", "Blue"])
        .check(0, "No process runs it now. Go on with: rapport resume 2");
    project.rapport(&["status"]).check(0, "  stopped  ").check(0, "go on with: rapport resume 2");
    finish(&project);
    assert_eq!(project.file("paint.txt"), "Blue\n");
    let facts = project.facts();
    assert_eq!(count(&facts, |f| matches!(f, Event::Asked { .. })), 2, "the question and the confirmation");
    assert_eq!(count(&facts, |f| matches!(f, Event::Answered { .. })), 2);
    let told = |message: &serde_json::Value| message.to_string().contains("Here are my answers");
    assert_eq!(project.agent_inputs().concat().iter().filter(|line| told(line)).count(), 1);
    assert_eq!(project.agents_alive(), []);
}

#[test]
fn told_to_stop_with_a_question_open_the_agent_is_parked() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let project = Project::with_scenario(ONE_QUESTION);
        let mut running = project.start(&["paint"], &[]);
        running.until_asked();
        running.signal(signal);
        let (code, said) = running.finish_saying();
        assert_eq!(code, 130, "{signal}: {said}");
        assert!(said.contains("Go on with: rapport resume 2"), "{said}");
        assert_eq!(project.agents_alive(), [], "{signal}");
        assert!(
            matches!(project.facts().last(), Some(Event::Parked { .. })),
            "{signal}: {:?}",
            project.facts().last()
        );

        project.rapport(&["answer", "paint", "Red"]).check(0, "No process runs it now.");
        finish(&project);
        assert_eq!(project.file("paint.txt"), "Red\n");
    }
}

#[test]
fn told_to_stop_while_the_agent_is_busy_it_is_cut_off_and_can_be_resumed() {
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let project = Project::with_scenario(BUSY);
        let mut running = project.start(&["wait"], &[]);
        running.until(|fact| matches!(fact, Event::Said { .. }));
        running.signal(signal);
        let (code, said) = running.finish_saying();
        assert_eq!(code, 130, "{signal}: {said}");
        assert!(!said.contains("rapport answer"), "there is nothing to answer: {said}");
        assert_eq!(project.agents_alive(), []);
        assert_eq!(count(&project.facts(), |f| matches!(f, Event::CutOff { .. })), 1);

        let quick = BUSY.replace("delay: 600000", "delay: 1");
        std::fs::write(project.path("scenario.yaml"), quick).unwrap();
        finish(&project);
    }
}

#[test]
fn stopped_while_the_plan_waits_for_confirmation_it_is_confirmed_later() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    running.signal(Signal::SIGTERM);
    assert_eq!(running.finish_saying().0, 130);
    project.rapport(&["answer", "paint", "confirm"]).check(0, "No process runs it now.");
    assert_eq!(project.start(&["--resume", "paint"], &[]).finish(), 0);
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

#[test]
fn a_finished_session_that_is_resumed_tells_its_end_and_changes_nothing() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    let before = project.facts();
    project.rapport(&["run", "--resume", "paint"]).check(0, "✓ Done");
    assert_eq!(project.facts(), before);
}

/// CHAT-40: a kill between the plan's file and the fact that it is saved. The facts still tell whose file it is, also
/// once the plan has changed; a person's edits in the file stay.
#[test]
fn killed_right_after_the_plan_was_written_its_file_is_known_by_the_facts() {
    for (edited, path) in [(false, PLAN), (true, ".claude/todos/paint/paint-2.md")] {
        let project = Project::with_scenario(ONE_QUESTION);
        let mut running = project.start(&["paint"], &[("RAPPORT_TRIAL_WRITES", "paint/paint.md:2")]);
        running.until_asked();
        project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
        running.until_gone_or(|fact| matches!(fact, Event::PlanSaved { .. }));
        assert_eq!(count(&project.facts(), |f| matches!(f, Event::PlanSaved { .. })), 0);
        let mut written = project.file(PLAN);
        assert!(written.contains("A: Blue\n"), "{written}");
        if edited {
            written.push_str("My own notes.\n");
            std::fs::write(project.root().join(PLAN), &written).unwrap();
        }
        // No process runs the session, so the plan that was confirmed is only written later.
        project.rapport(&["answer", "paint", "confirm"]).check(0, "rapport resume");
        let running = project.start(&["--resume", project.session().as_str()], &[]);
        assert_eq!(running.finish(), 0);
        assert_eq!(project.view().plan.unwrap().path.as_deref(), Some(path), "edited: {edited}");
        assert!(project.file(path).contains("Claude CLI was spawned"));
        assert_eq!(project.file(PLAN) == written, edited);
    }
}
