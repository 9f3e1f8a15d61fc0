//! Measures the speed of the file store, without passing or failing: `cargo test --release -- --ignored --nocapture
//! speed`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use rapport::stores::Holder;
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport_core::{
    Answer, Asker, By, CallId, Choice, ConversationId, Created, Event, Purpose, Question, QuestionId,
    RoundId, ToolUse, TurnId, TurnKind, Usage,
};

const SESSIONS: usize = 10_000;
const APPENDS: u32 = 2_000;
const HOLDER: Holder = Holder { pid: 1, address: None, host: None };

#[test]
#[ignore = "measures, and checks nothing"]
fn replay() {
    let dir = tempfile::tempdir().unwrap();
    let store = BlockingStore::new(Files::new(dir.path().join("sessions")));
    let (id, _, mut log) = store.create("x", Timestamp::UNIX_EPOCH, first(), &HOLDER).unwrap();
    for facts in rest() {
        log.append(Timestamp::UNIX_EPOCH, facts).unwrap();
    }
    let written = std::fs::read(dir.path().join("sessions").join(id.as_str()).join("log.jsonl")).unwrap();
    copies(&dir.path().join("sessions"), &written);

    for round in ["first", "second", "third"] {
        let start = Instant::now();
        let ids = store.list().unwrap();
        let listed = start.elapsed();
        let entries: usize = ids.iter().map(|id| store.read(id, 0).unwrap().len()).sum();
        println!(
            "{round}: {} sessions of {} bytes listed in {listed:?}; {entries} entries replayed in {:?}; {}",
            ids.len(),
            written.len(),
            start.elapsed() - listed,
            peak_memory(),
        );
    }
}

#[test]
#[ignore = "measures, and checks nothing"]
fn append() {
    // Beside the build, since /tmp is in memory on many machines.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = BlockingStore::new(Files::new(dir.path().join("sessions")));
    let (id, _, mut log) = store.create("x", Timestamp::UNIX_EPOCH, first(), &HOLDER).unwrap();
    let facts = rest().swap_remove(2);
    let length = {
        log.append(Timestamp::UNIX_EPOCH, facts.clone()).unwrap();
        let path = dir.path().join("sessions").join(id.as_str()).join("log.jsonl");
        std::fs::read(path).unwrap().split(|&byte| byte == b'\n').nth(1).unwrap().len() + 1
    };
    let line = vec![b'x'; length];
    for _ in 0..3 {
        let ours = time(|| drop(log.append(Timestamp::UNIX_EPOCH, facts.clone()).unwrap()));
        let mut bare = File::options().append(true).create(true).open(dir.path().join("bare")).unwrap();
        let theirs = time(|| {
            bare.write_all(&line).unwrap();
            bare.sync_data().unwrap();
        });
        println!("{length} bytes: {ours:?} per append, {theirs:?} per bare write and sync");
    }
}

fn time(mut action: impl FnMut()) -> Duration {
    let start = Instant::now();
    (0..APPENDS).for_each(|_| action());
    start.elapsed() / APPENDS
}

/// The log under many names, without a sync for each.
fn copies(root: &Path, log: &[u8]) {
    for number in 1..SESSIONS {
        let dir = root.join(format!("20260124-session-{number}"));
        std::fs::create_dir(&dir).unwrap();
        std::fs::write(dir.join("log.jsonl"), log).unwrap();
    }
}

fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("VmHWM unknown").to_owned()
}

fn first() -> Vec<Event> {
    vec![Event::Created(Created::new(
        "Add user authentication with sessions and a login page".into(),
        "/home/somebody/project".into(),
        ConversationId::new("0b8e6a52-6a0e-4a34-9c57-0d6d1a4d7c11"),
        person(),
    ))]
}

/// Fourteen entries of a session with one round of two questions.
fn rest() -> Vec<Vec<Event>> {
    let turn = TurnId(1);
    let call = CallId::new("toolu_01A09q90qw90lq917835lq9");
    let asker = Asker::Agent { turn, call: call.clone(), parkable: true };
    let used =
        Event::Used { turn, tool: "Read".into(), what: "src/auth/session.rs".into(), kind: ToolUse::Reads };
    let mut facts = vec![
        Event::TurnStarted {
            turn,
            kind: TurnKind::Plan,
            prompt: "Ask what is unclear, then plan. ".repeat(12),
            mends: false,
        },
        Event::Connected { turn, conversation: ConversationId::new("0b8e6a52"), model: Some("opus".into()) },
        Event::Asked { round: RoundId(1), asker, questions: vec![question("q1"), question("q2")] },
        answered("q1"),
        answered("q2"),
        Event::Taken { call },
        Event::Said { turn, text: "Tokens it is, with a refresh at half their life. ".repeat(4) },
        Event::Spent { turn, usage: Usage::default() },
    ];
    facts.extend(vec![used; 6]);
    facts.into_iter().map(|fact| vec![fact]).collect()
}

fn question(id: &str) -> Question {
    Question {
        id: QuestionId::new(id),
        text: "Which kind of authentication should the service use?".into(),
        header: Some("Auth".into()),
        options: ["Tokens", "Cookies", "Neither"].map(Choice::plain).into(),
        multi: false,
        free_text: true,
        purpose: Purpose::Clarify,
    }
}

fn answered(id: &str) -> Event {
    let answer = Answer { values: vec!["Tokens".into()], text: None };
    Event::Answered { question: QuestionId::new(id), answer, by: person() }
}

fn person() -> By {
    By::Person { channel: "terminal".into(), id: "somebody".into() }
}
