//! The log: beginnings, facts that are not known, and facts that cannot be read.

use rapport_core::{Entry, Event, MAX_TASK, Session, Terms};
use serde_json::{Value, json};

use super::{planned, working};
use crate::support::{Play, created};

fn entry(facts: &Value) -> Result<Entry, serde_json::Error> {
    let entry = json!({ "seq": 9, "at": "2026-01-24T09:00:00Z", "facts": facts });
    Entry::from_json(&entry.to_string())
}

#[test]
fn unknown_facts_are_kept_and_mean_nothing() {
    let mut story = planned();
    let before = story.play.view();
    for unknown in [json!({ "flown": { "to": "the moon" } }), json!("rested"), json!({ "unknown": 1 })] {
        let read = entry(&json!([unknown, { "taken": { "call": "c9" } }])).unwrap();
        assert_eq!(read.facts[0], Event::Unknown(unknown.clone()));
        assert_eq!(serde_json::to_value(&read.facts[0]).unwrap(), unknown, "it is written as it was read");
        let read = Entry { seq: story.play.session.seq(), at: before.updated_at, ..read };
        story.play.session.apply_entry(&read);
    }
    assert_eq!(story.play.view(), before);
    story.act(
        rapport_core::Act::Confirm,
        "confirm answered confirm by ann (terminal); turn 2 started to work",
    );
}

#[test]
fn a_known_fact_that_cannot_be_read_is_an_error() {
    for broken in [
        json!({ "taken": { "cal": "c1" } }),
        json!({ "taken": null }),
        json!({ "answered": { "question": "q1", "answer": {}, "by": "nobody" } }),
        json!({ "answered": { "question": "q1", "answer": {} } }),
        json!({ "answered": { "question": "q1", "answer": {}, "by": { "timer": {} } } }),
        json!({ "turn_started": { "turn": 1, "kind": "rest", "prompt": "" } }),
        json!({ "aaa": {}, "taken": { "call": "c1" } }),
        json!({}),
        json!([]),
        json!(7),
        json!(null),
    ] {
        let read = entry(&json!([broken]));
        assert!(read.is_err(), "{broken} was read as {read:?}");
    }
    for broken in ["", "{", "{}", r#"{"seq":1,"facts":[]}"#, r#"{"seq":1,"at":"yesterday","facts":[]}"#] {
        assert!(Entry::from_json(broken).is_err(), "{broken}");
    }
}

/// Whether work has to be applied is a property of its place. Older logs have only the place's name.
#[test]
fn a_place_is_apart_if_the_log_says_so_or_by_its_name() {
    let begun = created("Add login", Terms::default());
    let read = |worker: &str, apart: Option<bool>| {
        let mut created = serde_json::to_value(Event::Created(begun.clone())).unwrap();
        created["created"]["worker"] = json!(worker);
        if let Some(apart) = apart {
            created["created"]["apart"] = json!(apart);
        }
        match entry(&json!([created])).unwrap().facts.remove(0) {
            Event::Created(created) => created.works_apart(),
            other => panic!("{other:?}"),
        }
    };
    for (worker, apart, expected) in [
        ("local", None, false),
        ("worktree", None, true),
        ("bench", None, true),
        ("local", Some(false), false),
        ("worktree", Some(true), true),
        ("bench", Some(false), false),
    ] {
        assert_eq!(read(worker, apart), expected, "{worker} {apart:?}");
    }
    let old = serde_json::to_value(begun).unwrap();
    assert!(old.get("apart").is_none() && old.get("worker").is_none(), "{old}");
}

/// Every kind of fact is known by its name, so that none can be mistaken for an unknown one.
#[test]
fn no_kind_of_fact_is_unknown_when_it_is_broken() {
    let kinds = [
        "created",
        "turn_started",
        "baselined",
        "connected",
        "said",
        "used",
        "unreadable",
        "asked",
        "asked_again",
        "declined",
        "answered",
        "reopened",
        "kept",
        "taken",
        "closed",
        "cooled",
        "parked",
        "cut_off",
        "spent",
        "plan_proposed",
        "plan_saved",
        "turn_ended",
        "failed",
        "restarted",
        "reported",
        "cancelled",
    ];
    for kind in kinds {
        let read = entry(&json!([{ kind: "broken" }]));
        assert!(read.is_err(), "{kind} was read as {read:?}");
    }
}

/// The format is a contract: this is what is in the files.
#[test]
fn facts_look_like_this_in_the_log() {
    let story = working();
    let lines: Vec<_> = story.play.log.iter().map(|entry| serde_json::to_string(entry).unwrap()).collect();
    assert_eq!(
        lines[3],
        r#"{"seq":4,"at":"2026-01-24T09:00:00Z","facts":[{"answered":{"question":"q1","answer":{"values":["passkeys"]},"by":{"person":{"channel":"terminal","id":"ann"}}}}]}"#
    );
    assert_eq!(lines[5], r#"{"seq":6,"at":"2026-01-24T09:00:00Z","facts":[{"taken":{"call":"c1"}}]}"#);
    let first: Value = serde_json::from_str(&lines[0]).unwrap();
    assert_eq!(first["facts"][0]["created"]["terms"], json!({ "max_rounds": 5, "hot": "PT5M" }));
}

#[test]
fn a_log_that_does_not_begin_with_its_creation_is_no_session() {
    let story = planned();
    assert_eq!(Session::replay(&story.play.log[1..]), None);
    assert_eq!(Session::replay(&[]), None);
    assert_eq!(Session::replay(&story.play.log), Some(story.play.session));
}

#[test]
fn a_task_is_something_and_not_too_much() {
    let begin =
        |task: &str| Session::begin(created(task, Terms::default())).map_err(|refusal| refusal.to_string());
    assert_eq!(begin(" \n"), Err("the task is empty".into()));
    assert_eq!(
        begin(&"x".repeat(MAX_TASK + 1)),
        Err("this task has 262145 bytes; the maximum is 262144".into())
    );
    assert!(begin(&"x".repeat(MAX_TASK)).is_ok());
    // Old logs know nothing of terms.
    let play = Play::begin("Add login");
    assert_eq!(play.view().task, "Add login");
}
