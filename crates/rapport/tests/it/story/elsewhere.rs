//! Without a terminal: the run waits, and other processes answer.

use rapport_core::Event;
use serde_json::Value;

use crate::support::project::{Project, Ran};
use crate::support::scenarios::ONE_QUESTION;

#[test]
fn what_waits_is_seen_and_answered_from_another_process() {
    let project = Project::with_agent("rehearsal");
    let mut running = project.start(&["add", "a", "greeting"], &[]);
    running.until_asked();
    let all: Value = project.json(&["status", "--json"]);
    let session = &all[0];
    let id = project.session();
    assert_eq!(all.as_array().map(Vec::len), Some(1));
    assert_eq!(session["id"], id.as_str());
    assert_eq!(session["status"], "needs_input");
    assert_eq!(session["task"], "add a greeting");
    assert_eq!(session["project"], project.root().to_str().unwrap());
    let extras = &session["questions"][1];
    assert_eq!(extras["id"], "q2");
    assert_eq!(extras["text"], "Which extras should it have?");
    assert_eq!(extras["options"][2]["label"], "Wish");
    assert_eq!(extras["options"][2]["value"], "Wish");
    assert_eq!(extras["multi"], true);
    assert_eq!(extras["free_text"], true);

    let answers: [&[&str]; 3] = [&["q1", "german"], &["q2", "1", "Wish"], &["q3", "--text", "7"]];
    let echoed = ["q1 Language: German\n", "q2 Extras: Date, Wish\n", ": 7\n"];
    for (words, echoed) in answers.into_iter().zip(echoed) {
        project.rapport(&[&["answer", id.as_str(), "--question"], words].concat()).check(0, echoed);
    }
    running.until_asked();
    project.rapport(&["answer", "greeting", "formal"]).check(0, "Answered.");
    running.until_asked();
    project
        .rapport(&["answer", "greeting", "--question", "confirm", "Confirm & start"])
        .check(0, "Answered.");
    running.until_asked();
    project.rapport(&["answer", "greeting", "1"]).check(0, "Answered.");
    running.until_asked();
    project.rapport(&["answer", "greeting", "allow"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert!(
        project.file("greeting.sh").contains("extras='Date, Wish'\nwhom='7'\ntone='Formal'\nending='!'\n")
    );
}

/// An answer that is complete before its agent runs again cannot be changed at once, because a process that resumes
/// the session may be telling it to the agent. The refusal says why, and how the answer can be changed later.
#[test]
fn an_answer_that_no_agent_has_yet_says_how_it_can_be_changed() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    let refused = project.rapport(&["answer", "paint", "--question", "q1", "--edit", "Blue"]);
    refused.check(3, "can no longer be changed: it is on its way to the agent");
    refused.check(3, "When the plan is there, and before you confirm it: rapport answer");
    let mut running = project.launch(&["resume", "--json", "paint"], &[]);
    running.until(|fact| matches!(fact, Event::PlanSaved { .. }));
    project.rapport(&["answer", "paint", "--question", "q1", "--edit", "Blue"]).check(0, "Answered.");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert!(project.file(".claude/todos/paint/paint.md").contains("A: Blue\n"));
}

/// Every question once, no word twice, and nothing that steers a terminal.
#[test]
fn plain_lines_tell_the_story_once() {
    let project = Project::with_agent("rehearsal");
    let run = project.spawn(&["run", "add a greeting"]);
    for answers in [
        vec![["q1", "1"], ["q2", "1"], ["q3", "1"]],
        vec![["q4", "1"]],
        vec![["confirm", "1"]],
        vec![["q5", "1"]],
        vec![["q6", "1"]],
    ] {
        for [question, value] in answers {
            project.wait_asked_for(question);
            project.rapport(&["answer", "greeting", "--question", question, value]).check(0, "Answered.");
        }
    }
    let ran = Ran(run.wait_with_output().unwrap());
    let text = ran.check(0, "✓ Done").out();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text}");
    for once in [
        "? q1 (1 of 3)",
        "? q2 (2 of 3)",
        "? q3 (3 of 3)",
        "? q4 Tone",
        "? confirm Plan",
        "? q5 Ending",
        "? q6 Permission",
        "A greeting, with pleasure.",
        "that raises one more question.",
        "The plan is clear.",
        "That is what we agreed on.",
        "· Edit ",
        "✓ Language → English",
        "✓ Plan ready",
        "Saved to: .claude/todos/greeting/add-a-greeting.md",
        "Done: greeting.sh greets World in English.",
    ] {
        assert_eq!(text.matches(once).count(), 1, "{once:?} was expected once in:\n{text}");
    }
    assert!(!text.contains("… "), "what the agent was at was told by facts:\n{text}");
    assert_eq!(ran.err(), "");
}

#[test]
fn a_question_that_is_opened_again_is_printed_again() {
    let project = Project::with_agent("rehearsal");
    let run = project.spawn(&["run", "add a greeting"]);
    let answer = |words: &[&str]| project.rapport(&[&["answer", "greeting"], words].concat());
    project.wait_asked();
    answer(&["--question", "q1", "English"]).check(0, "Answered.");
    answer(&["--back"]).check(0, "Open again.");
    answer(&["--question", "q1", "German"]).check(0, "Answered.");
    project.rapport(&["cancel", "greeting", "--reason", "enough"]).check(0, "Cancelled 2");
    let text = Ran(run.wait_with_output().unwrap()).check(8, "✗ Cancelled").out();
    assert_eq!(text.matches("? q1 (1 of 3)").count(), 2, "{text}");
    assert_eq!(text.matches("? q2 (2 of 3)").count(), 1, "{text}");
    assert!(text.contains("  answered before: English\n"), "{text}");
}

/// An answer can be changed until the plan is confirmed (CLARIFY-11), and a change that is refused changes nothing.
#[test]
fn an_answer_is_edited_from_another_process() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    running.until_asked();
    project.rapport(&["answer", "paint", "--question", "q1", "--edit", "9"]).check(3, "there is no option 9");
    assert_eq!(project.view().answers[0].answer, "Red");
    project.rapport(&["answer", "paint", "--question", "q1", "--edit", "Blue"]).check(0, "Answered.");
    project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    let plan = project.file(".claude/todos/paint/paint.md");
    assert!(plan.contains("**Q: Which colour?**\nA: Blue\n"), "{plan}");
    project
        .rapport(&["answer", "paint", "--question", "q1", "--edit", "Red"])
        .check(3, "can no longer be changed");
}
