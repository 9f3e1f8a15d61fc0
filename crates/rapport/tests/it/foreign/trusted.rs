//! Sessions that the person has seen and trusted, and the person's own sessions from before there were seals.

use std::fs;

use super::{add_line, clone, clone_unsigned, log_of, strangers_session, victim, was_started};

#[test]
fn trusting_shows_what_would_run_and_lets_it_count() {
    let (stranger, session) = strangers_session();
    let victim = victim();
    clone(&stranger, &victim);
    let id = session.as_str();
    // Without a terminal no person can agree; what would run is shown nevertheless.
    let ran = victim.rapport(&["trust", id]);
    ran.check(9, "starts the agent");
    for shown in [
        "is not signed by anybody you know",
        "rehearsal --scenario",
        "allows the agent",
        "conversation",
        "--yes",
    ] {
        assert!(format!("{}{}", ran.out(), ran.err()).contains(shown), "{shown}: {}{}", ran.out(), ran.err());
    }
    assert!(!was_started(&victim), "to look starts nothing");
    let shown: serde_json::Value = victim.json(&["trust", "--json", id]);
    assert_eq!(shown[0]["sealed"], "unknown");
    victim.rapport(&["run", "--resume", id]).check(9, "rapport trust");
    victim.rapport(&["trust", "--yes", id]).check(0, "is trusted from now on");
    victim.rapport(&["trust", id]).check(0, "is already trusted");
    victim.rapport(&["run", "--resume", id]).check(0, "");
    assert_eq!(victim.file("built.txt"), "built\n");
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    let (stranger, session) = strangers_session();
    let victim = victim();
    clone(&stranger, &victim);
    for (answer, counts) in [("n", false), ("y", true)] {
        let mut pty = victim.terminal(&["trust", session.as_str()], 100, 40);
        pty.wait_for(", exactly as it is? (y)es / (n)o");
        pty.send(answer);
        pty.wait_for("left 0");
        let all: serde_json::Value = victim.json(&["status", "--json"]);
        assert_eq!(all[0]["sealed"] == "ours", counts);
    }
}

/// What is trusted is what was shown: a line that comes later makes it foreign again.
#[test]
fn what_is_added_by_somebody_else_does_not_count() {
    let (stranger, session) = strangers_session();
    let victim = victim();
    clone(&stranger, &victim);
    let id = session.as_str();
    victim.rapport(&["trust", "--yes", id]).check(0, "is trusted from now on");
    let log = log_of(&victim, &session);
    let trusted = fs::read(&log).unwrap();
    add_line(&log, &victim.store(), &session);
    victim.rapport(&["run", "--resume", id]).check(9, "is not signed: ");
    let mut lines: Vec<_> = trusted.split_inclusive(|byte| *byte == b'\n').collect();
    lines.pop();
    fs::write(&log, lines.concat()).unwrap();
    victim.rapport(&["run", "--resume", id]).check(9, "cut back or replaced");
    fs::write(&log, &trusted).unwrap();
    victim.rapport(&["run", "--resume", id]).check(0, "");
}

/// The agent does not continue with a conversation that was put in the place of ours.
#[test]
fn a_conversation_that_was_changed_is_not_used() {
    let (stranger, session) = strangers_session();
    let folder = log_of(&stranger, &session).parent().unwrap().join("kept");
    let path = fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let kept = fs::read_to_string(&path).unwrap();
    fs::write(&path, kept.replacen("build", "BUILD", 1)).unwrap();
    // The agent's own copy is gone, so that ours is wanted.
    fs::remove_dir_all(stranger.path("home/.rapport/rehearsal")).unwrap();
    let ran = stranger.rapport(&["run", "--resume", session.as_str()]);
    assert_ne!(ran.code(), 0, "{}{}", ran.out(), ran.err());
    assert!(
        format!("{}{}", ran.out(), ran.err()).contains("not signed by anybody you know"),
        "{}",
        ran.err()
    );
    assert_eq!(stranger.file("built.txt"), "");
}

/// Old sessions of the person's own are taken over with one question.
#[test]
fn sessions_from_before_are_taken_over_with_one_question() {
    let (stranger, session) = strangers_session();
    let person = victim();
    let ids = [(); 2].map(|()| clone_unsigned(&stranger, &session, &person));
    person.rapport(&["trust", "--all-mine"]).check(9, "--yes");
    let mut pty = person.terminal(&["trust", "--all-mine"], 120, 40);
    pty.wait_for("Yours, all of them? (y)es / (n)o");
    pty.send("y");
    pty.wait_for("left 0");
    for id in &ids {
        let view: serde_json::Value = person.json(&["status", "--json", id.as_str()]);
        assert_eq!(view["sealed"], "ours");
    }
    person.rapport(&["trust", "--all-mine"]).check(0, "nothing here");
    // What a stranger signed is not taken over that way.
    fs::remove_dir_all(person.root().join(".rapport")).unwrap();
    clone(&stranger, &person);
    person.rapport(&["trust", "--all-mine", "--yes"]).check(0, "nothing here");
    person.rapport(&["run", "--resume", session.as_str()]).check(9, "rapport trust");
}

/// What this person's own Rapport wrote counts after the project was moved, and asks once in a clone of it.
#[test]
fn a_project_may_be_moved() {
    let (stranger, session) = strangers_session();
    let (root, moved) = (stranger.root(), stranger.path("moved"));
    fs::rename(&root, &moved).unwrap();
    let cancel = |project: &std::path::Path| {
        let mut command = stranger.command();
        command.current_dir(project).args(["cancel", session.as_str()]);
        crate::support::project::Ran(command.output().unwrap())
    };
    let copied = std::process::Command::new("cp").arg("-r").arg(&moved).arg(&root).status().unwrap();
    assert!(copied.success());
    cancel(&root).check(9, "in another checkout");
    cancel(&moved).check(0, "Cancelled");
}
