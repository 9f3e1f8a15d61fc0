//! Scenarios made in tests, and a check that the driver can read what they print.

use rapport::agents::claude::wire::{self, WireKind};

use rapport::agents::rehearsal::scenario::{Ask, FullQuestion, Scenario};
use rapport::agents::rehearsal::stream::{Event, Session};
use serde_json::json;
use uuid::Uuid;

use crate::support::rehearsal::{Rehearsal, recorded};

#[test]
fn clarify_22_an_init_names_its_conversation_and_itself() {
    let session = Session {
        id: "7141c84c".into(),
        cwd: "/home/dev/app".into(),
        model: "a-model".into(),
        permission_mode: "default".into(),
    };
    let init = serde_json::to_value(Event::init(&session)).unwrap();
    assert_eq!([&init["type"], &init["subtype"], &init["session_id"]], ["system", "init", "7141c84c"]);
    assert!(init["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
    let uuid = init["uuid"].as_str().unwrap();
    assert!(Uuid::parse_str(uuid).is_ok(), "{uuid}");
    assert_ne!(serde_json::to_value(Event::init(&session)).unwrap()["uuid"], uuid, "each has its own");
    // The real one has no time in it; docs/formats/scenario.md says so.
    let real = &recorded("plain-print-mode")[0]["line"];
    assert_eq!((init.get("timestamp"), &real["subtype"]), (real.get("timestamp"), &json!("init")));
}

/// CLARIFY-21: an event has these fields or not at all.
#[test]
fn clarify_21_what_an_event_does_not_have_is_left_out() {
    let session = Session {
        id: "7141c84c".into(),
        cwd: "/home/dev/app".into(),
        model: "a-model".into(),
        permission_mode: "default".into(),
    };
    let has = |event: Event| {
        let event = serde_json::to_value(event).unwrap();
        ["subtype", "session_id"].map(|field| event.get(field).cloned())
    };
    let id = Some(json!("7141c84c"));
    assert_eq!(has(Event::init(&session)), [Some(json!("init")), id.clone()]);
    assert_eq!(has(Event::assistant(&session, json!({}))), [None, id]);
    assert_eq!(has(Event::control_request("r1", json!({}))), [None, None]);
}

#[test]
fn clarify_24_a_builder_says_what_each_invocation_does() {
    let two = || {
        let asks = Scenario::new("two").with_session_id("5f0c").asks_questions(&["Which way?", "How far?"]);
        asks.next_invocation().respond_with_text("Thank you.")
    };
    let built = two().build();
    let rehearsal = Rehearsal::counted(two());
    assert_eq!((built.session_id.as_deref(), built.invocations.len()), (Some("5f0c"), 2));
    let events = [&["go"][..], &["--resume", "5f0c", "north"]].map(|args| rehearsal.plain(args));
    let asked = events[0].iter().find(|event| event["message"]["content"][0]["type"] == "tool_use").unwrap();
    let call = &asked["message"]["content"][0];
    assert_eq!(call["input"]["questions"], json!(["Which way?", "How far?"]));
    // CLARIFY-23: its id is its place, and the message stops for it.
    assert_eq!((&call["id"], &asked["message"]["stop_reason"]), (&json!("toolu_0101"), &json!("tool_use")));
    assert_eq!(events[1].last().unwrap()["result"], "Thank you.");
    assert!(events.iter().flatten().all(|event| event["session_id"] == "5f0c"), "one conversation");
}

/// The types the scripted agent writes and those the driver reads are two; this holds them together (CLARIFY-30).
#[test]
fn clarify_30_the_driver_reads_everything_the_scripted_agent_writes() {
    let scenario = Scenario::new("all kinds")
        .respond_with_text("Hello.")
        .asks(Ask::one(FullQuestion::new("Which?", "Which", &[("A", "the first"), ("B", "the second")])))
        .uses_write("a.txt", "a\n")
        .uses_bash("cat a.txt")
        .respond_with_text("Done.");
    let rehearsal = Rehearsal::of(scenario);
    let lines: Vec<String> = rehearsal.plain(&["go"]).iter().map(ToString::to_string).collect();
    let kinds: Vec<WireKind> = lines.iter().map(|line| wire::parse(line).unwrap().kind()).collect();
    use WireKind::{Assistant, Init, Result, User};
    assert_eq!(
        kinds,
        [Init, Assistant, Assistant, User, Assistant, User, Assistant, User, Assistant, Result],
        "{lines:#?}"
    );
    let questions = lines.iter().filter_map(|line| {
        let line = wire::parse(line).unwrap();
        let block = line.message.as_ref()?.blocks().find(|block| block.is_tool_use())?;
        (&*block.name == wire::ASK).then(|| wire::drafts(block.input))
    });
    let questions: Vec<_> = questions.flatten().collect();
    assert_eq!(questions.len(), 1);
    assert_eq!((questions[0].text.as_str(), questions[0].options.len()), ("Which?", 2));
}
