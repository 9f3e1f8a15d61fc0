//! From a task to its changes in the project, over MCP.

use rapport_core::{By, Event};
use serde_json::json;

use super::WORKER;
use super::client::{Client, ToolReply};
use crate::support::needs;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// Lets a person agree to the plan.
#[track_caller]
pub(crate) fn confirm(project: &Project) {
    let session = project.session();
    project.rapport(&["answer", session.as_str(), "--question", "confirm", "confirm"]).check(0, "Answered.");
}

/// Has a worker do its work, and returns the report of its end.
pub(crate) fn done(project: &Project, client: &mut Client) -> ToolReply {
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input").says("Which colour?");
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
    client.until(&task, "needs_input").says("Start the work with this plan?");
    confirm(project);
    client.until(&task, "needs_input").says("Which file?");
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "paint.txt" }));
    client.until(&task, "completed")
}

/// WORK-2, WORK-3, WORK-4, WORK-5, WORK-7, WORK-9, WORK-10, WORK-13, WORK-15, WORK-22: a worker asks, is answered in
/// the same conversation, asks again, and ends with a diff.
#[test]
fn a_worker_asks_is_answered_and_ends_with_a_diff() {
    let project = Project::with_scenario(WORKER).recorded();
    let mut client = Client::start(&project, &[]);
    let started = client.call("task_worker", json!({ "task": "paint" }));
    let (task, session) = (started.task(), project.session());
    assert_eq!(task, format!("task-{session}"));
    assert_eq!((&started.data["success"], &started.data["sessionId"]), (&json!(true), &json!(session)));
    assert!(["started", "running"].contains(&started.status()), "{started:?}");
    assert!(started.text.contains(&format!("wait {{\"taskId\":\"{task}\"}}")), "{}", started.text);

    let asked = client.until(&task, "needs_input");
    assert_eq!(
        (&asked.data["success"], &asked.data["pendingQuestion"]),
        (&json!(true), &json!("Which colour?"))
    );
    let options = &asked.data["questions"][0]["options"];
    assert_eq!((&options[1]["label"], &options[1]["preview"]), (&json!("Blue"), &json!("*like*\nthe sky")));
    assert_eq!(options[0]["preview"], json!(null));
    let asked = asked.says("  1. Red\n  2. Blue\n     | *like*\n     | the sky\n");
    assert_eq!((&asked.data["workerRunning"], &asked.data["needsPerson"]), (&json!(true), &json!(false)));
    assert!(!project.agents_alive().is_empty(), "the worker waits at its call");
    let status = client.call("work_status", json!({ "taskId": task })).says("Question q1: Which colour?");
    let call = format!("answer_worker_question {{\"answer\":\"Red\",\"taskId\":\"{task}\"}}");
    status.says(&call).says("still running").says("Duration: ");

    let answered = client.call("answer_worker_question", json!({ "taskId": task, "answer": 2 }));
    assert!(["running", "needs_input"].contains(&answered.status()), "{answered:?}");
    client
        .until(&task, "needs_input")
        .says("Start the work with this plan?")
        .says("Only a person may decide this");
    confirm(&project);
    let again = client.until(&task, "needs_input");
    assert_eq!(again.data["pendingQuestion"], "Which file?");
    client
        .call("answer_worker_question", json!({ "taskId": task, "answer": "paint.txt" }))
        .says("Answered by");

    let ended = client.until(&task, "completed").says("Diff ID: diff-").says("Files changed: ");
    assert_eq!(ended.diff(), format!("diff-{session}-1"));
    assert!(ended.data["filesChanged"].as_u64() >= Some(1), "{ended:?}");
    assert_eq!(ended.data["result"], "Painted.");
    let by = project.facts().into_iter().filter_map(|fact| match fact {
        Event::Answered { question, by, .. } => Some((question.to_string(), by)),
        _ => None,
    });
    let lead = By::Lead { name: "test-client".into() };
    let by: Vec<_> = by.collect();
    assert_eq!((&by[0], &by[2]), (&("q1".into(), lead.clone()), &("q2".into(), lead)));
    assert!(
        matches!(&by[1], (confirm, By::Person { channel, .. }) if confirm == "confirm" && channel == "terminal")
    );
    assert_eq!(project.agent_inputs().len(), 2, "the answers went into the processes that asked");

    // WORK-12: nothing of a completed task is left running.
    project.wait_alone(std::time::Duration::from_secs(20));
    assert_eq!(project.file("paint.txt"), "", "the project is as it was");
    assert_eq!(client.close().0, Some(0));
}

/// A call of `wait` tells every 20 seconds that it still waits, so that no client gives it up.
#[test]
fn a_long_wait_tells_of_its_progress() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut client = Client::start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input");
    let waiting = client.ask_tool("wait", &json!({ "taskId": task, "seconds": 25 }));
    let progress = client.find("progress", |message| message["method"] == "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], waiting, "{progress}");
    client.told(waiting);
}

/// A model's wish to apply is a question to a person, who applies it; `wait` tells of that.
#[test]
fn what_the_model_wants_applied_a_person_applies() {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &[]);
    let ended = done(&project, &mut client);
    let (task, diff, session) = (ended.task(), ended.diff(), project.session());
    client.call("review_changes", json!({ "diffId": diff })).says("+Blue").says("paint.txt");
    let summary =
        client.call("review_changes", json!({ "diffId": diff, "format": "summary" })).says("paint.txt");
    assert!(!summary.text.contains("+Blue"), "{}", summary.text);
    client.call("review_changes", json!({})).says(&diff);
    client.call("apply_changes", json!({ "diffId": diff, "confirm": false })).says("Nothing was applied");
    assert!(!project.facts().iter().any(|fact| matches!(fact, Event::ApplyRequested { .. })));

    let refused = client.call("apply_changes", json!({ "diffId": diff }));
    refused.refuses("needs_person", &format!("rapport apply {session}"));
    assert_eq!(project.file("paint.txt"), "");
    assert!(project.facts().iter().any(|fact| matches!(fact, Event::ApplyRequested { .. })));
    project.rapport(&["status", session.as_str()]).check(0, "the lead test-client asks you to apply it");
    client.call("work_status", json!({ "taskId": task })).says("A person was asked to apply it");

    let waiting = client.ask_tool("wait", &json!({ "taskId": task, "seconds": 50 }));
    project.rapport(&["apply", session.as_str()]).check(0, "Applied to");
    let applied = client.told(waiting);
    assert_eq!((&applied.data["changed"], &applied.data["changes"]), (&json!(true), &json!("applied")));
    assert_eq!(project.file("paint.txt"), "Blue\n");
    client.call("apply_changes", json!({ "diffId": diff })).refuses("not_now", "was applied already");
}

/// Before one of two diffs is applied, the lead is told that the other changes the same files, at the review and at
/// the apply.
#[test]
fn other_work_on_the_same_files_is_told() {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &["--apply", "lead"]);
    let first = done(&project, &mut client).diff();
    let task = client.call("task_worker", json!({ "task": "varnish" })).task();
    client.until(&task, "needs_input");
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Red" }));
    client.until(&task, "needs_input").says("Start the work with this plan?");
    let session = task.strip_prefix("task-").unwrap();
    project.rapport(&["answer", session, "--question", "confirm", "confirm"]).check(0, "Answered.");
    client.until(&task, "needs_input").says("Which file?");
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "paint.txt" }));
    let second = client.until(&task, "completed").diff();

    let words = format!("{first} waits too, and changes the same files: paint.txt\n");
    let overlaps = json!([{ "diffId": first, "files": ["paint.txt"] }]);
    for (tool, arguments) in [
        ("review_changes", json!({ "diffId": second })),
        ("apply_changes", json!({ "diffId": second, "confirm": false })),
        ("apply_changes", json!({ "diffId": second })),
    ] {
        let told = client.call(tool, arguments).says(&words);
        assert_eq!(told.data["overlaps"], overlaps, "{told:?}");
    }
    let alone = client.call("review_changes", json!({ "diffId": first }));
    assert_eq!(alone.data["overlaps"], json!([]), "the other one waits no more");
    client.call("apply_changes", json!({ "diffId": first })).refuses("not_now", "paint.txt");
}

/// With the person's flag the model applies; a revision continues in the same conversation and has a diff of its own.
#[test]
fn a_revision_has_a_diff_of_its_own_and_the_model_applies_it_if_it_may() {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &["--apply", "lead"]);
    let ended = done(&project, &mut client);
    let (task, first) = (ended.task(), ended.diff());
    let arguments =
        json!({ "diffId": first, "feedback": "Add more.", "additionalContext": "More is better." });
    client.call("request_revision", arguments).says("revise");
    let revised = client.until(&task, "completed");
    let second = revised.diff();
    assert_eq!(second, format!("diff-{}-2", project.session()));
    assert_eq!(revised.data["result"], "Revised.");
    let said = project.facts().into_iter().find_map(|fact| match fact {
        Event::Heard { text, by, .. } => Some((text, by)),
        _ => None,
    });
    let (text, by) = said.unwrap();
    assert_eq!(by, By::Lead { name: "test-client".into() });
    assert_eq!(
        text,
        "Add more.\n\nKeep what is right, and change only what this asks for.\n\nMore is better."
    );

    client.call("apply_changes", json!({ "diffId": first })).refuses("not_now", &format!("has {second} now"));
    client.call("review_changes", json!({ "diffId": first })).refuses("not_now", "out of date");
    let applied = client.call("apply_changes", json!({ "diffId": second })).says("Applied");
    assert_eq!(applied.data["changes"], "applied");
    assert_eq!((project.file("paint.txt"), project.file("more.txt")), ("Blue\n".into(), "more\n".into()));
    assert!(project.facts().iter().any(|fact| matches!(fact, Event::Applied { by: By::Lead { .. }, .. })));
    assert!(!project.git(&["worktree", "list"]).contains("rapport/"), "WORK-12: its workplace is gone");
}

/// Conflicts are named by file, and nothing is changed.
#[test]
fn conflicts_are_named_and_rejected_work_leaves_nothing() {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &["--apply", "lead"]);
    let diff = done(&project, &mut client).diff();
    std::fs::write(project.root().join("paint.txt"), "Green\n").unwrap();
    let refused = client.call("apply_changes", json!({ "diffId": diff }));
    let refused = refused.refuses("not_now", "paint.txt");
    assert_eq!(refused.data["conflicts"], json!(["paint.txt"]));
    assert_eq!(project.file("paint.txt"), "Green\n");

    let rejected =
        client.call("reject_changes", json!({ "diffId": diff, "reason": "Too blue." })).says("Rejected");
    assert_eq!(rejected.data["changes"], "discarded");
    assert!(rejected.text.contains("Its workplace is removed."), "{}", rejected.text);
    client
        .call("view_container_logs", json!({ "identifier": diff }))
        .says("discarded by the lead test-client: Too blue.");
    let reason = project.facts().into_iter().find_map(|fact| match fact {
        Event::Discarded { reason, .. } => reason,
        _ => None,
    });
    assert_eq!(reason.as_deref(), Some("Too blue."));
    client.call("reject_changes", json!({ "diffId": diff })).refuses("not_now", "was rejected already");
    assert!(!project.git(&["branch", "--list"]).contains("rapport/"), "its branch is gone");
    assert_eq!(project.file("paint.txt"), "Green\n");
}

/// Workers in a sandbox are led in the same way; one who may have a sandbox does not get less.
#[test]
fn a_worker_in_a_sandbox_is_led_in_the_same_way() {
    if !needs::sandbox() {
        return;
    }
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_WORKER", "sandbox");
    let mut client = Client::start(&project, &["--apply", "lead"]);
    client
        .call("task_worker", json!({ "task": "paint", "worker": "worktree" }))
        .refuses("invalid", "confines");
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    let asked = client.until(&task, "needs_input").says("Which colour?");
    assert_eq!(asked.data["worker"], "sandbox");
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
    client.until(&task, "needs_input");
    confirm(&project);
    let diff = client.until(&task, "completed").diff();
    client.call("apply_changes", json!({ "diffId": diff })).says("Applied");
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

/// The tools are those that are promised, and say what they take.
#[test]
fn the_tools_are_listed() {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &[]);
    let listed = client.request("tools/list", &json!({}));
    let names: Vec<_> = listed["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    for name in [
        "task_worker",
        "work_status",
        "answer_worker_question",
        "review_changes",
        "apply_changes",
        "reject_changes",
        "request_revision",
        "view_container_logs",
        "list_container_logs",
        "system_status",
        "wait",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
    let status = client.call("system_status", json!({})).says(env!("CARGO_PKG_VERSION"));
    assert_eq!((&status.data["worker"], &status.data["tasks"]), (&json!("worktree"), &json!({})));
    let none = client.request("tools/call", &json!({ "name": "rm", "arguments": {} }));
    assert_eq!(none["error"]["code"], -32602, "{none}");
}

/// WORK-14: the log has an entry per interaction, and all questions with their answers.
#[test]
fn the_log_has_the_whole_conversation() {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &[]);
    client.call("list_container_logs", json!({})).says("There are no logs yet");
    let ended = done(&project, &mut client);
    let log = client.call("view_container_logs", json!({ "identifier": ended.task() }));
    let pairs: Vec<_> = log.data["conversation"].as_array().unwrap().iter().collect();
    let told = |at: usize, key: &str| pairs[at][key].as_str().unwrap().to_owned();
    assert_eq!((told(0, "question"), told(0, "answer")), ("Which colour?".into(), "Blue".into()));
    assert_eq!(told(0, "by"), "the lead test-client");
    assert_eq!((told(2, "question"), told(2, "answer")), ("Which file?".into(), "paint.txt".into()));
    let log = log
        .says("the lead test-client wants: paint")
        .says("- q1: Which colour?\n  Blue (the lead test-client)");
    let all = log.data["lines"].as_array().unwrap().len();
    let tail = client.call("view_container_logs", json!({ "identifier": ended.diff(), "tail": 2 }));
    assert_eq!(tail.data["lines"].as_array().unwrap().len(), 2);
    assert_eq!(tail.data["leftOut"], json!(all - 2));
    let found = json!({ "identifier": project.session(), "filter": "COMPLETED" });
    assert_eq!(client.call("view_container_logs", found).data["lines"].as_array().unwrap().len(), 1);
    let listed =
        client.call("list_container_logs", json!({ "limit": 5, "sortBy": "size" })).says(&ended.task());
    assert_eq!(listed.data["logs"][0]["facts"].as_u64().map(|facts| facts as usize), Some(all));
    client.call("view_container_logs", json!({ "identifier": "task-2020-no" })).refuses("unknown", "no task");
}
