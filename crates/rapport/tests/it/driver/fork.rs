//! A conversation that is cut at a question and continues in another session.

use rapport::agents::Whereabouts;
use rapport::agents::claude::transcript::{copy, fork};
use rapport_core::{CallId, ConversationId};
use serde_json::{Value, json};

const OLD: &str = "11111111-1111-4111-8111-111111111111";
const NEW: &str = "22222222-2222-4222-8222-222222222222";

fn line(kind: &str, message: Value) -> Value {
    json!({ "type": kind, "sessionId": OLD, "message": message })
}

fn said(message: &str, block: Value) -> Value {
    line("assistant", json!({ "id": message, "content": [block] }))
}

fn uses(message: &str, call: &str, tool: &str) -> Value {
    said(message, json!({ "type": "tool_use", "id": call, "name": tool, "input": {} }))
}

fn result(call: &str) -> Value {
    line("user", json!({ "content": [{ "type": "tool_result", "tool_use_id": call, "content": "x" }] }))
}

fn told(words: &str) -> Value {
    line("user", json!({ "role": "user", "content": words }))
}

fn deferred() -> Value {
    json!({ "type": "attachment", "attachment": { "type": "hook_deferred_tool", "toolUseID": "c1" } })
}

fn cut(lines: &[Value], call: &str) -> Option<Vec<Value>> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (old, new) = (ConversationId::new(OLD), ConversationId::new(NEW));
    let from = Whereabouts { conversation: &old, directory: "/home/dev/app" };
    let to = Whereabouts { conversation: &new, directory: "/home/dev/app/.rapport/worktrees/b" };
    let forked = String::from_utf8(fork(text.as_bytes(), &CallId::new(call), from, to)?).unwrap();
    assert!(!forked.contains(OLD), "{forked}");
    Some(forked.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[test]
fn it_ends_where_the_call_had_no_answer_yet() {
    let ask = || uses("m1", "c1", "AskUserQuestion");
    // lines -> how many of them stay
    let cases: [(Vec<Value>, Option<usize>); 12] = [
        (vec![told("Do it")], None),
        (vec![told("Do it"), ask()], Some(2)),
        (vec![told("Do it"), ask(), result("c1"), told("more")], Some(2)),
        (vec![ask(), deferred()], Some(2)),
        (vec![ask(), deferred(), result("c1"), uses("m2", "c2", "Bash")], Some(2)),
        (vec![ask(), told("Here are my answers")], Some(1)),
        (vec![ask(), said("m2", json!({ "type": "text", "text": "On I go" }))], Some(1)),
        (vec![uses("m1", "c0", "Bash"), ask(), result("c0"), result("c1")], Some(3)),
        (vec![ask(), uses("m1", "c2", "Bash"), result("c2"), deferred(), result("c1")], Some(4)),
        (vec![ask(), uses("m1", "c2", "AskUserQuestion"), result("c1")], Some(1)),
        (vec![ask(), json!({ "type": "rehearsal", "event": "answered" }), deferred()], Some(1)),
        (vec![ask(), json!({ "type": "last-prompt", "sessionId": OLD }), result("c1")], Some(2)),
    ];
    for (lines, expected) in cases {
        assert_eq!(cut(&lines, "c1").map(|cut| cut.len()), expected, "{lines:#?}");
    }
}

/// Agents name files by their whole path: one that is not changed leads back into the original.
#[test]
fn paths_lead_to_the_other_directory_but_nobody_is_misquoted() {
    let there = "/home/dev/app/.rapport/worktrees/b";
    let shown = |text: &str| said("m0", json!({ "type": "text", "text": text }));
    let cases = [
        ("/home/dev/app/a.rs".to_owned(), format!("{there}/a.rs")),
        ("in /home/dev/app.".into(), format!("in {there}.")),
        ("\n/home/dev/app\t\"/home/dev/app\"".into(), format!("\n{there}\t\"{there}\"")),
        ("/home/dev/app2 /home/dev/app.old /home/dev/app-x /old/home/dev/app".into(), String::new()),
    ];
    for (before, after) in cases {
        let after = if after.is_empty() { before.clone() } else { after };
        let lines = [shown(&before), uses("m1", "c1", "AskUserQuestion")];
        let text = cut(&lines, "c1").unwrap()[0]["message"]["content"][0]["text"].clone();
        assert_eq!(text, after, "{before}");
    }
    let as_they_were = [
        told("Look at /home/dev/app/a.rs"),
        said("m0", json!({ "type": "thinking", "thinking": "/home/dev/app", "signature": "s" })),
    ];
    let lines = [&as_they_were[..], &[uses("m1", "c1", "AskUserQuestion")]].concat();
    for (before, after) in as_they_were.iter().zip(cut(&lines, "c1").unwrap()) {
        assert_eq!(before["message"], after["message"]);
    }
}

#[test]
fn a_copy_has_it_all() {
    let lines =
        format!("{}\n{}\n", told("Do it"), said("m0", json!({ "type": "text", "text": "/home/dev/app" })));
    let (old, new) = (ConversationId::new(OLD), ConversationId::new(NEW));
    let from = Whereabouts { conversation: &old, directory: "/home/dev/app" };
    let copied = copy(lines.as_bytes(), from, Whereabouts { conversation: &new, directory: "/b" });
    assert_eq!(String::from_utf8(copied).unwrap(), lines.replace(OLD, NEW).replace("/home/dev/app", "/b"));
}

#[test]
fn what_cannot_be_read_is_no_obstacle() {
    let text = format!("\u{0}\n{{torn\n{}", uses("m1", "c1", "AskUserQuestion"));
    let id = ConversationId::new(OLD);
    let home = Whereabouts { conversation: &id, directory: "/home/dev/app" };
    let forked = fork(text.as_bytes(), &CallId::new("c1"), home, home).unwrap();
    assert_eq!(forked, format!("{text}\n").into_bytes());
}
