//! `rapport project`: exploring, learning and forgetting from the command line, and the state after a kill.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

fn known(project: &Project, name: &str) -> PathBuf {
    project.path("home/.rapport/projects/app").join(name)
}

/// LEAD-23, LEAD-3: a project is explored, shown, listed, and its files are in the home.
#[test]
fn lead_23_a_project_is_explored_and_shown() {
    let project = Project::with_agent("rehearsal");
    fs::write(project.root().join("Cargo.toml"), "[package]\nversion = \"1.2.3\"\n").unwrap();
    project.rapport(&["project", "list"]).check(0, "No project is known yet.");
    project
        .rapport(&["project", "show"])
        .check(0, "it was never explored")
        .check(0, "rapport project explore app");
    assert!(!known(&project, "context.yaml").exists(), "looking writes nothing");
    project
        .rapport(&["project", "explore"])
        .check(0, "Type: Rust 1.2.3")
        .check(0, "Test framework: cargo test");
    let shown: Value = project.json(&["project", "show", "app", "--json"]);
    assert_eq!(shown["context"]["type"], "Rust");
    assert_eq!(shown["context"]["history"][0].as_str().unwrap().split_once(' ').unwrap().1, "An app");
    assert_eq!(shown["stale"], Value::Null);
    project.rapport(&["project", "list"]).check(0, "app  ").check(0, "  Rust");
    project
        .rapport(&["project", "show", "nobody"])
        .check(4, "there is no project \"nobody\"")
        .check(4, "There are: app");
    project.rapport(&["project", "explore", "./nowhere"]).check(4, "cannot use ./nowhere as the project");
}

/// LEAD-28: what a person says is kept, shown with its origin, and can be revoked.
#[test]
fn lead_28_learnings_come_and_go() {
    let project = Project::with_agent("rehearsal");
    project.rapport(&["project", "learn", "Use", "pnpm"]).check(0, "It is kept in mind");
    project.rapport(&["project", "learn", "--convention", "Tests", "first"]).check(0, "");
    let shown = project.rapport(&["project", "show"]);
    shown
        .check(0, "Preference: Use pnpm")
        .check(0, "Convention: Tests first")
        .check(0, "Learned, and kept in mind");
    assert!(shown.out().contains("Use pnpm (by "), "{}", shown.out());
    project.rapport(&["project", "remove", "app"]).check(3, "2 learnings of app would be lost");
    project.rapport(&["project", "forget", "Use", "pnpm"]).check(0, "It is forgotten");
    project.rapport(&["project", "forget", "Use", "pnpm"]).check(4, "app has no learning \"Use pnpm\"");
    project.rapport(&["project", "learn", ""]).check(2, "a learning has to be one short text");
    project.rapport(&["project", "remove", "app", "--yes"]).check(0, "app is forgotten.");
    project.rapport(&["project", "remove", "app"]).check(4, "there is no project \"app\"");
}

/// LEAD-28, LEAD-3: what a person answered is proposed when the session ends, which is one line of the history. It
/// holds once they say so.
#[test]
fn lead_28_an_ended_session_is_a_line_and_proposes_what_was_answered() {
    let project = Project::with_scenario(ONE_QUESTION);
    project.rapport(&["project", "explore"]).check(0, "");
    let mut run = project.start(&["paint"], &[]);
    run.until_asked();
    project.rapport(&["answer", "Blue"]).check(0, "Answered.");
    run.until_asked();
    project.rapport(&["answer", "confirm"]).check(0, "Answered.");
    assert_eq!(run.finish(), 0);
    let session = project.session();
    let lines =
        wait_for("the line of the session", || fs::read_to_string(known(&project, "sessions.jsonl")).ok());
    let line: Value = serde_json::from_str(lines.trim()).unwrap();
    assert_eq!(
        (&line["outcome"], &line["task"], &line["answers"]),
        (&"completed".into(), &"paint".into(), &1.into())
    );
    assert_eq!(line["session"], session.as_str());
    let proposed: Value = project.json(&["project", "learn", "--json"]);
    assert_eq!(proposed[0]["text"], "Which colour? Blue");
    assert_eq!(proposed[0]["from"], format!("{session}/q1"));
    let shown = project.rapport(&["project", "show"]);
    shown
        .check(0, "Proposed; decide with: rapport project learn")
        .check(0, &format!("{session}  completed  paint"));
    assert!(!shown.out().contains("Preference: "), "nobody consented: {}", shown.out());
    let id = proposed[0]["id"].as_str().unwrap();
    project.rapport(&["project", "learn", id]).check(0, "It is kept in mind");
    project.rapport(&["project", "show"]).check(0, "Preference: Which colour? Blue");
    // However often the project is explored, there is one line, and nothing is proposed twice.
    project.rapport(&["project", "explore"]).check(0, "");
    assert_eq!(fs::read_to_string(known(&project, "sessions.jsonl")).unwrap(), lines);
    assert_eq!(project.json::<Value>(&["project", "learn", "--json"]), Value::Array(Vec::new()));
}

/// The end of a session that was not recorded is recorded later: the process that ran it may have been killed.
#[test]
fn lead_3_an_end_that_was_missed_is_made_up_for() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut run = project.start(&["paint"], &[]);
    run.until_asked();
    run.kill();
    project.rapport(&["cancel", "paint"]).check(0, "");
    project.rapport(&["project", "explore"]).check(0, "  cancelled  paint");
    let lines = fs::read_to_string(known(&project, "sessions.jsonl")).unwrap();
    assert_eq!(lines.lines().count(), 1, "{lines}");
}

/// A project gets a name, moves with what is known, and its file is respected when it cannot be read.
#[test]
fn a_project_is_added_and_moves() {
    let project = Project::with_agent("rehearsal");
    let other = project.path("shop");
    fs::create_dir_all(&other).unwrap();
    let other = other.to_str().unwrap().to_owned();
    project.rapport(&["project", "add", "shop", &other]).check(0, "shop is the project in ");
    project.rapport(&["project", "add", "../x", &other]).check(2, "is not a valid name");
    project.rapport(&["project", "add", "shop", "."]).check(3, "shop is already the project in ");
    fs::rename(&other, project.path("moved")).unwrap();
    project.rapport(&["project", "explore", "shop"]).check(4, "rapport project add shop DIR");
    let moved = project.path("moved");
    project.rapport(&["project", "add", "shop", moved.to_str().unwrap()]).check(0, "");
    project.rapport(&["project", "explore", "shop"]).check(0, "it has no git history");
    let file = project.path("home/.rapport/projects/shop/context.yaml");
    fs::write(&file, "name: shop\npath: [\n").unwrap();
    project.rapport(&["project", "explore", "shop"]).check(6, "line ").check(6, "Nothing was changed.");
    fs::write(&file, "v: 9\nname: shop\n").unwrap();
    project.rapport(&["project", "show", "shop"]).check(6, "has format 9");
    assert_eq!(fs::read_to_string(&file).unwrap(), "v: 9\nname: shop\n");
    project.rapport(&["project", "list"]).check(0, "shop  cannot be read: ");
    project.rapport(&["project", "remove", "shop"]).check(0, "shop is forgotten.");
}

/// Killed before and after every durable write, exploring and learning come to the same when they are repeated, and
/// what a person wrote is never lost.
#[test]
fn killed_at_every_write_what_is_known_is_whole() {
    // Exploring replaces three files, learning one.
    for (command, files) in [(&["project", "explore"][..], 3), (&["project", "learn", "Use tabs"], 1)] {
        let mut point = 1;
        loop {
            let project = Project::with_agent("rehearsal");
            project.rapport(&["project", "explore"]).check(0, "");
            let edited = fs::read_to_string(known(&project, "context.yaml")).unwrap()
                + "owner: Ann # me\npreferences:\n  - Mine\n";
            fs::write(known(&project, "context.yaml"), &edited).unwrap();
            fs::write(project.root().join("go.mod"), "module x\n").unwrap();
            let mut killed = project.command();
            let killed =
                killed.args(command).env("RAPPORT_TRIAL_WRITES", point.to_string()).output().unwrap();
            let is_over = killed.status.code() == Some(0);
            assert!(is_over || killed.status.code().is_none(), "{command:?} {point}: {killed:?}");
            project.rapport(&["project", "show"]).check(0, "Preference: Mine");
            project.rapport(command).check(0, "");
            project.rapport(&["project", "explore"]).check(0, "Type: Go").check(0, "Preference: Mine");
            let context = fs::read_to_string(known(&project, "context.yaml")).unwrap();
            assert!(context.contains("owner: Ann # me\n"), "{command:?} {point}: {context}");
            assert_eq!(context.matches("Use tabs").count(), usize::from(command.len() > 2), "{context}");
            if is_over {
                assert!(point > 2 * files, "{command:?}: only {point} points");
                break;
            }
            point += 1;
        }
    }
}
