//! A session in a clone that another person's assistant began over MCP: none of this person's assistants acts in it.

use std::fs;

use rapport_core::SessionId;
use serde_json::{Value, json};

use super::{log_of, pull_sessions, was_started, write};
use crate::mcp::WORKER;
use crate::mcp::client::Client;
use crate::mcp::http::Site;
use crate::mcp::story::done;
use crate::support::project::Project;

/// Sessions that a stranger began over MCP, in another person's project: one waits for an answer, one for a decision
/// about its diff; each as the stranger signed it, and without seals.
fn cloned() -> (Project, Vec<SessionId>) {
    let victim = Project::with_scenario(WORKER).recorded();
    let mut sessions = Vec::new();
    for is_done in [false, true] {
        let stranger = Project::with_scenario(WORKER);
        let mut client = Client::start(&stranger, &["--apply", "lead"]);
        if is_done {
            done(&stranger, &mut client);
        } else {
            let task = client.call("task_worker", json!({ "task": "varnish" })).task();
            client.until(&task, "needs_input");
        }
        client.kill();
        let session = stranger.session();
        pull_sessions(&stranger, &victim);
        let entries = stranger.store().read(&session, 0).unwrap();
        let conversation = stranger.store().attached(&session, "conversation").unwrap();
        sessions.push(write(&victim.store(), &entries, conversation.as_deref()));
        sessions.push(session);
    }
    assert_eq!(victim.store().list().unwrap().len(), 4, "{sessions:?}");
    (victim, sessions)
}

/// Every call about a session that is refused.
fn calls(session: &SessionId) -> Vec<(&'static str, Value)> {
    let (task, diff) = (format!("task-{session}"), format!("diff-{session}-1"));
    vec![
        ("work_status", json!({ "taskId": task })),
        ("wait", json!({ "taskId": task, "seconds": 5 })),
        ("answer_worker_question", json!({ "taskId": task, "answer": "Blue" })),
        ("answer_worker_question", json!({ "taskId": task, "answer": "Blue", "questionId": "q1" })),
        ("answer_worker_question", json!({ "taskId": task, "answer": "" })),
        ("review_changes", json!({ "diffId": diff })),
        ("apply_changes", json!({ "diffId": diff })),
        ("apply_changes", json!({ "diffId": diff, "withConflicts": true })),
        ("reject_changes", json!({ "diffId": diff, "reason": "no" })),
        ("request_revision", json!({ "diffId": diff, "feedback": "more" })),
        ("view_container_logs", json!({ "identifier": task })),
    ]
}

/// Every call about all sessions, and where its result lists them: the list is empty.
const LISTS: [(&str, &str); 4] = [
    ("work_status", "/tasks"),
    ("wait", "/tasks"),
    ("review_changes", "/diffs"),
    ("list_container_logs", "/logs"),
];

fn arguments(tool: &str) -> Value {
    if tool == "wait" { json!({ "seconds": 1 }) } else { json!({}) }
}

/// The logs of these sessions, and what git has of branches and worktrees.
fn state(victim: &Project, sessions: &[SessionId]) -> (Vec<Vec<u8>>, String) {
    let logs = sessions.iter().map(|session| fs::read(log_of(victim, session)).unwrap()).collect();
    (logs, victim.git(&["worktree", "list"]) + &victim.git(&["branch", "--list"]))
}

#[track_caller]
fn refuses(tool: &str, session: &SessionId, told: &Value) {
    assert_eq!((&told["success"], &told["error"]), (&json!(false), &json!("failed")), "{tool}: {told}");
    let message = told["message"].as_str().unwrap();
    assert!(message.contains(session.as_str()) && message.contains("signed"), "{tool}: {message}");
}

#[test]
fn no_client_acts_in_a_session_of_a_stranger() {
    let (victim, sessions) = cloned();
    let before = state(&victim, &sessions);
    let mut client = Client::start(&victim, &["--apply", "lead"]);
    for session in &sessions {
        for (tool, arguments) in calls(session) {
            let told = client.call(tool, arguments);
            assert!(told.is_error, "{tool}: {told:?}");
            refuses(tool, session, &told.data);
        }
    }
    for (tool, at) in LISTS {
        let told = client.call(tool, arguments(tool)).data;
        assert_eq!(told.pointer(at), Some(&json!([])), "{tool}: {told}");
    }
    let status = client.call("system_status", json!({}));
    assert_eq!(status.data["tasks"], json!({}));
    assert_eq!(client.close().0, Some(0));
    assert_eq!(state(&victim, &sessions), before);
    assert!(!was_started(&victim) && victim.file("paint.txt").is_empty());
}

/// The same over HTTP, in `serve`.
#[tokio::test(flavor = "multi_thread")]
async fn no_client_over_http_acts_in_a_session_of_a_stranger() {
    let (victim, sessions) = tokio::task::spawn_blocking(cloned).await.unwrap();
    let before = state(&victim, &sessions);
    let mut site = Site::start(victim);
    site.greet().await;
    for session in &sessions {
        for (tool, arguments) in calls(session) {
            refuses(tool, session, &site.call(tool, arguments).await);
        }
    }
    for (tool, at) in LISTS {
        let told = site.call(tool, arguments(tool)).await;
        assert_eq!(told.pointer(at), Some(&json!([])), "{tool}: {told}");
    }
    assert_eq!(state(&site.project, &sessions), before);
    assert!(!was_started(&site.project) && site.project.file("paint.txt").is_empty());
}
