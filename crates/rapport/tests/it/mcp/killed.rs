//! `rapport mcp` is killed: nothing is lost, and the next one goes on with its workers.

use std::time::Duration;

use rapport_core::Event;
use serde_json::json;

use super::WORKER;
use super::client::Client;
use super::story::confirm;
use crate::support::project::Project;

fn count(project: &Project, is_it: impl Fn(&Event) -> bool) -> usize {
    project.facts().iter().filter(|fact| is_it(fact)).count()
}

/// Killed at a question: the agent goes with the server; the next server has the same question, and the answer is taken.
#[test]
fn killed_at_a_question_the_next_server_goes_on() {
    for hot in ["5m", "0s"] {
        let project = Project::with_scenario(WORKER);
        let flags = ["--apply", "lead", "--hot", hot];
        let mut client = Client::start(&project, &flags);
        let task = client.call("task_worker", json!({ "task": "paint" })).task();
        client.until(&task, "needs_input").says("Which colour?");
        client.kill();
        project.wait_alone(Duration::from_secs(20));

        let mut client = Client::start(&project, &flags);
        client.until(&task, "needs_input").says("Which colour?");
        client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" }));
        client.until(&task, "needs_input").says("Start the work with this plan?");
        client.kill();
        // The person answers while nobody runs it; the next server takes it from the log.
        confirm(&project);
        let mut client = Client::start(&project, &flags);
        client.until(&task, "needs_input").says("Which file?");
        client.call("answer_worker_question", json!({ "taskId": task, "answer": "paint.txt" }));
        client.kill();
        project.wait_alone(Duration::from_secs(20));

        let mut client = Client::start(&project, &flags);
        let ended = client.until(&task, "completed");
        assert_eq!(ended.diff(), format!("diff-{}-1", project.session()));
        client.call("apply_changes", json!({ "diffId": ended.diff() })).says("Applied");
        assert_eq!(project.file("paint.txt"), "Blue\n");
        assert_eq!(count(&project, |fact| matches!(fact, Event::Answered { .. })), 3, "hot {hot}");
        let asked: usize = project
            .facts()
            .iter()
            .map(|fact| match fact {
                Event::Asked { questions, .. } => questions.len(),
                _ => 0,
            })
            .sum();
        assert_eq!(asked, 3, "nothing is asked twice, hot {hot}");
    }
}

/// Two servers of one project: the one that runs a worker is reached by the other.
#[test]
fn a_second_server_reaches_the_workers_of_the_first() {
    let project = Project::with_scenario(WORKER);
    let mut first = Client::start(&project, &[]);
    let task = first.call("task_worker", json!({ "task": "paint" })).task();
    first.until(&task, "needs_input");
    let mut second = Client::start(&project, &[]);
    second.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" })).says("Answered by");
    first.until(&task, "needs_input").says("Start the work with this plan?");
    second.until(&task, "needs_input").says("Start the work with this plan?");
    // The first goes; the second hears what a person decides, and goes on once the worker is free.
    assert_eq!(first.close().0, Some(0));
    confirm(&project);
    second.until(&task, "needs_input").says("Which file?");
}
