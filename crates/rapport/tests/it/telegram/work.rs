//! Work that was done in a worktree: its changes are seen in the chat, and applied, discarded or revised there.

use rapport_core::{Aim, Event};

use super::{ANNA, AUTH, Stage};
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::telegram::Person;

/// A stage whose agents work in worktrees, and write another file when the work is revised.
async fn stage() -> Stage {
    let revised = "  - steps:\n      - write: { path: more.txt, content: \"more\\n\", permission: true }\n    result: \"Revised.\"\n";
    let project = Project::with_scenario(&format!("{AUTH}{revised}")).recorded();
    let mut stage = Stage::of(project.set("RAPPORT_WORKER", "worktree")).await;
    stage.serve();
    stage
}

/// Has the work done.
async fn done(stage: &Stage) -> Person {
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    super::cases::answer_all(&anna).await;
    anna.taps("✅ Confirm & Start").await;
    anna
}

/// Has the work done, and sees its changes.
async fn seen(stage: &Stage) -> Person {
    let anna = done(stage).await;
    anna.sees("this work waits until you decide about it").await;
    assert_eq!(stage.project.file("auth.txt"), "");
    assert!(!anna.on_screen_button("✅ Apply"), "the changes are seen first");
    anna.taps("👀 See the changes").await;
    let diff = anna.sees("Changes: add JWT authentication").await;
    assert!(diff.text().contains("+done"), "{}", diff.text());
    anna.sees("What becomes of these changes?").await;
    anna
}

#[tokio::test]
async fn work_is_seen_and_applied_in_the_chat() {
    let stage = stage().await;
    let anna = seen(&stage).await;
    anna.taps("✅ Apply").await;
    anna.sees("Applied to the project: 1 file.").await;
    assert_eq!(stage.project.file("auth.txt"), "done\n");
    wait_for("the worktree to be gone", || {
        (stage.project.git(&["worktree", "list"]).lines().count() == 1).then_some(())
    });
    assert_eq!(stage.server.violations(), []);
}

/// `worker.check` ran before the work is reviewed: how it ended is on the card with the work, and what it printed if
/// it failed.
#[tokio::test]
async fn the_card_of_the_work_says_how_its_check_ended() {
    for (command, mark, words, output) in [
        ("cat auth.txt; echo tested $((1 + 1))", "Check: ✅", "passed in", false),
        ("cat auth.txt; echo tested $((1 + 1)); exit 3", "Check: ⚠️", "failed with exit code 3", true),
    ] {
        let project = Project::with_scenario(AUTH).recorded().set("RAPPORT_WORKER", "worktree");
        let mut stage = Stage::of(project.set("RAPPORT_WORKER_CHECK", command)).await;
        stage.serve();
        let anna = done(&stage).await;
        let card = anna.sees("this work waits until you decide about it").await;
        let text = card.text();
        assert!(text.contains(mark) && text.contains(words), "{text}");
        assert_eq!(text.contains("done\ntested 2"), output, "{text}");
        assert_eq!(stage.server.violations(), []);
    }
}

/// The buttons outlive the program. What the project changed too is told, and nothing is overwritten; then it is
/// discarded.
#[tokio::test]
async fn work_that_does_not_fit_is_told_and_discarded_in_the_chat() {
    let mut stage = stage().await;
    let anna = seen(&stage).await;
    assert_eq!(stage.stop(), 0);
    std::fs::write(stage.project.root().join("auth.txt"), "mine\n").unwrap();
    stage.serve();
    anna.taps("✅ Apply").await;
    anna.sees("Not applied, and nothing was changed: the project changed the same lines of auth.txt").await;
    assert_eq!(stage.project.file("auth.txt"), "mine\n");
    anna.types("/diff");
    anna.taps("🗑 Discard").await;
    anna.taps("🗑 Yes, discard it").await;
    anna.sees("Discarded.").await;
    assert_eq!(stage.project.file("auth.txt"), "mine\n");
    wait_for("the worktree to be gone", || {
        (stage.project.git(&["worktree", "list"]).lines().count() == 1).then_some(())
    });
}

/// One tap does not end finished work: it asks first, and a no keeps it, also if the program was restarted in between.
#[tokio::test]
async fn discarding_asks_first() {
    let mut stage = stage().await;
    let anna = seen(&stage).await;
    anna.taps("🗑 Discard").await;
    let asked = anna.sees("Discard this work for good?").await;
    assert!(asked.text().contains("add JWT authentication"), "{}", asked.text());
    assert_eq!(stage.stop(), 0);
    stage.serve();
    anna.taps_on(&asked, "▶️ No, keep it");
    assert_eq!(anna.toast().await, "Nothing is changed.");
    anna.sees_no_button("▶️ No, keep it").await;
    let is_discarded = |fact: &Event| matches!(fact, Event::Discarded { .. });
    assert!(!stage.sessions()[0].2.iter().any(is_discarded));
    anna.taps("✅ Apply").await;
    anna.sees("Applied to the project: 1 file.").await;
    assert_eq!(stage.project.file("auth.txt"), "done\n");
    assert_eq!(stage.server.violations(), []);
}

/// Words that are typed after "Revise" without a reply revise the work, also after a restart, and begin no second
/// agent.
#[tokio::test]
async fn words_typed_after_revise_revise_the_work() {
    let mut stage = stage().await;
    let anna = seen(&stage).await;
    anna.taps("✍️ Revise").await;
    anna.sees("✍️ Type what to change:").await;
    assert_eq!(stage.stop(), 0);
    stage.serve();
    anna.types("More of it.");
    anna.sees("Revised.").await;
    assert_eq!(stage.sessions_for(&Aim::Chat), 0, "no conversation began");
    let is_said = |fact: &Event| matches!(fact, Event::Heard { text, .. } if text == "More of it.");
    assert_eq!(stage.sessions()[0].2.iter().filter(|fact| is_said(fact)).count(), 1);
    // What is typed after that is no revision.
    anna.types("Thanks.");
    wait_for("the conversation", || (stage.sessions_for(&Aim::Chat) == 1).then_some(()));
    assert_eq!(stage.server.violations(), []);
}

/// Feedback goes into the same conversation, and the work is seen and decided about anew; the button of before
/// decides nothing.
#[tokio::test]
async fn work_is_revised_in_the_chat() {
    let stage = stage().await;
    let anna = seen(&stage).await;
    let old = anna.on_screen_data("✅ Apply", 0);
    anna.taps("✍️ Revise").await;
    anna.replies_when_asked("More of it.").await;
    anna.sees("Revised.").await;
    assert_eq!(stage.sessions_for(&Aim::Chat), 0, "no conversation began");
    anna.taps_data(&old);
    assert_eq!(stage.project.file("auth.txt"), "");
    anna.types("/diff");
    anna.sees("+more").await;
    let is_decision = |text: &str| text.starts_with("What becomes of these changes?");
    stage
        .server
        .wait_for("the decision about the revised work", |state| {
            let asked = state.messages_in(ANNA, None).filter(|message| is_decision(message.text())).count();
            (asked == 2).then_some(())
        })
        .await;
    anna.taps("✅ Apply").await;
    anna.sees("Applied to the project: 2 files.").await;
    assert_eq!(
        (stage.project.file("auth.txt"), stage.project.file("more.txt")),
        ("done\n".into(), "more\n".into())
    );
}

/// Before one of two is applied, whoever decides is told that the other changes the same files.
#[tokio::test]
async fn other_work_on_the_same_files_is_told_with_the_decision() {
    let stage = stage().await;
    let anna = seen(&stage).await;
    anna.types("/plan add JWT once more");
    super::cases::answer_all(&anna).await;
    anna.taps("✅ Confirm & Start").await;
    stage
        .server
        .wait_for("the end of the other work", |state| {
            let waits = |text: &str| text.contains("this work waits until you decide about it");
            let ended = state.messages_in(ANNA, None).filter(|message| waits(message.text())).count();
            (ended == 2).then_some(())
        })
        .await;
    anna.taps("👀 See the changes").await;
    let told = anna.sees("waits too, and changes the same files").await;
    let words = "What becomes of these changes? They are not in the project yet.\n\
                 ⚠️ add JWT authentication waits too, and changes the same files: auth.txt";
    assert_eq!(told.text(), words);
}
