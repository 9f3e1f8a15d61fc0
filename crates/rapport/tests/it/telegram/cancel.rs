//! `/cancel` where there are several tasks: the newest that is not over, by name, until there is none.

use super::{AUTH, Stage};
use crate::support::telegram::Person;

const WORKING: &str = "add JWT authentication";
const PLANNED: &str = "add a search";

/// The agent asks in the middle of its work.
pub(super) fn asking() -> String {
    let ask = "permission: true }\n      - ask: { questions: [{ question: \"Which port?\", options: [{ label: \"80\" }, { label: \"8080\" }] }] }";
    AUTH.replace("permission: true }", ask)
}

/// A task that is worked on, and another that is planned.
async fn two_tasks(first: &Person, second: &Person) {
    first.types(&format!("/plan {WORKING}"));
    super::cases::answer_all(first).await;
    first.taps("✅ Confirm & Start").await;
    first.sees("Which port?").await;
    second.types(&format!("/plan {PLANNED}"));
    second.sees(&format!("Planning: {PLANNED}")).await;
}

/// The planned one, then the one that is worked on, also after a kill in between.
#[tokio::test]
async fn cancel_ends_the_newest_task_that_is_not_over() {
    let mut stage = Stage::playing(&asking()).await;
    let anna = stage.anna();
    two_tasks(&anna, &anna).await;
    anna.types("/cancel");
    anna.sees(&format!("❌ Planning cancelled: {PLANNED}")).await;
    stage.kill();
    stage.serve();
    anna.types("/cancel");
    anna.sees(&format!("❌ Cancelled: {WORKING}")).await;
    anna.types("/cancel");
    anna.sees("There is nothing to cancel here.").await;
    assert!(stage.sessions().iter().all(|(_, session, _)| session.is_over()));
    assert!(!anna.screen().contains("Auth is in place."), "{}", anna.screen());
    assert_eq!(stage.server.violations(), []);
}

/// In a group everybody cancels the newest of their own.
#[tokio::test]
async fn cancel_ends_only_what_is_theirs() {
    let mut stage = Stage::quiet(&asking()).await;
    stage.serve_with(&[("TELEGRAM_USER_ID", "42,43")]);
    let group = stage.server.group("Team");
    let anna = stage.anna().in_group(group, None);
    let bert = stage.server.person(43, "Bert").in_group(group, None);
    two_tasks(&anna, &bert).await;
    anna.types("/cancel");
    anna.sees(&format!("❌ Cancelled: {WORKING}")).await;
    anna.types("/cancel");
    anna.sees("Only whoever asked for this task can cancel it.").await;
    bert.types("/cancel");
    bert.sees("❌ Planning cancelled.").await;
}

/// The button ends everything, so it asks first; a no changes nothing.
#[tokio::test]
async fn the_cancel_button_asks_first() {
    let stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types(&format!("/plan {PLANNED}"));
    anna.taps("Express").await;
    let card = anna.sees("Q2 of 3").await;
    anna.taps_on(&card, "✖ Cancel");
    let asked = anna.sees("Cancel this task?").await;
    assert!(
        asked.text().contains(PLANNED) && asked.text().contains("All answers are lost."),
        "{}",
        asked.text()
    );
    anna.taps_on(&asked, "▶️ No, go on");
    anna.sees_no_button("▶️ No, go on").await;
    // The question still waits, with what was answered before it.
    anna.taps_on(&card, "No");
    let card = anna.sees("Q3 of 3").await;
    anna.taps_on(&card, "✖ Cancel");
    anna.taps("✖ Yes, cancel it").await;
    anna.sees("❌ Planning cancelled.").await;
    anna.sees_no_button("✖ Yes, cancel it").await;
    assert!(stage.sessions().iter().all(|(_, session, _)| session.is_over()));
    assert_eq!(stage.server.violations(), []);
}

/// If two tasks of a person run in one directory, the person is told once that their changes cannot be told apart. With
/// one task, the person gets no such message.
#[tokio::test]
async fn a_person_is_told_that_others_are_at_work_in_the_same_directory() {
    const BESIDE: &str = "Another session is at work in the same directory.";
    let stage = Stage::playing(&asking()).await;
    let anna = stage.anna();
    anna.types(&format!("/plan {WORKING}"));
    super::cases::answer_all(&anna).await;
    anna.taps("✅ Confirm & Start").await;
    anna.sees("Which port?").await;
    assert!(!anna.shows(BESIDE), "the first is alone: {}", anna.screen());
    anna.types(&format!("/plan {PLANNED}"));
    super::cases::answer_all(&anna).await;
    anna.taps("✅ Confirm & Start").await;
    let told = anna.sees(BESIDE).await;
    assert!(told.text().contains("Worktrees keep them apart"), "{}", told.text());
    stage
        .server
        .wait_for("both to ask", |state| {
            let asked = state.messages_in(super::ANNA, None);
            (asked.filter(|message| message.text().contains("Which port?")).count() == 2).then_some(())
        })
        .await;
    let times = |state: &crate::support::telegram::State| {
        state.messages_in(super::ANNA, None).filter(|message| message.text().contains(BESIDE)).count()
    };
    assert_eq!(stage.server.look(times), 1);
    assert_eq!(stage.server.violations(), []);
}

/// Cancelled in the middle of the work: the files that were written, how to see and how to undo that, also if the
/// program is killed before it could say so.
#[tokio::test]
async fn cancelled_work_says_what_was_written() {
    let mut stage = Stage::playing(&asking()).await;
    let anna = stage.anna();
    anna.types(&format!("/plan {WORKING}"));
    super::cases::answer_all(&anna).await;
    anna.taps("✅ Confirm & Start").await;
    anna.sees("Which port?").await;
    anna.types("/cancel");
    let cancelled = anna.sees("❌ Cancelled").await;
    let id = stage.sessions()[0].0.clone();
    let text = cancelled.text();
    for words in [WORKING, "which stay as they are:\n• auth.txt\n", "/diff", &format!("rapport undo {id}")]
    {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
    stage.kill();
    stage.project.rapport(&["undo", id.as_str(), "--yes"]).check(0, "removed: auth.txt");
    assert_eq!(stage.server.violations(), []);
}
