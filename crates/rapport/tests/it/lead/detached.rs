//! `rapport task --detach`: `rapport serve` runs the lead that plans the task, its questions, and the agent that it
//! starts, whoever is killed.

use std::time::Duration;

use rapport_core::{Event, SessionId, View};

use super::facts;
use super::worked_example::{ASKED_LATER, Example, TASK};
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::sampled::sampled;

/// A lead that only talks.
const TALKS: &str =
    "version: 1\nname: talks\ninvocations:\n  - result: \"I look at it.\"\n  - result: \"And at that.\"\n";

/// Waits until a session has this question.
fn wait_asked(project: &Project, id: &SessionId, question: &str) {
    wait_for(question, || {
        let shown = project.rapport(&["status", "--json", id.as_str()]);
        let view: View = serde_json::from_slice(&shown.0.stdout).ok()?;
        view.questions.iter().any(|open| open.id.as_str() == question).then_some(())
    });
}

fn answer(project: &Project, id: &SessionId, question: &str, value: &str) {
    project.rapport(&["answer", id.as_str(), "--question", question, value]).check(0, "Answered.");
}

/// LEAD-2, LEAD-22, LEAD-32: the worked example, detached, with the real CLI as lead and as worker. `serve` is killed at
/// the lead's questions and at that of the worker; the person answers while nothing runs.
#[test]
fn lead_22_a_detached_task_is_planned_and_done_under_serve_wherever_it_is_killed() {
    let Some(Example { project, lead, worker, model: _model }) = Example::new() else { return };
    let project = project.set("RAPPORT_MCP_LISTEN", "127.0.0.1:0");
    project
        .rapport(&["task", "juzi", "--detach", TASK])
        .check(0, "A `rapport serve` of this project runs it");
    assert!(
        facts(&project, &lead).iter().all(|fact| !matches!(fact, Event::Connected { .. })),
        "nothing runs"
    );
    let serving = project.launch(&["serve"], &[]);
    wait_asked(&project, &lead, "q3");
    serving.kill();
    for (question, value) in [("q3", "Passkeys"), ("q4", "SQLite"), ("q5", "Everybody")] {
        answer(&project, &lead, question, value);
    }
    let serving = project.launch(&["serve"], &[]);
    // The worker's question comes to the lead, which asks its person.
    wait_asked(&project, &lead, ASKED_LATER);
    serving.kill();
    project.wait_alone(Duration::from_secs(20));
    answer(&project, &lead, ASKED_LATER, "Yes");
    let serving = project.launch(&["serve"], &[]);
    wait_asked(&project, &worker, "confirm");
    serving.kill();
    answer(&project, &worker, "confirm", "confirm");
    let serving = project.launch(&["serve"], &[]);
    wait_for("the end of the work", || {
        facts(&project, &worker).iter().any(|fact| matches!(fact, Event::Reported { .. })).then_some(())
    });
    wait_for("the lead's last words", || {
        let ended = |fact: &Event| matches!(fact, Event::TurnEnded { result, .. } if result == "People can log in now.");
        facts(&project, &lead).iter().any(ended).then_some(())
    });
    serving.kill();
    let begun = facts(&project, &worker).iter().filter(|fact| matches!(fact, Event::Created(_))).count();
    assert_eq!((begun, project.store().list().unwrap().len()), (1, 2), "one lead, one worker");
    // The next one finds that nothing is left to do.
    let serving = project.launch(&["serve"], &[]);
    wait_for("the note to be gone", || notes(&project).is_empty().then_some(()));
    serving.kill();
}

/// The names of the notes about detached sessions.
fn notes(project: &Project) -> Vec<String> {
    let folders = std::fs::read_dir(project.path("home/.rapport/detached")).into_iter().flatten().flatten();
    let notes = folders.flat_map(|folder| std::fs::read_dir(folder.path()).unwrap().flatten());
    notes.map(|note| note.file_name().to_string_lossy().into_owned()).collect()
}

fn has_spoken(project: &Project, id: &SessionId, times: usize) -> Option<()> {
    let ended = facts(project, id).iter().filter(|fact| matches!(fact, Event::TurnEnded { .. })).count();
    (ended >= times).then_some(())
}

/// The sessions that are stored; a directory without a log is none.
fn stored(project: &Project) -> Vec<SessionId> {
    let all: Vec<View> = project.json(&["status", "--json"]);
    all.into_iter().map(|view| view.id).collect()
}

/// Runs a command to its end, to be killed at this point if one is given; whether it came to its end.
fn ends(project: &Project, args: &[&str], point: Option<usize>) -> bool {
    let mut command = project.command();
    command.args(args).envs(point.map(|point| ("RAPPORT_TRIAL_WRITES", point.to_string())));
    command.output().unwrap().status.success()
}

/// kill -9 around the durable writes of the command: the task is stored and `serve` runs it, or nothing is stored. Nothing
/// is begun twice.
#[test]
fn a_detached_task_survives_a_kill_around_every_write() {
    // A new lead takes about forty points, another message to it fewer.
    for point in sampled(40, 5) {
        let project = Project::with_scenario(TALKS).set("RAPPORT_MCP_LISTEN", "127.0.0.1:0");
        let root = project.root();
        project.rapport(&["project", "add", "juzi", root.to_str().unwrap()]).check(0, "");
        let task = ["task", "juzi", "--detach", "implement dark mode"];
        let has_ended = ends(&project, &task, Some(point));
        if stored(&project).is_empty() {
            assert!(!has_ended, "point {point}: it was acknowledged, and is gone");
            assert!(ends(&project, &task, None), "point {point}");
        }
        let [lead] = &stored(&project)[..] else { panic!("point {point}: {:?}", stored(&project)) };
        let serving = project.launch(&["serve"], &[]);
        wait_for("the lead's words", || has_spoken(&project, lead, 1));
        serving.kill();
        // A second task for the same lead, killed at one of the first points, of which there are fewer.
        let second = ["task", "juzi", "--detach", "add a footer"];
        let has_ended = ends(&project, &second, Some(1 + point % 8));
        let heard = |fact: &Event| matches!(fact, Event::Heard { text, .. } if text.contains("add a footer"));
        let is_stored = facts(&project, lead).iter().any(heard);
        assert!(is_stored || !has_ended, "point {point}: it was acknowledged, and is gone");
        if !is_stored {
            assert!(ends(&project, &second, None), "point {point}");
        }
        let serving = project.launch(&["serve"], &[]);
        wait_for("the second words", || has_spoken(&project, lead, 2));
        serving.kill();
        let told = facts(&project, lead).iter().filter(|fact| heard(fact)).count();
        assert_eq!(told, 1, "point {point}");
        assert_eq!(stored(&project), std::slice::from_ref(lead), "point {point}");
    }
}
