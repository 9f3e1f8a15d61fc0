//! Messages during and after the work, and an agent that is stopped, killed before and after every durable write
//! around them: no message is lost, and the conversation contains each once.

use rapport_core::{Event, Status};

use crate::support::project::{Project, Running};

/// The agent works until there is a file `go`, and has something to do afterwards.
const BUILDING: &str = r##"
version: 1
name: building
invocations:
  - result: "# Shed\n\n1. Build it."
  - steps:
      - text: "Building."
      - bash: { command: "while [ ! -e .git/go ]; do sleep 0.02; done" }
      - write: { path: shed.txt, content: "wood\n" }
    result: "Built."
  - steps:
      - write: { path: brush.txt, content: "red\n" }
    result: "Painted."
"##;

const IN_THE_MIDDLE: &str = "mind the rain";
const AFTERWARDS: &str = "now paint it";

#[test]
fn words_survive_a_kill_around_every_write() {
    let undisturbed = Project::with_scenario(BUILDING);
    build(&undisturbed, None);
    let built = undisturbed.facts_by_entry();
    let heard = built.iter().position(|facts| facts.iter().any(is_heard)).unwrap();
    paint(&undisturbed, None);
    let painted = undisturbed.facts_by_entry().len();
    assert_eq!(wrong(&undisturbed), Vec::<String>::new());
    let mut failures = Vec::new();
    for how in ["kill-before", "kill-after"] {
        // From the words on.
        for n in heard + 1..=built.len() {
            failures.extend(failure(Some(&format!("{how}:{n}")), None));
        }
        for n in 1..=painted - built.len() {
            failures.extend(failure(None, Some(&format!("{how}:{n}"))));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Stopped, killed, and told what to do instead.
#[test]
fn an_agent_that_was_stopped_survives_a_kill_around_every_write() {
    for how in ["kill-before", "kill-after"] {
        for n in 1..=3 {
            let project = Project::with_scenario(BUILDING);
            let mut running = project.start(&["build a shed"], &[]);
            confirm(&project, &mut running);
            running.kill();
            // The process that resumes it connects the agent, and is killed around the facts of stopping it.
            let trial = format!("{how}:{}", 2 + n);
            let mut running = project.start(&["--resume", "shed"], &[("RAPPORT_TRIAL", trial.as_str())]);
            running.until_gone_or(|fact| matches!(fact, Event::Connected { .. }));
            let _ = project.rapport(&["stop", "shed"]);
            running.finish();
            project.rapport(&["stop", "shed"]).check(0, "Stopped");
            assert_eq!(project.view().status, Status::Idle, "{trial}");
            assert_eq!(project.agents_alive(), [], "{trial}");
            std::fs::write(project.root().join(".git/go"), "").unwrap();
            project.rapport(&["say", "shed", AFTERWARDS]).check(0, "");
            let held = held(&project, AFTERWARDS);
            assert_eq!((project.view().status, held), (Status::Completed, 1), "{trial}");
        }
    }
}

fn is_heard(fact: &Event) -> bool {
    matches!(fact, Event::Heard { .. })
}

fn failure(building: Option<&str>, painting: Option<&str>) -> Option<String> {
    let project = Project::with_scenario(BUILDING);
    build(&project, building);
    paint(&project, painting);
    let wrong = wrong(&project);
    (!wrong.is_empty()).then(|| format!("{building:?}, {painting:?}: {}", wrong.join("; ")))
}

/// Until the plan is confirmed and the agent is at work.
fn confirm(project: &Project, running: &mut Running) {
    running.until_asked();
    project.rapport(&["answer", "shed", "confirm"]).check(0, "Answered.");
    running.until_gone_or(|fact| matches!(fact, Event::Said { text, .. } if text == "Building."));
}

/// Has it built, with a message in the middle, and resumes it until it is completed.
fn build(project: &Project, trial: Option<&str>) {
    let env: Vec<_> = trial.map(|trial| ("RAPPORT_TRIAL", trial)).into_iter().collect();
    let mut running = project.start(&["build a shed"], &env);
    confirm(project, &mut running);
    let mut is_said = say(project);
    while running.finish() != 0 {
        running = project.start(&["--resume", "shed"], &[]);
        is_said = is_said || say(project);
    }
}

/// Sends the message from another process, and lets the work continue once it is acknowledged.
fn say(project: &Project) -> bool {
    let words = ["say", "shed", "--json", IN_THE_MIDDLE];
    let is_said = project.rapport(&words).code() == 0;
    // It may have been stored before the kill, without an acknowledgement: then it is not sent again.
    let is_said = is_said || project.facts().iter().any(is_heard);
    if is_said {
        std::fs::write(project.root().join(".git/go"), "").unwrap();
    }
    is_said
}

/// Has it painted after it is built.
fn paint(project: &Project, trial: Option<&str>) {
    let env: Vec<_> = trial.map(|trial| ("RAPPORT_TRIAL", trial)).into_iter().collect();
    let mut code = project.launch(&["resume", "shed", "--json", "-m", AFTERWARDS], &env).finish();
    while code != 0 {
        let is_said = project.facts().iter().filter(|fact| is_heard(fact)).count() > 1;
        let again: &[&str] = if is_said { &[] } else { &["-m", AFTERWARDS] };
        code = project.launch(&[&["resume", "shed", "--json"], again].concat(), &[]).finish();
    }
}

/// How often the conversation holds these words: alone, or beside others.
fn held(project: &Project, words: &str) -> usize {
    let lines = project.transcripts().concat();
    let texts = lines.iter().filter_map(|line| {
        let said = line["attachment"]["prompt"].as_str().or_else(|| line["message"]["content"].as_str());
        said.map(str::to_owned)
    });
    texts.map(|text| text.matches(words).count()).sum()
}

fn wrong(project: &Project) -> Vec<String> {
    let mut wrong = Vec::new();
    for words in [IN_THE_MIDDLE, AFTERWARDS] {
        let said = project
            .facts()
            .iter()
            .filter(|fact| matches!(fact, Event::Heard { text, .. } if text == words))
            .count();
        let held = held(project, words);
        if (said, held) != (1, 1) {
            wrong.push(format!("{words:?} was said {said} times and is held {held} times"));
        }
    }
    for (file, content) in [("shed.txt", "wood\n"), ("brush.txt", "red\n")] {
        if project.file(file) != content {
            wrong.push(format!("{file} has {:?}", project.file(file)));
        }
    }
    let view = project.view();
    if view.status != Status::Completed {
        wrong.push(format!("it is {:?}", view.status));
    }
    wrong
}
