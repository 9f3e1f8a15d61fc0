//! One response of a CLI, line by line: recorded streams and other possible output.

use rapport::agents::claude::response::Response;
use rapport::agents::claude::wire;
use rapport::agents::rehearsal::prebuilt;
use rapport::agents::rehearsal::scenario::Scenario;
use serde_json::{Value, json};

use crate::support::rehearsal::{Rehearsal, recorded};

fn response(lines: &[Value]) -> Response {
    let mut response = Response::default();
    lines.iter().for_each(|line| process(&mut response, &line.to_string()));
    response
}

/// As a driver does: what is no line of the protocol is passed over.
fn process(response: &mut Response, text: &str) {
    if let Ok(line) = wire::parse(text) {
        response.process(&line);
    }
}

fn has_questions(response: &Response) -> bool {
    !response.asked().is_empty()
}

fn init(id: &str) -> Value {
    json!({"type": "system", "subtype": "init", "session_id": id, "tools": []})
}

/// CLARIFY-7: what such an event carries.
fn asks(id: &str, questions: Value) -> Value {
    json!({
        "type": "assistant",
        "message": {
            "id": "msg_abc123", "role": "assistant", "model": "claude-opus-4-5-20251101", "stop_reason": "tool_use",
            "content": [{"type": "tool_use", "id": id, "name": "AskUserQuestion", "input": {"questions": questions}}],
            "usage": {"input_tokens": 1000, "output_tokens": 150},
        },
        "uuid": "event-uuid-here", "timestamp": "2026-02-01T10:00:00Z",
    })
}

fn denies(denials: Value) -> Value {
    json!({"type": "result", "subtype": "success", "result": "", "permission_denials": denials})
}

fn texts(response: &Response) -> Vec<&str> {
    response.questions().into_iter().map(|draft| draft.text.as_str()).collect()
}

#[test]
fn clarify_3_the_session_id_is_in_the_init_event_and_nowhere_else() {
    for (line, id) in [
        (init("abc"), Some("abc")),
        (json!({"type": "system", "subtype": "other", "session_id": "abc"}), None),
        (json!({"type": "assistant", "session_id": "abc"}), None),
        (json!({"type": "system", "subtype": "init"}), None),
        (json!({"type": "system", "subtype": "init", "session_id": 7}), None),
    ] {
        assert_eq!(response(std::slice::from_ref(&line)).session_id(), id, "{line}");
    }
}

#[test]
fn clarify_4_the_first_init_wins() {
    let response = response(&[init("first"), json!({"type": "system", "subtype": "hook"}), init("second")]);
    assert_eq!(response.session_id(), Some("first"));
}

#[test]
fn clarify_5_only_the_question_tool_asks() {
    for (name, has) in
        [("AskUserQuestion", true), ("askuserquestion", false), ("AskUserQuestions", false), ("Bash", false)]
    {
        let mut event = asks("toolu_1", json!(["Which?"]));
        event["message"]["content"][0]["name"] = json!(name);
        assert_eq!(has_questions(&response(&[event])), has, "{name}");
    }
    let mut told = asks("toolu_1", json!(["Which?"]));
    told["type"] = json!("user");
    assert!(!has_questions(&response(&[told])), "only the agent asks");
}

#[test]
fn clarify_6_questions_are_strings_or_objects_and_nothing_else() {
    let full =
        json!({"question": "Which db?", "header": "DB", "options": [{"label": "PG", "description": "x"}]});
    for (questions, expected) in [
        (json!(["One?", "Two?", "Three?"]), &["One?", "Two?", "Three?"][..]),
        (json!(["One?", 2, null, ["Three?"], true, "Four?"]), &["One?", "Four?"]),
        (json!([full]), &["Which db?"]),
        (json!([]), &[]),
        (json!([1, 2]), &[]),
        (json!("One?"), &[]),
        (Value::Null, &[]),
    ] {
        let response = response(&[asks("toolu_1", questions.clone())]);
        assert_eq!(texts(&response), expected, "{questions}");
        assert_eq!(has_questions(&response), !expected.is_empty());
    }
    let response = response(&[asks("toolu_1", json!([full]))]);
    assert_eq!(response.questions()[0].options[0].label, "PG", "options are kept");
    let plain = json!({"type": "assistant", "message": {"id": "m", "content": "AskUserQuestion: which?"}});
    assert!(!has_questions(&self::response(&[plain])), "a plain string asks nothing");
}

#[test]
fn clarify_8_questions_add_up_over_the_events_of_a_response() {
    let both = response(&[
        asks("a", json!(["One?", "Two?"])),
        asks("b", json!(["Three?"])),
        asks("a", json!(["One?"])),
    ]);
    assert_eq!(texts(&both), ["One?", "Two?", "Three?"]);
}

#[test]
fn denials_and_calls_are_one_and_denials_win() {
    let denied = |id: &str, questions: Value| json!({"tool_name": "AskUserQuestion", "tool_use_id": id, "tool_input": {"questions": questions}});
    let other = json!({"tool_name": "Bash", "tool_use_id": "x", "tool_input": {"command": "ls"}});
    for (denials, expected) in [
        (json!([]), &["Called?"][..]),
        (json!([denied("a", json!(["Denied?"]))]), &["Denied?"]),
        (json!([denied("a", json!([{"question": "Denied?"}, "And?"]))]), &["Denied?", "And?"]),
        (json!([denied("b", json!(["Denied?"])), other]), &["Denied?", "Called?"]),
        (json!(["AskUserQuestion", 7, null]), &["Called?"]),
        (json!("no list"), &["Called?"]),
    ] {
        let response = response(&[asks("a", json!(["Called?"])), denies(denials.clone())]);
        assert_eq!(texts(&response), expected, "{denials}");
    }
}

#[test]
fn clarify_31_lines_that_are_not_json_are_passed_over() {
    let mut response = Response::default();
    for line in ["", "warning: something", "{\"type\": \"assistant\"", "[1]", "\u{1b}[0m", "null"] {
        process(&mut response, line);
    }
    process(&mut response, &init("abc").to_string());
    process(&mut response, &format!("  {}  ", asks("a", json!(["One?"]))));
    assert_eq!((response.session_id(), texts(&response)), (Some("abc"), vec!["One?"]));
}

#[test]
fn texts_stay_apart_and_usage_adds_up() {
    let says = |id: &str, text: &str| {
        json!({"type": "assistant", "message": {"id": id, "content": [{"type": "text", "text": text}],
            "usage": {"input_tokens": 10, "output_tokens": 2, "cache_read_input_tokens": 5}}})
    };
    let lines = [says("m1", "Let me see."), says("m1", "More."), says("m2", "# Progress: X")];
    let response = response(&lines);
    assert_eq!(response.text(), "Let me see.\nMore.\n# Progress: X");
    let usage = response.usage();
    assert_eq!((usage.input, usage.output, usage.cache_read), (20, 4, 10), "pieces of a message count once");
}

// The prebuilt stories, each response read as an older CLI would print it.
#[test]
fn clarify_28_the_prebuilt_stories_are_read_from_their_streams() {
    let rehearsal = Rehearsal::counted(prebuilt::multi_round_qa());
    for (flags, questions, text) in [
        (&["go"][..], &["Question round 1?"][..], ""),
        (&["--resume", "multi-session-456", "one"], &["Question round 2?"], ""),
        (&["--resume", "multi-session-456", "two"], &[], "RALPH_DONE"),
    ] {
        let response = response(&rehearsal.plain(flags));
        assert_eq!(response.session_id(), Some("multi-session-456"));
        assert_eq!(texts(&response), questions);
        assert!(response.text().contains(text));
    }
}

// CLARIFY-28: all three questions of a call.
#[test]
fn clarify_28_three_questions_are_read_from_their_stream() {
    let asked = ["Question 1?", "Question 2?", "Question 3?"];
    let response =
        response(&Rehearsal::counted(Scenario::new("three").asks_questions(&asked)).plain(&["go"]));
    assert_eq!(texts(&response), asked);
}

#[test]
fn a_recorded_stream_of_the_real_cli_is_read() {
    let lines: Vec<Value> = recorded("plain-print-mode").iter().map(|line| line["line"].clone()).collect();
    let response = response(&lines);
    assert!(response.session_id().is_some());
    assert_eq!(response.asked().len(), 1, "the call is there although nothing was denied");
    assert!(response.denied().is_empty());
}
