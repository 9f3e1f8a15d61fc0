//! Permissions: hooks, permission requests, modes, and the effect of each decision.

use rapport::agents::rehearsal::scenario::{Scenario, Step};
use serde_json::{Value, json};

use super::story::{outline, two_questions, which_db};
use crate::support::rehearsal::{Rehearsal, ask_hook, hook};

/// What a question's result is, given the hook's and the permission's answers.
fn check_question(hook_says: Option<Value>, permission_says: Option<Value>, is_error: bool, said: &str) {
    let rehearsal = Rehearsal::of(Scenario::new("question").asks(which_db()).respond_with_text("Done."));
    let hooks = if hook_says.is_some() { ask_hook() } else { Value::Null };
    let mut live = rehearsal.live_with(&[], hooks, "go");
    for (subtype, says) in [("hook_callback", hook_says), ("can_use_tool", permission_says)] {
        if let Some(says) = says {
            let request = live.until("control_request");
            assert_eq!(request["request"]["subtype"], subtype);
            live.respond(&request, says);
        }
    }
    let block = live.until("user")["message"]["content"][0].clone();
    assert_eq!(block["is_error"] == true, is_error, "{block}");
    assert!(block["content"].as_str().unwrap().contains(said), "{block}");
    assert_eq!(live.until("result")["result"], "Done.", "goes on either way");
}

#[test]
fn what_a_question_comes_to() {
    let answered = || json!({"questions": [{"question": "Which db?"}], "answers": {"Which db?": "PG"}});
    let unanswered = || json!({"questions": [{"question": "Which db?"}]});
    let allow = |input: Value| json!({"behavior": "allow", "updatedInput": input});
    let mut deny = hook("deny", Value::Null);
    deny["hookSpecificOutput"]["permissionDecisionReason"] = json!("Not today");

    check_question(None, Some(allow(answered())), false, "\"Which db?\"=\"PG\"");
    check_question(None, Some(allow(unanswered())), false, "did not answer");
    check_question(None, Some(json!({"behavior": "deny", "message": "Ask the lead"})), true, "Ask the lead");
    check_question(Some(hook("allow", answered())), None, false, "\"Which db?\"=\"PG\"");
    check_question(Some(hook("allow", Value::Null)), Some(allow(answered())), false, "\"PG\"");
    check_question(Some(deny), None, true, "Not today");
    check_question(Some(json!({})), Some(allow(answered())), false, "\"PG\"");
}

#[test]
fn hooks_are_matched_by_name() {
    for (matcher, subtype) in [
        ("AskUserQuestion", "hook_callback"),
        ("Bash|AskUserQuestion", "hook_callback"),
        ("*", "hook_callback"),
        ("Bash", "can_use_tool"),
        ("AskUser", "can_use_tool"),
    ] {
        let rehearsal = Rehearsal::of(Scenario::new("matcher").asks(which_db()));
        let hooks = json!({"PreToolUse": [{"matcher": matcher, "hookCallbackIds": ["h"]}]});
        let mut live = rehearsal.live_with(&[], hooks, "go");
        assert_eq!(live.until("control_request")["request"]["subtype"], subtype, "{matcher}");
    }
}

#[test]
fn a_hook_that_takes_too_long_is_cancelled_and_the_agent_goes_on() {
    let rehearsal = Rehearsal::of(Scenario::new("timeout").asks(which_db()).respond_with_text("Done."));
    let hooks =
        json!({"PreToolUse": [{"matcher": "AskUserQuestion", "hookCallbackIds": ["h"], "timeout": 0.05}]});
    let mut live = rehearsal.live_with(&[], hooks, "go");
    let request = live.until("control_request");
    let cancel = live.event();
    assert_eq!(cancel["type"], "control_cancel_request");
    assert_eq!(cancel["request_id"], request["request_id"]);
    assert_eq!(live.until("user")["message"]["content"][0]["is_error"], true);
    assert_eq!(live.until("result")["result"], "Done.");
}

#[test]
fn two_questions_are_open_at_once_and_answered_in_any_order() {
    let rehearsal = Rehearsal::of(two_questions());
    let mut live = rehearsal.live_with(&[], Value::Null, "go");
    let (first, second) = (live.until("control_request"), live.until("control_request"));
    assert_ne!(first["request_id"], second["request_id"]);
    live.answer(&second, json!({"Which storage?": "Local"}));
    live.answer(&first, json!({"Which db?": "PG"}));
    let (events, _) = live.finish();
    assert_eq!(
        outline(&events),
        ["result toolu_ask1", "result toolu_ask0", "says Done.", "result success \"end_turn\""]
    );
}

#[test]
fn one_answered_and_one_deferred_keeps_the_answer() {
    let rehearsal = Rehearsal::of(two_questions());
    let mut live = rehearsal.live_with(&[], ask_hook(), "go");
    let (first, second) = (live.until("control_request"), live.until("control_request"));
    live.respond(&first, hook("defer", Value::Null));
    live.answer(&second, json!({"Which storage?": "Local"}));
    let (events, _) = live.finish();
    assert_eq!(outline(&events), ["result toolu_ask1", "result success \"tool_deferred\""]);
    assert_eq!(events[1]["deferred_tool_use"]["id"], "toolu_ask0");
}

/// How many requests a scenario of one Write and two Bash calls makes.
fn check_requests(flags: &[&str], allow: Value, expected: usize) {
    let scenario = Scenario::new("modes")
        .uses_write("w", "w")
        .with_permission()
        .uses_bash("touch b1")
        .with_permission()
        .uses_bash("touch b2")
        .with_permission()
        .respond_with_text("Done.");
    let rehearsal = Rehearsal::of(scenario);
    let mut live = rehearsal.live_with(flags, Value::Null, "go");
    let mut asked = 0;
    loop {
        let event = live.event();
        match event["type"].as_str().unwrap() {
            "control_request" => {
                asked += 1;
                live.respond(&event, allow.clone());
            }
            "result" => break,
            _ => {}
        }
    }
    assert_eq!(asked, expected, "{flags:?} {allow}");
    for file in ["w", "b1", "b2"] {
        assert!(rehearsal.file(file).is_some(), "{file} with {flags:?}");
    }
}

#[test]
fn modes_and_rules_spare_requests() {
    let once = json!({"behavior": "allow"});
    let always =
        json!({"behavior": "allow", "updatedPermissions": [{"type": "addRules", "behavior": "allow"}]});
    check_requests(&[], once.clone(), 3);
    check_requests(&[], always, 2);
    check_requests(&["--permission-mode", "acceptEdits"], once.clone(), 2);
    check_requests(&["--permission-mode", "bypassPermissions"], once.clone(), 0);
    check_requests(&["--allowedTools", "Bash"], once, 1);
}

#[test]
fn always_is_remembered_in_the_conversation() {
    let scenario = Scenario::new("always")
        .uses_bash("touch b1")
        .with_permission()
        .next_invocation()
        .uses_bash("touch b2")
        .with_permission()
        .respond_with_text("Done.");
    let rehearsal = Rehearsal::of(scenario);
    let mut live = rehearsal.live_with(&["--session-id", "s1"], Value::Null, "go");
    let request = live.until("control_request");
    live.respond(&request, json!({"behavior": "allow", "updatedPermissions": [{"type": "addRules"}]}));
    live.until("result");
    drop(live);
    rehearsal.live_with(&["--resume", "s1"], Value::Null, "more").until("result");
    assert!(rehearsal.file("b2").is_some());
}

#[test]
fn a_changed_input_is_what_runs() {
    let rehearsal = Rehearsal::of(Scenario::new("changed").uses_write("a", "theirs").with_permission());
    let mut live = rehearsal.live_with(&[], Value::Null, "go");
    let request = live.until("control_request");
    let mut input = request["request"]["input"].clone();
    input["content"] = json!("ours");
    live.respond(&request, json!({"behavior": "allow", "updatedInput": input}));
    live.until("result");
    assert_eq!(rehearsal.file("a").as_deref(), Some("ours"));
}

#[test]
fn plan_mode_asks_about_whatever_changes_something_until_the_plan_is_approved() {
    let scenario = Scenario::new("plan")
        .uses_write("early", "x")
        .step(Step::ExitPlan(rapport::agents::rehearsal::scenario::ExitPlan {
            plan: "# Plan".into(),
            id: None,
        }))
        .uses_write("late", "x");
    for (behaviour, late) in [("allow", true), ("deny", false)] {
        let rehearsal = Rehearsal::of(scenario.clone());
        let mut live = rehearsal.live_with(&["--permission-mode", "plan"], Value::Null, "go");
        let request = live.until("control_request");
        assert_eq!(request["request"]["tool_name"], "Write");
        live.respond(&request, json!({"behavior": "deny", "message": "not yet"}));
        let request = live.until("control_request");
        assert_eq!(request["request"]["tool_name"], "ExitPlanMode");
        live.respond(&request, json!({"behavior": behaviour, "message": "more detail"}));
        if behaviour == "deny" {
            let request = live.until("control_request");
            assert_eq!(request["request"]["tool_name"], "Write");
            live.respond(&request, json!({"behavior": "deny", "message": "not yet"}));
        }
        live.until("result");
        assert_eq!((rehearsal.file("early").is_some(), rehearsal.file("late").is_some()), (false, late));
    }
}

#[test]
fn an_interrupt_withdraws_open_questions_and_the_next_message_is_a_new_turn() {
    let scenario =
        Scenario::new("interrupt").asks(which_db()).next_invocation().respond_with_text("Another turn.");
    let rehearsal = Rehearsal::of(scenario);
    let mut live = rehearsal.live_with(&[], Value::Null, "go");
    let request = live.until("control_request");
    live.send(&json!({"type": "control_request", "request_id": "int1", "request": {"subtype": "interrupt"}}));
    assert_eq!(live.event()["response"]["request_id"], "int1");
    assert_eq!(live.event()["request_id"], request["request_id"], "cancelled");
    let result = live.until("result");
    assert_eq!(result["subtype"], "error_during_execution");
    live.message("again");
    let result = live.until("result");
    assert_eq!((&result["result"], &result["result_index"]), (&json!("Another turn."), &json!(1)));
}
