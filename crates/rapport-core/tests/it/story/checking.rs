//! Finished work is checked by a command before it is reported.

use rapport_core::{Act, Status, Terms, TurnId, WorkCheck, World};

use crate::support::Story;

const COMMAND: &str = "make test";

/// The work is done, and its check is due.
fn finished() -> Story {
    let mut story = Story::with("Add login", Terms { check: Some(COMMAND.into()), ..Terms::default() });
    story
        .connects()
        .finishes(
            "# Login\n\n1. Write it",
            "turn 1 ended; plan proposed: login/add-login; Rapport asked round 1: confirm",
        )
        .saved()
        .answer("confirm", "confirm", "confirm answered confirm by ann (terminal); turn 2 started to work")
        .saved()
        .baseline()
        .connects()
        .finishes("Done.", "turn 2 ended")
        .wants(&["turn 2 checked by make test"]);
    story
}

fn checked(turn: u32, exit: i32) -> World {
    let check = WorkCheck {
        command: COMMAND.into(),
        exit: Some(exit),
        output: "1 failed\n".into(),
        ..WorkCheck::default()
    };
    World::Checked { turn: TurnId(turn), check }
}

#[test]
fn work_is_reported_once_it_is_checked_whatever_the_check_says() {
    for exit in [0, 1] {
        let mut story = finished();
        assert_eq!(story.play.view().checking.as_deref(), Some(COMMAND));
        assert_eq!(story.play.view().status, Status::Running);
        story
            .world(World::Report { changes: None }, "refused: a report does not belong to the current turn")
            .world(checked(1, 0), "")
            .world(checked(2, exit), &format!("checked: Some({exit})"))
            .wants(&["report of turn 2 since b1"])
            .world(checked(2, 0), "")
            .world(World::Report { changes: None }, "reported");
        let view = story.play.view();
        assert_eq!((view.status, view.checking), (Status::Completed, None));
        let check = view.check.unwrap();
        assert_eq!((check.has_passed(), check.exit), (exit == 0, Some(exit)));
        assert_eq!(check.last_lines(5).collect::<Vec<_>>(), ["1 failed"]);
    }
}

/// A host that is killed during the check has lost nothing: the check is wanted again.
#[test]
fn a_check_that_was_interrupted_runs_again() {
    finished().crash("").wants(&["turn 2 checked by make test"]);
}

/// If a person sends another message, the work of the next turn is checked instead.
#[test]
fn words_during_the_check_start_a_turn_whose_work_is_checked_in_turn() {
    let mut story = finished();
    let say = |text: &str| Act::Say { text: text.into(), id: None };
    story
        .act(say("and the docs"), "heard and the docs from ann (terminal); turn 3 started to work")
        .world(checked(2, 0), "")
        .wants(&["turn 3 running to work []"])
        .connects()
        .finishes("Done.", "turn 3 ended")
        .wants(&["turn 3 checked by make test"])
        .world(checked(3, 0), "checked: Some(0)")
        .world(World::Report { changes: None }, "reported")
        .act(say("and more"), "heard and more from ann (terminal); turn 4 started to work");
    assert_eq!(story.play.view().check, None, "the last check says nothing about further work");
    finished()
        .act(Act::Cancel { reason: None }, "cancelled by ann (terminal)")
        .wants(&["the state that was left noted"]);
}
