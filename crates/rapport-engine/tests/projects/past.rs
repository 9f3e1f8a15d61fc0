//! The history of a project's sessions: a line for each end, once, and what people said there proposed as learnings.

use std::fs;

use jiff::Timestamp;
use rapport_core::{ConversationId, Created, Entry, Event, PastOutcome, PastSession, Session, SessionId};

use crate::support::{World, ann};

/// A session that was begun and cancelled.
fn cancelled(project: &str) -> Vec<Entry> {
    let conversation = ConversationId::new("c1");
    let created = Created::new("Add a login\npage".into(), project.into(), conversation, ann());
    let facts = vec![
        Session::begin(created).unwrap(),
        vec![Event::Cancelled { reason: None, by: ann(), is_unnoted: false }],
    ];
    let at: Timestamp = "2026-01-24T10:00:00Z".parse().unwrap();
    let entries = facts.into_iter().enumerate().map(|(seq, facts)| Entry { seq: seq as u64 + 1, at, facts });
    entries.collect()
}

/// LEAD-3: each end of a session is one line, however often it is told of.
#[test]
fn lead_3_each_end_of_a_session_is_one_line() {
    let world = World::new();
    let root = world.project("app", &[]);
    let known = world.known();
    let id = SessionId::new("20260124-login");
    let entries = cancelled(root.to_str().unwrap());
    let (ends, view) = (PastSession::all_of(&id, &entries), Session::replay(&entries).unwrap().view(&id));
    assert_eq!(ends.len(), 1);
    known.record(&view, ends.clone()).unwrap();
    assert!(
        !world.file("app", "sessions.jsonl").exists(),
        "nothing is written for a project that nobody knows"
    );
    known.explored("app").unwrap();
    for _ in 0..3 {
        known.record(&view, ends.clone()).unwrap();
    }
    let text = fs::read_to_string(world.file("app", "sessions.jsonl")).unwrap();
    assert_eq!(
        text,
        "{\"v\":1,\"session\":\"20260124-login\",\"entry\":2,\"outcome\":\"cancelled\",\"at\":\"2026-01-24T10:00:00Z\",\
         \"task\":\"Add a login page\",\"answers\":0,\"costMicros\":0}\n"
    );
    let recent = known.loaded("app").unwrap().recent_sessions;
    assert_eq!(recent[0].outcome, PastOutcome::Cancelled);
    // What a kill left unfinished is cut off, and what people wrote stays.
    fs::write(world.file("app", "sessions.jsonl"), "a note of mine\n{\"v\":1,\"sess").unwrap();
    known.record(&view, ends).unwrap();
    let mended = fs::read_to_string(world.file("app", "sessions.jsonl")).unwrap();
    assert_eq!(mended, format!("a note of mine\n{text}"));
}
