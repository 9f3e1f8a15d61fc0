//! The real Claude Code as a client, and as a worker: with a scripted model, without an account or the internet.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rapport_core::{By, Event, SessionId};
use serde_json::{Value, json};

use super::client::Client;
use super::story::confirm;
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_at_most;
use crate::support::project::Project;
use crate::support::pty::Pty;
use crate::support::scenarios::ONE_QUESTION;

/// The real CLI asks its worker's question to the model of another one, here a test.
#[test]
fn the_real_cli_is_a_worker_that_asks() {
    let Some(program) = needs::claude() else { return };
    let question = json!({ "questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{ "label": "Red", "description": "Warm" }, { "label": "Blue", "description": "Cold" }],
    }] });
    let script = Script::default()
        .say(Response::default().tool("toolu_1", "AskUserQuestion", question))
        .say(Response::default().text("# Paint\n\n1. Paint it."))
        .say(Response::default().tool(
            "toolu_2",
            "Bash",
            json!({ "command": "echo Blue > paint.txt", "description": "Paints it" }),
        ))
        .say(Response::default().text("Painted."));
    let model = Model::play(script);
    let url = format!("http://{}", model.address());
    let project = Project::with_agent(&program.display().to_string());
    let project = offline(&url).into_iter().fold(project, |project, (name, value)| project.set(name, value));
    let mut client = Client::start(&project, &["--apply", "lead"]);
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input").says("Which colour?");
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
    client.until(&task, "needs_input").says("Start the work with this plan?");
    let (told, _) = model.tool_result("toolu_1").unwrap();
    assert!(
        told.contains("\"Which colour?\"=\"Blue (answered by the lead test-client)\""),
        "the answer is in the call that asked: {told}"
    );
    confirm(&project);
    let asked = client.until(&task, "needs_input").says("Only a person may decide this");
    let allow = json!({ "taskId": task, "answer": "allow" });
    client.call("answer_worker_question", allow).refuses("needs_person", "giving a permission");
    assert_eq!(asked.data["questions"][0]["matter"], "giving a permission");
    project.rapport(&["answer", project.session().as_str(), "allow"]).check(0, "Answered.");
    let diff = client.until(&task, "completed").says("Painted.").diff();
    client.call("apply_changes", json!({ "diffId": diff })).says("Applied");
    assert_eq!(project.file("paint.txt"), "Blue\n");
}

/// What the model of the real CLI was told by a tool of ours.
fn told(model: &Model, call: &str) -> String {
    model.tool_result(call).unwrap_or_else(|| panic!("{call} has no result: {:#?}", model.told())).0
}

/// `claude mcp add rapport -- rapport mcp` is all that a user does: its model starts a worker, answers it, and
/// applies what it did; the person confirms the plan.
#[test]
fn the_real_cli_leads_a_worker() {
    let Some(program) = needs::claude() else { return };
    let project = Project::with_scenario(ONE_QUESTION);
    let config = project.path("servers.json");
    std::fs::write(&config, super::servers(&project, &["mcp", "--apply", "lead"]).to_string()).unwrap();
    let session = format!("{}-paint", jiff::Timestamp::now().strftime("%Y%m%d"));
    let (task, diff) = (format!("task-{session}"), format!("diff-{session}-1"));
    let call = |id: &str, tool: &str, input: Value| {
        Response::default().tool(id, &format!("mcp__rapport__{tool}"), input)
    };
    let script = Script::default()
        .say(call("toolu_1", "task_worker", json!({ "task": "paint" })))
        .say(call("toolu_2", "wait", json!({ "taskId": task })))
        .say(call("toolu_3", "answer_worker_question", json!({ "taskId": task, "answer": "Blue" })))
        .say(call("toolu_4", "wait", json!({ "taskId": task })))
        .say(call("toolu_5", "answer_worker_question", json!({ "taskId": task, "answer": "confirm" })))
        .say(call("toolu_6", "wait", json!({ "taskId": task })))
        .say(call("toolu_7", "review_changes", json!({ "diffId": diff })))
        .say(call("toolu_8", "apply_changes", json!({ "diffId": diff })))
        .say(Response::default().text("It is painted."));
    let model = Model::play(script);
    let url = format!("http://{}", model.address());
    let mut claude = claude(&project, &program, &url);
    claude.args(["-p", "Have a worker paint it.", "--mcp-config"]).arg(&config);
    claude.args(["--strict-mcp-config", "--allowedTools", "mcp__rapport"]);
    let mut child =
        claude.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_at_most(Duration::from_secs(60), "the plan", || {
        let ended = child.try_wait().unwrap();
        assert!(ended.is_none(), "it ended: {ended:?}");
        let all = project.store().list().unwrap();
        let facts = all.first().and_then(|id| project.store().read(id, 0).ok())?;
        let mut facts = facts.into_iter().flat_map(|entry| entry.facts);
        // The model has tried to confirm it, and was refused.
        let is_asked = facts.any(
            |fact| matches!(fact, Event::Asked { questions, .. } if questions[0].id.as_str() == "confirm"),
        );
        (is_asked && model.tool_result("toolu_5").is_some()).then_some(())
    });
    assert_eq!(project.session().as_str(), session);
    confirm(&project);
    let output = child.wait_with_output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out.contains("It is painted."), "{out}{err}");
    assert!(told(&model, "toolu_2").contains("Which colour?"), "{}", told(&model, "toolu_2"));
    let (refused, is_error) = model.tool_result("toolu_5").unwrap();
    assert!(is_error && refused.contains(&format!("rapport answer {session}")), "{refused}");
    assert!(told(&model, "toolu_7").contains("+Blue"));
    assert_eq!(project.file("paint.txt"), "Blue\n");
    let by: Vec<_> = project
        .facts()
        .into_iter()
        .filter_map(|fact| match fact {
            Event::Answered { question, by, .. } => Some((question.to_string(), by)),
            _ => None,
        })
        .collect();
    assert!(matches!(&by[0], (q1, By::Lead { name }) if q1 == "q1" && name == "claude-code"), "{by:?}");
    assert!(matches!(&by[1], (confirm, By::Person { .. }) if confirm == "confirm"), "{by:?}");
    project.wait_alone(Duration::from_secs(20));
}

/// WORK-15: the one command that the documentation names makes Rapport known to the real CLI, which can then reach it.
#[test]
fn work_15_one_command_connects_the_real_cli() {
    let Some(program) = needs::claude() else { return };
    let project = Project::with_scenario(ONE_QUESTION);
    let own = PathBuf::from(env!("CARGO_BIN_EXE_rapport"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = own.parent().map(PathBuf::from).into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).unwrap();
    let said = |args: &[&str]| {
        // Nobody listens there: no model is asked.
        let mut claude = claude(&project, &program, "http://127.0.0.1:9");
        claude.env("CLAUDE_CONFIG_DIR", project.path("claude-config")).env("PATH", &path);
        let output = claude.args(args).stdin(Stdio::null()).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{args:?}: {out}{err}");
        out.into_owned()
    };
    assert!(!said(&["mcp", "list"]).contains("rapport mcp"));
    said(&["mcp", "add", "rapport", "--", "rapport", "mcp"]);
    let listed = said(&["mcp", "list"]);
    let line = listed.lines().find(|line| line.starts_with("rapport: rapport mcp"));
    assert!(line.is_some_and(|line| line.ends_with("Connected")), "{listed}");
    project.wait_alone(Duration::from_secs(20));
}

/// A person in front of the real CLI, who answers what its dialogs ask.
struct Person {
    terminal: Pty,
}

impl Person {
    const RIGHT: &str = "\x1b[C";
    const DOWN: &str = "\x1b[B";

    /// Waits for a dialog, and gives its words.
    fn asked(&mut self) -> String {
        let is_new = |screen: &str| {
            screen.contains("requests your input") && screen.contains("Your answer: ▸ not set")
        };
        self.terminal.wait_until("a dialog", is_new);
        self.terminal.text()
    }

    /// Chooses an option by its place, and accepts.
    fn chooses(&mut self, place: usize) {
        self.terminal.send(Self::RIGHT);
        self.terminal.wait_for("▾");
        for _ in 0..place {
            self.terminal.send(Self::DOWN);
        }
        self.terminal.wait_until("the option", |screen| {
            let options: Vec<_> = screen.lines().filter(|line| line.contains('◯')).collect();
            options.get(place).is_some_and(|line| line.contains('❯'))
        });
        self.terminal.send(" ");
        self.terminal.wait_for("✔ Your answer");
        self.terminal.send(Self::DOWN);
        self.terminal.wait_for("❯   In your own words");
        self.terminal.send(Self::DOWN);
        self.terminal.wait_for("❯ Accept");
        self.terminal.insist("\r", "the end of the dialog", |screen| !screen.contains("❯ Accept"));
    }
}

/// Who answered which question of a session.
fn answered(project: &Project, session: &str) -> Vec<(String, String)> {
    let entries = project.store().read(&SessionId::new(session), 0).unwrap();
    let facts = entries.into_iter().flat_map(|entry| entry.facts);
    facts
        .filter_map(|fact| match fact {
            Event::Answered { question, by, .. } => Some((question.to_string(), by.to_string())),
            _ => None,
        })
        .collect()
}

/// What each of two workers does: it asks, plans, and paints a file with the name of its workplace.
fn painter() -> Script {
    let question = json!({ "questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{ "label": "Red", "description": "Warm" }, { "label": "Blue", "description": "Cold" }],
    }] });
    let paint = json!({ "command": "echo Blue > $(basename $PWD).txt", "description": "Paints it" });
    Script::default()
        .say(Response::default().tool("toolu_ask", "AskUserQuestion", question))
        .say(Response::default().text("# Paint\n\n1. Paint it Blue."))
        .say(Response::default().tool("toolu_paint", "Bash", paint))
        .say(Response::default().text("Painted."))
}

/// WORK-1, WORK-15: the real CLI in a terminal leads two workers, which are real CLIs, at the same time. Both ask:
/// the first its model, the second the person, as a task; what only a person may decide comes in dialogs. Its model
/// reviews and applies what both did.
#[test]
fn the_real_cli_leads_two_workers_and_its_person_answers_in_dialogs() {
    let Some(program) = needs::claude() else { return };
    let day = jiff::Timestamp::now().strftime("%Y%m%d").to_string();
    let (first, second) = (format!("{day}-first"), format!("{day}-second"));
    let task = format!("task-{first}");
    let call = |id: &str, tool: &str, input: Value| {
        Response::default().tool(id, &format!("mcp__rapport__{tool}"), input)
    };
    let diff = |session: &str| json!({ "diffId": format!("diff-{session}-1") });
    let script = Script::default()
        .apart("Understand this task well enough", painter())
        .say(call("toolu_1", "task_worker", json!({ "task": "first" })))
        .say(call("toolu_2", "task_worker", json!({ "task": "second", "questions": "person" })))
        .say(call("toolu_3", "wait", json!({ "taskId": task })))
        .say(call("toolu_4", "answer_worker_question", json!({ "taskId": task, "answer": "Blue" })))
        .say(call("toolu_5", "wait", json!({ "taskId": task })))
        .say(call("toolu_6", "review_changes", diff(&first)))
        .say(call("toolu_7", "apply_changes", diff(&first)))
        .say(Response::default().text("The first is done."))
        .say(call("toolu_8", "review_changes", diff(&second)))
        .say(call("toolu_9", "apply_changes", diff(&second)))
        .say(Response::default().text("Both are done."));
    let model = Model::play(script);
    let url = format!("http://{}", model.address());
    let project = Project::with_agent(&format!("'{}' --allowedTools Bash", program.display()));
    let project = offline(&url).into_iter().fold(project, |project, (name, value)| project.set(name, value));
    let config = project.path("servers.json");
    std::fs::write(&config, super::servers(&project, &["mcp", "--apply", "lead"]).to_string()).unwrap();
    let known = json!({
        "hasCompletedOnboarding": true, "theme": "dark", "numStartups": 5,
        "customApiKeyResponses": { "approved": ["any"], "rejected": [] },
        "projects": { project.root().to_str().unwrap(): { "hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true } },
    });
    std::fs::write(project.path("home/.claude.json"), known.to_string()).unwrap();
    let (home, config) = (project.path("home"), config.to_str().unwrap().to_owned());
    let mut env = offline(&url).to_vec();
    env.push(("HOME", home.to_str().unwrap()));
    let flags = ["--mcp-config", &config, "--strict-mcp-config", "--allowedTools", "mcp__rapport", "--"];
    let args = [&flags[..], &["Have two workers paint."]].concat();
    let terminal = Pty::spawn_in(&project.root(), program.to_str().unwrap(), &args, &env, (120, 40));
    let mut person = Person { terminal };

    // The two workers decide what comes first: the plan of the first, or what the second asks.
    let mut decided = Vec::new();
    while decided.len() < 3 {
        let shown = person.asked();
        let worker = if shown.contains("Its task: second") { "second" } else { "first" };
        let is_plan = shown.contains("Start the work with this plan?") && shown.contains("1. Paint it Blue.");
        assert!(is_plan || shown.contains("Which colour?"), "{shown}");
        person.chooses(if is_plan { 0 } else { 1 });
        decided.push((worker, is_plan));
    }
    decided.sort_unstable();
    assert_eq!(decided, [("first", true), ("second", false), ("second", true)]);
    wait_at_most(Duration::from_secs(60), "the end", || model.tool_result("toolu_9"));
    person.terminal.wait_for("Both are done.");
    assert!(told(&model, "toolu_3").contains("Which colour?"), "{}", told(&model, "toolu_3"));
    // The first call returned at once. The second is a task, which the client itself followed.
    let started = r#""status":"started""#;
    assert!(told(&model, "toolu_1").contains(started), "{}", told(&model, "toolu_1"));
    assert!(!told(&model, "toolu_2").contains(started), "{}", told(&model, "toolu_2"));
    let at_client = super::dialogs::person_at("claude-code");
    assert_eq!(
        answered(&project, &first),
        [("q1".into(), "the lead claude-code".into()), ("confirm".into(), at_client.clone())]
    );
    assert_eq!(
        answered(&project, &second),
        [("q1".into(), at_client.clone()), ("confirm".into(), at_client)]
    );
    for (session, review, apply) in [(&first, "toolu_6", "toolu_7"), (&second, "toolu_8", "toolu_9")] {
        assert!(told(&model, review).contains("+Blue"), "{}", told(&model, review));
        let (applied, is_error) = model.tool_result(apply).unwrap();
        assert!(!is_error && applied.contains(r#""changes":"applied""#), "{applied}");
        assert_eq!(project.file(&format!("{session}.txt")), "Blue\n");
    }
    drop(person);
    project.wait_alone(Duration::from_secs(20));
}

/// The real CLI with a home of its own.
fn claude(project: &Project, program: &PathBuf, url: &str) -> Command {
    let mut claude = Command::new(program);
    claude.current_dir(project.root()).env_clear().env("HOME", project.path("home"));
    claude.env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs(offline(url));
    claude
}
