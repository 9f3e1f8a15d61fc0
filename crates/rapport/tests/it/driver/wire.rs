//! Every recorded line is parsed, and we write what the recorded host wrote.

use rapport::agents::claude::wire::{self, WireKind};
use rapport_core::{AnsweredQuestion, By};
use serde_json::{Value, json, value::RawValue};

use super::recorded::{exchange, names, told};

/// CLARIFY-2, CLARIFY-3, CLARIFY-5, CLARIFY-6, CLARIFY-31
#[test]
fn every_recorded_line_is_understood() {
    let mut table = String::new();
    for name in names() {
        table.push_str(&format!("# {name}\n"));
        for recorded in exchange(&name).into_iter().filter(|recorded| recorded.to_host) {
            let line = recorded.line.to_string();
            table.push_str(&format!("{}\n", summary(&wire::parse(&line).unwrap())));
        }
    }
    insta::assert_snapshot!(table);
}

fn summary(line: &wire::Line<'_>) -> String {
    let said = match line.kind() {
        WireKind::Init => format!("init {} {}", &*line.session_id, &*line.model),
        WireKind::Assistant | WireKind::User => blocks(line),
        WireKind::Request => request(line),
        WireKind::Cancel => format!("cancel {}", &*line.request_id),
        WireKind::Result => format!(
            "result failure={} deferred={:?} {:?} {} millionths, denied {}",
            line.is_failure(),
            line.deferred(),
            if line.is_failure() { line.failure() } else { line.result.to_string() },
            line.cost_micros(0),
            line.permission_denials.len(),
        ),
        WireKind::Denied => format!("denied {}", &*line.tool_name),
        WireKind::Retry => format!("retry: {} of {}", line.attempt.count(), line.max_retries.count()),
        WireKind::RateLimit => format!("limits the rate: {}", &*line.kind),
        WireKind::Background
        | WireKind::TaskStarted
        | WireKind::TaskUpdated
        | WireKind::TaskEnded
        | WireKind::Stream
        | WireKind::Receipt
        | WireKind::Other => {
            format!("other: {} {}", &*line.kind, &*line.subtype)
        }
    };
    format!("  {said}")
}

fn blocks(line: &wire::Line<'_>) -> String {
    let message = line.message.as_ref().unwrap();
    let texts = message.texts().map(|text| format!("says {:?}", &text[..text.len().min(60)]));
    let uses = message.blocks().filter(|block| block.is_tool_use());
    let uses = uses.map(|block| format!("uses {} as {}", &*block.name, &*block.id));
    let results = message.blocks().filter(|block| block.is_tool_result());
    let results =
        results.map(|block| format!("result of {}, error={}", &*block.tool_use_id, block.is_error.0));
    texts.chain(uses).chain(results).collect::<Vec<_>>().join("; ")
}

fn request(line: &wire::Line<'_>) -> String {
    let request = line.request.as_ref().unwrap();
    let (tool, input) = match request.hook_input().filter(|_| &*request.subtype == "hook_callback") {
        Some(hook) => (hook.tool_name.to_string(), hook.tool_input),
        None => (request.tool_name.to_string(), request.input),
    };
    let questions = wire::drafts(input);
    let questions: Vec<_> =
        questions.iter().map(|draft| (&draft.text, draft.options.len(), draft.multi)).collect();
    format!("{} {tool} as {}: {questions:?}", &*request.subtype, &*request.tool_use_id)
}

#[test]
fn lines_that_are_not_as_expected() {
    let kind = |line: &str| wire::parse(line).map(|line| line.kind()).ok();
    let cases = [
        (r#"{}"#, Some(WireKind::Other)),
        (r#"{"type":"assistant"}"#, Some(WireKind::Assistant)),
        (r#"{"message":{"content":"plain"},"type":"assistant"}"#, Some(WireKind::Assistant)),
        (
            r#"{"type":"assistant","message":"words","usage":[1,{"a":2}],"is_error":"no"}"#,
            Some(WireKind::Assistant),
        ),
        (r#"{"type":"user","message":{"content":[1,"two",null,{"type":["odd"]}]}}"#, Some(WireKind::User)),
        (r#"{"type":"result","result":{"an":"object"},"total_cost_usd":"a lot"}"#, Some(WireKind::Result)),
        (r#"{"type":"control_request","request":null,"request_id":7}"#, Some(WireKind::Request)),
        (r#"{"type":{"deep":[[[]]]},"subtype":true}"#, Some(WireKind::Other)),
        (r#"{"type":"system","subtype":"compact_boundary"}"#, Some(WireKind::Other)),
        (r#"{"type":"assistant""#, None),
        ("npm warn something", None),
        ("[]", Some(WireKind::Other)),
        ("7", None),
    ];
    for (line, expected) in cases {
        assert_eq!(kind(line), expected, "{line}");
    }
}

#[test]
fn words_are_borrowed_unless_they_have_escapes() {
    let line = r#"{"type":"result","result":"a \"quoted\" wörd\n","stop_reason":"end_turn"}"#;
    let parsed = wire::parse(line).unwrap();
    assert_eq!(&*parsed.result, "a \"quoted\" wörd\n");
    let within = |text: &str| line.as_bytes().as_ptr_range().contains(&text.as_ptr());
    assert!(within(&parsed.kind));
    assert!(!within(&parsed.result));
}

/// CLARIFY-6: strings and objects are questions, anything else is passed over.
#[test]
fn questions_in_every_form() {
    let input = raw(json!({"questions": [
        "Which db?", 7, null, {"header": "no text"}, "  ",
        {"question": "Which auth?", "header": "Auth", "multiSelect": true,
         "options": [{"label": "JWT", "description": "tokens"}, "Session", {"label": ""}, 3]},
    ]}));
    let drafts = wire::drafts(Some(&input));
    assert_eq!(drafts.len(), 2);
    assert_eq!((drafts[0].text.as_str(), drafts[0].options.len()), ("Which db?", 0));
    let labels: Vec<_> =
        drafts[1].options.iter().map(|o| (o.label.as_str(), o.description.as_deref())).collect();
    assert_eq!(labels, [("JWT", Some("tokens")), ("Session", None)]);
    assert!(drafts[1].multi && drafts.iter().all(|draft| draft.free_text));
    for nothing in
        [json!({}), json!({"questions": []}), json!({"questions": "Which?"}), json!(null), json!("x")]
    {
        assert!(wire::drafts(Some(&raw(nothing))).is_empty());
    }
    assert!(wire::drafts(None).is_empty());
}

#[test]
fn what_we_write_is_what_was_recorded() {
    check(wire::user_message("add auth"), &told("live-answer")[1]);
    check(renamed(wire::interrupt(), "int1"), &told("interrupt")[2]);
    let mut initialize = told("question-deferred")[0].clone();
    initialize["request"]["hooks"]["PreToolUse"][0]["timeout"] = json!(wire::HOOK_TIMEOUT_SECONDS);
    check(renamed(wire::initialize(), "init1"), &initialize);

    let (id, input) = question("live-answer");
    let answers =
        [told_by_terminal("Which auth method?", "JWT"), told_by_terminal("Which providers?", "Google")];
    check(wire::allow(&id, &wire::with_answers(&input, &answers)), &told("live-answer")[2]);

    let (id, _) = question("question-deferred");
    check(wire::hook_defer(&id), &told("question-deferred")[2]);

    let bash = &told("tool-permission")[3];
    let id = bash["response"]["request_id"].as_str().unwrap();
    check(wire::deny(id, "Not allowed by the owner"), bash);
}

#[test]
fn what_no_recording_shows() {
    let input = raw(json!({"b": 1, "a": 2}));
    let response =
        |line: String| serde_json::from_str::<Value>(&line).unwrap()["response"]["response"].take();
    let hook = |line: String| response(line)["hookSpecificOutput"].take();
    assert_eq!(
        response(wire::allow("r", &input)),
        json!({"behavior": "allow", "updatedInput": {"a": 2, "b": 1}})
    );
    assert_eq!(
        hook(wire::hook_allow("r", &input)),
        json!({"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"a": 2, "b": 1}})
    );
    assert_eq!(
        hook(wire::hook_deny("r", "no \"way\"")),
        json!({"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "no \"way\""})
    );
    let unsupported: Value = serde_json::from_str(&wire::unsupported("r", "elicitation")).unwrap();
    assert_eq!(
        (&unsupported["response"]["subtype"], &unsupported["response"]["request_id"]),
        (&json!("error"), &json!("r"))
    );
}

#[test]
fn answers_are_keyed_by_the_question_as_the_agent_wrote_it_and_say_who_gave_them() {
    let input = raw(json!({"questions": [{"question": " Which db? \n"}, "Why?"]}));
    let by = By::Lead { name: "Ada".into() };
    let lead = AnsweredQuestion { question: "Why?".into(), answer: "Speed".into(), by, because: None };
    let input = wire::with_answers(&input, &[told_by_terminal("Which db?", "PG"), lead]);
    let input: Value = serde_json::from_str(input.get()).unwrap();
    assert_eq!(input["answers"], json!({" Which db? \n": "PG", "Why?": "Speed (answered by the lead Ada)"}));
}

/// Some CLIs show the model the answers in the order in which they come.
#[test]
fn answers_come_in_the_order_of_the_questions() {
    let asked = ["Which zone?", "Which app?", "Which mode?"];
    let questions: Vec<_> = asked.iter().map(|text| json!({"question": text})).collect();
    let input = raw(json!({ "questions": questions }));
    let told: Vec<_> = asked.iter().map(|text| told_by_terminal(text, "Yes")).collect();
    let input = wire::with_answers(&input, &told);
    let (_, answers) = input.get().split_once("\"answers\"").unwrap();
    let places: Vec<_> = asked.iter().map(|text| answers.find(text).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}: {answers}");
}

#[test]
fn questions_that_differ_only_in_spaces_have_an_answer_each() {
    let input = raw(json!({"questions": [{"question": "Which? "}, {"question": "Which?"}]}));
    assert!(!wire::has_equal_texts(Some(&input)));
    let told = [told_by_terminal("Which?", "One"), told_by_terminal("Which?", "Two")];
    let input: Value = serde_json::from_str(wire::with_answers(&input, &told).get()).unwrap();
    assert_eq!(input["answers"], json!({"Which? ": "One", "Which?": "Two"}));
}

fn check(ours: String, recorded: &Value) {
    assert!(!ours.contains('\n'));
    assert_eq!(&serde_json::from_str::<Value>(&ours).unwrap(), recorded);
}

fn renamed(line: String, id: &str) -> String {
    let mut line: Value = serde_json::from_str(&line).unwrap();
    line["request_id"] = json!(id);
    line.to_string()
}

fn question(name: &str) -> (String, Box<RawValue>) {
    let lines = exchange(name).into_iter().map(|recorded| recorded.line);
    let request = lines.skip(1).find(|line| line["type"] == "control_request").unwrap();
    let id = request["request_id"].as_str().unwrap().to_owned();
    (id, raw(request["request"]["input"].clone()))
}

fn raw(value: Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap()
}

fn told_by_terminal(question: &str, answer: &str) -> AnsweredQuestion {
    let by = By::Person { channel: "terminal".into(), id: "dev".into() };
    AnsweredQuestion { question: question.into(), answer: answer.into(), by, because: None }
}
