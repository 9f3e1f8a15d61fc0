//! Questions that end without an answer, and answers that come after that.

use rapport_core::Event;

use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// The agent continues without waiting: the question is withdrawn, and a later answer is refused with that reason.
#[test]
fn an_answer_to_a_question_that_was_withdrawn_is_refused() {
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_QUESTIONS_EXPIRE", "1s");
    let mut running = project.start(&["paint"], &[]);
    running.until(|fact| matches!(fact, Event::Closed { .. }));
    project.rapport(&["answer", "paint", "--question", "q1", "Red"]).check(3, "its time ran out");
    project.wait_asked_for("confirm");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(project.file("paint.txt"), "(no answer)\n", "nobody answered for the person");
}

#[test]
fn a_cancelled_session_takes_no_answer_to_what_was_open() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    project.rapport(&["cancel", "paint"]).check(0, "Cancelled");
    assert_eq!(running.finish(), 8);
    project
        .rapport(&["answer", "paint", "--question", "q1", "Red"])
        .check(3, "it was withdrawn: the session was cancelled");
}
