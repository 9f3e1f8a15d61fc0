//! Options for starting a worker: a template, the task that it is a part of, how its result is reported. And what is
//! remembered of it while it works.

use std::process::Command;

use rapport_core::{Ending, Event};
use serde_json::{Value, json};

use super::WORKER;
use super::client::Client;
use super::story::confirm;
use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// A plan at once, and a result of many words.
const WORDY: &str = r##"
version: 1
name: wordy
invocations:
  - result: "# Write\n\n1. Write it."
  - steps:
      - write: { path: a.txt, content: "a\n" }
    result: "It begins here. LONG and it ends here."
"##;

fn template(project: &Project, name: &str, text: &str) {
    let folder = project.root().join(".rapport/templates");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(name), text).unwrap();
}

/// WORK-23: conversation templates. A task is made from a file of the project, whose blanks are filled in.
#[test]
fn a_task_is_made_from_a_template() {
    let project = Project::with_scenario(ONE_QUESTION);
    template(&project, "fix.md", "Fix {{bug}}.\n\nHow: {{task}}\n");
    let mut client = Client::start(&project, &[]);
    assert_eq!(client.call("system_status", json!({})).data["templates"], json!(["fix"]));
    let start = |more: Value| {
        let mut arguments = json!({ "task": "With a test." });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    for (wrong, why) in [
        (json!({ "template": "mend" }), "Those in .rapport/templates of the project: fix"),
        (json!({ "template": "../../fix" }), "letters, digits"),
        (json!({ "template": "fix" }), "give blanks for bug"),
        (json!({ "template": "fix", "task": null }), "give blanks for bug, task"),
        (json!({ "task": null }), "it may be left out only where a template is named"),
        (json!({ "template": "fix", "blanks": { "bug": "x", "bag": "y" } }), "it has no blank bag"),
        (json!({ "blanks": { "bug": "x" } }), "where a template is named"),
    ] {
        client.call("task_worker", start(wrong)).refuses("invalid", why);
    }
    std::os::unix::fs::symlink("/etc", project.root().join(".rapport/templates/etc")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", project.root().join(".rapport/templates/out.md")).unwrap();
    client
        .call("task_worker", start(json!({ "template": "out" })))
        .refuses("invalid", "leads out of the project");
    assert_eq!(project.store().list().unwrap(), []);
    let filled = start(json!({ "template": "fix", "blanks": { "bug": "the leak" } }));
    let started = client.call("task_worker", filled);
    assert_eq!(started.data["task"], "Fix the leak.\n\nHow: With a test.");
    assert_eq!(started.data["template"], "fix");
    template(&project, "tidy.md", "Tidy {{file}}.\n");
    let started = client.call("task_worker", json!({ "template": "tidy", "blanks": { "file": "main.rs" } }));
    assert_eq!(started.data["task"], "Tidy main.rs.", "the template is the whole task");
    client.call("task_worker", json!({})).refuses("invalid", "only where a template is named");
}

/// A few words for lists, and the parts of a task by its id as a plan.
#[test]
fn a_task_has_a_description_and_a_plan_has_parts() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut client = Client::start(&project, &[]);
    let whole = json!({ "task": "Paint everything, and mind the doors.", "taskDescription": "the house" });
    let whole = client.call("task_worker", whole);
    assert_eq!(whole.data["taskDescription"], "the house");
    let whole = whole.task();
    let part = client.call("task_worker", json!({ "task": "the doors", "parentTaskId": whole })).task();
    let other = client.call("task_worker", json!({ "task": "something else" })).task();
    let listed = client.call("work_status", json!({})).says("  the house").text;
    assert!(listed.contains(&other) && !listed.contains("Paint everything"), "{listed}");
    let of_plan = client.call("work_status", json!({ "planId": whole })).says(&part);
    assert_eq!(of_plan.data["tasks"].as_array().unwrap().len(), 2, "{of_plan:?}");
    assert!(!of_plan.text.contains(&other), "{}", of_plan.text);
}

/// WORK-22: the ids of leads are accepted in the terminal too.
#[test]
fn a_terminal_takes_the_ids_of_leads() {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &[]);
    let ended = super::story::done(&project, &mut client);
    let (task, diff) = (ended.task(), ended.diff());
    project.rapport(&["status", &task]).check(0, "completed");
    project.rapport(&["diff", &diff]).check(0, "+Blue");
    project.rapport(&["apply", &diff]).check(0, "Applied to");
    project.rapport(&["status", "task-nothing"]).check(4, "there is no session");
}

/// A question that expires ends as expired here too, and the task continues without an answer.
#[test]
fn a_question_that_expires_is_told_as_expired() {
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_QUESTIONS_EXPIRE", "1s");
    let mut client = Client::start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    wait_for("the question to expire", || {
        let expired = |fact: &Event| matches!(fact, Event::Closed { how: Ending::Expired, .. });
        project.facts().iter().any(expired).then_some(())
    });
    let late = client
        .call("answer_worker_question", json!({ "taskId": task, "answer": "Blue", "questionId": "q1" }));
    assert!(late.is_error && late.text.contains("its time ran out"), "{late:?}");
    let told = client.call("work_status", json!({ "taskId": task }));
    assert_ne!(told.data["pendingQuestion"], "Which colour?", "{told:?}");
    assert_eq!(told.data["answers"], json!([]), "nobody answered: {told:?}");
}

/// A task can be a part of another one, which lists it.
#[test]
fn a_task_is_a_part_of_another() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut client = Client::start(&project, &[]);
    let unknown = json!({ "task": "part", "parentTaskId": "task-20200101-nothing" });
    client.call("task_worker", unknown).refuses("unknown", "there is no task");
    let whole = client.call("task_worker", json!({ "task": "whole" })).task();
    let part = client.call("task_worker", json!({ "task": "part", "parentTaskId": whole }));
    assert_eq!(part.data["parentTaskId"], json!(whole));
    let part = part.says(&format!("Part of: {whole}")).task();
    // It is in the log: another server has it as well.
    client.kill();
    let mut client = Client::start(&project, &[]);
    let told = client.call("work_status", json!({ "taskId": whole, "showDetails": true })).says("Its parts:");
    assert_eq!(told.data["parts"], json!([part]));
}

/// The lead is told a result in short if it wants that, and can have all of it.
#[test]
fn a_result_is_told_in_short() {
    let long = "word ".repeat(200);
    for (mode, is_short) in [("summary", true), ("full", false)] {
        let project = Project::with_scenario(&WORDY.replace("LONG", &long));
        let mut client = Client::start(&project, &[]);
        let task = client.call("task_worker", json!({ "task": "write", "returnMode": mode })).task();
        client.until(&task, "needs_input");
        confirm(&project);
        let ended = client.until(&task, "completed").says("It begins here.");
        assert_eq!(ended.text.contains("it ends here"), !is_short, "{}", ended.text);
        assert_eq!(ended.data["resultIsShortened"], is_short);
        assert_eq!(ended.data["result"].as_str().unwrap().contains("it ends here"), !is_short);
        let all = client.call("work_status", json!({ "taskId": task, "showDetails": true }));
        assert!(all.says("it ends here").data["result"].as_str().unwrap().contains("it ends here"));
    }
}

/// WORK-11, WORK-12: of each task that is worked on, the server knows the session, the state of its conversation, its
/// last question and its start; of one that ended, nothing is kept there. All of it comes from the log, so it
/// survives the server (WORK-23).
#[test]
fn sessions_are_remembered_while_they_are_worked_on() {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &[]);
    let sessions =
        |client: &mut Client| client.call("system_status", json!({})).data["containerSessions"].clone();
    assert_eq!(sessions(&mut client), json!({}));
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input");
    let known = sessions(&mut client)[&task].clone();
    let session = project.session();
    assert_eq!((&known["taskId"], &known["sessionId"]), (&json!(task), &json!(session)));
    assert_eq!((&known["lastQuestion"], &known["conversation"]), (&json!("Which colour?"), &json!("hot")));
    assert_eq!((&known["worker"], &known["workerRunning"]), (&json!("worktree"), &json!(true)));
    let started: jiff::Timestamp = known["startedAt"].as_str().unwrap().parse().unwrap();
    assert!(started <= jiff::Timestamp::now());
    client.kill();
    project.wait_alone(std::time::Duration::from_secs(20));

    let mut client = Client::start(&project, &[]);
    client.until(&task, "needs_input");
    let again = sessions(&mut client)[&task].clone();
    for key in ["conversationId", "lastQuestion", "startedAt", "status"] {
        assert_eq!(again[key], known[key], "{key}");
    }
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
    client.until(&task, "needs_input");
    assert_eq!(sessions(&mut client)[&task]["lastQuestion"], "Start the work with this plan?");
    confirm(&project);
    client.until(&task, "needs_input");
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "paint.txt" }));
    client.until(&task, "completed");
    assert_eq!(sessions(&mut client), json!({}));
}

/// WORK-6: an agent that asks in its reply has asked, where that is switched on; otherwise its reply is the plan.
#[test]
fn a_question_in_a_reply_is_one_where_that_is_switched_on() {
    const ASKS: &str = r##"
version: 1
name: asks in words
invocations:
  - result: "Red or blue?"
  - result: "# Paint\n\n1. Paint it."
"##;
    for (is_on, question) in [("true", "Red or blue?"), ("false", "Start the work with this plan?")] {
        let project = Project::with_scenario(ASKS).set("RAPPORT_QUESTIONS_IN_TEXT", is_on);
        let mut client = Client::start(&project, &[]);
        let task = client.call("task_worker", json!({ "task": "paint" })).task();
        let asked = client.until(&task, "needs_input");
        assert_eq!(asked.data["pendingQuestion"], question);
        assert_eq!(asked.data["needsPerson"], is_on == "false");
        if is_on == "true" {
            client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
            client.until(&task, "needs_input").says("Start the work with this plan?");
        }
    }
}

/// A worker's container may be limited to less than the settings allow, and not to more; other workers have no such
/// limits.
#[test]
fn a_container_is_limited_to_less_than_the_settings_allow() {
    let start = |config: Value| json!({ "task": "paint", "worker": "container", "containerConfig": config });
    let project = Project::with_scenario(ONE_QUESTION);
    let mut client = Client::start(&project, &[]);
    for (config, why) in [
        (json!({ "memory": "3g" }), "the settings allow at most 2048m (memory)"),
        (json!({ "cpus": "3" }), "the settings allow at most 2 (cpus)"),
        (json!({ "timeout": 600_001 }), "the settings allow at most 600000 (timeout)"),
        (json!({ "memory": "much" }), "not an amount of memory"),
        (json!({ "cpus": "0" }), "0"),
        (json!({ "disk": "1g" }), "disk"),
    ] {
        client.call("task_worker", start(config)).refuses("invalid", why);
    }
    let worktree = json!({ "task": "x", "worker": "worktree", "containerConfig": { "memory": "1g" } });
    client.call("task_worker", worktree).refuses("invalid", "cannot limit memory, processors or time");
    assert_eq!(project.store().list().unwrap(), []);

    let Some(engine) = needs::engine() else { return };
    let project =
        Project::with_scenario(ONE_QUESTION).working_in("container").set("RAPPORT_AGENT_HOT", "30s");
    let mut client = Client::start(&project, &[]);
    let limited = start(json!({ "memory": "512m", "cpus": 1, "timeout": 90_000 }));
    let task = client.call("task_worker", limited).task();
    client.until(&task, "needs_input");
    let label = format!("label=rapport.project={}", project.root().display());
    let docker = |args: &[&str]| {
        let out = Command::new("docker").args(["--host", &engine]).args(args).output().unwrap();
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    };
    let name = docker(&["ps", "--all", "--filter", &label, "--format", "{{.Names}}"]);
    let format = "{{.HostConfig.Memory}} {{.HostConfig.NanoCpus}} {{.Config.Cmd}}";
    let told = docker(&["inspect", "--format", format, &name]);
    assert!(told.starts_with("536870912 1000000000 ") && told.ends_with(" 90]"), "{told}");
    drop(client);
    project.wait_alone(std::time::Duration::from_secs(20));
    docker(&["rm", "--force", "--volumes", &name]);
}
