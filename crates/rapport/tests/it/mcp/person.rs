//! Decisions that stay with the person: permissions, plans, and sessions that a model did not begin. The first answer
//! wins.

use rapport_core::{By, Event};
use serde_json::json;

use super::WORKER;
use super::client::Client;
use super::story::confirm;
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::{ONE_QUESTION, PERMISSION};

fn answers(project: &Project) -> Vec<(String, By)> {
    let facts = project.facts().into_iter();
    facts
        .filter_map(|fact| match fact {
            Event::Answered { question, by, .. } => Some((question.to_string(), by)),
            _ => None,
        })
        .collect()
}

/// A model that tries to confirm a plan or to allow a call is refused, and told where a person decides.
#[test]
fn a_model_confirms_no_plan_and_gives_no_permission() {
    let project = Project::with_scenario(PERMISSION);
    let mut client = Client::start(&project, &["--apply", "lead"]);
    let task = client.call("task_worker", json!({ "task": "build" })).task();
    let asked = client.until(&task, "needs_input");
    assert_eq!(asked.data["needsPerson"], true);
    let here = format!("rapport answer {}", project.session());
    for answer in ["confirm", "Confirm & start", "yes", "1", "cancel", "a smaller plan"] {
        let arguments = json!({ "taskId": task, "answer": answer });
        let refused = client.call("answer_worker_question", arguments).refuses("needs_person", &here);
        assert_eq!(refused.status(), "needs_input");
    }
    let by_id = json!({ "taskId": task, "answer": "confirm", "questionId": "confirm" });
    client.call("answer_worker_question", by_id).refuses("needs_person", "agreeing to a plan");
    let by_map = json!({ "taskId": task, "answer": { "confirm": "confirm" } });
    client.call("answer_worker_question", by_map).refuses("needs_person", "agreeing to a plan");
    confirm(&project);

    let asked = client.until(&task, "needs_input").says("Only a person may decide this");
    assert_eq!(asked.data["questions"][0]["matter"], "giving a permission");
    for answer in ["allow", "deny", "1", "always"] {
        let arguments = json!({ "taskId": task, "answer": answer });
        client.call("answer_worker_question", arguments).refuses("needs_person", "giving a permission");
    }
    assert!(answers(&project).iter().all(|(_, by)| matches!(by, By::Person { .. })));
    project.rapport(&["answer", project.session().as_str(), "allow"]).check(0, "Answered.");
    client.until(&task, "completed").says("Done.");
}

/// Every door sees the same question: the first answer wins, and the late one is told who was first.
#[test]
fn the_first_answer_wins_whoever_gives_it() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut client = Client::start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input");
    project.rapport(&["answer", "paint", "--question", "q1", "Red"]).check(0, "Answered.");
    let late = json!({ "taskId": task, "answer": "Blue", "questionId": "q1" });
    client.call("answer_worker_question", late).refuses("not_now", "already answered with \"Red\"");
    let unnamed = client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
    assert!(unnamed.is_error, "{unnamed:?}");
    assert_eq!(answers(&project).len(), 1);
}

/// LEAD-12: under `assist` and `auto` a model only drafts. It is told so, drafts once, and a person sends the draft.
#[test]
fn a_draft_of_a_model_is_sent_by_a_person() {
    for policy in ["assist", "auto"] {
        let project = Project::with_scenario(ONE_QUESTION);
        let mut client = Client::start(&project, &["--questions", policy]);
        let task = client.call("task_worker", json!({ "task": "paint" })).task();
        client.until(&task, "needs_input");
        let blue = json!({ "taskId": task, "answer": "Blue" });
        let drafted = client.call("answer_worker_question", blue.clone()).says("Nothing is answered yet.");
        assert_eq!(drafted.status(), "needs_input");
        assert_eq!(drafted.data["questions"][0]["draft"], "Blue");
        assert_eq!(drafted.data["needsPerson"], true);
        client.call("answer_worker_question", blue).refuses("not_now", "waits for a person");
        assert!(answers(&project).is_empty(), "{:?}", answers(&project));
        let session = project.session();
        let draft = ["answer", session.as_str(), "--question", "q1", "--draft"];
        project.rapport(&draft).check(0, "Answered");
        assert!(matches!(answers(&project).as_slice(), [(_, By::Person { .. })]), "{:?}", answers(&project));
        client.until(&task, "needs_input").says("Start the work with this plan?");
        confirm(&project);
        client.until(&task, "completed").says("Painted in Blue.");
    }
}

/// A session that a person began is the person's: a model may look at it, and not act in it.
#[test]
fn a_session_of_a_person_is_theirs() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut run = project.start(&["--worker", "worktree", "paint"], &[]);
    run.until_asked();
    let mut client = Client::start(&project, &["--apply", "lead"]);
    let task = format!("task-{}", project.session());
    client.call("work_status", json!({ "taskId": task })).says("Which colour?");
    let answer = json!({ "taskId": task, "answer": "Blue" });
    client.call("answer_worker_question", answer).refuses("needs_person", "was begun by");
    assert!(answers(&project).is_empty());
    project.rapport(&["answer", "paint", "Red"]).check(0, "Answered.");
    run.until_asked();
    confirm(&project);
    assert_eq!(run.finish(), 0);
    let ended = client.call("work_status", json!({ "taskId": task }));
    let diff = json!({ "diffId": ended.diff() });
    client.call("review_changes", diff.clone()).says("+Red");
    client.call("apply_changes", diff.clone()).refuses("needs_person", "was begun by");
    client.call("reject_changes", diff).refuses("needs_person", "was begun by");
    assert_eq!(project.file("paint.txt"), "");
}

/// Answers to tasks that do not exist, do not wait, or wait without a process.
#[test]
fn answers_to_unknown_finished_and_parked_tasks() {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &["--hot", "0s"]);
    for name in ["task-20200101-nothing", "diff-20200101-nothing-1"] {
        let arguments = json!({ "taskId": name, "answer": "x" });
        client.call("answer_worker_question", arguments).refuses("unknown", "there is no task");
    }
    for name in ["task-../../etc", "", "task-"] {
        client.call("work_status", json!({ "taskId": name })).refuses("invalid", "is not the id of a task");
    }
    client
        .call("review_changes", json!({ "diffId": "task-x" }))
        .refuses("invalid", "is not the id of a diff");
    client.call("task_worker", json!({ "task": " " })).refuses("not_now", "the task is empty");
    client
        .call("task_worker", json!({ "task": "x", "worker": "local" }))
        .refuses("invalid", "the project itself");
    let elsewhere = json!({ "task": "x", "workFolder": "/" });
    client.call("task_worker", elsewhere).refuses("invalid", "this server works in");
    client.call("task_worker", json!({ "tusk": "x" })).refuses("invalid", "tusk");
    assert_eq!(project.store().list().unwrap(), []);

    // The agent's process is parked at its question; the answer starts it again at the same call.
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input").says("Which colour?");
    wait_for("the agent to be parked", || {
        project.facts().iter().any(|fact| matches!(fact, Event::Parked { .. })).then_some(())
    });
    client.call("work_status", json!({ "taskId": task })).says("is parked");
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
    client.until(&task, "needs_input").says("Start the work with this plan?");
    confirm(&project);
    client.until(&task, "needs_input").says("Which file?");
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "paint.txt" }));
    let ended = client.until(&task, "completed");
    let late = json!({ "taskId": ended.task(), "answer": "x" });
    client
        .call("answer_worker_question", late)
        .refuses("not_now", "is not waiting for input (status: completed)");
    client
        .call("review_changes", json!({ "diffId": format!("{}0", ended.diff()) }))
        .refuses("unknown", "has had 1");
}
