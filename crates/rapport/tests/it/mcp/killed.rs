//! `rapport mcp` is killed: nothing is lost, and the next one goes on with its workers.

use std::collections::BTreeSet;
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

/// How a story was played.
struct Played {
    /// How many servers it took.
    servers: usize,
    /// Answers that were acknowledged, and asked for once more.
    asked_again: Vec<String>,
}

/// Leads a worker to its end and applies its work, with a server that is killed as the trial says, and others after it. The person at the
/// client decides in its dialogs.
fn play(project: &Project, trial: Option<&str>) -> Played {
    const ENOUGH: usize = 4;
    let mut played = Played { servers: 0, asked_again: Vec::new() };
    let mut acknowledged = BTreeSet::new();
    while played.servers < ENOUGH {
        let trial = trial.filter(|_| played.servers == 0).map(|trial| ("RAPPORT_TRIAL", trial));
        let env: Vec<_> = trial.into_iter().collect();
        let dialogs = json!({ "elicitation": {} });
        let mut client = Client::start_in(project, &["--apply", "lead"], &dialogs, &env);
        played.servers += 1;
        if lead(project, &mut client, &mut played, &mut acknowledged).is_some() {
            break;
        }
        drop(client);
        project.wait_alone(Duration::from_secs(20));
    }
    played
}

/// Leads the worker on; `None` if the server died.
fn lead(
    project: &Project,
    client: &mut Client,
    played: &mut Played,
    acknowledged: &mut BTreeSet<String>,
) -> Option<()> {
    let accepts = json!({ "answer": "confirm" });
    if project.store().list().unwrap().is_empty() {
        client.try_call("task_worker", &json!({ "task": "paint" }), &accepts)?;
    }
    let task = format!("task-{}", project.session());
    loop {
        let told = client.try_call("wait", &json!({ "taskId": task, "seconds": 50 }), &accepts)?;
        match (told.status(), told.data["changes"].as_str()) {
            ("needs_input", _) => {
                let question = told.data["pendingQuestion"].as_str().unwrap().to_owned();
                let answer = if question == "Which colour?" { "Blue" } else { "paint.txt" };
                let arguments = json!({ "taskId": task, "answer": answer });
                let answered = client.try_call("answer_worker_question", &arguments, &accepts)?;
                assert!(!answered.is_error, "{answered:?}");
                if !acknowledged.insert(question.clone()) {
                    played.asked_again.push(question);
                }
            }
            ("completed", Some("applied")) => return Some(()),
            ("completed", _) => {
                let diff = json!({ "diffId": told.data["diffId"] });
                let applied = client.try_call("apply_changes", &diff, &accepts)?;
                if applied.data["changes"] == "applied" {
                    return Some(());
                }
            }
            other => panic!("{other:?}: {told:?}"),
        }
    }
}

/// What came out wrong.
fn wrong(project: &Project, played: &Played) -> Vec<String> {
    let mut wrong = played.asked_again.iter().map(|asked| format!("{asked} again")).collect::<Vec<_>>();
    let answered = count(project, |fact| matches!(fact, Event::Answered { .. }));
    let asked: usize = project
        .facts()
        .iter()
        .map(|fact| if let Event::Asked { questions, .. } = fact { questions.len() } else { 0 })
        .sum();
    let applied = count(project, |fact| matches!(fact, Event::Applied { .. }));
    if (asked, answered, applied) != (3, 3, 1) {
        wrong.push(format!("{asked} questions, {answered} answers, applied {applied} times"));
    }
    if project.file("paint.txt") != "Blue\n" {
        wrong.push(format!("painted {:?}", project.file("paint.txt")));
    }
    wrong
}

fn killed_at_every_append(how: &str) {
    let project = Project::with_scenario(WORKER);
    let played = play(&project, None);
    assert_eq!((played.servers, wrong(&project, &played)), (1, Vec::new()));
    let appends = project.store().read(&project.session(), 0).unwrap().len();
    assert!(appends >= 12, "the story has only {appends} durable writes");
    let mut failures = Vec::new();
    for trial in (1..=appends).map(|number| format!("{how}:{number}")) {
        let project = Project::with_scenario(WORKER);
        let played = play(&project, Some(&trial));
        let wrong = wrong(&project, &played);
        if !wrong.is_empty() {
            failures.push(format!("{trial}: {}", wrong.join("; ")));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Killed before any durable write, the server had not told of it; after any, the next one has it.
#[test]
fn killed_before_any_durable_write_the_next_server_goes_on() {
    killed_at_every_append("kill-before");
}

#[test]
fn killed_after_any_durable_write_the_next_server_goes_on() {
    killed_at_every_append("kill-after");
}
