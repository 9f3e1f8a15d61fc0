//! kill -9 around the durable writes of what belongs to leads: rules that answer, and messages that wait for a lead at
//! work. Nothing is lost, and nothing is done twice.

use rapport_core::Event;
use serde_json::Value;

use super::facts;
use crate::crash::terminal::every_point;
use crate::support::patience::wait_for;
use crate::support::project::{Project, Running};
use crate::support::scenarios::ONE_QUESTION;

/// Runs a command to its end, to be killed at this point; whether it was.
fn killed_at(project: &Project, point: usize, args: &[&str]) -> bool {
    let mut command = project.command();
    command.args(args).env("RAPPORT_TRIAL_WRITES", point.to_string());
    command.output().unwrap().status.code().is_none()
}

/// The rules that answer questions in this project.
fn rules(project: &Project) -> Vec<Value> {
    let all: Vec<Value> = project.json(&["revoke", "--json"]);
    all.into_iter().filter(|rule| !rule["question"].is_null()).collect()
}

/// "Always answer so": killed while it is said, and while the rule is stored. Afterwards there is one rule, or the
/// person says it again.
#[test]
fn a_rule_that_answers_survives_a_kill_around_every_write() {
    let asked = || {
        let project = Project::with_scenario(ONE_QUESTION);
        let mut run = project.start(&["paint"], &[]);
        run.until_asked();
        run.kill();
        (project.session(), project)
    };
    let keep = |project: &Project, id: &str| {
        let mut run = project.launch(&["resume", "--json", id], &[]);
        let is_kept = |fact: &Event| matches!(fact, Event::AnswerRuleKept { .. });
        if !project.facts().iter().any(is_kept) {
            run.until(is_kept);
        }
        run.kill();
    };
    let said = every_point(|point| {
        let (id, project) = asked();
        let is_killed = killed_at(&project, point, &["answer", id.as_str(), "Blue", "--always"]);
        let is_answered = project.facts().iter().any(|fact| matches!(fact, Event::Answered { .. }));
        let is_ruled = project.facts().iter().any(|fact| matches!(fact, Event::AnswerRuled { .. }));
        assert!(is_killed || is_ruled, "point {point}: it was acknowledged, and is gone");
        if !is_answered {
            project.rapport(&["answer", id.as_str(), "Blue", "--always"]).check(0, "Answered.");
        } else if !is_ruled {
            project.rapport(&["answer", id.as_str(), "--question", "q1", "--always"]).check(0, "always");
        }
        keep(&project, id.as_str());
        let rules = rules(&project);
        assert_eq!(rules.len(), 1, "point {point}: {rules:?}");
        let answers = project.facts().into_iter().filter(|fact| matches!(fact, Event::Answered { .. }));
        assert_eq!(answers.count(), 1, "point {point}");
        is_killed
    });
    assert!(said >= 4, "{said} points");
    // Killed while the rule is stored.
    for point in 1..=6 {
        let (id, project) = asked();
        project.rapport(&["answer", id.as_str(), "Blue", "--always"]).check(0, "Answered.");
        let trial = format!("answers:{point}");
        let mut run = project.launch(&["resume", "--json", id.as_str()], &[("RAPPORT_TRIAL_WRITES", &trial)]);
        run.until_gone_or(|fact| matches!(fact, Event::PlanProposed { .. }));
        run.kill();
        keep(&project, id.as_str());
        let rules = rules(&project);
        assert_eq!(rules.len(), 1, "point {point}: {rules:?}");
    }
}

/// A lead that works until there is a file `go`.
const BUSY: &str = r##"
version: 1
name: busy
invocations:
  - steps:
      - text: "Looking."
      - bash: { command: "while [ ! -e .git/go ]; do sleep 0.02; done" }
    result: "Looked."
  - result: "Heard."
  - result: "Heard again."
"##;

const FIRST: &str = "mind the rain";
const SECOND: &str = "and the snow";

/// The lead at work, with its queue in this mode, and with these variables for the process that runs it.
fn busy(mode: &str, env: &[(&str, &str)]) -> (Project, Running) {
    let project = Project::with_scenario(BUSY).set("RAPPORT_LEAD_QUEUE_MODE", mode);
    let project = project.set("RAPPORT_LEAD_QUEUE_DEBOUNCE", "0s");
    let mut chat = project.launch(&["chat", "--json", "hello"], env);
    chat.until_gone_or(|fact| matches!(fact, Event::Said { .. }));
    (project, chat)
}

/// How often the agent's conversation has these words, alone or beside others.
fn held(project: &Project, words: &str) -> usize {
    let lines = project.transcripts().concat();
    let texts = lines.iter().filter_map(|line| {
        line["attachment"]["prompt"].as_str().or_else(|| line["message"]["content"].as_str())
    });
    texts.map(|text| text.matches(words).count()).sum()
}

/// LEAD-5: messages that wait for a lead at work, with the process that runs it killed before and after each write: the
/// agent reads each of them once.
#[test]
fn lead_5_messages_that_wait_survive_a_kill_around_every_write() {
    for mode in ["collect", "followup", "steer-backlog", "steer"] {
        for point in (1..=12).step_by(2) {
            // The first points are those up to the first words of the agent.
            let trial = format!("log.jsonl:{}", 12 + point);
            let (project, chat) = busy(mode, &[("RAPPORT_TRIAL_WRITES", trial.as_str())]);
            let lead = project.session();
            for words in [FIRST, SECOND] {
                let heard = |fact: &Event| matches!(fact, Event::Heard { text, .. } if text == words);
                // If no process runs the lead, this one resumes it, and is killed as well.
                let mut said = project.launch(&["say", lead.as_str(), "--json", words], &[]);
                wait_for(words, || {
                    let is_stored = facts(&project, &lead).iter().any(heard);
                    let has_failed = said.child.try_wait().unwrap().is_some_and(|status| !status.success());
                    if has_failed && !is_stored {
                        said = project.launch(&["say", lead.as_str(), "--json", words], &[]);
                    }
                    is_stored.then_some(())
                });
            }
            std::fs::write(project.root().join(".git/go"), "").unwrap();
            drop(chat);
            let again = project.launch(&["chat", "--json"], &[]);
            wait_for("both messages", || {
                (held(&project, FIRST) > 0 && held(&project, SECOND) > 0).then_some(())
            });
            again.kill();
            for words in [FIRST, SECOND] {
                assert_eq!(held(&project, words), 1, "{mode} {point}: {words}");
            }
        }
    }
    let (project, chat) = busy("interrupt", &[]);
    let lead = project.session();
    project.rapport(&["say", lead.as_str(), FIRST]).check(0, "Sent.");
    wait_for("the message", || (held(&project, FIRST) == 1).then_some(()));
    chat.kill();
}
