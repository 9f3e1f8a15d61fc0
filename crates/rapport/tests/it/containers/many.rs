//! Ten containers at once: no more agents work than the limit allows, and a killed host leaves none of them at work.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId, Status, View};
use serde_json::json;

use super::engines::OwnEngine;
use super::{ASKS, World};
use crate::mcp::client::Client;
use crate::support::patience::{look_at_most, wait_at_most};
use crate::support::project::{Project, Running};

const COUNT: usize = 10;

/// How long ten may take that share two processors with other tests.
const PATIENCE: Duration = Duration::from_secs(300);

/// An agent whose work takes a moment.
const BRIEF: &str = r##"
version: 1
name: brief
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: made.txt, content: "made\n" }
      - bash: { command: "sleep 1" }
    result: "Painted."
"##;

fn begin(project: &Project) -> Vec<Running> {
    (0..COUNT).map(|number| project.start(&[format!("paint {number}")], &[])).collect()
}

/// Answers this question in every session, once it is asked there.
fn answer_all(project: &Project, running: &mut [Running], question: &str, words: &str) {
    let mut answered = BTreeSet::new();
    until(project, running, "all are asked", |all| {
        for view in all {
            let is_open = view.questions.iter().any(|open| open.text.contains(question));
            if is_open && !answered.contains(&view.id) {
                project.rapport(&["answer", view.id.as_str(), words]).check(0, "Answered.");
                answered.insert(view.id.clone());
            }
        }
        answered.len() == COUNT
    });
}

/// Waits until the sessions are like this. One that has failed never is, so that says why at once.
fn until(project: &Project, running: &mut [Running], what: &str, mut is_so: impl FnMut(&[View]) -> bool) {
    let found = look_at_most(PATIENCE, || {
        let all = sessions(project);
        assert!(!all.iter().any(View::has_failed), "{what}: {}", said(&all, running));
        is_so(&all).then_some(())
    });
    assert!(found.is_some(), "waited in vain until {what}: {}", said(&sessions(project), running));
}

/// How the sessions are, and what those of their commands said that are over.
fn said(all: &[View], running: &mut [Running]) -> String {
    let over = |one: &mut Running| one.child.try_wait().unwrap().is_some();
    if all.iter().any(View::has_failed) {
        look_at_most(Duration::from_secs(10), || running.iter_mut().any(over).then_some(()));
    }
    let mut lines: Vec<_> = all
        .iter()
        .map(|view| {
            let failure = view.failure.as_deref().unwrap_or_default();
            format!("{}: {:?}, {} questions {failure}", view.id, view.status, view.questions.len())
        })
        .collect();
    for one in running.iter_mut().filter_map(|one| over(one).then(|| one.child.stderr.take()).flatten()) {
        lines.push(std::io::read_to_string(one).unwrap());
    }
    lines.join("\n")
}

fn sessions(project: &Project) -> Vec<View> {
    project.json(&["status", "--json"])
}

fn entries(project: &Project, id: &SessionId) -> Vec<Entry> {
    project.store().read(id, 0).unwrap()
}

/// When an agent was connected, and when it had ended.
fn spans(entries: &[Entry]) -> Vec<(Timestamp, Timestamp)> {
    let mut spans = Vec::new();
    let mut since = None;
    for entry in entries {
        for fact in &entry.facts {
            match fact {
                Event::Connected { .. } => since = Some(entry.at),
                Event::TurnEnded { .. } | Event::CutOff { .. } | Event::Parked { .. } => {
                    spans.extend(since.take().map(|since| (since, entry.at)));
                }
                _ => {}
            }
        }
    }
    spans
}

/// WORK-16: ten are begun at once, three work at a time, the others wait and say so, and all come to their end.
#[test]
fn as_many_work_as_may_and_the_others_wait() {
    let Some(world) = World::new(BRIEF) else { return };
    let project = &world.project.set("RAPPORT_WORKER_AT_ONCE", "3");
    let mut running = begin(project);
    wait_at_most(Duration::from_secs(60), "one waits", || {
        let waiting = sessions(project).into_iter().find(|view| view.agent.is_queued)?;
        // It may have got its place by now.
        let told = project.rapport(&["status", waiting.id.as_str()]).out();
        told.contains("waits for a free place").then_some(())
    });
    answer_all(project, &mut running, "Start the work", "confirm");
    for one in running {
        assert_eq!(one.finish(), 0);
    }
    let (mut spans_of_all, mut queued) = (Vec::new(), 0);
    for view in sessions(project) {
        assert_eq!(view.status, Status::Completed);
        let entries = entries(project, &view.id);
        queued += entries
            .iter()
            .flat_map(|entry| &entry.facts)
            .filter(|fact| matches!(fact, Event::Queued { .. }))
            .count();
        spans_of_all.extend(spans(&entries));
    }
    assert!(queued >= COUNT - 3, "{queued} waited");
    let at = |time: Timestamp| spans_of_all.iter().filter(|(from, to)| *from <= time && time < *to).count();
    let most = spans_of_all.iter().map(|(from, _)| at(*from)).max();
    assert!((1..=3).contains(&most.unwrap()), "{most:?} worked at the same time");
    for view in sessions(project) {
        project.rapport(&["discard", view.id.as_str(), "--yes"]).check(0, "");
    }
}

/// Ten containers with an open network begin at an engine that has none yet: it is made once, and is that of all.
#[test]
fn the_open_network_is_made_once_for_all_that_begin_together() {
    let Some(engine) = OwnEngine::start() else { return };
    let world = engine.world();
    let project = &world.project.set("RAPPORT_WORKER_NETWORK", "open");
    let mut running = begin(project);
    until(project, &mut running, "all have a plan", |all| {
        all.iter().filter(|view| !view.questions.is_empty()).count() == COUNT
    });
    assert_eq!(engine.networks().iter().filter(|name| *name == "rapport").count(), 1);
    running.into_iter().for_each(Running::kill);
    for view in sessions(project) {
        project.rapport(&["discard", view.id.as_str(), "--yes"]).check(0, "");
    }
}

/// Ten hosts are killed with their agents at their questions: 3 s later no agent runs anywhere; after a restart all
/// continue, and nothing is asked twice.
#[test]
fn killed_with_ten_at_work_all_go_on() {
    let Some(world) = World::new(ASKS) else { return };
    let project = &world.project;
    killed_with_ten_at_work(project, || {}, || project.wait_alone(Duration::from_secs(3)));
}

/// The same on another machine, where the engine is killed together with the hosts, so that nothing tells the keepers
/// inside: they end their agents when 10 s have passed without the host's heartbeat, and no sooner. Ending them may
/// take the keepers 2 s more.
#[test]
fn killed_with_ten_at_work_and_their_engine_all_go_on() {
    let Some(engine) = OwnEngine::at_a_port() else { return };
    let world = engine.world();
    let engine = RefCell::new(engine);
    let (mut killed, mut ended) = (None, None);
    killed_with_ten_at_work(
        &world.project,
        || {
            engine.borrow_mut().kill();
            killed = Some(Instant::now());
        },
        || {
            world.project.wait_alone(Duration::from_secs(15));
            ended = Some(Instant::now());
            engine.borrow_mut().come_back();
        },
    );
    let took = ended.unwrap().duration_since(killed.unwrap());
    assert!(took > Duration::from_secs(5), "something else ended them, after {took:?}");
}

/// Ten agents are at their questions when something happens, and their hosts are killed. When all have ended, they
/// are resumed.
fn killed_with_ten_at_work(project: &Project, happens: impl FnOnce(), ended: impl FnOnce()) {
    let mut running = begin(project);
    answer_all(project, &mut running, "Start the work", "confirm");
    until(project, &mut running, "all ask", |all| {
        let asks = |view: &&View| view.questions.iter().any(|open| open.text == "Which colour?");
        all.iter().filter(asks).count() == COUNT
    });
    assert!(project.agents_alive().len() >= COUNT, "they wait at their calls");
    happens();
    for one in running {
        one.kill();
    }
    ended();
    answer_all(project, &mut [], "Which colour?", "Blue");
    let resume = |view: &View| project.start(&["--resume", view.id.as_str()], &[]);
    let resumed: Vec<_> = sessions(project).iter().map(resume).collect();
    for one in resumed {
        let (code, said) = one.finish_saying();
        assert_eq!(code, 0, "{said}");
    }
    for view in sessions(project) {
        assert_eq!(view.status, Status::Completed);
        let entries = entries(project, &view.id);
        let facts: Vec<_> = entries.iter().flat_map(|entry| &entry.facts).collect();
        let asked = |fact: &&&Event| matches!(fact, Event::Asked { questions, .. } if questions[0].text == "Which colour?");
        assert_eq!(facts.iter().filter(asked).count(), 1, "{}", view.id);
        let diff = project.rapport(&["diff", view.id.as_str()]).out();
        assert!(diff.contains("+before") && diff.contains("+after"), "{diff}");
        project.rapport(&["discard", view.id.as_str(), "--yes"]).check(0, "");
    }
}

/// An agent that asks, and then is at a long command; that is over when it is made again. What it notes for that is
/// in its home, which does not go with its container.
const AT_WORK: &str = r##"
version: 1
name: at work
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: before.txt, content: "before\n" }
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue }] }] }
      - bash: { command: "[ -e ~/begun ] || { touch ~/begun; sleep 1000; }" }
      - write: { path: after.txt, content: "after\n" }
    result: "Painted."
"##;

/// One server is killed with ten agents in the middle of their work: 3 s later none of them runs anywhere. Two of the
/// containers are removed with their volumes before the next server starts, so that only the store has their work:
/// all ten continue, nothing is asked twice, and no work is lost.
#[test]
fn a_server_killed_with_ten_in_the_middle_of_their_work_loses_nothing() {
    let Some(world) = World::new(AT_WORK) else { return };
    let project = &world.project;
    let mut client = Client::start(project, &["--hot", "0s"]);
    for number in 0..COUNT {
        client.call("task_worker", json!({ "task": format!("paint {number}") }));
    }
    answer_all(project, &mut [], "Start the work", "confirm");
    answer_all(project, &mut [], "Which colour?", "Blue");
    let commands =
        || project.processes().into_iter().filter(|(_, words)| words.starts_with("sleep 1000")).count();
    wait_at_most(PATIENCE, "all are at work", || (commands() == COUNT).then_some(()));
    client.kill();
    wait_at_most(Duration::from_secs(3), "the end of all", || {
        (commands() == 0 && project.agents_alive().is_empty()).then_some(())
    });
    for container in world.container().lines().take(2) {
        world.docker(&["rm", "--force", container]);
        world.docker(&["volume", "rm", container]);
    }
    let _server = Client::start(project, &[]);
    until(project, &mut [], "all are done", |all| all.iter().all(|view| view.status == Status::Completed));
    for view in sessions(project) {
        let facts = entries(project, &view.id).into_iter().flat_map(|entry| entry.facts);
        let asked = facts.filter(|fact| matches!(fact, Event::Asked { .. })).count();
        assert_eq!(asked, 2, "{}: its plan, and one question", view.id);
        let diff = project.rapport(&["diff", view.id.as_str()]).out();
        assert!(diff.contains("+before") && diff.contains("+after"), "{}: {diff}", view.id);
        project.rapport(&["discard", view.id.as_str(), "--yes"]).check(0, "");
    }
}
