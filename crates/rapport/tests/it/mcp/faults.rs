//! Clients that speak garbage, disconnect during a call, or call a thousand times at once; and workers that cannot
//! continue.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rapport_core::Event;
use serde_json::json;

use super::WORKER;
use super::client::Client;
use super::story::confirm;
use crate::foreign::{pull_sessions, strangers_session};
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::{BUSY, ONE_QUESTION};

/// What is not MCP is ignored or refused, and what follows is served.
#[test]
fn garbage_does_not_end_it() {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &[]);
    for garbage in [
        &b"hello\n"[..],
        b"{\n",
        b"\xff\xfe\n",
        b"[]\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":7}\n",
        b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/nothing\"}\n",
        b"\n\n",
    ] {
        client.send_bytes(garbage);
    }
    client.send_bytes(&[b"x".repeat(17 * 1024 * 1024), b"\n".to_vec()].concat());
    let none = client.request("no/such/method", &json!({}));
    assert!(none["error"].is_object(), "{none}");
    for arguments in [json!(null), json!([]), json!("x")] {
        let reply = client.request("tools/call", &json!({ "name": "work_status", "arguments": arguments }));
        assert!(reply["error"].is_object() || reply["result"].is_object(), "{reply}");
    }
    client.call("system_status", json!({})).says("Rapport");
    assert_eq!(client.close().0, Some(0));
}

/// A client that never speaks MCP ends the server, with words on stderr only.
#[test]
fn what_never_was_a_client_is_told_so() {
    let project = Project::with_scenario(WORKER);
    let client = Client::connect(&project, &[]);
    assert_eq!(client.close(), (Some(0), String::new()), "nobody said anything");
    let mut client = Client::connect(&project, &[]);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
    let (code, said) = client.close();
    assert!(code == Some(2) && said.contains("does not speak MCP"), "{code:?} {said}");
}

/// A thousand calls at once are all answered, each once.
#[test]
fn a_thousand_calls_at_once_are_answered() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut client = Client::start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input");
    let mut answers = 0;
    let ids: Vec<_> = (0..1000)
        .map(|number| match number % 4 {
            0 => client.ask_tool("work_status", &json!({ "taskId": task })),
            1 => client.ask_tool(
                "answer_worker_question",
                &json!({ "taskId": task, "answer": "Blue", "questionId": "q1" }),
            ),
            2 => client.ask_tool("wait", &json!({ "taskId": task, "seconds": 0 })),
            _ => client.ask_tool("system_status", &json!({})),
        })
        .collect();
    for (number, id) in ids.iter().enumerate() {
        let told = client.told(*id);
        answers += usize::from(number % 4 == 1 && !told.is_error);
    }
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 1000);
    assert_eq!(answers, 1, "one answer counts");
    let stored = project.facts().iter().filter(|fact| matches!(fact, Event::Answered { .. })).count();
    assert_eq!(stored, 1);
}

/// A client that goes away in a call takes its server and the workers' processes with it; the session stays.
#[test]
fn a_client_that_goes_away_in_a_call_leaves_nothing_running() {
    let project = Project::with_scenario(BUSY);
    let mut client = Client::start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "late" })).task();
    client.ask_tool("wait", &json!({ "taskId": task, "seconds": 600 }));
    client.ask_tool("wait", &json!({ "seconds": 600 }));
    let began = Instant::now();
    assert_eq!(client.close().0, Some(0));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    project.wait_alone(Duration::from_secs(20));
    assert!(
        !project.facts().iter().any(|fact| matches!(fact, Event::Failed { .. } | Event::Cancelled { .. }))
    );
}

/// A call that waits says that it does, and can be cancelled.
#[test]
fn a_wait_ends_when_it_is_cancelled_or_its_time_is_over() {
    let project = Project::with_scenario(BUSY);
    let mut client = Client::start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "late" })).task();
    let nothing = client.call("wait", json!({ "taskId": task, "seconds": 1 })).says("Nothing changed");
    assert_eq!(nothing.data["changed"], false);
    let id = client.ask_tool("wait", &json!({ "taskId": task, "seconds": 600 }));
    client.send(
        &json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } }),
    );
    client.call("system_status", json!({})).says("Rapport");
    let began = Instant::now();
    assert_eq!(client.close().0, Some(0));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

/// WORK-15: a worker that is at work is `running`, and its status says what it does.
#[test]
fn a_running_worker_tells_of_its_progress() {
    let project = Project::with_scenario(BUSY);
    let mut client = Client::start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "late" })).task();
    let told = wait_for("progress", || {
        let told = client.call("work_status", json!({ "taskId": task }));
        told.data["progress"].is_string().then_some(told)
    });
    assert_eq!(told.status(), "running", "{told:?}");
    assert!(told.data["progress"].as_str().unwrap().contains("This takes a while."), "{told:?}");
    assert!(told.text.contains("This takes a while."), "{}", told.text);
}

/// WORK-2, WORK-21: without a container engine no task begins, the lead is told why, and the server keeps running.
#[test]
fn without_an_engine_the_lead_is_told_and_the_server_goes_on() {
    let project = Project::with_scenario(ONE_QUESTION).set("DOCKER_HOST", "unix:///nowhere/docker.sock");
    let mut client = Client::start(&project, &[]);
    let container = json!({ "task": "paint", "worker": "container" });
    client.call("task_worker", container).refuses("invalid", "no container engine answers");
    assert_eq!(project.store().list().unwrap(), []);
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input").says("Which colour?");
}

/// A session of a stranger that comes with a `git pull` does not end a call that waits for any task.
#[test]
fn a_wait_for_any_task_leaves_out_what_is_not_trusted() {
    let (stranger, foreign) = strangers_session();
    let project = Project::with_scenario(WORKER);
    let log = project.path("mcp.log");
    let name = log.display().to_string();
    let project = project.set("RAPPORT_LOG", "debug").set("RAPPORT_LOG_FILE", &name);
    let logged = |what: &str, words: &[&str]| {
        wait_for(what, || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            text.lines().any(|line| words.iter().all(|word| line.contains(word))).then_some(())
        });
    };
    let mut client = Client::start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input");
    let session = project.session();
    let waiting = client.ask_tool("wait", &json!({ "seconds": 50 }));
    // The first call of `wait` was that before.
    wait_for("the call", || {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        (text.matches("called tool=wait").count() == 2).then_some(())
    });
    pull_sessions(&stranger, &project);
    logged("the session to be left out", &["left out", foreign.as_str()]);
    project.rapport(&["answer", session.as_str(), "--question", "q1", "Blue"]).check(0, "Answered.");
    let told = client.told(waiting).says("Start the work with this plan?");
    assert_eq!((&told.data["changed"], told.task()), (&json!(true), task.clone()));
    // A call that names it gets the reason, and cannot answer it.
    let named = json!({ "taskId": format!("task-{foreign}"), "seconds": 5 });
    assert!(client.call("wait", named).is_error);
    let answer = json!({ "taskId": format!("task-{foreign}"), "answer": "Blue" });
    assert!(client.call("answer_worker_question", answer).is_error);
}

/// WORK-20: an answer is stored before the worker takes it. If the worker cannot start again, that is tried three
/// times and said; the task stays in `needs_input`, and once the worker can start, the answer is delivered, and
/// nothing is asked anew.
#[test]
fn an_answer_survives_a_worker_that_cannot_start() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut client = Client::start(&project, &["--hot", "0s"]);
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input");
    wait_for("the agent to be parked", || {
        project.facts().iter().any(|fact| matches!(fact, Event::Parked { .. })).then_some(())
    });
    let parked = client.call("work_status", json!({ "taskId": task })).says("parked");
    assert_eq!(parked.data["workerRunning"], false);
    let (scenario, away) = (project.path("scenario.yaml"), project.path("away.yaml"));
    std::fs::rename(&scenario, &away).unwrap();
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
    let waits =
        client.until(&task, "needs_input").says("An answer is stored, and the worker could not take it");
    assert_eq!((&waits.data["success"], &waits.data["needsPerson"]), (&json!(true), &json!(false)));
    assert!(waits.data["failure"].is_string() && waits.data["diffId"].is_null(), "{waits:?}");
    let stored = &waits.data["undelivered"][0];
    assert_eq!((&stored["questionId"], &stored["answer"]), (&json!("q1"), &json!("Blue")), "{waits:?}");
    let cut_off = |project: &Project| {
        project.facts().iter().filter(|fact| matches!(fact, Event::CutOff { .. })).count()
    };
    assert_eq!(cut_off(&project), 3);
    std::fs::rename(&away, &scenario).unwrap();
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "" }));
    client.until(&task, "needs_input").says("Start the work with this plan?");
    confirm(&project);
    client.until(&task, "completed").says("Painted in Blue.");
    let asked = project.facts().iter().filter(|fact| matches!(fact, Event::Asked { .. })).count();
    assert_eq!(asked, 2, "the question and the confirmation, once each");
}
