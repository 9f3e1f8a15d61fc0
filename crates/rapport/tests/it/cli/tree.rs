//! One set of verbs (`docs/commands.md`): sessions, their branches at questions and their turns are one graph.

use serde_json::{Value, json};

use crate::files::{self, greeting};
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

/// What a command draws, without how long ago that was.
fn drawn(project: &Project, args: &[&str]) -> String {
    let lines = project.rapport(args).out();
    let without = |line: &str| {
        let parts: Vec<_> = line.split("  ").filter(|part| !part.ends_with(" ago")).collect();
        format!("{}\n", parts.join("  "))
    };
    lines.lines().map(without).collect()
}

#[test]
fn sessions_and_their_branches_are_one_picture() {
    let project = Project::with_scenario(ONE_QUESTION);
    let mut running = project.start(&["paint"], &[]);
    running.until_asked();
    running.kill();
    let paint = project.session();
    let branched: Value = project.json(&["branch", "--at", "q1", "--json"]);
    let branch = branched["session"].as_str().unwrap();
    let again: Value = project.json(&["branch", branch, "--at", "q1", "--json"]);
    let again = again["session"].as_str().unwrap();
    project.rapport(&["cancel", branch]).check(0, "");
    let made: Value = project.json(&["new", "add-auth", "--json"]);
    let auth = made["session"].as_str().unwrap();

    let family = format!(
        "○  {again}  needs input  paint  (branched at q1)\n○  {branch}  cancelled  paint  (branched at q1)\n\
         ○  {paint}  needs input  paint\n"
    );
    // The newest stands first, whatever its name.
    assert_eq!(drawn(&project, &["log", "--tree"]), format!("○  {auth}  idle  add-auth\n\n{family}"));
    for name in [paint.as_str(), branch, again] {
        assert_eq!(drawn(&project, &["log", "--tree", name]), family);
    }
    project
        .rapport(&["log", "--tree", "add-auth"])
        .check(0, "no turns yet; plan the first with: rapport plan");
    let drawn: Value = project.json(&["log", "--tree", "--json"]);
    assert_eq!(
        drawn[1],
        json!({ "session": branch, "parent": paint, "at": "q1", "status": "cancelled", "title": "paint", "undone": false })
    );
    assert_eq!(drawn.as_array().unwrap().len(), 3, "a session of files is told by its turns");
}

/// A branch of a turn in a worktree is a session of its own. It follows what the turn follows.
#[test]
fn a_branch_of_a_turn_is_connected_to_its_origin() {
    let second = files::plan("Second", &[], &[], &[files::create("a.txt", "a")]);
    let project = files::project(&[&greeting(), &second]);
    for message in ["one", "two"] {
        project.plan_turn(message).check(0, "");
        project.rapport(&["resume", "-y"]).check(0, "Completed");
    }
    let origin = project.session();
    let made: Value = project.json(&["branch", "02", "--worktree", "--json"]);
    let branch = made["session"].as_str().unwrap();
    let tree = drawn(&project, &["log", "--tree"]);
    let expected = format!("○  {branch}  idle  add-greeting  (branched at turn 02)\n│ ○  02  ");
    assert!(tree.starts_with(&expected), "{tree}");
    assert!(tree.contains("\n├─╯\n○  01  "), "{tree}");
    // The branch belongs to the family of its origin.
    assert_eq!(drawn(&project, &["log", "--tree", origin.as_str()]), tree);
    project.rapport(&["status"]).check(0, &format!("(branch of {origin} at turn 02)"));
    let view: Value = project.json(&["status", branch, "--json"]);
    assert_eq!(view["branched_from"], json!({ "session": origin, "turn": "02" }));
    project.rapport(&["log", branch]).check(0, &format!("as a branch of {origin} at turn 02"));
    project.rapport(&["discard", branch, "--yes"]).check(0, "Discarded");
}

#[test]
fn without_sessions_it_says_so() {
    let project = Project::with_scenario(ONE_QUESTION);
    project.rapport(&["log", "--tree"]).check(0, "No sessions here yet.");
}

#[test]
fn turns_stand_below_their_session() {
    let project = files::project(&[&greeting()]);
    project.plan_turn("one").check(0, "");
    let session = project.session();
    let drawn = project.rapport(&["log", "--tree"]);
    drawn
        .check(0, "○  01  waits for review  Add a greeting")
        .check(0, &format!("\n○  {session}  needs input  "));
    let drawn: Value = project.json(&["log", "--tree", "--json"]);
    assert_eq!((&drawn[0]["session"], &drawn[0]["turn"]), (&json!(session), &json!("01")));
    assert_eq!(
        (&drawn[0]["status"], &drawn[0]["detail"]),
        (&json!("needs_input"), &json!("waits for review"))
    );
}
