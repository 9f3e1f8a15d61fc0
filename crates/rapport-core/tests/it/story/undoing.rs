//! Taking back what work did to the project's files: wanted once, done once, whatever is killed in between.

use rapport_core::{Act, Changes, Status, Terms, TurnId, UndoProblem, UndoneFiles, WorkUndo, World};

use crate::support::{Story, created, draft};

/// A session whose agent works in the project itself, from the state that `Story::baseline` notes.
fn working() -> Story {
    let mut story = Story::planned(created("Add login", Terms::default()));
    story.confirmed();
    story
}

fn done() -> Story {
    let mut story = working();
    let changes = Changes { result: Some("r1".into()), ..Changes::default() };
    story
        .finishes("Done.", "turn 2 ended")
        .world(World::Report { changes: Some(changes) }, "reported")
        .wants(&[]);
    story
}

fn undone() -> World {
    let restored = vec!["a.txt".to_owned()];
    World::WorkUndone { outcome: Ok(UndoneFiles { restored, ..UndoneFiles::default() }) }
}

#[test]
fn it_is_wanted_once_and_done_once() {
    let mut story = done();
    let states = story.play.session.undoable_work().remove(0);
    let wanted = format!("the work undone from {} to {}", states.from, states.to);
    assert_eq!(states.from, "r1");
    story
        .world(undone(), "")
        .act(Act::UndoWork, "the work to be undone by ann (terminal)")
        .crash("")
        .wants(&[wanted.as_str()])
        .act(Act::UndoWork, "")
        .world(undone(), "the work undone")
        .crash("")
        .wants(&[])
        .world(undone(), "")
        .act(Act::UndoWork, "");
    let view = story.play.view();
    assert_eq!(
        (view.status, view.undone.map(|files| files.restored)),
        (Status::Completed, Some(vec!["a.txt".into()]))
    );
}

#[test]
fn what_is_not_possible_can_be_tried_again() {
    let mut story = done();
    let problem = UndoProblem { reason: "no git".into(), changed: Vec::new(), is_partial: false };
    story
        .act(Act::UndoWork, "the work to be undone by ann (terminal)")
        .world(World::WorkUndone { outcome: Err(problem.clone()) }, "the work not undone: no git")
        .wants(&[]);
    assert_eq!(*story.play.session.work_undo(), WorkUndo::Refused(problem));
    story.act(Act::UndoWork, "the work to be undone by ann (terminal)").world(undone(), "the work undone");
}

#[test]
fn nothing_is_undone_before_the_session_is_over() {
    let mut story = working();
    let refused = "refused: undoing is not possible now: the session is not over; cancel it first";
    story.act(Act::UndoWork, refused);
}

/// A person may work on the files while the agent plans, also after they allowed it something there. Undoing the work goes back to
/// where the work began, and leaves that alone; the report has what was allowed as well.
#[test]
fn undoing_goes_back_to_where_the_work_began() {
    let mut story = Story::begun(created("Add login", Terms::default()));
    let planning = World::Baseline { turn: TurnId(1), baseline: Some("b0".into()) };
    story
        .connects()
        .world(planning, "turn 1 baselined at b0")
        .finishes(
            "# Login\n\n1. Do it.",
            "turn 1 ended; plan proposed: login/add-login; Rapport asked round 1: confirm",
        )
        .saved()
        .answer("confirm", "confirm", "confirm answered confirm by ann (terminal); turn 2 started to work")
        .saved()
        .baseline()
        .connects();
    assert_eq!(story.play.session.stretches()[0].from.as_deref(), Some("b1"));
    let changes = Changes { result: Some("r1".into()), ..Changes::default() };
    story
        .finishes("Done.", "turn 2 ended")
        .wants(&["report of turn 2 since b0"])
        .world(World::Report { changes: Some(changes) }, "reported");
    let states = story.play.session.undoable_work().remove(0);
    assert_eq!((states.from.as_str(), states.to.as_str()), ("r1", "b1"));
}

fn left(state: &str) -> World {
    World::WorkLeft { state: Some(state.into()) }
}

/// Cancelled in the middle of work, an agent leaves files behind: their state is noted once it is gone, and undone from there.
#[test]
fn what_a_cancelled_agent_left_is_noted_and_undone() {
    let mut story = working();
    let refused = "refused: undoing is not possible now: the state in which its agent left the files is still being recorded";
    story
        .world(left("l0"), "")
        .act(Act::Cancel { reason: None }, "cancelled by ann (terminal)")
        .wants(&["the state that was left noted"]);
    assert_eq!(story.play.session.stretches()[0].to, None);
    story
        .act(Act::UndoWork, refused)
        .crash("")
        .wants(&["the state that was left noted"])
        .world(left("l1"), "left at l1")
        .world(left("l2"), "")
        .wants(&[]);
    assert_eq!(story.play.session.stretches()[0].to.as_deref(), Some("l1"));
    story
        .act(Act::UndoWork, "the work to be undone by ann (terminal)")
        .wants(&["the work undone from l1 to b1"]);
    assert_eq!(story.play.view().status, Status::Cancelled);
}

/// If the state of the files cannot be recorded, there is nothing to undo.
#[test]
fn without_a_state_that_was_left_nothing_is_undone() {
    let mut story = working();
    let refused = "refused: undoing is not possible now: the state of the files after its work is unknown";
    story
        .act(Act::Cancel { reason: None }, "cancelled by ann (terminal)")
        .world(World::WorkLeft { state: None }, "left at an unknown state")
        .act(Act::UndoWork, refused);
}

/// An agent that waits has changed nothing since its question. What somebody changed meanwhile is not its work.
#[test]
fn an_agent_that_waits_left_the_state_at_its_question() {
    let mut story = working();
    story
        .asks("c1", &[draft("Which colour?", &["Red", "Blue"])], "c1 asked round 2: q1")
        .noted(2)
        .act(
            Act::Cancel { reason: None },
            "round 2 closed: it was withdrawn: the session was cancelled; cancelled by ann (terminal)",
        )
        .wants(&[])
        .act(Act::UndoWork, "the work to be undone by ann (terminal)")
        .wants(&["the work undone from s2 to b1"]);
}

/// Only where a permission was given while the agent planned is there anything to undo before the work.
#[test]
fn a_session_cancelled_before_its_work_has_left_nothing() {
    let mut story = Story::begun(created("Add login", Terms::default()));
    story.connects().act(Act::Cancel { reason: None }, "cancelled by ann (terminal)").wants(&[]);
}
