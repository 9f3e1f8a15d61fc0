//! Plain mode, sessions, and the record that tests read.

use rapport::agents::rehearsal::prebuilt;
use rapport::agents::rehearsal::scenario::Scenario;
use serde_json::{Value, json};

use super::story::{live_answer, outline};
use crate::support::rehearsal::{PLAIN, Rehearsal, recorded};

// CLARIFY-21, CLARIFY-23: subtype and session id only where they belong, and the stop reason of older CLIs.
#[test]
fn clarify_7_a_question_is_denied_and_the_agent_goes_on_guessing() {
    let rehearsal = Rehearsal::of(live_answer());
    let events = rehearsal.plain(&["add auth"]);
    let real: Vec<Value> = recorded("plain-print-mode").iter().map(|line| line["line"].clone()).collect();
    assert_eq!(outline(&events), outline(&real));
    assert_eq!(events[3]["message"]["content"][0]["content"], real[3]["message"]["content"][0]["content"]);
    let asked = &events[2]["message"];
    assert_eq!((&asked["stop_reason"], &asked["role"]), (&json!("tool_use"), &json!("assistant")));
    for (what, value) in [("id", &asked["id"]), ("model", &asked["model"]), ("uuid", &events[2]["uuid"])] {
        assert!(value.as_str().is_some_and(|value| !value.is_empty()), "{what}: {}", events[2]);
    }
    let at = events[2]["timestamp"].as_str().and_then(|at| at.parse::<jiff::Timestamp>().ok());
    assert!(at.is_some(), "{}", events[2]);
    for what in ["input_tokens", "output_tokens"] {
        assert!(asked["usage"][what].is_u64(), "{asked}");
    }
    // What does not belong to an event is left out, not null.
    for event in &events {
        let has_subtype = event["type"] == "system" || event["type"] == "result";
        assert_eq!(event.get("subtype").is_some(), has_subtype, "{event}");
        assert!(event.get("session_id").is_none_or(Value::is_string), "{event}");
    }
    let denied = &events.last().unwrap()["permission_denials"][0];
    assert_eq!(
        (&denied["tool_name"], &denied["tool_use_id"]),
        (&json!("AskUserQuestion"), &json!("toolu_ask1"))
    );
    assert_eq!(denied["tool_input"], asked["content"][0]["input"]);
}

#[test]
fn only_what_was_asked_for_is_printed() {
    let rehearsal = Rehearsal::of(Scenario::new("formats").respond_with_text("Hi."));
    for (flags, expected) in
        [(&["-p", "go"][..], "Hi.\n"), (&["-p", "--output-format", "text", "go"], "Hi.\n")]
    {
        assert_eq!(String::from_utf8(rehearsal.run(flags).stdout).unwrap(), expected);
    }
    let json = rehearsal.run(&["-p", "--output-format", "json", "go"]).stdout;
    assert_eq!(serde_json::from_slice::<Value>(&json).unwrap()["result"], "Hi.");
    let version = rehearsal.run(&["--version"]);
    assert_eq!(String::from_utf8(version.stdout).unwrap(), "2.1.325 (rehearsal)\n");
}

#[test]
fn clarify_2_every_response_begins_with_one_init() {
    for scenario in [prebuilt::interactive_planning(), prebuilt::multi_round_qa()] {
        let scenario = scenario.build();
        let rehearsal = Rehearsal::counted(rebuilt(&scenario));
        for round in 0..scenario.invocations.len() {
            let resume = ["--resume", scenario.session_id.as_deref().unwrap(), "more"];
            let events = rehearsal.plain(if round == 0 { &["go"] } else { &resume });
            let inits: Vec<&Value> = events.iter().filter(|event| event["subtype"] == "init").collect();
            assert_eq!(inits.len(), 1);
            assert_eq!(inits[0]["session_id"], scenario.session_id.as_deref().unwrap());
            assert_eq!(events[0], *inits[0]);
        }
    }
}

#[test]
fn clarify_26_prebuilt_stories_ask_and_then_plan() {
    for (scenario, rounds, last) in [
        (prebuilt::interactive_planning(), 1, "# Progress: Interactive Test"),
        (prebuilt::multi_round_qa(), 2, "RALPH_DONE"),
    ] {
        let session = scenario.clone().build().session_id.unwrap();
        let rehearsal = Rehearsal::counted(scenario);
        for round in 0..rounds {
            let events = rehearsal.plain(
                if round == 0 { vec!["go"] } else { vec!["--resume", &session, "answers"] }.as_slice(),
            );
            let denials = &events.last().unwrap()["permission_denials"];
            assert_eq!(denials[0]["tool_name"], "AskUserQuestion");
            assert!(denials[0]["tool_input"]["questions"][0].is_string());
        }
        let result = rehearsal.plain(&["--resume", &session, "answers"]).pop().unwrap();
        assert!(result["result"].as_str().unwrap().contains(last));
        assert_eq!(rehearsal.invocation_count(), rounds + 1);
        assert!(rehearsal.argv(rounds + 1).ends_with(&["--resume".into(), session, "answers".into()]));
    }
}

/// A builder with the invocations of a finished scenario.
fn rebuilt(scenario: &Scenario) -> rapport::agents::rehearsal::builder::ScenarioBuilder {
    let mut builder = Scenario::new(&scenario.name).with_session_id(scenario.session_id.as_deref().unwrap());
    for (index, entry) in scenario.invocations.iter().enumerate() {
        if index > 0 {
            builder = builder.next_invocation();
        }
        for step in entry.steps.clone() {
            builder = builder.step(step);
        }
    }
    builder
}

#[test]
fn sessions_are_found_named_and_refused_like_the_real_ones() {
    let rehearsal = Rehearsal::of(
        Scenario::new("sessions").respond_with_text("One.").next_invocation().respond_with_text("Two."),
    );
    let said = |flags: &[&str]| {
        let output = rehearsal.run(&[PLAIN, flags, &["go"]].concat());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(said(&["--session-id", "s1"]), (Some(0), String::new()));
    assert_eq!(said(&["--session-id", "s1"]), (Some(1), "Error: Session ID s1 is already in use.\n".into()));
    assert_eq!(
        said(&["--resume", "none"]),
        (Some(1), "No conversation found with session ID: none\n".into())
    );
    let deferred = rehearsal.run(&["-p", "--resume", "s1"]);
    assert!(String::from_utf8(deferred.stderr).unwrap().contains("No deferred tool marker found"));
    let events = rehearsal.plain(&["--resume", "s1", "--fork-session", "--session-id", "s2", "go"]);
    assert_eq!(
        (&events[0]["session_id"], &events[1]["message"]["content"][0]["text"]),
        (&json!("s2"), &json!("Two."))
    );
    let events = rehearsal.plain(&["--resume", "s1", "go"]);
    assert_eq!(events[1]["message"]["content"][0]["text"], "Two.", "the fork left the original where it was");
    let events = rehearsal.plain(&["--resume", "s1", "go"]);
    assert_eq!(events[1]["message"]["content"][0]["text"], "The script of this rehearsal ends here.");
}

#[test]
fn a_transcript_has_the_shape_of_the_real_one() {
    let rehearsal = Rehearsal::of(Scenario::new("shape").uses_bash("echo hi").respond_with_text("Bye."));
    rehearsal.plain(&["--session-id", "s1", "go"]);
    let text = std::fs::read_to_string(rehearsal.transcript("s1")).unwrap();
    let lines = crate::support::rehearsal::json_lines(&text);
    let told: Vec<&Value> = lines.iter().filter(|line| line["type"] != "rehearsal").collect();
    assert_eq!(told[0]["message"], json!({"role": "user", "content": "go"}));
    assert_eq!(told[1]["message"]["content"][0]["type"], "tool_use");
    assert_eq!(told[2]["message"]["content"][0]["tool_use_id"], "toolu_0101");
    assert_eq!(told[3]["message"]["content"][0]["text"], "Bye.");
    for line in &told {
        assert!(line["uuid"].is_string() && line["timestamp"].is_string() && line["sessionId"] == "s1");
    }
    assert_eq!(told[1]["parentUuid"], told[0]["uuid"]);
}

#[test]
fn a_process_writes_down_what_it_heard_and_said() {
    let rehearsal = Rehearsal::of(Scenario::new("record").respond_with_text("Hi."));
    let mut live = rehearsal.live_with(&[], Value::Null, "go");
    live.until("result");
    assert_eq!(outline(&rehearsal.stdin(1))[0], "asks initialize ");
    assert_eq!(rehearsal.stdin(1)[1]["message"]["content"], "go");
    assert_eq!(rehearsal.stdout(1).last().unwrap()["type"], "result");
    assert!(rehearsal.argv(1).contains(&"stream-json".to_owned()));
    assert_eq!(rehearsal.invocation_count(), 1);
}

#[test]
fn clarify_11_answers_in_the_next_message_are_known_to_the_script() {
    let scenario = Scenario::new("answers")
        .asks_questions(&["What language?", "What database?"])
        .next_invocation()
        .respond_with_text("{{answer:What language?}} with {{answer:2}}");
    let rehearsal = Rehearsal::counted(scenario.with_session_id("s"));
    rehearsal.plain(&["go"]);
    let message = "Here are my answers to your questions:\n\nQ1: What language?\nQ2: What database?\n\n\
        My answers:\nRust\nSQLite";
    let result = rehearsal.plain(&["--resume", "s", message]).pop().unwrap();
    assert_eq!(result["result"], "Rust with SQLite");
}
