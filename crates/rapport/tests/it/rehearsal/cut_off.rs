//! kill -9 at any instant: finished steps are not repeated, open questions are asked again.

use std::fs::OpenOptions;
use std::io::Write;

use rapport::agents::rehearsal::scenario::{Call, Scenario};
use serde_json::{Value, json};

use super::story::{bash, live_answer, outline, two_questions, which_db, which_storage};
use crate::support::rehearsal::{Live, Rehearsal, ask_hook};

const ANSWERS: &str = "Here are my answers to your questions:\n\nQ1: Which db?\n\nMy answers:\nPG";

/// Plays until something is asked, then kills; returns the session id.
fn kill_at_question(rehearsal: &Rehearsal) -> String {
    let mut live = rehearsal.live_with(&[], ask_hook(), "go");
    live.until("control_request");
    let session = session_of(rehearsal, 1);
    live.kill();
    session
}

fn session_of(rehearsal: &Rehearsal, n: usize) -> String {
    let events = rehearsal.stdout(n);
    let init = events.iter().find(|event| event["subtype"] == "init").unwrap();
    init["session_id"].as_str().unwrap().to_owned()
}

fn resume(rehearsal: &Rehearsal, session: &str, message: &str) -> Live {
    rehearsal.live_with(&["--resume", session], Value::Null, message)
}

#[test]
fn clarify_11_a_message_of_answers_answers_the_open_question() {
    let rehearsal =
        Rehearsal::of(Scenario::new("cut off").asks(which_db()).respond_with_text("So {{answer:1}}."));
    let session = kill_at_question(&rehearsal);
    let (events, _) = resume(&rehearsal, &session, ANSWERS).finish();
    assert_eq!(outline(&events[1..]), ["system init", "says So PG.", "result success \"end_turn\""]);
    assert_eq!(events[1]["session_id"], session.as_str());
}

#[test]
fn any_other_message_has_the_question_asked_again_under_new_ids() {
    let rehearsal =
        Rehearsal::of(Scenario::new("again").asks(which_db()).respond_with_text("So {{answer:1}}."));
    let session = kill_at_question(&rehearsal);
    for id in ["toolu_ask0_2", "toolu_ask0_3"] {
        let mut live = resume(&rehearsal, &session, "go on");
        assert_eq!(live.until("control_request")["request"]["tool_use_id"], id);
        live.kill();
    }
    let mut live = resume(&rehearsal, &session, "go on");
    let request = live.until("control_request");
    live.answer(&request, json!({"Which db?": "SQLite"}));
    assert_eq!(live.until("result")["result"], "So SQLite.");
}

#[test]
fn of_two_open_questions_the_message_answers_both() {
    let rehearsal = Rehearsal::of(two_questions());
    let session = kill_at_question(&rehearsal);
    let (events, _) = resume(&rehearsal, &session, ANSWERS).finish();
    assert_eq!(events.last().unwrap()["result"], "Done.");
}

#[test]
fn a_permission_request_is_made_again_whatever_the_message() {
    for message in ["go on", ANSWERS] {
        let scenario =
            Scenario::new("permission").uses_write("a.txt", "a").with_permission().respond_with_text("ok");
        let rehearsal = Rehearsal::of(scenario);
        let session = kill_at_question(&rehearsal);
        assert_eq!(rehearsal.file("a.txt"), None);
        let mut live = resume(&rehearsal, &session, message);
        let request = live.until("control_request");
        assert_eq!(request["request"]["tool_use_id"], "toolu_0101_2");
        live.respond(&request, json!({"behavior": "allow"}));
        live.until("result");
        assert_eq!(rehearsal.file("a.txt").as_deref(), Some("a"), "allowed without a changed input");
    }
}

#[test]
fn finished_steps_are_not_repeated() {
    let scenario = Scenario::new("once")
        .uses_bash("echo ran >> log")
        .uses_write("a.txt", "one")
        .uses_edit("a.txt", "one", "one one")
        .together(vec![Call::Bash(bash("toolu_b", "echo beside >> log", "Log")), Call::Ask(which_storage())])
        .respond_with_text("done");
    let rehearsal = Rehearsal::of(scenario);
    let mut live = rehearsal.live_with(&[], Value::Null, "go");
    live.until("control_request");
    let session = session_of(&rehearsal, 1);
    wait_for(|| {
        rehearsal.file("log").is_some_and(|log| log.contains("beside"))
            && has_result(&rehearsal, &session, "toolu_b")
    });
    live.kill();
    let mut live = resume(&rehearsal, &session, "go on");
    let request = live.until("control_request");
    live.answer(&request, json!({"Which storage?": "Local"}));
    live.until("result");
    assert_eq!(rehearsal.file("log").as_deref(), Some("ran\nbeside\n"));
    assert_eq!(rehearsal.file("a.txt").as_deref(), Some("one one"));
}

/// The transcript is the only witness of a result that is not printed yet.
fn has_result(rehearsal: &Rehearsal, session: &str, id: &str) -> bool {
    let text = std::fs::read_to_string(rehearsal.transcript(session)).unwrap_or_default();
    crate::support::rehearsal::json_lines(&text)
        .iter()
        .any(|line| line["message"]["content"][0]["tool_use_id"] == id)
}

fn wait_for(condition: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !condition() {
        assert!(start.elapsed().as_secs() < 30, "never happened");
        std::thread::yield_now();
    }
}

#[test]
fn a_torn_last_line_is_tolerated_wherever_it_is_torn() {
    let rehearsal = Rehearsal::of(
        Scenario::new("torn")
            .respond_with_text("One.")
            .asks(which_db())
            .respond_with_text("So {{answer:1}}."),
    );
    let session = kill_at_question(&rehearsal);
    let path = rehearsal.transcript(&session);
    let whole = std::fs::read(&path).unwrap();
    for cut in (1..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let mut live = resume(&rehearsal, &session, "go on");
        let request = live.until("control_request");
        live.answer(&request, json!({"Which db?": "PG"}));
        assert_eq!(live.until("result")["result"], "So PG.", "cut at {cut}");
        let lines = crate::support::rehearsal::json_lines(&std::fs::read_to_string(&path).unwrap());
        let heard = lines.iter().any(|line| line["message"]["content"] == "go on");
        assert!(heard, "what comes after the torn line is whole, cut at {cut}");
    }
    OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"type\":\"us").unwrap();
    let (events, _) = resume(&rehearsal, &session, "next").finish();
    assert_eq!(events.last().unwrap()["type"], "result");
}

#[test]
fn scripted_crashes_happen_once() {
    let crash_step = Scenario::new("crash").respond_with_text("Before.").crash().respond_with_text("After.");
    let crash_count = Scenario::new("count")
        .respond_with_text("Before.")
        .respond_with_text("After.")
        .entry(|entry| entry.crash_after_events = Some(2));
    for (scenario, rest) in [(crash_step, "says After."), (crash_count, "says After.")] {
        let rehearsal = Rehearsal::of(scenario);
        let status = rehearsal.run(&[crate::support::rehearsal::PLAIN, &["go"]].concat()).status;
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
        assert_eq!(outline(&rehearsal.stdout(1)), ["system init", "says Before."]);
        let events = rehearsal.plain(&["--resume", &session_of(&rehearsal, 1), "go on"]);
        assert_eq!(outline(&events), ["system init", rest, "result success \"end_turn\""]);
    }
}

#[test]
fn when_the_host_goes_away_the_agent_guesses() {
    // The trap of the real CLI: without an answer, it continues to work.
    for hooks in [Value::Null, ask_hook()] {
        let scenario = Scenario::new("guess")
            .asks(which_db())
            .uses_write("guess.txt", "I guessed")
            .respond_with_text("Done.");
        let rehearsal = Rehearsal::of(scenario);
        let mut live = rehearsal.live_with(&[], hooks, "go");
        live.until("control_request");
        let (events, status) = live.finish();
        assert_eq!(outline(&events)[0], "error toolu_ask0");
        assert_eq!(events.last().unwrap()["result"], "Done.");
        assert_eq!(rehearsal.file("guess.txt").as_deref(), Some("I guessed"));
        assert!(status.success());
    }
}

#[test]
fn the_totals_go_on_after_a_resume() {
    let rehearsal = Rehearsal::of(live_answer());
    let session = kill_at_question(&rehearsal);
    let answers = ANSWERS.replace("Which db?", "Which auth method?");
    let (events, _) = resume(&rehearsal, &session, &answers).finish();
    let result = events.last().unwrap();
    assert_eq!(result["usage"]["input_tokens"], 1000, "of this process");
    assert_eq!(result["total_cost_usd"], 0.01, "of the conversation");
}

/// Answers whatever is asked until the process ends; returns the last event.
fn play_on(mut live: Live) -> Option<Value> {
    let mut last = None;
    while let Some(line) = live.line() {
        let event: Value = serde_json::from_str(&line).unwrap();
        match event["type"].as_str() {
            Some("control_request") if event["request"]["tool_name"] == "AskUserQuestion" => {
                live.answer(&event, json!({"Which db?": "PG", "Which storage?": "Local"}));
            }
            Some("control_request") => live.respond(&event, json!({"behavior": "allow"})),
            Some("result") => live.close(),
            _ => {}
        }
        last = Some(event);
    }
    last
}

#[test]
fn killed_after_any_event_the_play_ends_the_same() {
    let scenario = || {
        Scenario::new("every event")
            .respond_with_text("Start.")
            .uses_bash("echo once >> log")
            .with_permission()
            .asks(which_db())
            .uses_write("a.txt", "{{answer:1}}")
            .uses_edit("a.txt", "PG", "PG PG")
            .together(vec![
                Call::Bash(bash("toolu_b", "echo beside > beside", "Log")),
                Call::Ask(which_storage()),
            ])
            .respond_with_text("{{answer:Which db?}} {{answer:Which storage?}}")
    };
    // init, text, 5 single calls with results, 2 requests, the pair with its request, the last text
    for n in 1..=18 {
        let rehearsal = Rehearsal::of(scenario().entry(|entry| entry.crash_after_events = Some(n)));
        let last = play_on(rehearsal.live_with(&["--session-id", "s"], Value::Null, "go"));
        assert_ne!(last.unwrap()["type"], "result", "killed after {n}");
        let last = play_on(resume(&rehearsal, "s", "go on")).unwrap();
        assert_eq!(last["result"], "PG Local", "killed after {n}");
        assert_eq!(rehearsal.file("a.txt").as_deref(), Some("PG PG"), "killed after {n}");
        assert_eq!(rehearsal.file("log").as_deref(), Some("once\n"), "killed after {n}");
        // A command that was running at the kill is run again: it is unknown how far it got.
        assert_eq!(rehearsal.file("beside").as_deref(), Some("beside\n"), "killed after {n}");
    }
}
