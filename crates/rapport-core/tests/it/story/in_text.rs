//! Agents that ask in their reply instead of with their tool.

use rapport_core::{AgentDid, Status, Terms, ToolUse};

use crate::support::Story;

fn switched_on() -> Terms {
    Terms { questions_in_text: true, ..Terms::default() }
}

fn uses(story: &mut Story, kind: ToolUse) {
    let used = AgentDid::Use { tool: "tool".into(), what: "src/login.rs".into(), kind };
    story.did(used, "used tool src/login.rs");
}

/// WORK-6: a reply is a question if it has a question mark, no fence, fewer than 500 characters, and no tool that
/// writes was used: all four.
#[test]
fn a_short_reply_with_a_question_mark_is_a_question() {
    let asked = "turn 1 ended; Rapport asked round 1: q1";
    let planned = |reply: &str| {
        let goal = if reply.starts_with("# ") { "login" } else { "add-login" };
        format!("turn 1 ended; plan proposed: {goal}/add-login; Rapport asked round 1: confirm")
    };
    let long = format!("Passkeys or passwords? {}", "x".repeat(477));
    assert_eq!(long.chars().count(), 500);
    for (reply, used, is_question) in [
        ("Passkeys or passwords?", None, true),
        (&long[..499], None, true),
        (long.as_str(), None, false),
        ("# Login\n\n1. Passkeys.", None, false),
        ("Like this?\n```\nfn login()\n```", None, false),
        ("Passkeys or passwords?", Some(ToolUse::Writes), false),
        ("Passkeys or passwords?", Some(ToolUse::Runs), false),
        ("Passkeys or passwords?", Some(ToolUse::Other), false),
        ("Passkeys or passwords?", Some(ToolUse::Reads), true),
        ("Passkeys or passwords?", Some(ToolUse::Looks), true),
    ] {
        let mut story = Story::with("Add login", switched_on());
        story.connects();
        if let Some(kind) = used {
            uses(&mut story, kind);
        }
        let expected = if is_question { asked.to_owned() } else { planned(reply) };
        story.finishes(reply, &expected);
        let off = planned(reply);
        Story::of("Add login").connects().finishes(reply, &off);
    }
}

/// The answer goes into the same conversation, before the plan and during the work; only then is there a plan, and a report.
#[test]
fn the_answer_to_a_question_in_a_reply_goes_on_in_the_same_conversation() {
    let mut story = Story::with("Add login", switched_on());
    story
        .connects()
        .finishes("Passkeys or passwords?", "turn 1 ended; Rapport asked round 1: q1")
        .crash("")
        .wants(&[])
        .open(&["q1"]);
    assert_eq!(story.play.view().status, Status::NeedsInput);
    story.answer("q1", "Passkeys", "q1 answered \"Passkeys\" by ann (terminal); turn 2 started to plan");
    let order = story.order();
    assert!(order.prompt.contains("You asked:\n\nPasskeys or passwords?"), "{}", order.prompt);
    assert!(order.prompt.contains("The answer:\n\nPasskeys\n"), "{}", order.prompt);
    story
        .connects()
        .finishes(
            "# Login\n\n1. Passkeys.",
            "turn 2 ended; plan proposed: login/add-login; Rapport asked round 2: confirm",
        )
        .saved()
        .answer("confirm", "confirm", "confirm answered confirm by ann (terminal); turn 3 started to work")
        .saved()
        .baseline()
        .connects()
        .finishes("In which file?", "turn 3 ended; Rapport asked round 3: q2")
        .wants(&[])
        .answer(
            "q2",
            "src/login.rs",
            "q2 answered \"src/login.rs\" by ann (terminal); turn 4 started to work",
        )
        .connects();
    uses(&mut story, ToolUse::Writes);
    story.finishes("Done. Anything else?", "turn 4 ended");
    assert_eq!(story.play.session.wants().len(), 1, "the report");
}
