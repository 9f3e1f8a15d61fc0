//! The rehearsal must not drift from the real CLI: each recorded exchange is played again, with the host's lines as
//! recorded, and every line of the rehearsal is compared with the line that the real CLI printed.

use std::collections::{BTreeSet, HashMap};

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Call, ExitPlan, OtherTool, Scenario, Step, WriteFile};
use serde_json::{Value, json};

use super::story::{bash, kind, live_answer, two_questions, which_storage};
use crate::support::rehearsal::{Live, Rehearsal, recorded};

/// Fields whose values must be the same, not only there.
const SAME: &[&str] = &[
    "stop_reason",
    "terminal_reason",
    "is_error",
    "num_turns",
    "subtype",
    "result",
    "total_cost_usd",
    "permission_denials",
    "deferred_tool_use",
    "result_index",
    "permissionMode",
];

#[test]
fn live_answer_is_as_recorded() {
    check(live_answer(), &[("live-answer", &[])]);
}

#[test]
fn question_deferred_and_resumed_is_as_recorded() {
    check(live_answer(), &[("question-deferred", &[]), ("deferred-resumed", &["--resume"])]);
}

#[test]
fn deferred_and_forked_is_as_recorded() {
    check(live_answer(), &[("question-deferred", &[]), ("deferred-forked", &["--fork-session", "--resume"])]);
}

#[test]
fn two_questions_at_once_are_as_recorded() {
    check(two_questions(), &[("two-questions-at-once", &[])]);
}

#[test]
fn of_two_deferred_questions_only_the_last_is_asked_again_as_recorded() {
    check(
        two_questions(),
        &[("two-questions-deferred", &[]), ("two-questions-deferred-resumed", &["--resume"])],
    );
}

#[test]
fn deferral_beside_another_tool_is_as_recorded() {
    let calls = vec![Call::Bash(bash("toolu_b1", "echo one", "One")), Call::Ask(which_storage())];
    let scenario = Scenario::new("beside").together(calls).respond_with_text("Done.");
    let resumed = ("deferred-beside-another-tool-resumed", &["--resume"][..]);
    check(scenario, &[("deferred-beside-another-tool", &[]), resumed]);
}

#[test]
fn tool_permission_is_as_recorded() {
    let write = WriteFile {
        path: "hello.txt".into(),
        content: "hi\n".into(),
        permission: true,
        id: Some("toolu_w1".into()),
    };
    let scenario = Scenario::new("permission")
        .respond_with_text("Let me write it.")
        .step(Step::Write(write))
        .step(Step::Bash(bash("toolu_b1", "touch x && rm -rf build", "Clean build")))
        .with_permission()
        .respond_with_text("All done.");
    let rehearsal = check(scenario, &[("tool-permission", &[])]);
    assert_eq!(rehearsal.file("hello.txt").as_deref(), Some("hi\n"), "allowed");
    assert_eq!(rehearsal.file("x"), None, "denied");
}

#[test]
fn plan_mode_is_as_recorded() {
    let plan = ExitPlan { plan: "# Plan\n1. Add JWT\n2. Tests".into(), id: Some("toolu_p1".into()) };
    let scenario = Scenario::new("plan")
        .asks(which_storage())
        .step(Step::ExitPlan(plan))
        .respond_with_text("Executing.");
    check(scenario, &[("plan-mode", &["--permission-mode", "plan"])]);
}

#[test]
fn interrupt_is_as_recorded() {
    check(slow_work(), &[("interrupt", &[])]);
}

#[test]
fn message_during_a_turn_is_as_recorded() {
    let rehearsal = check(slow_work(), &[("message-during-turn", &[])]);
    let heard = rehearsal.stdin(1);
    assert_eq!(heard[2]["message"]["content"], "[Question from worker w42] Use bcrypt or argon2?");
}

#[test]
fn other_tools_are_as_recorded() {
    let tool = OtherTool {
        name: "mcp__sup__claude_code_respond".into(),
        input: json!({"sessionId": "abc", "response": "argon2"}),
        result: "sent".into(),
        permission: false,
        id: Some("toolu_m1".into()),
    };
    check(Scenario::new("mcp").step(Step::Tool(tool)).respond_with_text("Answered."), &[("mcp-tool", &[])]);
}

#[test]
fn resume_after_kill_is_as_recorded() {
    let rehearsal = Rehearsal::of(live_answer());
    let mut live = rehearsal.live_with(&[], Value::Null, "add auth");
    live.until("control_request");
    let session = rehearsal.stdout(1)[1]["session_id"].as_str().unwrap().to_owned();
    live.kill();
    replay(&rehearsal, "resume-after-kill", &["--resume", &session]);
}

/// Plays one recording after the other in one home; a last flag `--resume` gets the session of the first.
fn check(scenario: ScenarioBuilder, recordings: &[(&str, &[&str])]) -> Rehearsal {
    let rehearsal = Rehearsal::of(scenario);
    let mut session = String::new();
    for (name, flags) in recordings {
        let mut flags = flags.to_vec();
        if flags.last() == Some(&"--resume") {
            flags.push(&session);
        }
        let next = replay(&rehearsal, name, &flags);
        session = next;
    }
    rehearsal
}

fn replay(rehearsal: &Rehearsal, name: &str, flags: &[&str]) -> String {
    let mut live = rehearsal.live(&[&["--model", "claude-opus-5-5"], flags].concat());
    let mut requests = HashMap::new();
    let mut messages = HashMap::new();
    let mut session = String::new();
    let project = rehearsal.project().to_string_lossy().into_owned();
    for line in recorded(name) {
        if line["to"] == "agent" {
            live.send(&renamed(&line["line"], &requests, &project));
            continue;
        }
        let (real, ours) = (&line["line"], live.event());
        compare(name, &renamed(real, &requests, &project), &ours);
        if let (Some(theirs), Some(own)) = (real["message"]["id"].as_str(), ours["message"]["id"].as_str()) {
            let known = messages.insert(theirs.to_owned(), own.to_owned());
            assert!(known.is_none_or(|known| known == own), "{name}: one model response, one message id");
        }
        if let (Some(theirs), Some(own)) = (real["request_id"].as_str(), ours["request_id"].as_str()) {
            requests.insert(theirs.to_owned(), own.to_owned());
        }
        if let Some(id) = ours["session_id"].as_str() {
            session = id.to_owned();
        }
    }
    let distinct: BTreeSet<&String> = messages.values().collect();
    assert_eq!(distinct.len(), messages.len(), "{name}: another response, another message id");
    ended(live);
    session
}

/// Nothing must come after the recorded lines, and the end must be clean.
fn ended(live: Live) {
    let (rest, status) = live.finish();
    assert_eq!(rest, Vec::<Value>::new());
    assert_eq!(status.code(), Some(0));
}

/// A recorded line with the paths and request ids of this run.
fn renamed(line: &Value, requests: &HashMap<String, String>, project: &str) -> Value {
    let mut text = line.to_string().replace("/home/dev/app", project);
    for (theirs, own) in requests {
        text = text.replace(theirs, own);
    }
    serde_json::from_str(&text).unwrap()
}

fn compare(name: &str, real: &Value, ours: &Value) {
    assert_eq!(kind(ours), kind(real), "{name}: {ours}");
    for part in ["", "/message", "/request", "/request/input", "/response", "/message/content/0", "/usage"] {
        let (real, ours) = (real.pointer(part), ours.pointer(part));
        let (Some(real), Some(ours)) = (real.and_then(Value::as_object), ours.and_then(Value::as_object))
        else {
            continue;
        };
        let known: BTreeSet<_> = real.keys().collect();
        let invented: Vec<_> = ours.keys().filter(|key| !known.contains(key)).collect();
        assert!(invented.is_empty(), "{name}: the real CLI has no {invented:?} in {part} of {real:?}");
    }
    for key in
        ["request", "uuid", "timestamp", "parent_tool_use_id", "tool_use_result", "session_id", "usage"]
    {
        assert_eq!(ours.get(key).is_some(), real.get(key).is_some(), "{name}: {key} of {ours}");
    }
    for key in SAME {
        assert_eq!(ours.get(key), real.get(key), "{name}: {key} of {ours}");
    }
    for part in [
        "/message/content/0/input",
        "/request/input/questions",
        "/request/tool_use_id",
        "/tool_use_result/answers",
    ] {
        if part.ends_with("input") && real["message"]["content"][0]["name"] == "Bash" {
            continue;
        }
        assert_eq!(ours.pointer(part), real.pointer(part), "{name}: {part} of {ours}");
    }
    if real["tool_use_result"]["questions"].is_array() {
        assert_eq!(ours["message"]["content"][0]["content"], real["message"]["content"][0]["content"]);
    }
    for key in ["input_tokens", "output_tokens"] {
        assert_eq!(ours["usage"][key], real["usage"][key], "{name}: {key} of {ours}");
    }
}

/// Works until it is told something, or long enough to be interrupted.
fn slow_work() -> ScenarioBuilder {
    Scenario::new("slow work")
        .respond_with_text("Working.")
        .step(Step::Bash(bash("toolu_s1", "sleep 1; echo slept", "Sleep")))
        .respond_with_text("Second step.")
}
