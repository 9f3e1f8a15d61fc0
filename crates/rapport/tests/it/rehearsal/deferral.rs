//! Parked questions: deferred, carried to another home, forked, deferred again.

use serde_json::{Value, json};

use super::story::{auth_answers, live_answer, outline, which_db};
use crate::support::rehearsal::{Rehearsal, ask_hook, hook};

use rapport::agents::rehearsal::scenario::Scenario;

/// Plays until the question is deferred; returns the session id.
fn park(rehearsal: &Rehearsal) -> String {
    let mut live = rehearsal.live_with(&[], ask_hook(), "add auth");
    let request = live.until("control_request");
    live.respond(&request, hook("defer", Value::Null));
    let result = live.until("result");
    assert_eq!(live.wait().code(), Some(0), "ends by itself, with stdin open");
    result["session_id"].as_str().unwrap().to_owned()
}

#[test]
fn a_parked_question_comes_back_through_the_hook_when_there_is_one() {
    let rehearsal = Rehearsal::of(live_answer());
    let session = park(&rehearsal);
    for _ in 0..2 {
        let mut live = rehearsal.live(&["--resume", &session]);
        live.initialize(ask_hook());
        let request = live.until("control_request");
        assert_eq!(request["request"]["subtype"], "hook_callback");
        assert_eq!(request["request"]["tool_use_id"], "toolu_ask1");
        live.respond(&request, hook("defer", Value::Null));
        assert_eq!(live.until("result")["stop_reason"], "tool_deferred");
    }
    let mut live = rehearsal.live(&["--resume", &session]);
    live.initialize(ask_hook());
    let request = live.until("control_request");
    live.answer(&request, auth_answers());
    assert_eq!(live.until("result")["result"], "Thanks. Done planning.");
}

#[test]
fn a_transcript_travels_to_another_home() {
    let rehearsal = Rehearsal::of(live_answer());
    let session = park(&rehearsal);
    let elsewhere = rehearsal.home().join("elsewhere");
    let from = rehearsal.home().join(".claude");
    let to = elsewhere.join(".claude");
    let file = rehearsal.transcript(&session);
    let copy = to.join(file.strip_prefix(&from).unwrap());
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    std::fs::copy(&file, &copy).unwrap();

    let mut command = rehearsal.command(&[crate::support::rehearsal::LIVE, &["--resume", &session]].concat());
    command.env("CLAUDE_CONFIG_DIR", &to);
    let mut live = crate::support::rehearsal::Live::start(command);
    live.initialize(Value::Null);
    let request = live.until("control_request");
    live.answer(&request, auth_answers());
    assert_eq!(live.until("result")["result"], "Thanks. Done planning.");
}

#[test]
fn a_fork_asks_again_and_leaves_the_original_as_it_was() {
    let rehearsal = Rehearsal::of(live_answer());
    let session = park(&rehearsal);
    let before = std::fs::read(rehearsal.transcript(&session)).unwrap();

    let mut fork = rehearsal.live(&["--resume", &session, "--fork-session"]);
    fork.initialize(Value::Null);
    let request = fork.until("control_request");
    assert_eq!(request["request"]["tool_use_id"], "toolu_ask1");
    fork.answer(&request, json!({"Which auth method?": "Session", "Which providers?": "GitHub"}));
    let result = fork.until("result");
    assert_ne!(result["session_id"], session.as_str());
    assert_eq!(std::fs::read(rehearsal.transcript(&session)).unwrap(), before);

    let mut original = rehearsal.live(&["--resume", &session]);
    original.initialize(Value::Null);
    assert_eq!(original.until("control_request")["request"]["tool_use_id"], "toolu_ask1");
}

#[test]
fn a_session_that_was_not_deferred_waits_for_a_message() {
    let rehearsal = Rehearsal::of(
        Scenario::new("two turns").respond_with_text("One.").next_invocation().respond_with_text("Two."),
    );
    let first = rehearsal.plain(&["go"]);
    let session = first[0]["session_id"].as_str().unwrap();
    let mut live = rehearsal.live(&["--resume", session]);
    live.initialize(Value::Null);
    assert_eq!(live.event()["type"], "control_response");
    live.message("go on");
    assert_eq!(live.until("result")["result"], "Two.");
    assert_eq!(live.finish().0, Vec::<Value>::new());
}

#[test]
fn a_deferred_answer_is_still_known_two_processes_later() {
    let scenario = Scenario::new("memory")
        .asks(which_db())
        .asks(super::story::which_storage())
        .respond_with_text("{{answer:Which db?}} and {{answer:2}}");
    let rehearsal = Rehearsal::of(scenario);
    let session = park(&rehearsal);
    let mut second = rehearsal.live(&["--resume", &session]);
    second.initialize(ask_hook());
    let request = second.until("control_request");
    second.answer(&request, json!({"Which db?": "PG"}));
    let request = second.until("control_request");
    second.respond(&request, hook("defer", Value::Null));
    second.until("result");
    let mut third = rehearsal.live(&["--resume", &session]);
    third.initialize(Value::Null);
    let request = third.until("control_request");
    third.answer(&request, json!({"Which storage?": "Cookie"}));
    assert_eq!(third.until("result")["result"], "PG and Cookie");
    assert_eq!(outline(&rehearsal.stdout(3))[0], "command_lifecycle");
}

#[test]
fn any_tool_can_be_deferred() {
    let rehearsal = Rehearsal::of(Scenario::new("bash").uses_bash("touch ran").respond_with_text("Done."));
    let hooks = || json!({"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h"]}]});
    let mut live = rehearsal.live_with(&["--session-id", "s"], hooks(), "go");
    let request = live.until("control_request");
    live.respond(&request, hook("defer", Value::Null));
    assert_eq!(live.until("result")["deferred_tool_use"]["name"], "Bash");
    assert_eq!(rehearsal.file("ran"), None);
    let mut live = rehearsal.live(&["--resume", "s"]);
    live.initialize(hooks());
    let request = live.until("control_request");
    live.respond(&request, hook("allow", Value::Null));
    assert_eq!(live.until("result")["result"], "Done.");
    assert!(rehearsal.file("ran").is_some());
}

#[test]
fn a_message_of_answers_takes_a_parked_question_up_in_plain_mode() {
    let rehearsal =
        Rehearsal::of(Scenario::new("plain").asks(which_db()).respond_with_text("So {{answer:1}}."));
    let session = park(&rehearsal);
    let message = "Here are my answers to your questions:\n\nQ1: Which db?\n\nMy answers:\nPG";
    let events = rehearsal.plain(&["--resume", &session, message]);
    assert_eq!(outline(&events), ["system init", "says So PG.", "result success \"end_turn\""]);
    let again = rehearsal.run(&["-p", "--resume", &session]);
    assert!(
        String::from_utf8(again.stderr).unwrap().contains("No deferred tool marker"),
        "it is resumed only once"
    );
}
