//! The plan and its confirmation: edit, confirm, cancel, another plan.

use rapport_core::{Act, AgentDid, Ask, Reply, Want, World};

use super::{planned, way};
use crate::support::{Story, bob, call, draft, person, question};

fn plan_of(story: &Story) -> String {
    let wants = story.play.session.wants();
    let file =
        wants.into_iter().find_map(|want| if let Want::PlanSaved(file) = want { Some(file) } else { None });
    file.expect("a plan is to be saved").content
}

/// CHAT-28, CHAT-29: one answer is changed, the others stay, the plan's file is rewritten, and the agent is not asked.
#[test]
fn chat_28_chat_29_an_answer_is_changed_at_the_confirmation() {
    let mut story = planned();
    story
        .wants(&[])
        .open(&["confirm"])
        .act(Act::Reopen { question: question("q1") }, "q1 reopened by ann (terminal)")
        .open(&["q1", "confirm"])
        .act(
            Act::Confirm,
            "refused: confirming is not possible now: q1 is being changed, answer or keep it first",
        )
        .act(
            Act::Answer { question: Some(question("confirm")), reply: Reply::Text("smaller".into()) },
            "refused: confirming is not possible now: q1 is being changed, answer or keep it first",
        );
    assert_eq!(story.play.view().questions[0].previous.as_deref(), Some("Passkeys"));
    // Typed without a name, it is for the question in hand.
    let typed = Act::Answer { question: None, reply: Reply::Text("OAuth".into()) };
    story.act(typed, "q1 answered \"OAuth\" by ann (terminal)").open(&["confirm"]);
    let plan = plan_of(&story);
    assert!(plan.contains("**Q: Which way?**\nA: OAuth\n\n**Q: How long?**\nA: A week\n"), "{plan}");
    story.saved().wants(&[]);
}

/// CHAT-29 in one step, with the same result. If the new answer is refused, the old one stays; one that is being changed is
/// only answered.
#[test]
fn chat_29_an_answer_is_changed_in_one_step() {
    let change = |question_id, reply| Act::Change { question: question(question_id), reply };
    let mut story = planned();
    story
        .act(
            change("q1", Reply::Text("OAuth".into())),
            "q1 reopened by ann (terminal); q1 answered \"OAuth\" by ann (terminal)",
        )
        .open(&["confirm"])
        .act(change("q1", Reply::Choices(vec![7])), "refused: q1 has 3 options, there is no option 8");
    let plan = plan_of(&story);
    assert!(plan.contains("**Q: Which way?**\nA: OAuth\n\n**Q: How long?**\nA: A week\n"), "{plan}");
    story
        .saved()
        .act(Act::Reopen { question: question("q1") }, "q1 reopened by ann (terminal)")
        .act(change("q1", Reply::Choices(vec![0])), "q1 answered passkeys by ann (terminal)")
        .saved()
        .act(
            change("confirm", Reply::Choices(vec![0])),
            "refused: the answer to confirm can no longer be changed: it has no answer yet",
        )
        .wants(&[]);
}

#[test]
fn chat_29_an_answer_that_is_kept_leaves_the_plan_as_it_was() {
    let mut story = planned();
    story
        .act(Act::Reopen { question: question("q2") }, "q2 reopened by ann (terminal)")
        .wants(&[])
        .act(Act::Keep { question: question("q2") }, "q2 kept by ann (terminal)")
        .wants(&[]);
    story.act(
        Act::Keep { question: question("q2") },
        "refused: keeping an answer is not possible now: q2 is not being changed",
    );
}

/// A plan that was not saved before an answer was reopened has that answer all the same.
#[test]
fn chat_29_an_answer_stands_in_the_plan_until_it_is_changed() {
    let mut story = Story::of("Add login");
    story
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .takes("c1")
        .finishes("# Login", "turn 1 ended; plan proposed: login/add-login; Rapport asked round 2: confirm")
        .act(Act::Reopen { question: question("q1") }, "q1 reopened by ann (terminal)");
    let plan = plan_of(&story);
    assert!(plan.contains("**Q: Which way?**\nA: Passkeys\n"), "{plan}");
    story
        .crash("")
        .saved()
        .act(Act::Keep { question: question("q1") }, "q1 kept by ann (terminal)")
        .wants(&[]);
}

/// A plan that was proposed in the middle of a turn gets the answers that came after it, too.
#[test]
fn chat_10_answers_after_the_proposal_are_in_the_plan() {
    let leave = Ask::LeavePlanMode { plan: "# Login".into() };
    let mut story = Story::of("Add login");
    story
        .connects()
        .did(
            AgentDid::Ask { call: call("c1"), ask: leave, parkable: false },
            "plan proposed: login/add-login; c1 declined: The plan is noted and goes to a person for confirmation",
        )
        .saved()
        .takes("c1")
        .asks("c2", &[way()], "c2 asked round 1: q1")
        .answer("q1", "2", "q1 answered passwords by ann (terminal)")
        .takes("c2")
        .finishes("Stopped.", "turn 1 ended; Rapport asked round 2: confirm");
    let plan = plan_of(&story);
    assert!(plan.contains("**Q: Which way?**\nA: Passwords\n"), "{plan}");
    let behind = "An answer came after this was proposed; the answers above count.";
    assert!(plan.contains(&format!("## Proposed Plan\n\n{behind}\n\n### Login\n")), "{plan}");
    assert!(story.play.view().plan.is_some_and(|plan| plan.behind), "no screen shows it as if it fitted");
}

#[test]
fn chat_30_confirming_starts_work_with_every_answer() {
    let mut story = planned();
    story
        .act(Act::Confirm, "confirm answered confirm by ann (terminal); turn 2 started to work")
        .wants(&["plan 2 saved at .claude/todos/passkey-login/add-login.md"])
        .world(World::PlanSaved { revision: 1, path: "old".into() }, "")
        .world(World::PlanSaved { revision: 3, path: "new".into() }, "")
        .saved()
        .wants(&["baseline of turn 2"])
        .baseline()
        .wants(&["turn 2 running to work []"]);
    assert_eq!(
        story.order().prompt,
        "# Task\n\nAdd login\n\n# Requirements\n\nThese answers count, also where earlier ones were different.\n\n\
         Q: Which way?\nA: Passkeys\n\nQ: How long?\nA: A week\n\n# Plan\n\n# Passkey login\n\n1. Write it\n\n\
         # What to do now\n\nThe plan is confirmed. Carry it out. If something that matters turns out to be unclear, \
         ask with your question tool rather than guess. End with a short report of what you did."
    );
    story
        .act(Act::Confirm, "refused: confirming is not possible now: the agent is working")
        .act(
            Act::Reopen { question: question("q1") },
            "refused: the answer to q1 can no longer be changed: the agent already works with it",
        )
        .connects()
        .finishes("Done.", "turn 2 ended")
        .wants(&["report of turn 2 since b1"])
        .world(World::Report { changes: None }, "reported")
        .wants(&[])
        .open(&[]);
    assert!(story.play.session.is_over());
    assert_eq!(story.play.view().result.as_deref(), Some("Done."));
}

/// However it is typed. In other words it would be a wish for another plan.
#[test]
fn chat_30_confirming_is_recognised() {
    for typed in [
        vec!["confirm"],
        vec!["Confirm"],
        vec!["1"],
        vec!["Confirm & start"],
        vec!["confirm", "&", "start"],
        vec!["yes"],
        vec!["OK"],
    ] {
        let reply = Reply::Words(typed.into_iter().map(str::to_owned).collect());
        planned().act(
            Act::Answer { question: None, reply },
            "confirm answered confirm by ann (terminal); turn 2 started to work",
        );
    }
}

#[test]
fn chat_31_cancelling_ends_it_and_says_so_of_every_open_question() {
    let mut story = planned();
    story
        .act(Act::Reopen { question: question("q1") }, "q1 reopened by ann (terminal)")
        .act(
            Act::Cancel { reason: None },
            "round 1 closed: it was withdrawn: the session was cancelled; round 2 closed: it was withdrawn: the \
             session was cancelled; cancelled by ann (terminal)",
        )
        .wants(&[])
        .open(&[])
        .answer("q1", "1", "refused: q1 can no longer be answered: it was withdrawn: the session was cancelled")
        .act(
            Act::Keep { question: question("q1") },
            "refused: q1 can no longer be answered: it was withdrawn: the session was cancelled",
        )
        // Files that were being written when it ended change nothing any more.
        .world(World::PlanSaved { revision: 2, path: "late".into() }, "")
        .world(World::Failed { reason: "x".into() }, "refused: a failure does not belong to the current turn")
        .crash("");
}

/// Cancelling is one of the answers: then the confirmation is answered and nothing else.
#[test]
fn chat_31_cancelling_by_answering_the_confirmation() {
    planned()
        .act(Act::Reopen { question: question("q1") }, "q1 reopened by ann (terminal)")
        .answer(
            "confirm",
            "Cancel",
            "confirm answered cancel by ann (terminal); round 1 closed: it was withdrawn: the session was cancelled; \
             cancelled by ann (terminal)",
        )
        .answer("confirm", "1", "refused: confirm was already answered with \"Cancel\" by ann (terminal)");
}

#[test]
fn words_instead_of_a_confirmation_lead_to_another_plan() {
    let mut story = planned();
    let wish =
        Act::Answer { question: Some(question("confirm")), reply: Reply::Text("Smaller steps".into()) };
    story.check(
        &person(bob(), wish),
        "confirm answered \"Smaller steps\" by bob (telegram); turn 2 started to plan",
    );
    assert_eq!(
        story.order().prompt,
        "Plan number 1 was not confirmed. This was said about it:\n\nSmaller steps\n\nMake the plan anew, in the same form."
    );
    story
        .connects()
        .asks("c2", &[draft("How small?", &["Tiny"])], "c2 asked round 3: q3")
        .answer("q3", "1", "q3 answered tiny by ann (terminal)")
        .takes("c2")
        // The plan stays in its file, whatever it is called now.
        .finishes(
            "# Tiny login",
            "turn 2 ended; plan proposed: passkey-login/add-login; Rapport asked round 4: confirm-2",
        )
        .open(&["confirm-2"]);
    let plan = plan_of(&story);
    assert!(plan.contains("**Q: How small?**\nA: Tiny\n") && plan.contains("### Tiny login"), "{plan}");
    story
        .answer(
            "confirm",
            "1",
            "refused: confirm was already answered with \"Smaller steps\" by bob (telegram)",
        )
        .act(Act::Confirm, "confirm-2 answered confirm by ann (terminal); turn 3 started to work");
    assert!(story.play.session.wants().iter().all(|want| matches!(want, Want::PlanSaved(_))));
}

/// An answer that is being changed while the session fails is in the plan all the same.
#[test]
fn a_plan_is_rewritten_though_it_failed_meanwhile() {
    let mut story = planned();
    story
        .act(Act::Reopen { question: question("q1") }, "q1 reopened by ann (terminal)")
        .world(World::Failed { reason: "the disk is full".into() }, "failed: the disk is full")
        .answer("q1", "2", "q1 answered passwords by ann (terminal)")
        .wants(&[])
        .act(Act::Restart, "restarted by ann (terminal)");
    assert!(plan_of(&story).contains("A: Passwords"));
}

/// The agent finished without saying that it has the answers. Nobody is in a hurry to change them.
#[test]
fn an_answer_can_be_changed_long_after_its_question_would_have_expired() {
    let terms =
        rapport_core::Terms { expire: Some(jiff::SignedDuration::from_hours(1)), ..Default::default() };
    let mut story = Story::with("Add login", terms);
    story
        .connects()
        .asks("c1", &[way()], "c1 asked round 1: q1")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .finishes("# Login", "turn 1 ended; plan proposed: login/add-login; Rapport asked round 2: confirm");
    story.play.pass(jiff::SignedDuration::from_hours(5));
    story
        .act(Act::Reopen { question: question("q1") }, "q1 reopened by ann (terminal)")
        .world(World::Tick, "");
    assert_eq!(story.play.session.deadline(), None);
    story.answer("q1", "2", "q1 answered passwords by ann (terminal)");
}
