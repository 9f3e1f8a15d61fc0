//! Each kind of step, and what surrounds the steps of an entry.

use rapport::agents::rehearsal::scenario::{Hang, OtherTool, Scenario, Step, Usage};
use serde_json::{Value, json};

use super::story::{kind, outline};
use crate::support::rehearsal::{LIVE, Live, PLAIN, Rehearsal};

/// Plays an entry of these steps in plain mode; what lies between init and result is compared.
fn check(steps: &str, expected: &[&str]) -> Rehearsal {
    let rehearsal = Rehearsal::of_text(&format!("version: 1\nname: t\ninvocations:\n- steps:\n{steps}"));
    let output = rehearsal.run(&[PLAIN, &["go"]].concat());
    let stdout = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<String> = stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).map_or(line.to_owned(), |event| kind(&event)))
        .filter(|line| line != "system init" && !line.starts_with("result success"))
        .collect();
    assert_eq!(lines, expected, "{steps}");
    rehearsal
}

#[test]
fn what_each_step_prints() {
    check("  - text: Hello", &["says Hello"]);
    check("  - text: a\n  - delay: 1\n  - text: b", &["says a", "says b"]);
    check("  - garbage: \"{not json\"", &["{not json"]);
    check("  - raw: {type: stream_event, event: {}}", &["stream_event"]);
    check("  - rate_limit: {status: allowed}", &["rate_limit_event"]);
    check(
        "  - tool: {name: Read, input: {file_path: x}, result: text}",
        &["calls Read toolu_0101", "result toolu_0101"],
    );
    check("  - tool: {name: WebFetch, permission: true}", &["calls WebFetch toolu_0101", "error toolu_0101"]);
    check("  - wait_message: true\n  - text: nobody came", &["says nobody came"]);
    check("  - text: gone\n  - close_stdout: true\n  - text: unseen", &["says gone"]);
    check(
        "  - together:\n    - write: {path: a, content: a}\n    - bash: {command: cat a, id: toolu_x}",
        &["calls Write toolu_0101a", "calls Bash toolu_x", "result toolu_0101a", "result toolu_x"],
    );
}

#[test]
fn steps_that_end_the_process() {
    for (steps, code, signal) in [
        ("  - exit: 7", Some(7), None),
        ("  - text: a\n  exit_code: 3", Some(3), None),
        ("  - crash: true", None, Some(9)),
        ("  - half_line: '{\"type\":'\n  - crash: true", None, Some(9)),
        ("  - hang: until_eof", Some(0), None),
    ] {
        let rehearsal = Rehearsal::of_text(&format!("version: 1\nname: t\ninvocations:\n- steps:\n{steps}"));
        let output = rehearsal.run(&[PLAIN, &["go"]].concat());
        let status = output.status;
        let ended = (status.code(), std::os::unix::process::ExitStatusExt::signal(&status));
        assert_eq!(ended, (code, signal), "{steps}");
        let half = String::from_utf8(output.stdout).unwrap();
        assert_eq!(half.ends_with("{\"type\":"), steps.contains("half_line"));
    }
}

#[test]
fn a_hung_agent_hears_nothing_and_must_be_killed() {
    let rehearsal =
        Rehearsal::of(Scenario::new("hang").respond_with_text("Hm.").step(Step::Hang(Hang::Forever)));
    let mut live = rehearsal.live_with(&[], Value::Null, "go");
    live.until("assistant");
    live.send(&json!({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}}));
    live.close();
    live.kill();
    assert_eq!(outline(&rehearsal.stdout(1))[1..], ["system init", "says Hm."]);
}

#[test]
fn stderr_and_raw_lines() {
    let scenario = Scenario::new("lines")
        .step(Step::Stderr("in between".into()))
        .respond_with_text("Hi.")
        .entry(|entry| {
            entry.stderr_lines = vec!["first".into()];
            entry.raw_lines = vec!["verbatim".into()];
            entry.initial_delay_ms = 1;
            entry.delay_ms = 1;
        });
    let output = Rehearsal::of(scenario).run(&[PLAIN, &["go"]].concat());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "first\nin between\n");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.lines().nth(2), Some("verbatim"));
}

#[test]
fn the_result_says_what_the_entry_says() {
    let usage = Usage {
        input_tokens: 7,
        output_tokens: 5,
        cache_creation_input_tokens: 3,
        cache_read_input_tokens: 2,
    };
    let scenario = Scenario::new("result").respond_with_text("text").usage(usage).entry(|entry| {
        entry.cost_usd = Some(0.5);
        entry.result = Some("said at last".into());
        entry.stop_reason = Some("max_tokens".into());
        entry.is_error = Some(true);
    });
    let result = Rehearsal::of(scenario).plain(&["go"]).pop().unwrap();
    let sums = &result["usage"];
    let four = [
        &sums["input_tokens"],
        &sums["output_tokens"],
        &sums["cache_creation_input_tokens"],
        &sums["cache_read_input_tokens"],
    ];
    assert_eq!(four, [7, 5, 3, 2]);
    assert_eq!((&result["total_cost_usd"], &result["is_error"]), (&json!(0.5), &json!(true)));
    assert_eq!((&result["result"], &result["stop_reason"]), (&json!("said at last"), &json!("max_tokens")));

    let failed = Scenario::new("failed").entry(|entry| entry.subtype = Some("error_during_execution".into()));
    let result = Rehearsal::of(failed).plain(&["go"]).pop().unwrap();
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("error_during_execution"), &json!(true)));
}

#[test]
fn the_result_does_not_begin_with_its_type() {
    let rehearsal = Rehearsal::of(Scenario::new("order").respond_with_text("Hi."));
    let stdout = String::from_utf8(rehearsal.run(&[PLAIN, &["go"]].concat()).stdout).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(lines[0].starts_with(r#"{"type":"system""#) && lines[1].starts_with(r#"{"type":"assistant""#));
    assert!(!lines[2].starts_with(r#"{"type""#), "{}", lines[2]);
}

#[test]
fn a_steering_message_is_waited_for() {
    let scenario = Scenario::new("steer")
        .respond_with_text("Which way?")
        .step(Step::WaitMessage(true))
        .respond_with_text("That way.");
    let rehearsal = Rehearsal::of(scenario);
    let mut live = rehearsal.live_with(&["--session-id", "s"], Value::Null, "go");
    live.until("assistant");
    live.message("left");
    let (events, _) = live.finish();
    assert_eq!(outline(&events), ["says That way.", "result success \"end_turn\""], "one turn, not two");
    assert!(std::fs::read_to_string(rehearsal.transcript("s")).unwrap().contains(r#""prompt":"left""#));
}

/// What a tool result says, and whether it is an error.
fn tool_result(scenario: Scenario, prepare: impl FnOnce(&Rehearsal)) -> (String, bool) {
    let mut builder = Scenario::new(&scenario.name);
    for step in scenario.invocations[0].steps.clone() {
        builder = builder.step(step);
    }
    let rehearsal = Rehearsal::of(builder);
    prepare(&rehearsal);
    let events = rehearsal.plain(&["go"]);
    let block = &events.iter().find(|event| event["type"] == "user").unwrap()["message"]["content"][0];
    (block["content"].as_str().unwrap().to_owned(), block["is_error"] == true)
}

#[test]
fn tools_are_really_performed_and_tell_what_went_wrong() {
    let link = |rehearsal: &Rehearsal| {
        std::os::unix::fs::symlink(rehearsal.home(), rehearsal.project().join("link")).unwrap();
        std::fs::create_dir(rehearsal.project().join("deep")).unwrap();
    };
    for (scenario, said, is_error) in [
        (Scenario::new("w").uses_write("new/deep/a.txt", "a"), "File created successfully", false),
        (Scenario::new("dots").uses_write("../a.txt", "a"), "outside the working directory", true),
        (Scenario::new("in dots").uses_write("deep/../a.txt", "a"), "File created successfully", false),
        (
            Scenario::new("gone dots").uses_write("gone/../../a.txt", "a"),
            "outside the working directory",
            true,
        ),
        (Scenario::new("abs").uses_write("/etc/rehearsal", "a"), "outside the working directory", true),
        (Scenario::new("link").uses_write("link/a.txt", "a"), "outside the working directory", true),
        (Scenario::new("none").uses_edit("none", "a", "b"), "cannot read", true),
        (Scenario::new("echo").uses_bash("echo out; echo err >&2"), "out\nerr", false),
        (Scenario::new("fail").uses_bash("echo why; exit 4"), "Exit code 4\nwhy", true),
    ] {
        let name = scenario.clone().build().name;
        let (content, error) = tool_result(scenario.build(), link);
        assert!(content.contains(said) && error == is_error, "{name}: {content}");
    }
    let edits = Scenario::new("edit").uses_edit("a", "old", "new").build();
    let (content, error) =
        tool_result(edits, |rehearsal| std::fs::write(rehearsal.project().join("a"), "other").unwrap());
    assert!(content.contains("not found in file") && error);
}

#[test]
fn tools_can_be_pretended() {
    let scenario = Scenario::new("pretend")
        .uses_write("a", "a")
        .uses_edit("a", "a", "b")
        .uses_bash("touch b")
        .entry(|entry| entry.execute_tools = Some(false));
    let rehearsal = Rehearsal::of(scenario);
    let events = rehearsal.plain(&["go"]);
    let results: Vec<String> =
        outline(&events).into_iter().filter(|line| line.starts_with("result toolu")).collect();
    assert_eq!(results, ["result toolu_0101", "result toolu_0102", "result toolu_0103"]);
    assert_eq!((rehearsal.file("a"), rehearsal.file("b")), (None, None));
}

#[test]
fn tool_inputs_are_absolute_like_the_real_ones() {
    let tool = OtherTool { name: "Read".into(), ..OtherTool::default() };
    let rehearsal = Rehearsal::of(Scenario::new("paths").uses_write("a", "a").step(Step::Tool(tool)));
    let input = rehearsal.plain(&["go"])[1]["message"]["content"][0]["input"].clone();
    assert_eq!(input["file_path"], rehearsal.project().join("a").to_str().unwrap());
}

#[test]
fn nobody_reading_is_no_reason_to_complain() {
    let rehearsal = Rehearsal::of(
        Scenario::new("pipe").respond_with_text("a").step(Step::WaitMessage(true)).respond_with_text("b"),
    );
    let mut child = rehearsal
        .command(LIVE)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let message = json!({"type": "user", "message": {"role": "user", "content": "go"}});
    let _ = std::io::Write::write_all(child.stdin.as_mut().unwrap(), format!("{message}\n").as_bytes());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn control_requests_get_an_answer() {
    let rehearsal = Rehearsal::of(Scenario::new("control"));
    let mut live: Live = rehearsal.live(&[]);
    for (request, subtype) in [
        (json!({"subtype": "set_permission_mode", "mode": "plan"}), "success"),
        (json!({"subtype": "interrupt"}), "success"),
        (json!({"subtype": "sing"}), "error"),
    ] {
        live.send(&json!({"type": "control_request", "request_id": "r", "request": request}));
        let response = live.event()["response"].clone();
        assert_eq!((&response["subtype"], &response["request_id"]), (&json!(subtype), &json!("r")));
    }
    live.message("go");
    assert_eq!(live.event()["permissionMode"], "plan");
}
