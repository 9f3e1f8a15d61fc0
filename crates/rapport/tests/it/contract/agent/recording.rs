//! Plays the recorded exchanges again on the real CLI: the host says what it said then, and the CLI's output is
//! compared with its recorded output. This shows what a new version of the CLI does differently.
//!
//! `cargo xtask record` writes both down, with everything replaced that differs from run to run, to be compared line
//! by line. Not played are `mcp-tool`, `plain-print-mode`, and exchanges that need a kill or another home: these have
//! their own stories here.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Call, ExitPlan, Scenario, Step, WriteFile};
use serde_json::{Value, json};

use super::actor::{Actor, Stage};
use crate::rehearsal::story::{bash, kind, live_answer, two_questions, which_storage};
use crate::support::patience::wait_for;
use crate::support::rehearsal::{LIVE, Live, recorded};

/// The command that is disturbed.
const SLEEP: &str = "sleep 3; echo slept";
/// Where what is printed is to be written down.
const VARIABLE: &str = "RAPPORT_RECORD";

#[test]
fn questions() {
    check(live_answer(), &[("live-answer", &[])]);
    check(two_questions(), &[("two-questions-at-once", &[])]);
}

#[test]
fn deferred_questions() {
    check(live_answer(), &[("question-deferred", &[]), ("deferred-resumed", &["--resume"])]);
    check(live_answer(), &[("question-deferred", &[]), ("deferred-forked", &["--fork-session", "--resume"])]);
    let resumed = ("two-questions-deferred-resumed", &["--resume"][..]);
    check(two_questions(), &[("two-questions-deferred", &[]), resumed]);
}

#[test]
fn a_deferred_question_beside_another_tool() {
    let calls = vec![Call::Bash(bash("toolu_b1", "echo one", "One")), Call::Ask(which_storage())];
    let scenario = Scenario::new("beside").together(calls).respond_with_text("Done.");
    let resumed = ("deferred-beside-another-tool-resumed", &["--resume"][..]);
    check(scenario, &[("deferred-beside-another-tool", &[]), resumed]);
}

#[test]
fn permissions_and_plans() {
    let write =
        WriteFile { path: "hello.txt".into(), content: "hi\n".into(), permission: true, id: id("toolu_w1") };
    let scenario = Scenario::new("permission").respond_with_text("Let me write it.").step(Step::Write(write));
    let clean = Step::Bash(bash("toolu_b1", "touch x && rm -rf build", "Clean build"));
    check(scenario.step(clean).respond_with_text("All done."), &[("tool-permission", &[])]);
    let plan = ExitPlan { plan: "# Plan\n1. Add JWT\n2. Tests".into(), id: id("toolu_p1") };
    let scenario = Scenario::new("plan").asks(which_storage()).step(Step::ExitPlan(plan));
    check(scenario.respond_with_text("Executing."), &[("plan-mode", &["--permission-mode", "plan"])]);
}

#[test]
fn turns_that_are_disturbed() {
    let sleep = || Step::Bash(bash("toolu_s1", SLEEP, "Sleep"));
    let slow = || Scenario::new("slow").respond_with_text("Working.").step(sleep());
    check(slow().respond_with_text("Second step."), &[("interrupt", &[])]);
    check(slow().respond_with_text("Second step."), &[("message-during-turn", &[])]);
}

/// What an answer without answers comes to: the model is told that there are none, and it is no error.
#[test]
fn a_question_that_is_allowed_but_not_answered() {
    let Some(actor) = Actor::claude() else { return };
    let mut recording = recorded("live-answer");
    let response =
        recording.iter_mut().find(|line| line["line"]["type"] == "control_response" && line["to"] == "agent");
    let input = &mut response.unwrap()["line"]["response"]["response"]["updatedInput"];
    input.as_object_mut().unwrap().remove("answers").expect("answers");
    let stage = actor.with(live_answer());
    replay(&stage, &recording, &[]);
    let told = "The user did not answer the questions.".to_owned();
    assert_eq!(stage.tool_result("toolu_ask1"), Some((told, false)));
}

/// Plays one recording after the other in one home; a last flag `--resume` gets the session of the first.
fn check(scenario: ScenarioBuilder, recordings: &[(&str, &[&str])]) {
    let Some(actor) = Actor::claude() else { return };
    let stage = actor.with(scenario);
    let mut session = String::new();
    for (name, flags) in recordings {
        let mut flags = flags.to_vec();
        if flags.last() == Some(&"--resume") {
            flags.push(&session);
        }
        let before = recorded(name);
        let now = replay(&stage, &before, &flags);
        let mut sessions = now.iter().filter_map(|line| line["line"]["session_id"].as_str());
        session = sessions.find(|session| !session.is_empty()).unwrap().to_owned();
        if let Some(folder) = std::env::var_os(VARIABLE).map(PathBuf::from) {
            write_down(&folder.join("before"), name, &before);
            write_down(&folder.join("now"), name, &renamed(&now, &places(&stage)));
        }
        assert_eq!(outline(&now), outline(&before), "{name}");
        assert_eq!(in_order(&now), in_order(&before), "{name}: in another order");
    }
}

/// What was said, by both, when the host says what it said in a recording.
fn replay(stage: &Stage, recording: &[Value], flags: &[&str]) -> Vec<Value> {
    let here = places(stage).map(|(here, there)| (there, here));
    let recording = &renamed(recording, &here);
    let live = Live::start(command(stage, flags));
    let mut exchange = Exchange { live, all: Vec::new(), requests: HashMap::new() };
    for (n, line) in recording.iter().enumerate().filter(|(_, line)| line["to"] == "agent") {
        let line = &line["line"];
        if let Some(request) = line["response"]["request_id"].as_str() {
            exchange.until_requested(recording, request);
        } else if n > 0 && recording[n - 1]["to"] == "host" {
            exchange.until(&kind(&recording[n - 1]["line"]));
            wait_for("the command to be at work", || is_asleep(&stage.path("app")).then_some(()));
        }
        exchange.send(line);
    }
    exchange.until_over()
}

/// Whether the command sleeps: a process of that name in the project's directory.
fn is_asleep(app: &Path) -> bool {
    let app = app.canonicalize().unwrap();
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let mut there = processes.filter(|path| std::fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == app));
    there.any(|path| std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "sleep"))
}

fn command(stage: &Stage, flags: &[&str]) -> Command {
    let mut command = Command::new(&stage.cli().program);
    command.args(LIVE).args(flags).current_dir(stage.path("app")).env_clear();
    command.envs(stage.cli().env.iter().map(|(name, value)| (name, value)));
    command
}

/// An exchange under way.
struct Exchange {
    live: Live,
    all: Vec<Value>,
    /// Names of requests: as recorded, and as they are now.
    requests: HashMap<String, String>,
}

impl Exchange {
    fn send(&mut self, line: &Value) {
        let mut text = line.to_string();
        for (then, now) in &self.requests {
            text = text.replace(then, now);
        }
        let line = serde_json::from_str(&text).unwrap();
        self.live.send(&line);
        self.all.push(json!({"to": "agent", "line": line}));
    }

    fn read(&mut self) -> Option<Value> {
        let event: Value = serde_json::from_str(&self.live.line()?).unwrap();
        self.all.push(json!({"to": "host", "line": event}));
        Some(event)
    }

    fn until(&mut self, what: &str) {
        while self.read().is_some_and(|event| kind(&event) != what) {}
    }

    /// Reads on until the CLI has made this request of the recording.
    fn until_requested(&mut self, recording: &[Value], request: &str) {
        let made = recording.iter().find(|line| line["line"]["request_id"] == request).unwrap();
        let what = kind(&made["line"]);
        loop {
            let mut known = self.all.iter().map(|line| &line["line"]);
            if let Some(now) = known.find(|event| kind(event) == what) {
                let now = now["request_id"].as_str().unwrap().to_owned();
                self.requests.insert(request.to_owned(), now);
                return;
            }
            self.read().expect("a request");
        }
    }

    /// Reads on until the turn is over, as the recordings do.
    fn until_over(mut self) -> Vec<Value> {
        while self.read().is_some_and(|event| event["type"] != "result") {}
        self.live.finish();
        self.all
    }
}

/// What the CLI printed, in a few words each. What is printed at the same time may come in any order.
fn outline(exchange: &[Value]) -> Vec<String> {
    let printed = exchange.iter().filter(|line| line["to"] == "host").map(|line| kind(&line["line"]));
    // Whether a command is told of as a task depends on how long it takes.
    let mut outline: Vec<_> = printed.filter(|kind| !kind.starts_with("system task_")).collect();
    outline.sort();
    outline
}

/// What the CLI printed one after the other: what the model said, what tools gave, how it ended. Requests to the host
/// and what the system tells come beside that.
fn in_order(exchange: &[Value]) -> Vec<String> {
    let printed = exchange.iter().filter(|line| line["to"] == "host");
    let one_by_one =
        |line: &&Value| ["assistant", "user", "result"].iter().any(|kind| line["line"]["type"] == *kind);
    printed.filter(one_by_one).map(|line| kind(&line["line"])).collect()
}

/// Paths of this run, and what they are in the recordings.
fn places(stage: &Stage) -> [(String, String); 3] {
    let folder = |path: &Path| path.to_string_lossy().replace(|c: char| !c.is_ascii_alphanumeric(), "-");
    let (home, app) = (stage.path("home"), stage.path("app"));
    [
        (folder(&app), "-home-dev-app".into()),
        (app.to_string_lossy().into_owned(), "/home/dev/app".into()),
        (home.to_string_lossy().into_owned(), "/home/dev".into()),
    ]
}

fn renamed(exchange: &[Value], names: &[(String, String)]) -> Vec<Value> {
    let text = serde_json::to_string(exchange).unwrap();
    let text = names.iter().fold(text, |text, (from, to)| text.replace(from, to));
    serde_json::from_str(&text).unwrap()
}

/// Writes an exchange down without what differs from run to run and without long lists.
fn write_down(folder: &Path, name: &str, exchange: &[Value]) {
    let mut exchange = Value::from(exchange.to_vec());
    let mut names = Vec::new();
    normalise(&mut exchange, &mut names);
    let names: Vec<_> = names.into_iter().zip((1..).map(|n| format!("name-{n}"))).collect();
    let lines = renamed(exchange.as_array().unwrap(), &names);
    let lines = lines.iter().map(|line| serde_json::to_string_pretty(line).unwrap() + "\n");
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join(format!("{name}.json")), lines.collect::<String>()).unwrap();
}

/// Takes out what is measured and what is long, and finds the names that are made anew each time.
fn normalise(value: &mut Value, names: &mut Vec<String>) {
    const OUT: [&str; 11] = [
        "t",
        "commands",
        "slash_commands",
        "terminal_slash_commands",
        "skills",
        "models",
        "agents",
        "plugins",
        "messaging_socket_path",
        "available_output_styles",
        "user_output_styles_dir",
    ];
    match value {
        Value::Object(map) => {
            map.retain(|key, _| !OUT.contains(&key.as_str()));
            for (key, value) in map {
                // A plan's file is called as the CLI likes.
                let made_up =
                    key == "filePath" && value.as_str().is_some_and(|path| path.contains("/plans/"));
                let measured = key.ends_with("_ms") || key == "pid" || key == "timestamp" || made_up;
                if measured && !value.is_null() {
                    *value = "…".into();
                }
                normalise(value, names);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| normalise(value, names)),
        Value::String(text) if is_name(text) && !names.contains(text) => names.push(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether a text is a name that is made anew each time.
fn is_name(text: &str) -> bool {
    let is_uuid = text.len() == 36 && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    is_uuid || text.starts_with("msg_")
}

fn id(id: &str) -> Option<String> {
    Some(id.to_owned())
}
