//! The real CLI in containers and sandboxes, with a scripted model instead of the API: how its program and
//! credentials get there, and how it is led.

use std::fs;

use rapport_core::Status;
use serde_json::json;

use super::{ASKING, World, until, with_model};
use crate::mcp::client::Client;
use crate::mcp::story::confirm;
use crate::support::model::{Model, Response, Script};
use crate::support::needs;
use crate::support::project::Project;

/// The tokens of the person's login: one, and the one that replaces it.
const TOKEN: &str = "sk-ant-oat01-of-the-person-5219";
const RENEWED: &str = "sk-ant-oat01-of-the-person-8830";

/// In milliseconds: the year 3000, and 2023.
const LATER: u64 = 32_503_680_000_000;
const BEFORE: u64 = 1_700_000_000_000;

/// A model that plans, asks, and is done.
fn asking() -> Script {
    let question = json!({ "questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{ "label": "Red", "description": "Warm" }, { "label": "Blue", "description": "Cold" }],
    }] });
    Script::default()
        .say(Response::default().text("# Paint\n\n1. Paint it."))
        .say(Response::default().tool(ASKING, "AskUserQuestion", question))
        .say(Response::default().text("Painted."))
}

/// A project with the real CLI in this kind of place, where a person is logged in, and has no key.
fn logged_in(worker: &str, model: &Model, expires: u64) -> Option<Project> {
    let program = needs::claude()?;
    let project = with_model(Project::with_agent(&program.display().to_string()), model);
    let project = project.working_in(worker).set("ANTHROPIC_API_KEY", "");
    fs::create_dir(project.path("home/.claude")).unwrap();
    log_in(&project, TOKEN, expires);
    Some(project)
}

/// Stores a login as the CLI does.
fn log_in(project: &Project, token: &str, expires: u64) {
    let login = json!({ "claudeAiOauth": {
        "accessToken": token, "refreshToken": "sk-ant-ort01-none", "expiresAt": expires,
        "scopes": ["user:inference", "user:profile"], "subscriptionType": "max",
    } });
    fs::write(project.path("home/.claude/.credentials.json"), login.to_string()).unwrap();
}

/// The login of a subscription reaches the API through the proxy: it is in no environment, on no disk and in no
/// description of the place, and one that the CLI at home has renewed meanwhile is used from the next request on.
#[test]
fn a_login_is_added_outside() {
    for worker in ["sandbox", "container"] {
        if worker == "sandbox" && !needs::sandbox() {
            return;
        }
        let Some(engine) = needs::engine() else { return };
        let model = Model::play(asking());
        let Some(project) = logged_in(worker, &model, LATER) else { return };
        let world = World { project, engine, model: Some(model) };
        let (running, session) = (world.asked(&[]), world.project.session());
        assert_eq!(world.model().tokens(), [TOKEN], "{worker}");
        assert!(world.model().keys().is_empty(), "{worker}: {:?}", world.model().keys());
        let home = world.project.root().join(format!(".rapport/worktrees/{session}.home"));
        // One looks into a sandbox from outside, where the person's own files are, too.
        let folders = if worker == "container" { "/work /tmp" } else { "." };
        let folders = format!("{folders} {}", home.display());
        let seen = looked_for(&world.project, "of-the-perso[n]-5219", &folders);
        assert!(seen.contains("HOME=") && !seen.contains("of-the-person-5219"), "{worker}: {seen}");
        assert!(!seen.contains(ON_DISK), "{worker}: {seen}");
        if worker == "container" {
            assert!(!world.docker(&["inspect", &world.container()]).contains("of-the-person"));
        }
        log_in(&world.project, RENEWED, LATER);
        world.answer();
        assert_eq!(running.finish(), 0);
        assert_eq!(world.model().tokens(), [TOKEN, RENEWED], "{worker}");
        world.project.rapport(&["discard", "paint", "--yes"]).check(0, "");
    }
}

/// What is printed if a file has what is looked for.
pub(super) const ON_DISK: &str = "a file has it";

/// The environment and the arguments of every process in a session's workplace, and whether a file in these folders
/// has this. What is looked for is a pattern that does not match itself: this very command has it.
pub(super) fn looked_for(project: &Project, pattern: &str, folders: &str) -> String {
    let told = ON_DISK.replace(' ', "' '");
    let look = format!(
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'; grep -rq {pattern} {folders} && echo {told}"
    );
    project.rapport(&["shell", project.session().as_str(), "--", "sh", "-c", &look]).out()
}

/// An expired login is not sent anywhere: the session says so, and what to do; after that it continues.
#[test]
fn an_expired_login_is_told_with_its_remedy() {
    if !needs::sandbox() {
        return;
    }
    let model = Model::play(asking());
    let Some(project) = logged_in("sandbox", &model, BEFORE) else { return };
    let (code, said) = project.start(&["paint"], &[]).finish_saying();
    assert_ne!(code, 0);
    for words in ["the login of Claude Code expired at 2023-11-14T22:13:20Z", "claude auth login"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    assert_eq!((project.view().status, model.tokens()), (Status::Failed, Vec::new()));
    log_in(&project, RENEWED, LATER);
    let session = project.session();
    let mut resumed = project.start(&["--resume", session.as_str()], &[]);
    resumed.until_asked();
    assert_eq!(model.tokens(), [RENEWED]);
}

/// With an open network, the model is at the address that this machine has there. The CLI asks it through the proxy,
/// which adds the key; what the agent starts reaches it directly.
#[test]
fn an_open_network_reaches_a_model_at_its_gateway() {
    let script = |gateway: &str| {
        let reach = "exec 3<>/dev/tcp/GATEWAY; printf 'HEAD / HTTP/1.1\\r\\nhost: a\\r\\n\\r\\n' >&3; head -n 1 <&3 > reached.txt";
        let reach = json!({ "command": reach.replace("GATEWAY", gateway), "description": "Reaches it" });
        Script::default()
            .say(Response::default().text("# Paint\n\n1. Paint it."))
            .say(Response::default().tool("toolu_reach", "Bash", reach))
            .say(Response::default().text("Painted."))
    };
    let Some(mut world) = World::real_playing(Script::default()) else { return };
    // The engine makes the network with the first container that needs it; its address is needed before that.
    let made = ["network", "create", "--driver", "bridge", "rapport"];
    let found = ["network", "inspect", "--format", "{{(index .IPAM.Config 0).Gateway}}", "rapport"];
    if !world.docker(&["network", "ls", "--format", "{{.Name}}"]).lines().any(|name| name == "rapport") {
        world.docker(&made);
    }
    let gateway = world.docker(&found);
    let model = Model::play_at(&gateway, |address| script(&address.replace(':', "/")));
    world.project = with_model(world.project, &model).set("RAPPORT_WORKER_NETWORK", "open");
    world.project = world.project.set("ANTHROPIC_API_KEY", "sk-of-the-person");
    let mut running = world.project.start(&["paint"], &[]);
    running.until_asked();
    world.project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
    running.until_asked();
    assert_eq!(world.told("{{.HostConfig.NetworkMode}}"), "rapport");
    world.project.rapport(&["answer", "paint", "allow"]).check(0, "Answered.");
    assert_eq!(running.finish(), 0);
    assert_eq!(model.keys().into_iter().collect::<Vec<_>>(), ["sk-of-the-person"]);
    world.project.rapport(&["apply", "paint"]).check(0, "Applied to");
    assert_eq!(world.project.file("reached.txt"), "HTTP/1.1 200 -\r\n");
}

/// WORK-6: the real CLI asks in its reply, after it has looked at a file; the answer goes into the same conversation,
/// in the same container.
#[test]
fn a_question_in_a_reply_from_a_container_is_one_where_that_is_switched_on() {
    let look = json!({ "file_path": "/work/project/README.md" });
    let script = Script::default()
        .say(Response::default().tool("toolu_1", "Read", look))
        .say(Response::default().text("Red or blue?"))
        .say(Response::default().text("# Paint\n\n1. Paint it blue."));
    let Some(mut world) = World::real_playing(script) else { return };
    world.project = world.project.set("RAPPORT_QUESTIONS_IN_TEXT", "true");
    let mut client = Client::start(&world.project, &[]);
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    let asked = client.until(&task, "needs_input");
    assert_eq!(
        (&asked.data["pendingQuestion"], &asked.data["needsPerson"]),
        (&json!("Red or blue?"), &json!(false))
    );
    let container = world.told("{{.Id}}");
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
    client.until(&task, "needs_input").says("Start the work with this plan?");
    assert!(world.model().told().iter().any(|told| told.contains("Red or blue?") && told.contains("Blue")));
    assert_eq!(world.told("{{.Id}}"), container);
    world.project.rapport(&["cancel", world.project.session().as_str()]).check(0, "Cancelled");
}

/// WORK-12, WORK-14, WORK-23: the server is killed at a question of the real CLI, and another one continues with it:
/// the whole conversation is in its log, an entry per interaction, with the question and its answer; when the task
/// has ended, the container stops and the session is forgotten.
#[test]
fn another_server_goes_on_with_a_real_worker_and_has_its_whole_conversation() {
    let Some(world) = World::real() else { return };
    let mut client = Client::start(&world.project, &[]);
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input").says("Start the work with this plan?");
    confirm(&world.project);
    client.until(&task, "needs_input").says("Which colour?");
    let container = world.told("{{.Id}}");
    client.kill();

    let mut client = Client::start(&world.project, &[]);
    client.until(&task, "needs_input").says("Which colour?");
    let log = client.call("view_container_logs", json!({ "identifier": task }));
    let pending = log.data["conversation"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&pending["question"], &pending["answer"]), (&json!("Which colour?"), &json!(null)));
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" })).says("Answered by");
    client.until(&task, "completed").says("Painted.");
    let log = client.call("view_container_logs", json!({ "identifier": task }));
    let pairs: Vec<_> = log.data["conversation"].as_array().unwrap().iter().collect();
    let pair = |at: usize| (pairs[at]["question"].as_str().unwrap(), pairs[at]["answer"].as_str().unwrap());
    assert_eq!(pairs.len(), 2, "{pairs:#?}");
    assert_eq!((pair(0).0, pair(1)), ("Start the work with this plan?", ("Which colour?", "Blue")));
    let lines: Vec<_> =
        log.data["lines"].as_array().unwrap().iter().filter_map(|line| line.as_str()).collect();
    for words in [
        "Write: /work/project/before.txt",
        "Read: /work/project/before.txt",
        "Write: /work/project/after.txt",
    ] {
        assert!(lines.iter().any(|line| line.contains(words)), "{words}: {lines:#?}");
    }
    assert_eq!(world.told("{{.Id}}"), container, "it is the same container");
    until("the container stops", || !world.is_running());
    assert_eq!(client.call("system_status", json!({})).data["containerSessions"], json!({}));
    drop(client);
    world.assert_painted();
}
