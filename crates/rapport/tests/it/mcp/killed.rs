//! `rapport mcp` or `rapport serve` is killed: nothing is lost, and the next one continues with its workers.

use std::collections::BTreeSet;
use std::time::Duration;

use rapport_core::Event;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::WORKER;
use super::client::{Client, ToolReply};
use super::http::{WebClient, serve};
use super::story::confirm;
use crate::crash::terminal::every_point;
use crate::support::needs;
use crate::support::project::{Project, Running};
use crate::support::sampled::sampled;

fn count(project: &Project, is_it: impl Fn(&Event) -> bool) -> usize {
    project.facts().iter().filter(|fact| is_it(fact)).count()
}

/// Killed at a question: the agent goes with the server; the next server has the same question, and the answer is
/// taken.
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
        // The person answers while no process runs the session; the next server takes the answer from the log.
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
    // The first server ends; the second learns of the person's decision, and continues once the worker is free.
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

/// A client, whose server may die in a call: then it gets no reply.
trait Caller: Sized {
    /// A client of a new server with these variables; `None` if the server died before it served.
    fn start(project: &Project, env: &[(&str, &str)]) -> Option<Self>;

    fn try_call(&mut self, tool: &str, arguments: &Value) -> Option<ToolReply>;
}

/// The person at this client decides in its dialogs.
impl Caller for Client {
    fn start(project: &Project, env: &[(&str, &str)]) -> Option<Self> {
        Self::try_start(project, &["--apply", "lead"], &json!({ "elicitation": {} }), env)
    }

    fn try_call(&mut self, tool: &str, arguments: &Value) -> Option<ToolReply> {
        self.try_call(tool, arguments, &json!({ "answer": "confirm" }))
    }
}

/// A client over HTTP. The person decides at a terminal.
struct OverHttp {
    runtime: Runtime,
    client: WebClient,
    serving: Running,
}

impl Caller for OverHttp {
    fn start(project: &Project, env: &[(&str, &str)]) -> Option<Self> {
        let runtime = Runtime::new().unwrap();
        let (serving, mut client) = serve(project, &[], env)?;
        runtime.block_on(client.try_greet())?;
        Some(Self { runtime, client, serving })
    }

    fn try_call(&mut self, tool: &str, arguments: &Value) -> Option<ToolReply> {
        self.runtime.block_on(self.client.try_call(tool, arguments))
    }
}

impl Drop for OverHttp {
    fn drop(&mut self) {
        let _ = self.serving.child.kill();
        let _ = self.serving.child.wait();
    }
}

/// Leads a worker to its end and applies its work, with a server that is killed as this variable says, and others
/// after it.
fn play<C: Caller>(project: &Project, trial: Option<(&str, &str)>) -> Played {
    const ENOUGH: usize = 4;
    let mut played = Played { servers: 0, asked_again: Vec::new() };
    let mut acknowledged = BTreeSet::new();
    while played.servers < ENOUGH {
        let env: Vec<_> = trial.into_iter().filter(|_| played.servers == 0).collect();
        let client = C::start(project, &env);
        played.servers += 1;
        let led = client.and_then(|mut client| lead(project, &mut client, &mut played, &mut acknowledged));
        if led.is_some() {
            break;
        }
        project.wait_alone(Duration::from_secs(20));
    }
    played
}

/// Leads the worker on; `None` if the server died.
fn lead<C: Caller>(
    project: &Project,
    client: &mut C,
    played: &mut Played,
    acknowledged: &mut BTreeSet<String>,
) -> Option<()> {
    if project.store().list().unwrap().is_empty() {
        client.try_call("task_worker", &json!({ "task": "paint" }))?;
    }
    let task = format!("task-{}", project.session());
    loop {
        let told = client.try_call("wait", &json!({ "taskId": task, "seconds": 50 }))?;
        match (told.status(), told.data["changes"].as_str()) {
            ("needs_input", _) if told.data["needsPerson"] == true => {
                let session = project.session();
                let ran = project.rapport(&["answer", session.as_str(), "--question", "confirm", "confirm"]);
                // Its server died while it was told.
                (ran.code() == 0).then_some(())?;
            }
            ("needs_input", _) => {
                let question = told.data["pendingQuestion"].as_str().unwrap().to_owned();
                let answer = if question == "Which colour?" { "Blue" } else { "paint.txt" };
                let arguments = json!({ "taskId": task, "answer": answer });
                let answered = client.try_call("answer_worker_question", &arguments)?;
                assert!(!answered.is_error, "{answered:?}");
                if !acknowledged.insert(question.clone()) {
                    played.asked_again.push(question);
                }
            }
            ("completed", Some("applied")) => return Some(()),
            ("completed", _) => {
                let diff = json!({ "diffId": told.data["diffId"] });
                let applied = client.try_call("apply_changes", &diff)?;
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

fn killed_at_every_append<C: Caller>(how: &str) {
    killed_at_appends::<C>(how, |appends| (1..=appends).collect(), || Project::with_scenario(WORKER));
}

/// Kills the first server of such a project at these of its durable writes.
fn killed_at_appends<C: Caller>(
    how: &str,
    points: impl Fn(usize) -> Vec<usize>,
    project: impl Fn() -> Project,
) {
    let undisturbed = project();
    let played = play::<C>(&undisturbed, None);
    assert_eq!((played.servers, wrong(&undisturbed, &played)), (1, Vec::new()));
    let appends = undisturbed.store().read(&undisturbed.session(), 0).unwrap().len();
    assert!(appends >= 12, "the story has only {appends} durable writes");
    let mut failures = Vec::new();
    for trial in points(appends).into_iter().map(|number| format!("{how}:{number}")) {
        let project = project();
        let played = play::<C>(&project, Some(("RAPPORT_TRIAL", &trial)));
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
    killed_at_every_append::<Client>("kill-before");
}

#[test]
fn killed_after_any_durable_write_the_next_server_goes_on() {
    killed_at_every_append::<Client>("kill-after");
}

/// The same with workers in containers, at some of the writes: there, a story takes seconds.
#[test]
fn killed_before_a_durable_write_the_next_server_goes_on_in_the_container() {
    killed_with_containers("kill-before");
}

#[test]
fn killed_after_a_durable_write_the_next_server_goes_on_in_the_container() {
    killed_with_containers("kill-after");
}

fn killed_with_containers(how: &str) {
    if needs::engine().is_some() {
        let project = || Project::with_scenario(WORKER).working_in("container");
        killed_at_appends::<Client>(how, |appends| sampled(appends, 4), project);
    }
}

#[test]
fn serve_killed_before_any_durable_write_the_next_one_goes_on() {
    killed_at_every_append::<OverHttp>("kill-before");
}

#[test]
fn serve_killed_after_any_durable_write_the_next_one_goes_on() {
    killed_at_every_append::<OverHttp>("kill-after");
}

// Two tests, so that they can run side by side: there are many writes.

/// The same around every write to whatever file, and around what git writes: at every other point.
#[test]
fn killed_around_any_write_the_next_server_goes_on() {
    killed_around_writes(|point| 2 * point);
}

#[test]
fn killed_around_any_other_write_the_next_server_goes_on() {
    killed_around_writes(|point| 2 * point - 1);
}

fn killed_around_writes(at: impl Fn(usize) -> usize + Sync) {
    let points = every_point(|point| {
        let (project, point) = (Project::with_scenario(WORKER), at(point).to_string());
        let played = play::<Client>(&project, Some(("RAPPORT_TRIAL_WRITES", &point)));
        assert_eq!(wrong(&project, &played), Vec::<String>::new(), "killed at point {point}");
        played.servers > 1
    });
    assert!(points >= 50, "there were only {points} points to be killed at");
}

/// A token is there as a whole or not at all, and clients that were told of it keep it.
#[test]
fn serve_killed_while_it_makes_its_token_makes_one() {
    let points = every_point(|point| {
        let project = Project::with_scenario(WORKER);
        let killed = serve(&project, &[], &[("RAPPORT_TRIAL_WRITES", &format!("mcp.token:{point}"))]);
        let told = killed.map(|(serving, client)| {
            serving.kill();
            client.token
        });
        let mut again = OverHttp::start(&project, &[]).unwrap();
        let status = again.try_call("system_status", &json!({})).unwrap();
        assert_eq!(status.data["success"], true, "{status:?}");
        assert_eq!(again.client.token.len(), 64, "killed at point {point}");
        assert!(told.as_ref().is_none_or(|told| *told == again.client.token), "killed at point {point}");
        told.is_none()
    });
    assert!(points >= 2, "there were only {points} points to be killed at");
}
