//! How what a session costs grows with what was asked in it: twice the questions may take twice the time, and not four times.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use jiff::Timestamp;
use rapport::seals::Seals;
use rapport::stores::Holder;
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport_core::{Answer, By, CallId, Entry, Event, QuestionId, Session, SessionId, TurnId};

use crate::{Outcome, asked, cpu_of, created, row};

/// Questions of the shorter session. The other has twice as many.
const QUESTIONS: usize = 2_000;
/// What grows with the square of them would come to 4.
const TARGET: &str = "target: under 3 for twice the questions";

pub(crate) fn measure() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (app, home) = (folder.path().join("app"), folder.path().join("home"));
    std::fs::create_dir_all(&app)?;
    let store = Files::new(rapport::config::sessions(&app)).of(app.clone());
    let store = BlockingStore::new(store.sealed_by(Seals::new(home.clone(), app.clone())));
    let short = session(&store, &app, QUESTIONS)?;
    let long = session(&store, &app, 2 * QUESTIONS)?;
    let command = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rapport"));
        command
            .args(args)
            .current_dir(&app)
            .env("RAPPORT_HOME", &home)
            .env("RAPPORT_AGENT_COMMAND", "rehearsal");
        command
    };
    let status = |id: &SessionId| cpu_of(3, || command(&["status", "--json", id.as_str()]));
    let resume = |id: &SessionId| until_present(command(&["run", "--json", "--resume", id.as_str()]));
    let figures = [
        ("status", status(&short)?, status(&long)?),
        ("run --resume --json", resume(&short)?, resume(&long)?),
    ];
    for (what, n, twice) in figures {
        let what = format!("`{what}` of {} questions, CPU", 2 * QUESTIONS);
        row(&what, format!("{:.2} s", twice), &format!("({QUESTIONS}: {n:.2} s)"));
        row("  times that of half as many", format!("{:.2}", twice / n), TARGET);
    }
    Ok(())
}

/// A session in which that many questions were asked and answered, and one more waits, parked.
fn session(store: &BlockingStore, app: &Path, questions: usize) -> Outcome<SessionId> {
    let at: Timestamp = "2026-11-15T12:00:00Z".parse()?;
    let holder = Holder::this_process(None);
    let created = rapport_core::Created { project: app.display().to_string(), ..created(questions) };
    let (id, _, mut log) =
        store.create(&format!("asks {questions}"), at, Session::begin(created)?, &holder)?;
    let (turn, call) = (TurnId(1), |n: usize| CallId::new(format!("toolu_{n:024}")));
    let by = By::Person { channel: "terminal".into(), id: "anna".into() };
    for n in 1..=questions {
        let name = format!("q{n}");
        log.append(at, vec![asked(n as u32, call(n), &[name.as_str()])])?;
        let answer = Answer { values: vec!["JWT".into()], text: None };
        let answered = Event::Answered { question: QuestionId::new(name), answer, by: by.clone() };
        // All in one entry, so that making it does not take longer than measuring it.
        log.append(at, vec![answered, Event::Taken { call: call(n) }])?;
    }
    let (last, name) = (call(questions + 1), format!("q{}", questions + 1));
    log.append(at, vec![asked(questions as u32 + 1, last.clone(), &[name.as_str()])])?;
    log.append(at, vec![Event::Cooled { turn, call: last.clone() }, Event::Parked { turn, call: last }])?;
    Ok(id)
}

/// CPU seconds until everything that was stored is printed.
fn until_present(mut command: Command) -> Outcome<f64> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let lines = BufReader::new(child.stdout.take().ok_or("a pipe is missing")?).lines();
    let is_last = |line: &str| {
        Entry::from_json(line).is_ok_and(|entry| matches!(entry.facts.last(), Some(Event::Parked { .. })))
    };
    let mut found = false;
    for line in lines {
        found = is_last(&line?);
        if found {
            break;
        }
    }
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
    child.kill()?;
    child.wait()?;
    let stat = stat?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks: u64 =
        after_name.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<u64>().ok()).sum();
    if !found {
        return Err("it ended before it had printed everything".into());
    }
    // The system counts in hundredths of a second.
    Ok(ticks as f64 / 100.0)
}
