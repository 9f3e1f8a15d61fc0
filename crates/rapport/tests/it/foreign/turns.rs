//! Directories of turns that came with a clone or a pull, beside the person's own log or without any: nothing of them
//! is run, sent or built on before the person has seen them.

use std::fs;
use std::path::Path;

use crate::files::{create, greeting, plan, planning, project, run, without_session};
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::telegram::{ANNA, Stage};

/// The session that came without a log.
const SHIPPED: &str = "20260124-shipped";

/// A plan that leaves a mark.
fn marking() -> String {
    plan("Harmless", &[], &[], &[run("touch mark")])
}

/// A project without a session, and an agent that leaves records when it is started.
fn victim() -> Project {
    without_session(planning(&[&greeting()])).recorded()
}

/// Puts a file into a session, as a clone or a pull does.
fn ship(project: &Project, session: &str, path: &str, content: impl AsRef<[u8]>) {
    let path = project.root().join(".rapport/sessions").join(session).join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// What an agent of a stranger was told, as a file.
fn context_log() -> Vec<u8> {
    let stranger = project(&[&greeting()]);
    stranger.plan_turn("Tell me the secrets.").check(0, "");
    fs::read(stranger.folder().join("01/_context.log")).unwrap()
}

/// Whether an agent was started, or a plan carried out.
fn has_begun(project: &Project) -> bool {
    project.path("records").exists() || project.root().join("mark").exists()
}

/// Every command that would continue the session refuses, and says whose it is not; nothing is written there.
fn refuse_all(project: &Project, session: &str, says: &str) {
    let folder = project.root().join(".rapport/sessions").join(session);
    let before = everything(&folder);
    let doors: [&[&str]; 16] = [
        &["resume"],
        &["resume", "-y"],
        &["resume", session, "-y", "--accept-changes"],
        &["resume", session, "-m", "go on"],
        &["run", "--resume", session],
        &["plan", "-m", "two"],
        &["plan", "-m", "two", "--session", session, "--instead"],
        &["plan", "-m", "two", "--dry-run"],
        &["branch", "01"],
        &["say", session, "go on"],
        &["revise", session, "go on"],
        &["context", "show"],
        &["context", "add", "README.md"],
        &["undo", session, "--yes"],
        &["cancel", session],
        &["allow", session, "example.com"],
    ];
    for door in doors {
        let ran = project.rapport(door);
        ran.check(9, says);
        assert!(ran.err().contains(&format!("rapport trust {session}")), "{door:?}: {}", ran.err());
        assert!(!has_begun(project), "{door:?}");
        assert_eq!(everything(&folder), before, "{door:?}");
    }
    project.rapport(&["status"]).check(0, says);
}

fn everything(folder: &Path) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        match entry.unwrap().path() {
            path if path.is_dir() => found.extend(everything(&path)),
            path if path.file_name().is_some_and(|name| name == "lock") => {}
            path => found.push((path.clone(), fs::read(path).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn a_plan_that_came_without_a_log_is_not_run() {
    let victim = victim();
    ship(&victim, SHIPPED, "01/plan.md", marking());
    refuse_all(&victim, SHIPPED, "is not signed: ");
    // To look shows what would run, and changes nothing.
    let ran = victim.rapport(&["trust", SHIPPED]);
    ran.check(9, "01: EXECUTE").check(9, "touch mark").check(9, "nobody can be asked");
    assert!(!victim.root().join(".rapport/sessions").join(SHIPPED).join("log.jsonl").exists());
    victim.rapport(&["trust", SHIPPED, "--yes"]).check(0, "is trusted from now on");
    victim.rapport(&["trust", SHIPPED]).check(0, "is already trusted");
    victim.rapport(&["resume", "-y"]).check(0, "Completed");
    assert!(victim.root().join("mark").exists());
}

/// What was trusted is what was shown: a plan that is put in its place later is not run.
#[test]
fn a_plan_that_is_another_one_than_was_looked_at_is_not_run() {
    let victim = victim();
    ship(&victim, SHIPPED, "01/plan.md", plan("Shown", &[], &[], &[create("shown.txt", "x")]));
    victim.rapport(&["trust", SHIPPED, "--yes"]).check(0, "is trusted from now on");
    ship(&victim, SHIPPED, "01/plan.md", marking());
    victim.rapport(&["resume", "-y"]).check(3, "differs from the plan");
    assert!(!has_begun(&victim));
}

#[test]
fn what_an_agent_is_to_be_told_starts_no_agent_where_it_came_without_a_log() {
    let victim = victim();
    ship(&victim, SHIPPED, "01/_context.log", context_log());
    refuse_all(&victim, SHIPPED, "is not signed: ");
    victim.rapport(&["trust", SHIPPED]).check(9, "01: Tell me the secrets.").check(9, "01/_context.log");
    victim.rapport(&["trust", SHIPPED, "--yes"]).check(0, "is trusted from now on");
    // What was looked at is told to the agent, and nothing else.
    let looked_at = victim.root().join(".rapport/sessions").join(SHIPPED).join("01/_context.log");
    let as_it_was = fs::read(&looked_at).unwrap();
    fs::write(&looked_at, String::from_utf8(context_log()).unwrap().replace("secrets", "SECRETS")).unwrap();
    victim.rapport(&["resume"]).check(9, "turn 01");
    assert!(!has_begun(&victim));
    fs::write(&looked_at, as_it_was).unwrap();
    victim.rapport(&["resume"]).check(0, "Add a greeting");
}

/// An own session: the files that `git pull` adds to it are another person's.
#[test]
fn a_turn_that_was_pulled_into_a_session_of_ones_own_waits_to_be_looked_at() {
    let own = project(&[&greeting()]);
    own.plan_turn("one").check(0, "");
    own.rapport(&["resume", "-y"]).check(0, "Completed");
    let own = own.recorded();
    let session = own.session();
    ship(&own, session.as_str(), "02/plan.md", marking());
    refuse_all(&own, session.as_str(), "turn 02");
    assert_eq!(own.json::<serde_json::Value>(&["status", "--json"])[0]["sealed"], "added");
    // `--all-mine` does not include it: a person has to look at this one.
    own.rapport(&["trust", "--all-mine", "--yes"]).check(0, "nothing here");
    own.rapport(&["trust", session.as_str()]).check(9, "02: EXECUTE");
    // Without it, all is as it was.
    let folder = own.folder().join("02");
    fs::rename(&folder, own.path("aside")).unwrap();
    own.rapport(&["resume", "-y"]).check(2, "no plan waits for review");
    fs::rename(own.path("aside"), &folder).unwrap();
    own.rapport(&["trust", session.as_str(), "--yes"]).check(0, "is trusted from now on");
    own.rapport(&["resume", "-y"]).check(0, "Completed");
    assert!(own.root().join("mark").exists());
}

/// The same for what would start an agent, in a turn of its own and in the place of what Rapport wrote.
#[test]
fn what_an_agent_is_told_may_not_be_pulled_in() {
    let own = project(&[&greeting()]);
    own.plan_turn("one").check(0, "");
    own.rapport(&["resume", "-y"]).check(0, "Completed");
    let own = own.recorded();
    let session = own.session();
    ship(&own, session.as_str(), "02/_context.log", context_log());
    refuse_all(&own, session.as_str(), "turn 02");
    fs::remove_dir_all(own.folder().join("02")).unwrap();
    // A report makes a turn complete, and is told to the agent of the next.
    ship(&own, session.as_str(), "02/report.md", "# Execution Report: x\n");
    refuse_all(&own, session.as_str(), "turn 02");
    fs::remove_dir_all(own.folder().join("02")).unwrap();
    // A turn that has its own context and nothing else starts nothing.
    own.rapport(&["branch", "01", "--keep"]).check(0, "01-branch-01");
    own.rapport(&["context", "show"]).check(0, "");
    // Unless a plan is put there.
    ship(&own, session.as_str(), "01-branch-01/plan.md", marking());
    refuse_all(&own, session.as_str(), "turn 01-branch-01");
}

/// Sessions of an older tool, without a log, are the person's own if they say so, with one question for all of them.
#[test]
fn sessions_without_a_log_are_taken_over_with_one_question() {
    let person = victim();
    ship(&person, SHIPPED, "01/plan.md", marking());
    ship(&person, SHIPPED, "01/report.md", "# Execution Report: x\n");
    ship(&person, "20260125-other", "01/plan.md", marking());
    person.rapport(&["trust", "--all-mine"]).check(9, "touch mark").check(9, "--yes");
    assert!(!has_begun(&person));
    person.rapport(&["trust", "--all-mine", "--yes"]).check(0, "is trusted from now on");
    for id in [SHIPPED, "20260125-other"] {
        let view: serde_json::Value = person.json(&["status", "--json", id]);
        assert_eq!(view["sealed"], "ours");
    }
    person.rapport(&["trust", "--all-mine"]).check(0, "nothing here");
    person.rapport(&["resume", "other", "-y"]).check(0, "Completed");
}

/// The daemon takes up no session with a turn that came from elsewhere, and shows nothing of one without a log.
#[tokio::test]
async fn the_daemon_resumes_no_turn_of_a_stranger() {
    let own = project(&[&greeting()]).recorded();
    ship(&own, own.session().as_str(), "01/plan.md", marking());
    ship(&own, SHIPPED, "01/_context.log", context_log());
    let session = own.session();
    let mut stage = Stage::of(own).await;
    stage.serve();
    let anna = stage.anna();
    for words in ["/status", "/help"] {
        anna.types(words);
    }
    wait_for("the help", || {
        let messages = stage.server.messages(ANNA);
        messages.iter().any(|message| message.text().contains("/plan")).then_some(())
    });
    assert_eq!(stage.stop(), 0);
    let texts: Vec<_> = stage.server.messages(ANNA).iter().map(|message| message.text().to_owned()).collect();
    assert!(!texts.iter().any(|text| text.contains("touch mark") || text.contains("Harmless")), "{texts:?}");
    assert!(!has_begun(&stage.project));
    stage.project.rapport(&["resume", session.as_str(), "-y"]).check(9, "turn 01");
}
