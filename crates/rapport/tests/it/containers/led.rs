//! Workers in containers, led over MCP by a server that keeps running.

use rapport_core::Event;
use serde_json::json;

use super::real::{ON_DISK, looked_for};
use super::{ASKS, World, until};
use crate::mcp::client::Client;
use crate::mcp::story::confirm;
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::Project;

/// The person's key.
const KEY: &str = "sk-of-the-person-7316";

/// Has a worker ask its question, and gives its task.
fn asked(world: &World, client: &mut Client) -> String {
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input").says("Start the work with this plan?");
    confirm(&world.project);
    client.until(&task, "needs_input").says("Which colour?");
    task
}

/// WORK-8, WORK-16: the container, or all of it, is removed while the question waits at a living server. The answer
/// finds the work again, and continues at the same call.
#[test]
fn removed_under_a_living_server_it_is_made_again_with_the_work() {
    for with_volume in [false, true] {
        let Some(world) = World::new(ASKS) else { return };
        let mut client = Client::start(&world.project, &["--hot", "0s"]);
        let task = asked(&world, &mut client);
        wait_for("the agent to be parked", || {
            world.project.facts().iter().any(|fact| matches!(fact, Event::Parked { .. })).then_some(())
        });
        let container = world.container();
        world.docker(&["rm", "--force", &container]);
        if with_volume {
            world.docker(&["volume", "rm", &container]);
        }
        client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
        client.until(&task, "completed").says("Painted.");
        world.assert_continued_at_its_call();
        world.assert_painted();
    }
}

/// WORK-12, WORK-16: when a task ends, its container stops at once, although the server keeps running. Its work can
/// still be read, and the container is the same if the work continues.
#[test]
fn the_container_of_a_task_that_ended_stops_at_once() {
    let Some(world) = World::new(ASKS) else { return };
    let mut client = Client::start(&world.project, &[]);
    let task = asked(&world, &mut client);
    let container = world.told("{{.Id}}");
    assert!(world.is_running());
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
    let diff = client.until(&task, "completed").diff();
    until("the container stops", || !world.is_running());
    client.call("review_changes", json!({ "diffId": diff })).says("+before").says("+after");
    assert_eq!(world.told("{{.Id}}"), container);
    let session = world.project.session();
    world.project.rapport(&["apply", session.as_str()]).check(0, "Applied to");
    assert_eq!(world.container(), "");
}

/// WORK-1 to WORK-5, WORK-7 to WORK-11, WORK-13, WORK-15, WORK-16, WORK-22: the real CLI in a real container, led
/// over MCP from its task to its diff. Its question is no failure, the container stays, the answer is in the call
/// that asked, and the end has a diff.
#[test]
fn a_real_worker_in_a_container_asks_is_answered_and_ends_with_a_diff() {
    let (Some(engine), Some(program)) = (needs::engine(), needs::claude()) else { return };
    let question = json!({ "questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{ "label": "Red", "description": "Warm" }, { "label": "Blue", "description": "Cold" }],
    }] });
    let paint = json!({ "command": "echo Blue > paint.txt; cat /etc/hostname > host.txt", "description": "Paints it" });
    let script = Script::default()
        .say(Response::default().text("# Paint\n\n1. Paint it."))
        .say(Response::default().tool("toolu_1", "AskUserQuestion", question))
        .say(Response::default().tool("toolu_2", "Bash", paint))
        .say(Response::default().text("Painted."));
    let model = Model::play(script);
    let url = format!("http://{}", model.address());
    let project = Project::with_agent(&program.display().to_string()).working_in("container");
    let project = offline(&url).into_iter().fold(project, |project, (name, value)| project.set(name, value));
    let project = project.set("ANTHROPIC_API_KEY", KEY);
    let world = World { project, engine, model: None };
    let mut client = Client::start(&world.project, &["--apply", "lead"]);
    let started = client.call("task_worker", json!({ "task": "paint" }));
    let (task, session) = (started.task(), world.project.session());
    assert_eq!(
        (task.as_str(), started.data["success"].as_bool()),
        (format!("task-{session}").as_str(), Some(true))
    );
    client.until(&task, "needs_input").says("Start the work with this plan?");
    confirm(&world.project);

    let asked = client.until(&task, "needs_input").says("Question q1: Which colour?");
    for (key, value) in [
        ("success", json!(true)),
        ("pendingQuestion", json!("Which colour?")),
        ("sessionId", json!(session)),
        ("workerRunning", json!(true)),
        ("containerRunning", json!(true)),
        ("containerId", json!(world.told("{{.Id}}"))),
    ] {
        assert_eq!(asked.data[key], value, "{key}: {asked:?}");
    }
    let asked = asked.says("answer_worker_question").says("still running").says("Its container is running.");
    asked.says("Duration: ");
    let known = client.call("system_status", json!({})).data["containerSessions"][&task].clone();
    assert_eq!(
        (&known["lastQuestion"], &known["containerId"]),
        (&json!("Which colour?"), &json!(world.told("{{.Id}}")))
    );
    // The key is added outside: nothing in the container has it.
    assert_eq!(model.keys().into_iter().collect::<Vec<_>>(), [KEY]);
    let home = world.project.root().join(format!(".rapport/worktrees/{session}.home"));
    let seen =
        looked_for(&world.project, "sk-of-the-perso[n]-7316", &format!("/work /tmp {}", home.display()));
    assert!(seen.contains("HOME=") && !seen.contains(KEY) && !seen.contains(ON_DISK), "{seen}");
    assert!(!world.docker(&["inspect", &world.container()]).contains(KEY));
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" })).says("Answered by");
    client.until(&task, "needs_input").says("Only a person may decide this");
    let (told, _) = model.tool_result("toolu_1").unwrap();
    assert!(told.contains("\"Which colour?\"=\"Blue (answered by the lead test-client)\""), "{told}");
    world.project.rapport(&["answer", session.as_str(), "allow"]).check(0, "Answered.");

    let ended = client.until(&task, "completed").says("Painted.").says("Diff ID: diff-");
    assert_eq!((&ended.data["filesChanged"], ended.diff()), (&json!(2), format!("diff-{session}-1")));
    until("the container stops", || !world.is_running());
    let host = world.told("{{.Config.Hostname}}");
    client.call("review_changes", json!({ "diffId": ended.diff() })).says("+Blue").says(&format!("+{host}"));
    client.call("apply_changes", json!({ "diffId": ended.diff() })).says("Applied");
    assert_eq!(world.project.file("paint.txt"), "Blue\n");
    assert_eq!(world.container(), "");
}

/// WORK-11, WORK-13: the lead is told the container, and whether it runs or has stopped.
#[test]
fn a_lead_is_told_whether_the_container_runs() {
    let Some(mut world) = World::new(ASKS) else { return };
    world.project = world.project.set("RAPPORT_WORKER_IDLE", "2s").set("RAPPORT_AGENT_HOT", "1s");
    let mut client = Client::start(&world.project, &[]);
    let task = asked(&world, &mut client);
    let container = world.told("{{.Id}}");
    let about = |client: &mut Client| client.call("work_status", json!({ "taskId": task }));
    until("it is told that the container stopped", || !world.is_running());
    let told = about(&mut client).says("Its container is stopped; an answer starts it again.");
    assert_eq!(
        (&told.data["containerRunning"], &told.data["containerId"]),
        (&json!(false), &json!(container))
    );
    let known = client.call("system_status", json!({})).data["containerSessions"][&task].clone();
    assert_eq!((&known["containerRunning"], &known["containerId"]), (&json!(false), &json!(container)));
    world.project.rapport(&["shell", task.as_str(), "--", "true"]).check(0, "");
    world.docker(&["start", &container]);
    let told = about(&mut client).says("Its container is running.");
    assert_eq!(told.data["containerRunning"], true);
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
    client.until(&task, "completed");
    world.assert_painted();
}

/// Limits that this machine cannot provide are reported to the lead, and on the terminal.
#[test]
fn limits_that_the_machine_does_not_have_are_told() {
    let Some(mut world) = World::new(ASKS) else { return };
    world.project = world.project.set("RAPPORT_WORKER_MEMORY", "900000g").set("RAPPORT_WORKER_CPUS", "4096");
    let words = "this machine is smaller than the settings: a container has ";
    let mut client = Client::start(&world.project, &[]);
    let told = client.call("task_worker", json!({ "task": "paint" })).says(words).says("instead of 4096");
    assert!(told.data["warnings"][0].as_str().unwrap().starts_with(words), "{told:?}");
    drop(client);
    let session = world.project.session();
    let mut running = world.project.start(&["--resume", session.as_str()], &[]);
    running.until_asked();
    world.project.rapport(&["cancel", session.as_str()]).check(0, "Cancelled");
    let (_, said) = running.finish_saying();
    assert!(said.contains(words), "{said}");
    world.project.rapport(&["discard", session.as_str(), "--yes"]).check(0, "");
}

/// The same for a task that is cancelled, and for one that fails.
#[test]
fn the_container_of_a_task_without_a_result_stops_at_once() {
    for ends in ["cancelled", "failed"] {
        let Some(world) = World::new(ASKS) else { return };
        let mut client = Client::start(&world.project, &[]);
        let task = asked(&world, &mut client);
        let session = world.project.session();
        if ends == "cancelled" {
            world.project.rapport(&["cancel", session.as_str()]).check(0, "");
        } else {
            // The agent cannot start again.
            let scenario = world.project.path("scenario.yaml");
            std::fs::rename(&scenario, world.project.path("away.yaml")).unwrap();
            world.docker(&["kill", &world.container()]);
            client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
            wait_for("the failure", || {
                world.project.facts().iter().any(|fact| matches!(fact, Event::Failed { .. })).then_some(())
            });
        }
        until("the container stops", || !world.is_running());
        let stored = world.project.root().join(".rapport/sessions").join(session.as_str());
        assert!(stored.join("kept/work.patch").exists(), "{ends}: the work is stored");
        world.project.rapport(&["diff", session.as_str()]).check(0, "+before");
        world.project.rapport(&["discard", session.as_str(), "--yes"]).check(0, "");
    }
}
