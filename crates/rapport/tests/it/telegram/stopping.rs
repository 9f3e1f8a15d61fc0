//! Stopping an agent from the phone: its conversation is kept, and goes on with what is said next.

use rapport_core::{Aim, Event};

use super::Stage;
use crate::support::patience::wait_for;

/// An agent that is at work until somebody stops it, and then does as it is told.
const LONG: &str = r##"
version: 1
name: long
batches:
  - questions: [{ question: "Which?", options: [{ label: One, value: one }] }]
invocations:
  - steps:
      - text: "This takes a while."
      - bash: { command: "echo begun > begun.txt" }
      - wait_message: true
    result: "It is built."
  - result: "As you say."
"##;

impl Stage {
    fn stops(&self) -> usize {
        let facts = self.sessions().into_iter().flat_map(|(_, _, facts)| facts);
        facts.filter(|fact| matches!(fact, Event::Stopped { .. })).count()
    }
}

/// `/stop` stops the agent of a conversation; the next words go on with the same conversation.
#[tokio::test]
async fn stop_keeps_the_conversation() {
    let stage = Stage::playing(LONG).await;
    let anna = stage.anna();
    anna.types("/stop");
    anna.sees("No agent is working here.").await;
    anna.types("build it");
    wait_for("the work", || stage.project.path("app/begun.txt").exists().then_some(()));
    anna.types("/stop");
    let stopped = anna.sees("Nothing is lost").await;
    assert!(stopped.text().contains("Conversation with the lead"), "{}", stopped.text());
    assert_eq!(stage.stops(), 1);
    anna.types("only the first half");
    anna.sees("As you say.").await;
    let sessions = stage.sessions();
    let [(_, session, _)] = &sessions[..] else { panic!("{} sessions", sessions.len()) };
    assert_eq!(session.created().aim, Aim::Chat);
    assert!(!anna.shows("It is built."));
}

/// The button on the progress message stops the work on a plan, also one that the process before showed; the words
/// after it are for that work, and start nothing new.
#[tokio::test]
async fn the_button_stops_work_and_words_go_on_with_it() {
    let stage = Stage::playing(LONG).await;
    let anna = stage.anna();
    anna.types("/plan build it");
    anna.taps("One").await;
    anna.taps("✅ Confirm & Start").await;
    anna.sees("💬 This takes a while.").await;
    anna.taps("⏹ Stop").await;
    assert_eq!(anna.toast().await, "⏹ Stopping…");
    let stopped = anna.sees("Nothing is lost").await;
    assert_eq!(stopped.buttons(), [["▶️ Go on"]]);
    // Nobody else's tap or words count.
    let mallory = stage.server.person(666, "Mallory");
    mallory.taps_data(stopped.button("▶️ Go on").and_then(|button| button.data.clone()).unwrap().as_str());
    assert_eq!(mallory.toast().await, "This bot is private.");
    anna.types("only the first half");
    anna.sees("🏁 Done").await;
    anna.sees("As you say.").await;
    assert_eq!((stage.sessions().len(), stage.stops()), (1, 1));
    assert_eq!(stage.server.violations(), []);
}

/// A reply to the message that shows the work is told to the agent at work, and starts nothing new.
#[tokio::test]
async fn a_reply_to_the_work_reaches_its_agent() {
    let stage = Stage::playing(LONG).await;
    let anna = stage.anna();
    anna.types("/plan build it");
    anna.taps("One").await;
    anna.taps("✅ Confirm & Start").await;
    let progress = anna.sees("💬 This takes a while.").await;
    anna.replies_to(progress.id, "with a roof, please");
    anna.sees("It is built.").await;
    assert_eq!(stage.sessions().len(), 1);
    let heard = stage.sessions().into_iter().flat_map(|(_, _, facts)| facts).find_map(|fact| match fact {
        Event::Heard { text, .. } => Some(text),
        _ => None,
    });
    assert_eq!(heard.as_deref(), Some("with a roof, please"));
}

/// Stopped, it stays stopped over a kill, and the button goes on with it.
#[tokio::test]
async fn a_stopped_agent_stays_stopped_over_a_kill() {
    let mut stage = Stage::playing(LONG).await;
    let anna = stage.anna();
    anna.types("build it");
    wait_for("the work", || stage.project.path("app/begun.txt").exists().then_some(()));
    anna.types("/stop");
    let stopped = anna.sees("Nothing is lost").await;
    stage.kill();
    stage.serve();
    anna.types("/status");
    anna.sees("no agent is working").await;
    anna.taps_on(&stopped, "▶️ Go on");
    // The kill may have come before the agent was told to stop: then it goes on in the middle.
    wait_for("the end", || (anna.shows("As you say.") || anna.shows("It is built.")).then_some(()));
    assert_eq!(stage.stops(), 1);
}

/// A question that waits is withdrawn when its agent is stopped: nobody answers it by accident.
#[tokio::test]
async fn stopping_withdraws_what_the_agent_asked() {
    let stage = Stage::playing(super::agents::ASKING).await;
    let anna = stage.anna();
    anna.types("paint it");
    let card = anna.sees("Which colour?").await;
    anna.types("/stop");
    anna.sees("Nothing is lost").await;
    anna.taps_on(&card, "Blue");
    assert!(!anna.toast().await.contains("✓"));
    let answered = stage.sessions().into_iter().flat_map(|(_, _, facts)| facts);
    assert!(!answered.into_iter().any(|fact| matches!(fact, Event::Answered { .. })));
}
