//! The limits of all agents of a person, over all processes: how many work at the same time, and what they may cost
//! on a day.

use rapport_core::{Event, Purpose, Status, View};

use crate::support::project::{Project, Running};

/// An agent whose work waits for a file.
const WAITS: &str = r##"
version: 1
name: waits
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - bash: { command: "while [ ! -e go.txt ]; do sleep 0.05; done" }
      - write: { path: made.txt, content: "made\n" }
    result: "Painted."
"##;

fn view(project: &Project, name: &str) -> View {
    project.json(&["status", name, "--json"])
}

/// Begins, and agrees to the plan.
fn at_work(project: &Project, name: &str) -> Running {
    let mut running = project.start(&[name], &[]);
    running.until_asked();
    project.rapport(&["answer", name, "confirm"]).check(0, "Answered.");
    running.until(|fact| matches!(fact, Event::Used { .. }));
    running
}

fn queued(fact: &Event) -> bool {
    matches!(fact, Event::Queued { .. })
}

/// As many work as fit into the memory for all.
#[test]
fn the_memory_of_all_limits_how_many_work() {
    let project = Project::with_scenario(WAITS).working_in("worktree");
    let project = project.set("RAPPORT_WORKER_TOTAL_MEMORY", "1g").set("RAPPORT_WORKER_MEMORY", "700m");
    let first = at_work(&project, "first");
    let mut second = project.start(&["second"], &[]);
    second.until(queued);
    project.rapport(&["status", "second"]).check(0, "waits for a free place");
    project.rapport(&["shell", "first", "--", "touch", "go.txt"]).check(0, "");
    assert_eq!(first.finish(), 0);
    second.until_asked();
    second.kill();
}

/// The second waits, and says so, until the first is done; then the third, which came later.
#[test]
fn who_waits_longest_is_next() {
    let project = Project::with_scenario(WAITS).working_in("worktree").set("RAPPORT_WORKER_AT_ONCE", "1");
    let first = at_work(&project, "first");
    let mut second = project.start(&["second"], &[]);
    second.until(queued);
    let mut third = project.start(&["third"], &[]);
    third.until(queued);
    for waiting in ["second", "third"] {
        let view = view(&project, waiting);
        assert_eq!((view.status, view.agent.is_queued), (Status::Started, true), "{waiting}");
        project.rapport(&["status", waiting]).check(0, "waits for a free place");
        let worktree = project.root().join(".rapport/worktrees").join(view.id.as_str());
        assert!(!worktree.exists(), "nothing is made before it may begin");
    }
    project.rapport(&["shell", "first", "--", "touch", "go.txt"]).check(0, "");
    assert_eq!(first.finish(), 0);
    second.until_asked();
    // A question before the plan's confirmation costs no place, so the third could plan as well.
    third.until_asked();
    let connected = |name: &str| {
        let id = view(&project, name).id;
        let entries = project.store().read(&id, 0).unwrap();
        let is_there = |fact: &Event| matches!(fact, Event::Connected { .. });
        entries.iter().find(|entry| entry.facts.iter().any(is_there)).unwrap().at
    };
    assert!(connected("second") < connected("third"));
    assert!(!view(&project, "second").agent.is_queued);
}

/// A killed host gives its place back, and one that is killed in the queue makes no other wait.
#[test]
fn the_killed_keep_no_place_and_no_ticket() {
    let project = Project::with_scenario(WAITS).working_in("worktree").set("RAPPORT_WORKER_AT_ONCE", "1");
    let first = at_work(&project, "first");
    let mut second = project.start(&["second"], &[]);
    second.until(queued);
    let mut third = project.start(&["third"], &[]);
    third.until(queued);
    second.kill();
    first.kill();
    third.until_asked();
    // In the project itself no agent waits for a place.
    let mut here = project.start(&["--worker", "local", "here"], &[]);
    here.until_asked();
}

/// The first message of the work is estimated at a cent and a half.
const COSTLY: &str = r##"
version: 1
name: costly
invocations:
  - result: "# Shed\n\n1. Build it."
  - steps:
      - write: { path: begun.txt, content: "begun\n" }
      - delay: 600000
    cost_usd: 0.02
    result: "Built."
"##;

/// The day's budget counts what all sessions cost: the second is asked about although it has cost less than that
/// itself.
#[test]
fn a_day_has_a_budget_for_all_sessions_together() {
    let project =
        Project::with_scenario(COSTLY).working_in("worktree").set("RAPPORT_AGENT_DAILY_BUDGET", "0.02");
    let first = at_work(&project, "first");
    let mut second = project.start(&["second"], &[]);
    second.until_asked();
    project.rapport(&["answer", "second", "confirm"]).check(0, "Answered.");
    let asked = second.until(|fact| {
        matches!(fact, Event::Asked { questions, .. }
            if matches!(questions[0].purpose, Purpose::Budget { day: Some(_), .. }))
    });
    let Event::Asked { questions, .. } = asked else { unreachable!() };
    assert!(
        questions[0].text.starts_with("All sessions together have cost about $0.0")
            && questions[0].text.ends_with("today, and the budget of a day is $0.02. Go on with this one?"),
        "{}",
        questions[0].text
    );
    assert_eq!(view(&project, "second").status, Status::NeedsInput);
    project.rapport(&["answer", "second", "yes"]).check(0, "Go on");
    second.until(|fact| matches!(fact, Event::Restarted { .. }));
    drop(first);
}
