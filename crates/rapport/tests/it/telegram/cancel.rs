//! `/cancel` where there are several tasks: the newest that is not over, by name, until there is none.

use super::{AUTH, Stage};
use crate::support::telegram::Person;

const WORKING: &str = "add JWT authentication";
const PLANNED: &str = "add a search";

/// The agent asks in the middle of its work.
fn asking() -> String {
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
