//! Clients of others: those of the protocol's own project, for JavaScript and Python, in the new protocol and in the
//! old one, and its Inspector.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rapport_core::{By, Event};
use serde_json::{Value, json};

use super::dialogs::{deciders, person_at};
use super::story::confirm;
use crate::support::needs;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// What a client told: each thing that happened to it, by its name.
type AgentReport = Vec<(String, Value)>;

/// What the JavaScript client told, and the project.
fn led(era: &str, confirms: &str) -> Option<(Project, AgentReport)> {
    let place = needs::mcp_client()?;
    let mut node = Command::new("node");
    node.arg(script("mcp-client/lead.mjs")).arg(place).args([era, confirms]);
    Some(run(node))
}

/// What the Python client told, and the project.
fn led_by_python(protocol: &str, style: &str) -> Option<(Project, AgentReport)> {
    let mut python = Command::new(needs::mcp_python()?);
    python.arg(script("mcp-client-python/lead.py")).args([protocol, style]);
    Some(run(python))
}

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Runs a client, which starts a server. The test confirms the plan if the client's model was refused to.
fn run(mut client: Command) -> (Project, AgentReport) {
    let project = Project::with_scenario(ONE_QUESTION);
    let server = project.command();
    client.args([env!("CARGO_BIN_EXE_rapport"), "mcp", "--apply", "lead"]);
    client.current_dir(project.root()).env_clear().stdin(Stdio::null()).stdout(Stdio::piped());
    client.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = client.spawn().unwrap();
    let mut told = AgentReport::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        told.push((line["event"].as_str().unwrap().to_owned(), line["data"].clone()));
        let (event, data) = told.last().unwrap();
        if event == "answer_worker_question" && data["isError"] == true {
            assert_eq!(data["error"], "needs_person", "{data}");
            confirm(&project);
        }
    }
    assert!(child.wait().unwrap().success(), "{told:#?}");
    (project, told)
}

fn leads_a_worker(era: &str, protocol: &str) {
    let Some((project, told)) = led(era, "test") else { return };
    let events: Vec<_> = told.iter().map(|(event, _)| event.as_str()).collect();
    let waits = ["wait", "answer_worker_question", "wait", "answer_worker_question", "wait"];
    assert_eq!(events[..3], ["connected", "tools", "task_worker"]);
    assert_eq!(events[3..8], waits);
    assert_eq!(events[8..], ["review_changes", "apply_changes", "closed"]);
    assert_eq!(told[0].1, json!({ "server": "rapport", "protocol": protocol }));
    assert_eq!((&told[3].1["status"], &told[7].1["status"]), (&json!("needs_input"), &json!("completed")));
    assert_eq!(told[9].1["changes"], "applied");
    assert_eq!(project.file("paint.txt"), "Blue\n");
    let facts: Vec<_> = project.facts().iter().map(Event::words).collect();
    assert!(facts.iter().any(|fact| fact.contains("the lead foreign-client")), "{facts:#?}");
}

/// The person at that client confirms the plan in its dialog, however the protocol brings it there.
#[test]
fn a_client_of_others_shows_what_a_person_decides() {
    for era in ["legacy", "modern"] {
        let Some((project, told)) = led(era, "dialog") else { return };
        let events: Vec<_> = told.iter().map(|(event, _)| event.as_str()).collect();
        assert_eq!(events[5..], ["dialog", "wait", "review_changes", "apply_changes", "closed"], "{era}");
        assert!(told[5].1["message"].as_str().unwrap().contains("1. Paint it Blue."), "{:?}", told[5]);
        assert_eq!(told[6].1["status"], "completed");
        assert_eq!(project.file("paint.txt"), "Blue\n");
        let confirmed = project.facts().into_iter().find_map(|fact| match fact {
            Event::Answered { question, by, .. } if question.as_str() == "confirm" => Some(by),
            _ => None,
        });
        assert!(matches!(confirmed, Some(By::Person { channel, .. }) if channel == "mcp"), "{era}");
    }
}

#[test]
fn a_client_of_others_leads_a_worker_in_the_old_protocol() {
    leads_a_worker("legacy", "2025-11-25");
}

#[test]
fn a_client_of_others_leads_a_worker_in_the_new_protocol() {
    leads_a_worker("modern", "2026-07-28");
}

/// The person at the Python client answers in its dialogs, in either protocol.
#[test]
fn a_python_client_shows_what_a_person_decides() {
    for (mode, protocol) in [("legacy", "2025-11-25"), ("2026-07-28", "2026-07-28")] {
        let Some((project, told)) = led_by_python(mode, "dialog") else { return };
        assert_eq!(told[0].1["protocol"], protocol, "{told:#?}");
        let events: Vec<_> = told.iter().map(|(event, _)| event.as_str()).collect();
        let waits = ["task_worker", "dialog", "dialog", "wait", "review_changes", "apply_changes", "closed"];
        assert_eq!(events[2..], waits, "{mode}");
        assert_eq!(project.file("paint.txt"), "Blue\n");
        let person = person_at("python-client");
        assert_eq!(deciders(&project), [("q1".into(), person.clone()), ("confirm".into(), person)]);
    }
}

/// The Python client follows the worker as a task; its call returns when the worker is done.
#[test]
fn a_python_client_follows_a_task() {
    let Some((project, told)) = led_by_python("2026-07-28", "task") else { return };
    let events: Vec<_> = told.iter().map(|(event, _)| event.as_str()).collect();
    let followed = ["task", "input", "input", "task_worker", "review_changes", "apply_changes", "closed"];
    assert_eq!(events[2..], followed);
    assert_eq!(told[2].1["taskId"], json!(format!("task-{}", project.session())));
    assert_eq!(told[5].1["status"], "completed", "{told:#?}");
    assert_eq!(project.file("paint.txt"), "Blue\n");
    assert_eq!(deciders(&project)[0], ("q1".into(), person_at("python-client")));
}

/// MCP's Inspector, whose every call starts a server of its own: what one began, the next continues (WORK-23).
#[test]
fn the_inspector_leads_a_worker_with_a_server_per_call() {
    let Some(place) = needs::mcp_client() else { return };
    let project = Project::with_scenario(ONE_QUESTION);
    let config = project.path("servers.json");
    std::fs::write(&config, super::servers(&project, &["mcp", "--apply", "lead"]).to_string()).unwrap();
    let inspect = |args: &[&str]| {
        let mut inspector = Command::new(place.join("node_modules/.bin/mcp-inspector"));
        inspector.args(["--cli", "--config"]).arg(&config).args(["--server", "rapport"]).args(args);
        inspector.current_dir(project.root()).env_clear().env("HOME", project.path("home"));
        inspector.env("PATH", std::env::var_os("PATH").unwrap()).env("MCP_INSPECTOR_SECRET_STORE", "memory");
        let output = inspector.stdin(Stdio::null()).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{args:?}: {out}{err}");
        serde_json::from_str::<Value>(&out).unwrap_or_else(|error| panic!("{args:?}: {error}: {out}{err}"))
    };
    let call = |tool: &str, args: &[&str]| {
        let mut all = vec!["--method", "tools/call", "--tool-name", tool];
        args.iter().for_each(|arg| all.extend(["--tool-arg", arg]));
        inspect(&all)["structuredContent"].clone()
    };
    // It also judges whether every client can use what the tools take.
    let tools = inspect(&["--method", "tools/list", "--strict"]);
    assert_eq!(tools["tools"].as_array().unwrap().len(), 18, "{tools}");
    let started = call("task_worker", &["task=paint"]);
    let task = format!("taskId={}", started["taskId"].as_str().unwrap());
    let wait = || call("wait", &[&task, "seconds=50"]);
    assert_eq!(wait()["pendingQuestion"], "Which colour?");
    let answered = call("answer_worker_question", &[&task, "answer=Blue"]);
    assert_eq!(answered["success"], true, "{answered}");
    let asked = wait();
    assert_eq!(asked["needsPerson"], true, "{asked}");
    assert_eq!(asked["pendingQuestion"], "Start the work with this plan?", "{answered} {asked}");
    confirm(&project);
    let ended = wait();
    assert_eq!(ended["status"], "completed", "{ended}");
    let diff = format!("diffId={}", ended["diffId"].as_str().unwrap());
    assert_eq!(call("apply_changes", &[&diff])["changes"], "applied");
    assert_eq!(project.file("paint.txt"), "Blue\n");
}
