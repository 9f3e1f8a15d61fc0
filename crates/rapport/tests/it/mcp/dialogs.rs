//! Decisions that only a person may make, in the dialog of a client that has dialogs.

use rapport_core::{By, Event};
use serde_json::{Value, json};

use super::client::Client;
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::{ONE_QUESTION, PERMISSION};

fn start(project: &Project, args: &[&str]) -> Client {
    Client::start_with(project, args, &json!({ "elicitation": {} }))
}

/// The dialog that the server wants shown.
#[track_caller]
fn shown(client: &mut Client) -> Value {
    client.find("a dialog", |message| message["method"] == "elicitation/create")
}

fn reply(client: &mut Client, shown: &Value, result: &Value) {
    client.send(&json!({ "jsonrpc": "2.0", "id": shown["id"], "result": result }));
}

fn accept(client: &mut Client, shown: &Value, content: &Value) {
    reply(client, shown, &json!({ "action": "accept", "content": content }));
}

/// Which question was answered, and by whom.
pub(super) fn deciders(project: &Project) -> Vec<(String, String)> {
    let facts = project.facts().into_iter();
    facts
        .filter_map(|fact| match fact {
            Event::Answered { question, by, .. } => Some((question.to_string(), by.to_string())),
            _ => None,
        })
        .collect()
}

/// How the person at the client of these tests is recorded.
pub(super) fn person_at(client: &str) -> String {
    let name = nix::unistd::User::from_uid(nix::unistd::Uid::current()).unwrap().unwrap().name;
    By::Person { channel: "mcp".into(), id: format!("{name} at {client}") }.to_string()
}

fn values(shown: &Value) -> Vec<&str> {
    let options = shown["params"]["requestedSchema"]["properties"]["answer"]["oneOf"].as_array().unwrap();
    options.iter().map(|option| option["const"].as_str().unwrap()).collect()
}

/// The person confirms the plan and allows the call where the assistant runs; both are shown in full.
#[test]
fn the_person_decides_in_the_dialog_of_the_client() {
    let project = Project::with_scenario(PERMISSION);
    let mut client = start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "build" })).task();
    let waiting = client.ask_tool("wait", &json!({ "taskId": task, "seconds": 50 }));
    let plan = shown(&mut client);
    assert!(plan["params"]["message"].as_str().unwrap().contains("1. Build it."), "{plan}");
    assert_eq!(values(&plan), ["confirm", "cancel"]);
    accept(&mut client, &plan, &json!({ "answer": "confirm" }));
    let call = shown(&mut client);
    assert!(call["params"]["message"].as_str().unwrap().contains("echo built > built.txt"), "{call}");
    accept(&mut client, &call, &json!({ "answer": "allow" }));
    let ended = client.told(waiting);
    assert_eq!(ended.status(), "completed", "{ended:?}");
    let person = person_at("test-client");
    assert_eq!(deciders(&project), [("confirm".into(), person.clone()), ("q1".into(), person)]);
    assert_eq!(client.close().0, Some(0));
}

/// A dialog that is closed, or left empty, is no answer: the model is told, the dialog does not come again, and the
/// question stays open at every other door.
#[test]
fn a_dialog_that_is_closed_is_no_answer() {
    for result in [
        json!({ "action": "decline" }),
        json!({ "action": "cancel" }),
        json!({ "action": "accept" }),
        json!({ "action": "accept", "content": {} }),
        json!({ "surprise": true }),
    ] {
        let project = Project::with_scenario(PERMISSION);
        let mut client = start(&project, &[]);
        let task = client.call("task_worker", json!({ "task": "build" })).task();
        let waiting = client.ask_tool("wait", &json!({ "taskId": task, "seconds": 50 }));
        let plan = shown(&mut client);
        reply(&mut client, &plan, &result);
        let told = client.told(waiting).says("did not decide this in a dialog").says("rapport answer");
        assert_eq!((told.status(), &told.data["needsPerson"]), ("needs_input", &json!(true)), "{result}");
        let again = client.call("wait", json!({ "taskId": task, "seconds": 1 })).says("Nothing changed");
        assert_eq!(again.data["changed"], false);
        assert_eq!(deciders(&project), [], "{result}");
        super::story::confirm(&project);
        client.ask_tool("wait", &json!({ "taskId": task, "seconds": 50 }));
        let next = shown(&mut client);
        assert!(next["params"]["message"].as_str().unwrap().contains("echo built"), "{next}");
    }
}

/// What the form does not offer is refused, and the dialog comes again with the reason, once.
#[test]
fn nonsense_in_a_dialog_is_refused_with_the_reason() {
    let project = Project::with_scenario(PERMISSION);
    let mut client = start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "build" })).task();
    let waiting = client.ask_tool("wait", &json!({ "taskId": task, "seconds": 50 }));
    let plan = shown(&mut client);
    accept(&mut client, &plan, &json!({ "answer": "nothing like it" }));
    let again = shown(&mut client);
    let message = again["params"]["message"].as_str().unwrap();
    assert!(
        message.starts_with("That was not accepted: \"nothing like it\" is not one of the options"),
        "{message}"
    );
    accept(&mut client, &again, &json!({ "answer": "nor this" }));
    client.told(waiting).says("did not decide this in a dialog");
    assert_eq!(deciders(&project), []);
}

/// Another person decides first: the dialog is withdrawn, a late reply changes nothing, and the call continues.
#[test]
fn a_dialog_is_taken_back_when_somebody_else_decides() {
    let project = Project::with_scenario(PERMISSION);
    let mut client = start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "build" })).task();
    let waiting = client.ask_tool("wait", &json!({ "taskId": task, "seconds": 50 }));
    let plan = shown(&mut client);
    super::story::confirm(&project);
    let taken =
        client.find("that it is taken back", |message| message["method"] == "notifications/cancelled");
    assert_eq!(taken["params"]["requestId"], plan["id"]);
    accept(&mut client, &plan, &json!({ "answer": "cancel" }));
    let call = shown(&mut client);
    accept(&mut client, &call, &json!({ "answer": "deny" }));
    let ended = client.told(waiting);
    assert_eq!(ended.status(), "completed", "{ended:?}");
    let deciders = deciders(&project);
    assert!(deciders[0].0 == "confirm" && deciders[0].1.ends_with("(terminal)"), "{deciders:?}");
    assert_eq!(deciders[1..], [("q1".into(), person_at("test-client"))]);
}

/// The dialog ends with the call that showed it, and comes again with the next one.
#[test]
fn a_dialog_ends_with_its_call() {
    let project = Project::with_scenario(PERMISSION);
    let mut client = start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "build" })).task();
    // Looking shows nothing.
    wait_for("the plan", || {
        let told = client.call("wait", json!({ "taskId": task, "seconds": 0 }));
        (told.status() == "needs_input").then_some(())
    });
    let short = client.ask_tool("wait", &json!({ "taskId": task, "seconds": 2 }));
    let first = shown(&mut client);
    let told = client.told(short);
    assert_eq!((told.status(), &told.data["needsPerson"]), ("needs_input", &json!(true)), "{told:?}");
    assert_eq!(deciders(&project), []);
    let taken =
        client.find("that it is taken back", |message| message["method"] == "notifications/cancelled");
    assert_eq!(taken["params"]["requestId"], first["id"]);
    let waiting = client.ask_tool("wait", &json!({ "taskId": task, "seconds": 50 }));
    let second = shown(&mut client);
    assert_ne!(first["id"], second["id"]);
    assert_eq!(first["params"]["message"], second["params"]["message"]);
    accept(&mut client, &second, &json!({ "answer": "cancel" }));
    assert_eq!(client.told(waiting).status(), "cancelled");
}

/// Where the person answers what workers ask, the model may not, and the dialog takes a choice or own words.
#[test]
fn questions_for_the_person_come_in_a_dialog() {
    for (answer, painted) in [(json!({ "answer": "Blue" }), "Blue"), (json!({ "words": "Green" }), "Green")] {
        let project = Project::with_scenario(ONE_QUESTION);
        let mut client = start(&project, &["--questions", "person"]);
        let lead = json!({ "task": "paint", "questions": "lead" });
        client.call("task_worker", lead).refuses("invalid", "the person answers what workers ask");
        let task = client.call("task_worker", json!({ "task": "paint" })).task();
        let waiting = client.ask_tool("wait", &json!({ "taskId": task, "seconds": 50 }));
        let question = shown(&mut client);
        assert!(question["params"]["message"].as_str().unwrap().contains("Which colour?"), "{question}");
        assert_eq!(values(&question), ["Red", "Blue"]);
        let model = json!({ "taskId": task, "answer": "Red" });
        client.call("answer_worker_question", model).refuses("needs_person", "answering the agent");
        accept(&mut client, &question, &answer);
        let plan = shown(&mut client);
        accept(&mut client, &plan, &json!({ "answer": "confirm" }));
        client.told(waiting).says(&format!("Painted in {painted}."));
        let person = person_at("test-client");
        assert_eq!(deciders(&project), [("q1".into(), person.clone()), ("confirm".into(), person)]);
    }
}

/// A model may leave a worker's questions to the person, worker by worker. Without dialogs it tells the person where
/// to answer.
#[test]
fn a_model_leaves_questions_to_the_person() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut client = Client::start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "paint", "questions": "person" })).task();
    let asked = client.until(&task, "needs_input").says("Which colour?").says("rapport answer");
    assert_eq!(asked.data["needsPerson"], true);
    let answer = json!({ "taskId": task, "answer": "Blue" });
    client.call("answer_worker_question", answer).refuses("needs_person", "answering the agent");
    project.rapport(&["answer", project.session().as_str(), "Red"]).check(0, "Answered.");
    client.until(&task, "needs_input").says("Start the work with this plan?");
    super::story::confirm(&project);
    client.until(&task, "completed").says("Painted in Red.");
}

/// What the model can answer comes before a dialog.
#[test]
fn a_dialog_does_not_keep_the_model_from_what_it_can_answer() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut client = start(&project, &[]);
    let first = client.call("task_worker", json!({ "task": "first" })).task();
    client.until(&first, "needs_input").says("Which colour?");
    client.call("answer_worker_question", json!({ "taskId": first, "answer": "Blue" }));
    let second = client.call("task_worker", json!({ "task": "second" })).task();
    // Both wait now: the one for the person, the other for the model.
    wait_for("both to ask", || {
        let told = client.call("work_status", json!({}));
        let waits = |task: &Value| task["status"] == "needs_input";
        (told.data["tasks"].as_array().unwrap().iter().filter(|task| waits(task)).count() == 2
            && told.text.contains("Start the work"))
        .then_some(())
    });
    let told = client.call("wait", json!({ "seconds": 50 })).says("Which colour?");
    assert_eq!(told.task(), second);
    let waiting = client.ask_tool("wait", &json!({ "seconds": 50 }));
    let plan = shown(&mut client);
    assert!(plan["params"]["message"].as_str().unwrap().contains("first"), "{plan}");
    // While the dialog is open, other calls are served.
    client.call("work_status", json!({ "taskId": second })).says("Which colour?");
    accept(&mut client, &plan, &json!({ "answer": "confirm" }));
    client.told(waiting).says("Painted in Blue.");
}
