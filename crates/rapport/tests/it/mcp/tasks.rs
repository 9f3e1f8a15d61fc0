//! Workers as tasks of the protocol: the client polls them, and shows the person their questions. Everything is read
//! from the log.

use std::time::Duration;

use rapport_core::Event;
use serde_json::{Value, json};

use super::WORKER;
use super::client::Client;
use super::dialogs::{deciders, person_at};
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::{BUSY, ONE_QUESTION};

/// A client of the new protocol, which declares with every request what it can do.
pub(super) struct Follower {
    client: Client,
    capabilities: Value,
}

impl Follower {
    pub(super) fn start(project: &Project, args: &[&str]) -> Self {
        let tasks = json!({ "io.modelcontextprotocol/tasks": {} });
        Self::with(project, args, json!({ "elicitation": { "form": {} }, "extensions": tasks }))
    }

    fn with(project: &Project, args: &[&str], capabilities: Value) -> Self {
        let mut follower = Self { client: Client::connect(project, args), capabilities };
        let found = follower.request("server/discover", json!({}));
        let extensions = &found["result"]["capabilities"]["extensions"];
        assert!(extensions["io.modelcontextprotocol/tasks"].is_object(), "{found}");
        follower
    }

    #[track_caller]
    fn request(&mut self, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "task-client", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": self.capabilities,
        });
        self.client.request(method, &params)
    }

    #[track_caller]
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments }))["result"].clone()
    }

    /// Begins a task, and gives its id.
    #[track_caller]
    pub(super) fn begin(&mut self, arguments: Value) -> String {
        let begun = self.call("task_worker", arguments);
        assert_eq!((&begun["resultType"], &begun["status"]), (&json!("task"), &json!("working")), "{begun}");
        assert_eq!(begun["ttlMs"], Value::Null, "{begun}");
        begun["taskId"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    pub(super) fn get(&mut self, task: &str) -> Value {
        let found = self.request("tasks/get", json!({ "taskId": task }));
        assert_eq!(found["result"]["resultType"], "complete", "{found}");
        found["result"].clone()
    }

    #[track_caller]
    pub(super) fn until(&mut self, task: &str, status: &str) -> Value {
        wait_for(status, || Some(self.get(task)).filter(|found| found["status"] == status))
    }

    /// The only thing that a task asks, once it asks: its key, and the form.
    #[track_caller]
    pub(super) fn asked(&mut self, task: &str) -> (String, Value) {
        let found = self.until(task, "input_required");
        let requests = found["inputRequests"].as_object().unwrap();
        assert_eq!(requests.len(), 1, "{found}");
        let (key, request) = requests.iter().next().unwrap();
        assert_eq!(request["method"], "elicitation/create", "{found}");
        (key.clone(), request["params"].clone())
    }

    #[track_caller]
    pub(super) fn reply(&mut self, task: &str, key: &str, reply: Value) {
        let params = json!({ "taskId": task, "inputResponses": { key: reply } });
        let told = self.request("tasks/update", params);
        assert_eq!(told["result"], json!({ "resultType": "complete" }), "{told}");
    }

    #[track_caller]
    pub(super) fn accept(&mut self, task: &str, key: &str, answer: &str) {
        self.reply(task, key, json!({ "action": "accept", "content": { "answer": answer } }));
    }
}

fn for_person(task: &str) -> Value {
    json!({ "task": task, "questions": "person" })
}

/// WORK-1, WORK-15: a worker whose questions are for the person is a task. The person answers at the client; the
/// result is in the task, and stays there when the work continues.
#[test]
fn a_worker_whose_questions_are_for_the_person_is_a_task() {
    let project = Project::with_scenario(WORKER);
    let mut follower = Follower::start(&project, &[]);
    let task = follower.begin(for_person("paint"));
    assert_eq!(task, format!("task-{}", project.session()));
    let (colour, form) = follower.asked(&task);
    assert!(form["message"].as_str().unwrap().contains("Which colour?"), "{form}");
    assert_eq!(form["requestedSchema"]["properties"]["answer"]["oneOf"][1]["const"], "Blue");
    follower.accept(&task, &colour, "Blue");
    let (plan, form) = follower.asked(&task);
    assert!(form["message"].as_str().unwrap().contains("1. Paint it Blue."), "{form}");
    assert_ne!(plan, colour);
    follower.accept(&task, &plan, "confirm");
    let (file, _) = follower.asked(&task);
    follower.accept(&task, &file, "paint.txt");
    let ended = follower.until(&task, "completed");
    let (result, diff) = (&ended["result"], format!("diff-{}-1", project.session()));
    assert_eq!(result["isError"], false, "{ended}");
    assert_eq!(result["structuredContent"]["diffId"], json!(diff));
    assert!(result["content"][0]["text"].as_str().unwrap().contains("Painted."), "{ended}");
    let person = person_at("task-client");
    let expected = ["q1", "confirm", "q2"].map(|id| (id.to_owned(), person.clone()));
    assert_eq!(deciders(&project), expected);

    let revised = follower.call("request_revision", json!({ "diffId": diff, "feedback": "Add more." }));
    assert_eq!(revised["isError"], false, "{revised}");
    wait_for("the revision", || {
        let told = follower.call("work_status", json!({ "taskId": task }));
        (told["structuredContent"]["result"] == "Revised.").then_some(())
    });
    assert_eq!(follower.get(&task), ended, "a task ends once");
}

/// WORK-23: a task is in the log and nowhere else, so that it survives every server, before and after each reply.
#[test]
fn a_task_survives_its_servers() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut follower = Follower::start(&project, &[]);
    let task = follower.begin(for_person("paint"));
    // A task that the client was told of is stored.
    follower.client.kill();
    let mut follower = Follower::start(&project, &[]);
    let (key, form) = follower.asked(&task);
    follower.client.kill();
    project.wait_alone(Duration::from_secs(20));

    let mut follower = Follower::start(&project, &[]);
    assert_eq!(follower.asked(&task), (key.clone(), form), "the same question, by the same key");
    follower.accept(&task, &key, "Blue");
    // A reply that was acknowledged is stored.
    follower.client.kill();
    let mut follower = Follower::start(&project, &[]);
    let (plan, _) = follower.asked(&task);
    assert_ne!(plan, key);
    follower.accept(&task, &plan, "confirm");
    let ended = follower.until(&task, "completed");
    follower.client.kill();
    let mut follower = Follower::start(&project, &[]);
    assert_eq!(follower.get(&task), ended);
    let asked = project.facts().iter().filter(|fact| matches!(fact, Event::Asked { .. })).count();
    assert_eq!(asked, 2, "the question and the confirmation, once each");
    assert_eq!(deciders(&project).len(), 2);
}

/// The person may leave a question: it is no longer asked at this client, and stays open at every other door. The
/// first answer wins.
#[test]
fn what_the_person_leaves_is_answered_elsewhere() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut follower = Follower::start(&project, &[]);
    let task = follower.begin(for_person("paint"));
    let (colour, _) = follower.asked(&task);
    follower.reply(&task, &colour, json!({ "action": "decline" }));
    let waits = follower.get(&task);
    assert_eq!(waits["status"], "working", "{waits}");
    let message = waits["statusMessage"].as_str().unwrap();
    assert!(message.contains("needs a person") && message.contains("Which colour?"), "{message}");
    // A reply to a question that is closed, or never existed, changes nothing.
    follower.accept(&task, &colour, "Blue");
    follower.accept(&task, "../etc/q1/0", "Blue");
    assert_eq!(deciders(&project), []);
    project.rapport(&["answer", project.session().as_str(), "Red"]).check(0, "Answered.");
    let (plan, form) = follower.asked(&task);
    assert!(form["message"].as_str().unwrap().contains("1. Paint it Red."), "{form}");
    super::story::confirm(&project);
    follower.accept(&task, &plan, "cancel");
    let ended = follower.until(&task, "completed");
    assert_eq!(ended["result"]["structuredContent"]["result"], "Painted in Red.");
}

#[test]
fn a_task_is_cancelled() {
    let project = Project::with_scenario(BUSY);
    let mut follower = Follower::start(&project, &[]);
    let task = follower.begin(for_person("late"));
    for _ in 0..2 {
        let told = follower.request("tasks/cancel", json!({ "taskId": task }));
        assert_eq!(told["result"], json!({ "resultType": "complete" }), "{told}");
        follower.until(&task, "cancelled");
    }
    let cancelled = project.facts().iter().filter(|fact| matches!(fact, Event::Cancelled { .. })).count();
    assert_eq!(cancelled, 1);
    project.wait_alone(Duration::from_secs(20));
}

/// WORK-2: a worker that fails at its work ends its task with what a call would say.
#[test]
fn a_task_of_a_failed_worker_says_why() {
    let project = Project::with_scenario(FAILING);
    let mut follower = Follower::start(&project, &[]);
    let task = follower.begin(for_person("paint"));
    let ended = follower.until(&task, "completed");
    assert_eq!(ended["result"]["isError"], true, "{ended}");
    assert_eq!(ended["result"]["structuredContent"]["status"], "failed");
}

const FAILING: &str = r##"
version: 1
name: failing
invocations:
  - steps: [{ text: "I cannot do that." }]
    subtype: error_during_execution
    is_error: true
"##;

/// A worker that cannot even begin has said nothing, so there is no result: its task has failed, and says why.
#[test]
fn a_task_whose_worker_cannot_begin_has_failed() {
    let project = Project::with_scenario(ONE_QUESTION);
    let project = project.set("RAPPORT_AGENT_COMMAND", "/nowhere/agent");
    let mut follower = Follower::start(&project, &[]);
    let task = follower.begin(for_person("paint"));
    let ended = follower.until(&task, "failed");
    assert_eq!((&ended["result"], &ended["error"]["code"]), (&Value::Null, &json!(-32603)), "{ended}");
    assert!(ended["error"]["message"].as_str().unwrap().contains("/nowhere/agent"), "{ended}");
    assert_eq!(ended["error"]["data"]["status"], "failed");
}

/// Replies to a task whose worker was parked start it again at its call. Replies to a task that has ended, to another
/// task's question, or with an unknown state change nothing.
#[test]
fn replies_to_parked_ended_and_other_tasks() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut follower = Follower::start(&project, &["--hot", "0s"]);
    let task = follower.begin(for_person("paint"));
    let (colour, _) = follower.asked(&task);
    wait_for("the agent to be parked", || {
        project.facts().iter().any(|fact| matches!(fact, Event::Parked { .. })).then_some(())
    });
    follower.accept(&task, &colour, "Blue");
    let (plan, _) = follower.asked(&task);
    let foreign = plan.replacen(project.session().as_str(), "20200101-other", 1);
    follower.accept(&task, &foreign, "confirm");
    assert_eq!(deciders(&project).len(), 1, "only the answer to the question counts");
    follower.accept(&task, &plan, "confirm");
    let ended = follower.until(&task, "completed");
    for key in [&colour, &plan] {
        follower.accept(&task, key, "Red");
    }
    assert_eq!((follower.get(&task), deciders(&project).len()), (ended, 2));
    for state in ["1", "1.00", "x"] {
        let params = json!({ "name": "wait", "arguments": { "taskId": task }, "requestState": state });
        let refused = follower.request("tools/call", params);
        assert_eq!(refused["error"]["code"], -32602, "{state}: {refused}");
    }
}

/// Only a client that follows tasks gets one, and only if the person answers; any other worker is not a task.
#[test]
fn who_does_not_follow_tasks_gets_none() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut run = project.start(&["--worker", "worktree", "mine"], &[]);
    run.until_asked();
    let mine = format!("task-{}", project.session());
    let code = |reply: &Value| reply["error"]["code"].as_i64();
    let mut follower = Follower::start(&project, &[]);
    for unknown in [mine.as_str(), "task-20200101-nothing", "task-../../etc", ""] {
        for method in ["tasks/get", "tasks/cancel"] {
            let reply = follower.request(method, json!({ "taskId": unknown }));
            assert_eq!(code(&reply), Some(-32602), "{method} {unknown}: {reply}");
        }
        let reply = follower.request("tasks/update", json!({ "taskId": unknown, "inputResponses": {} }));
        assert_eq!(code(&reply), Some(-32602), "{unknown}: {reply}");
    }
    // The protocol no longer has such requests.
    for gone in ["tasks/list", "tasks/result"] {
        assert_eq!(code(&follower.request(gone, json!({ "taskId": mine }))), Some(-32601), "{gone}");
    }
    let led = follower.call("task_worker", json!({ "task": "led" }));
    assert_eq!((&led["resultType"], &led["isError"]), (&json!("complete"), &json!(false)), "{led}");
    let capabilities = json!({ "elicitation": {} });
    let mut other = Follower::with(&project, &[], capabilities);
    let plain = other.call("task_worker", for_person("plain"));
    assert_eq!(plain["resultType"], "complete", "{plain}");
    let task = plain["structuredContent"]["taskId"].clone();
    assert_eq!(code(&other.request("tasks/get", json!({ "taskId": task }))), Some(-32021));
    // Any server of the project has it for a client that follows tasks.
    follower.asked(task.as_str().unwrap());
}
