//! Ten containers at once: as many agents work as may, and a killed host leaves none of them at work.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use rapport_core::{Entry, Event, SessionId, Status, View};

use super::{ASKS, World};
use crate::support::patience::wait_at_most;
use crate::support::project::{Project, Running};

const COUNT: usize = 10;

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
fn answer_all(project: &Project, question: &str, words: &str) {
    let mut answered = BTreeSet::new();
    wait_at_most(Duration::from_secs(180), "all are asked", || {
        for view in sessions(project) {
            let is_open = view.questions.iter().any(|open| open.text.contains(question));
            if is_open && !answered.contains(&view.id) {
                project.rapport(&["answer", view.id.as_str(), words]).check(0, "Answered.");
                answered.insert(view.id);
            }
        }
        (answered.len() == COUNT).then_some(())
    });
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
    let running = begin(project);
    wait_at_most(Duration::from_secs(60), "one waits", || {
        let waiting = sessions(project).into_iter().find(|view| view.agent.is_queued)?;
        // It may have got its place by now.
        let told = project.rapport(&["status", waiting.id.as_str()]).out();
        told.contains("waits for a free place").then_some(())
    });
    answer_all(project, "Start the work", "confirm");
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
        project.rapport(&["discard", view.id.as_str()]).check(0, "");
    }
}

/// Ten hosts are killed with their agents at their questions: 3 s later no agent runs anywhere; after a restart all go on, and
/// nothing is asked twice.
#[test]
fn killed_with_ten_at_work_all_go_on() {
    let Some(world) = World::new(ASKS) else { return };
    let project = &world.project;
    let running = begin(project);
    answer_all(project, "Start the work", "confirm");
    wait_at_most(Duration::from_secs(120), "all ask", || {
        let all = sessions(project);
        let asks = |view: &&View| view.questions.iter().any(|open| open.text == "Which colour?");
        (all.iter().filter(asks).count() == COUNT).then_some(())
    });
    assert!(project.agents_alive().len() >= COUNT, "they wait at their calls");
    for one in running {
        one.kill();
    }
    project.wait_alone(Duration::from_secs(3));
    answer_all(project, "Which colour?", "Blue");
    let resume = |view: &View| project.start(&["--resume", view.id.as_str()], &[]);
    let resumed: Vec<_> = sessions(project).iter().map(resume).collect();
    for one in resumed {
        assert_eq!(one.finish(), 0);
    }
    for view in sessions(project) {
        assert_eq!(view.status, Status::Completed);
        let entries = entries(project, &view.id);
        let facts: Vec<_> = entries.iter().flat_map(|entry| &entry.facts).collect();
        let asked = |fact: &&&Event| matches!(fact, Event::Asked { questions, .. } if questions[0].text == "Which colour?");
        assert_eq!(facts.iter().filter(asked).count(), 1, "{}", view.id);
        let diff = project.rapport(&["diff", view.id.as_str()]).out();
        assert!(diff.contains("+before") && diff.contains("+after"), "{diff}");
        project.rapport(&["discard", view.id.as_str()]).check(0, "");
    }
}
