//! kill -9 at the worst moments: no question is skipped, no agent started twice; a card may come once more.

use rapport_core::Event;

use super::{ANNA, AUTH, Stage};
use crate::support::patience::wait_for;
use crate::support::telegram::{Door, Fault};

/// Killed between recording an answer and sending the next card.
#[tokio::test]
async fn killed_before_the_next_card_is_sent() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    stage.server.fault_times("sendMessage", 100, Fault::Hang);
    anna.taps("Express").await;
    wait_for("the answer in the log", || answers(&stage).then_some(()));
    stage.kill();
    stage.server.clear_faults();
    stage.serve();
    anna.taps("No").await;
    anna.sees("Q3 of 3").await;
    stage.filed(ANNA, "both answers", |file| file["answers"][0] == "express" && file["answers"][1] == "no");
}

/// Killed after the next card was sent and before that was noted: it may come twice, and both work.
#[tokio::test]
async fn killed_after_the_next_card_was_sent() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    stage.server.fault("sendMessage", Fault::DropAfter);
    stage.server.fault_times("sendMessage", 100, Fault::Hang);
    anna.taps("Express").await;
    let unheard = anna.sees("Q2 of 3").await;
    stage.kill();
    stage.server.clear_faults();
    stage.serve();
    stage
        .server
        .wait_for("the card once more", |state| {
            let again = state.messages_in(ANNA, None).filter(|message| message.text().contains("Q2 of 3"));
            (again.count() == 2).then_some(())
        })
        .await;
    anna.taps_on(&unheard, "No");
    anna.sees("Q3 of 3").await;
    // Neither of them has buttons any more.
    anna.sees_no_button("Yes, 7 days").await;
}

/// Killed while the agent works: it goes on, and is told the task once.
#[tokio::test]
async fn killed_while_the_agent_waits() {
    let scenario = AUTH.replace("permission: true }", "permission: true }\n      - ask: { questions: [{ question: \"Which port?\", options: [{ label: \"80\" }, { label: \"8080\" }] }] }");
    let mut stage = Stage::playing(&scenario).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    super::cases::answer_all(&anna).await;
    anna.taps("✅ Confirm & Start").await;
    let asked = anna.sees("Which port?").await;
    stage.kill();
    stage.serve();
    anna.taps_on(&asked, "8080");
    anna.sees("Auth is in place.").await;
    let facts: Vec<Event> = stage.sessions().into_iter().flat_map(|(_, _, facts)| facts).collect();
    let started = facts.iter().filter(|fact| matches!(fact, Event::TurnStarted { .. })).count();
    assert_eq!(started, 1, "one turn of work");
    let done = stage
        .server
        .messages(ANNA)
        .iter()
        .filter(|message| message.text().starts_with("🚀 Starting"))
        .count();
    assert_eq!(done, 1, "said once");
}

/// Stopped politely in the middle: it ends well, and goes on afterwards.
#[tokio::test]
async fn stopped_and_started_again() {
    let mut stage = Stage::playing(AUTH).await;
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    assert_eq!(stage.stop(), 0);
    anna.types("Koa");
    stage.serve();
    anna.sees("Q2 of 3").await;
    stage.server.goes_down(Door::Refusing).await;
    assert_eq!(stage.stop(), 0, "also while Telegram is down");
}

fn answers(stage: &Stage) -> bool {
    let facts = stage.sessions().into_iter().flat_map(|(_, _, facts)| facts);
    facts.into_iter().any(|fact| matches!(fact, Event::Answered { .. }))
}
