//! What a conversation on disk contains, whatever else is in its file.

use std::ffi::OsString;
use std::fs;

use rapport::agents::claude::transcript::Transcript;
use rapport_core::{CallId, ConversationId};

const CALL: &str = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"toolu_1","name":"AskUserQuestion","input":{}}]}}"#;
const ANSWER: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"JWT"}]}}"#;
const ERROR: &str = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":"x"}]}}"#;
const DEFERRED: &str = r#"{"type":"deferred_tool_use","tool_use_id":"toolu_1"}"#;

#[test]
fn a_call_is_answered_failed_or_put_away() {
    let attached =
        r#"{"type":"attachment","attachment":{"type":"hook_deferred_tool","toolUseID":"toolu_1"}}"#;
    let noted = r#"{"type":"system","subtype":"tool_deferred","toolUseID":"toolu_1"}"#;
    let another = r#"{"type":"deferred_tool_use","tool_use_id":"toolu_12"}"#;
    let tools = r#"{"type":"attachment","attachment":{"type":"deferred_tools_delta","names":["WebFetch"]}}"#;
    let message = r#"{"type":"user","message":{"content":"Here you are"}}"#;
    // lines -> answered, failed, deferred
    let other = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"x"}]}}"#;
    let closed = |words: &str| ANSWER.replace("JWT", words);
    let (now, before) = (
        closed("The user did not answer the questions."),
        closed("User has answered your questions: . You can now continue with the user's answers in mind."),
    );
    let cases: [(&[&str], [bool; 3]); 16] = [
        // The questions were closed in the CLI itself: the answer that was given since has yet to be told.
        (&[CALL, &now], [false, true, false]),
        (&[CALL, &before], [false, true, false]),
        (&[], [false, false, false]),
        (&[CALL], [false, false, false]),
        (&[CALL, ANSWER], [true, false, false]),
        (&[CALL, ERROR], [false, true, false]),
        (&[CALL, DEFERRED], [false, false, true]),
        (&[CALL, attached], [false, false, true]),
        (&[CALL, noted], [false, false, true]),
        (&[CALL, DEFERRED, ANSWER], [true, false, false]),
        (&[CALL, DEFERRED, message], [false, false, false]),
        (&[CALL, ERROR, DEFERRED], [false, true, true]),
        (&[CALL, other, DEFERRED], [false, false, true]),
        // The CLI would ask again, and the model would read that the result is missing.
        (&[CALL, DEFERRED, other], [false, false, false]),
        (&[CALL, another, tools], [false, false, false]),
        (&["", "garbage", "{\"type\":7}", CALL, "\u{0}", ANSWER, &ERROR[..40]], [true, false, false]),
    ];
    for (lines, expected) in cases {
        let transcript = read(lines);
        let call = CallId::new("toolu_1");
        let found = [transcript.answered(&call), transcript.failed(&call), transcript.is_deferred(&call)];
        assert_eq!(found, expected, "{lines:#?}");
        assert_eq!(transcript.has_deferred(), expected[2], "{lines:#?}");
    }
}

/// A branch from which the conversation does not continue is dead: no later request contains it.
#[test]
fn an_answer_in_a_dead_branch_does_not_count() {
    let line = |kind: &str, uuid: &str, parent: &str, content: &str| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"message":{{"content":[{content}]}}}}"#
        )
    };
    let calls = |uuid: &str, parent: &str, id: &str| {
        line(
            "assistant",
            uuid,
            parent,
            &format!(r#"{{"type":"tool_use","id":"{id}","name":"AskUserQuestion"}}"#),
        )
    };
    let result = |uuid: &str, parent: &str, id: &str| {
        line(
            "user",
            uuid,
            parent,
            &format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"JWT"}}"#),
        )
    };
    let says =
        |uuid: &str, parent: &str| line("assistant", uuid, parent, r#"{"type":"text","text":"Done."}"#);
    let asked = [line("user", "u", "", r#"{"type":"text","text":"Do it"}"#), calls("a", "u", "toolu_1")];
    let cases = [
        (vec![result("r", "a", "toolu_1"), says("s", "r")], true),
        (
            vec![
                calls("b", "a", "toolu_2"),
                result("r", "a", "toolu_1"),
                result("q", "b", "toolu_2"),
                says("s", "q"),
            ],
            true,
        ),
        (vec![says("x", "a"), result("r", "x", "toolu_1"), says("s", "u")], false),
        // A circle is no reason to look for ever.
        (vec![says("s", "t"), says("t", "s"), result("r", "z", "toolu_1"), says("t", "s")], false),
    ];
    for (rest, expected) in cases {
        let lines: Vec<_> = asked.iter().chain(&rest).map(String::as_str).collect();
        assert_eq!(read(&lines).answered(&CallId::new("toolu_1")), expected, "{lines:#?}");
    }
}

#[test]
fn what_was_told_is_found_in_every_form_and_only_whole() {
    let plain = r#"{"type":"user","message":{"role":"user","content":"Do it"}}"#;
    let blocks = r#"{"type":"user","message":{"content":[{"type":"text","text":"Do it"},{"type":"text","text":"now"}]}}"#;
    let joined =
        r#"{"type":"user","message":{"content":"Do it\n\nHere are my answers to your questions:\n\nQ1: ?"}}"#;
    let said = r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Do it"}]}}"#;
    let longer = r#"{"type":"user","message":{"content":"Do it again"}}"#;
    for (line, expected) in [(plain, 1), (blocks, 1), (joined, 1), (said, 0), (longer, 0)] {
        assert_eq!(read(&[line]).times_sent("Do it"), expected, "{line}");
    }
    assert_eq!(read(&[plain, said, blocks]).times_sent("Do it"), 2, "told twice");
    let pieces = r#"{"type":"user","message":{"content":[{"type":"text","text":"Do it\n\nHere are my answers to your questions:\n\n"},{"type":"text","text":"Q1: ?"}]}}"#;
    for told in ["Do it", "Do it\n\nHere are my answers to your questions:\n\nQ1: ?"] {
        assert_eq!(read(&[pieces]).times_sent(told), 1, "told in two pieces");
    }
    assert_eq!(read(&[joined]).times_sent("Here are my answers to your questions:\n\nQ1: ?"), 1);
}

#[test]
fn a_message_answers_the_questions_it_repeats_if_it_came_after_the_call() {
    let answers = r#"{"type":"user","message":{"content":"Here are my answers to your questions:\n\nQ1: Which?\nQ2: Where?\n\nMy answers:\n1. A\n2. B"}}"#;
    let other = r#"{"type":"user","message":{"content":"Q1: Which?\n"}}"#;
    let call = CallId::new("toolu_1");
    for (lines, question, expected) in [
        (&[CALL, answers][..], "Where?", true),
        (&[CALL, answers], "When?", false),
        (&[answers, CALL], "Where?", false),
        (&[CALL, other], "Which?", false),
    ] {
        assert_eq!(read(lines).was_answered_since(&call, question), expected, "{question} in {lines:#?}");
    }
}

#[test]
fn the_file_is_found_where_the_cli_keeps_it() {
    let home = tempfile::tempdir().unwrap();
    let project = home.path().join("my_app.v2");
    fs::create_dir(&project).unwrap();
    let folder: String =
        project.canonicalize().unwrap().to_str().unwrap().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let env =
        |name: &str, value: &str| vec![(OsString::from(name), home.path().join(value).into_os_string())];
    let exists = |env: &[(OsString, OsString)], id: &str| {
        Transcript::find(env, &project, &ConversationId::new(id)).unwrap().exists()
    };
    let write = |path: String| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, CALL).unwrap();
    };
    write(format!(".claude/projects/{folder}/usual.jsonl"));
    write(".claude/projects/elsewhere/moved.jsonl".into());
    write(format!("config/projects/{folder}/configured.jsonl"));
    write(".claude/secret.jsonl".into());

    assert!(exists(&env("HOME", ""), "usual"));
    assert!(exists(&env("HOME", ""), "moved"));
    assert!(!exists(&env("HOME", ""), "configured"));
    assert!(!exists(&env("HOME", ""), "../../secret"));
    assert!(!exists(&env("HOME", ""), ""));
    assert!(exists(&[env("HOME", ""), env("CLAUDE_CONFIG_DIR", "config")].concat(), "configured"));
    assert!(!exists(&[env("HOME", ""), env("CLAUDE_CONFIG_DIR", "config")].concat(), "usual"));
    assert!(!exists(&[], "usual"));
}

fn read(lines: &[&str]) -> Transcript {
    Transcript::read(lines.join("\n").as_bytes()).unwrap()
}
