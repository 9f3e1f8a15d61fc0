//! Questions of an MCP server that a worker uses reach the person at the client that leads the worker: in dialogs
//! within a call, or as a task. The worker is the real CLI with a real server.

use std::path::Path;

use serde_json::{Value, json};

use super::client::Client;
use super::dialogs::{deciders, person_at};
use super::tasks::Follower;
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::Project;

/// The tool of the server in the worker.
const TOOL: &str = "mcp__desk__ask_person";

/// A project whose worker uses a server that asks for a name, a number and a yes; and the worker's model.
fn project() -> Option<(Project, Model)> {
    let program = needs::claude()?;
    let form = json!({ "message": "Where should it go?", "requestedSchema": {
        "type": "object",
        "properties": {
            "name": { "type": "string", "title": "Name", "minLength": 2 },
            "count": { "type": "integer", "minimum": 1, "maximum": 5 },
            "ok": { "type": "boolean" },
        },
        "required": ["name", "ok"],
    } });
    let call = Response::default().tool("toolu_1", TOOL, json!({ "params": form }));
    let says = |text: &str| Response::default().text(text);
    let model = Model::play(Script::default().say(says("# Fill in\n\n1. Ask.")).say(call).say(says("Done.")));
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/contract/agent/server/elicits.mjs");
    let project = Project::with_agent("");
    let servers = project.path("worker-servers.json");
    let desk = json!({ "mcpServers": { "desk": { "command": "node", "args": [server] } } });
    std::fs::write(&servers, desk.to_string()).unwrap();
    let command =
        format!("'{}' --allowedTools {TOOL} --mcp-config '{}'", program.display(), servers.display());
    let project = project.set("RAPPORT_AGENT_COMMAND", &command);
    let url = format!("http://{}", model.address());
    let project = offline(&url).into_iter().fold(project, |project, (name, value)| project.set(name, value));
    Some((project, model))
}

/// What the person fills in, by words of the question.
fn filled_in(message: &str) -> Value {
    let answers = [
        ("Name", json!({ "words": "Ada" })),
        ("count", json!({ "words": "3" })),
        ("ok", json!({ "answer": "true" })),
        ("Start the work", json!({ "answer": "confirm" })),
    ];
    let found = answers.into_iter().find(|(words, _)| message.contains(words));
    found.unwrap_or_else(|| panic!("nobody knows {message:?}")).1
}

/// What the server in the worker was told, and by whom.
#[track_caller]
fn assert_filled_in(project: &Project, model: &Model, client: &str) {
    let (told, is_error) = model.tool_result("toolu_1").unwrap();
    assert!(!is_error, "{told}");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told, json!({ "action": "accept", "content": { "name": "Ada", "count": 3, "ok": true } }));
    let person = person_at(client);
    let deciders = deciders(project);
    assert_eq!(deciders.len(), 4, "{deciders:?}");
    assert!(deciders.iter().all(|(_, by)| *by == person), "{deciders:?}");
}

/// WORK-1: in the older protocol, a dialog for each field. What the field does not take is refused with the reason;
/// the model may not fill it in.
#[test]
fn a_form_in_a_worker_is_filled_in_dialogs() {
    let Some((project, model)) = project() else { return };
    let mut client = Client::start_with(&project, &[], &json!({ "elicitation": {} }));
    let task = client.call("task_worker", json!({ "task": "fill in" })).task();
    let waiting = client.ask_tool("wait", &json!({ "taskId": task, "seconds": 55 }));
    let mut shown = Vec::new();
    while shown.len() < 5 {
        let dialog = client.find("a dialog", |message| message["method"] == "elicitation/create");
        let message = dialog["params"]["message"].as_str().unwrap().to_owned();
        let content = match shown.iter().any(|earlier: &String| earlier.contains("Name")) {
            false if message.contains("Name") => {
                let model = json!({ "taskId": task, "answer": "Ada" });
                client.call("answer_worker_question", model).refuses("needs_person", "rapport answer");
                // WORK-17: why it does not stop while it waits.
                let status = client.call("work_status", json!({ "taskId": task }));
                assert_eq!(status.data["keptBy"], "server", "{status:?}");
                status.says("It is kept running: an MCP server waits for the answer.");
                json!({ "words": "A" })
            }
            _ => filled_in(&message),
        };
        shown.push(message);
        let result = json!({ "action": "accept", "content": content });
        client.send(&json!({ "jsonrpc": "2.0", "id": dialog["id"], "result": result }));
    }
    assert!(shown[1].contains("desk asks: Where should it go?"), "{shown:#?}");
    let again = shown.iter().find(|message| message.contains("That was not accepted")).unwrap();
    assert!(again.contains("at least 2 characters"), "{again}");
    assert_eq!(client.told(waiting).status(), "completed");
    assert_filled_in(&project, &model, "test-client");
}

/// WORK-1: in the newer protocol, all fields at once as the input that the task requires.
#[test]
fn a_form_in_a_worker_is_filled_in_a_task() {
    let Some((project, model)) = project() else { return };
    let mut follower = Follower::start(&project, &[]);
    let task = follower.begin(json!({ "task": "fill in", "questions": "person" }));
    let (plan, _) = follower.asked(&task);
    follower.accept(&task, &plan, "confirm");
    let asked = wait_for("the form", || {
        let found = follower.get(&task);
        Some(found["inputRequests"].as_object()?.clone()).filter(|asked| asked.len() == 3)
    });
    for (key, request) in &asked {
        let message = request["params"]["message"].as_str().unwrap();
        assert!(message.contains("The MCP server desk asks this."), "{message}");
        let content = filled_in(message);
        follower.reply(&task, key, json!({ "action": "accept", "content": content }));
    }
    let ended = follower.until(&task, "completed");
    assert_eq!(ended["result"]["structuredContent"]["result"], "Done.", "{ended}");
    assert_filled_in(&project, &model, "task-client");
}
