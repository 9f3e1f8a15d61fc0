//! Between the driver and the CLI: passes every line on, both ways, and notes how long each question of the CLI waited
//! for its answer. The clock is read just before a question is passed on, and as soon as its answer has come.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::Outcome;

/// How this binary is told to be that.
pub(crate) const ARGUMENT: &str = "--between";

/// What is noted: how long a question waited for its answer,
pub(crate) const WAITED: &str = "waited";
/// and how long the disk took, where the question was kept back for that.
pub(crate) const BARE: &str = "bare";

/// When a lead was told of a question of another agent, since the epoch.
pub(crate) const TOLD: &str = "told";
/// How such a message begins.
const TRIGGER: &str = "[Claude Code Question - Session ";

/// By the name of the request: the call it is about, and when it came.
type Open = Arc<Mutex<HashMap<String, (String, Instant)>>>;

/// Runs a program as if this were it. Notes go to a file.
pub(crate) fn run(path: &Path, program: &str, args: &[&str]) -> Outcome {
    let notes = appending(path)?;
    let mut child = Command::new(program).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("a pipe is missing".into());
    };
    let open = Open::default();
    let asked = open.clone();
    // Nobody waits for this one: when the program has ended, there is nobody left to answer.
    std::thread::spawn(move || answers(stdin, &asked, notes));
    questions(stdout, &open, path)?;
    std::process::exit(child.wait()?.code().unwrap_or(1));
}

/// What was noted about a call, as often as it asked: at two doors, or again after it was put away.
pub(crate) fn read(notes: &Path, what: &str, call: &str) -> Outcome<Vec<Duration>> {
    let all = std::fs::read_to_string(notes)?;
    let start = format!("{what} {call} ");
    let nanos = all.lines().filter_map(|line| line.strip_prefix(&start));
    Ok(nanos.map(|nanos| nanos.parse().map(Duration::from_nanos)).collect::<Result<_, _>>()?)
}

/// When the lead was told of each question, since the epoch.
pub(crate) fn told(notes: &Path) -> Outcome<Vec<Duration>> {
    let all = std::fs::read_to_string(notes)?;
    let nanos = all.lines().filter_map(|line| line.strip_prefix(TOLD)).map(|nanos| nanos.trim().parse());
    Ok(nanos.map(|nanos| nanos.map(Duration::from_nanos)).collect::<Result<_, _>>()?)
}

/// Has the next question kept back until lines of these lengths were appended to this file, and synced.
pub(crate) fn keep_back(notes: &Path, file: &Path, asked: usize, answered: usize) -> Outcome {
    // Complete as soon as it is there.
    let (partial, order) = (notes.with_extension("partial"), notes.with_extension("order"));
    std::fs::write(&partial, format!("{asked} {answered} {}", file.display()))?;
    Ok(std::fs::rename(partial, order)?)
}

fn questions(from: ChildStdout, open: &Open, path: &Path) -> Outcome {
    let (mut from, mut to) = (BufReader::new(from), std::io::stdout().lock());
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        let read: Value = serde_json::from_slice(&line).unwrap_or_default();
        let request = &read["request"];
        let call = request["tool_use_id"].as_str().or(request["input"]["tool_use_id"].as_str());
        if let (Some(name), Some(call)) = (read["request_id"].as_str(), call) {
            if let Some(took) = bare_appends(&path.with_extension("order"))? {
                writeln!(appending(path)?, "{BARE} {call} {}", took.as_nanos())?;
            }
            let mut open = open.lock().unwrap_or_else(PoisonError::into_inner);
            open.insert(name.to_owned(), (call.to_owned(), Instant::now()));
        }
        to.write_all(&line)?;
        to.flush()?;
        line.clear();
    }
    Ok(())
}

/// Measures the disk, if that is ordered.
fn bare_appends(order: &Path) -> Outcome<Option<Duration>> {
    let Ok(words) = std::fs::read_to_string(order) else { return Ok(None) };
    std::fs::remove_file(order)?;
    let mut words = words.splitn(3, ' ');
    let mut line = || words.next().unwrap_or_default().parse().map(|length| vec![b'x'; length]);
    let lines = [line()?, line()?];
    let mut file = appending(Path::new(words.next().unwrap_or_default()))?;
    let began = Instant::now();
    for line in lines {
        file.write_all(&line)?;
        file.sync_data()?;
    }
    Ok(Some(began.elapsed()))
}

fn appending(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}

fn answers(mut to: ChildStdin, open: &Open, mut notes: File) -> std::io::Result<()> {
    let mut from = std::io::stdin().lock();
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        let (came, at) = (Instant::now(), SystemTime::now());
        // Noted before it is passed on: then what is noted is complete when the CLI goes on.
        if String::from_utf8_lossy(&line).contains(TRIGGER) {
            let at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
            writeln!(notes, "{TOLD} {}", at.as_nanos())?;
        }
        let read: Value = serde_json::from_slice(&line).unwrap_or_default();
        let name = read["response"]["request_id"].as_str().unwrap_or_default();
        let asked = open.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        if let Some((call, asked)) = asked {
            writeln!(notes, "{WAITED} {call} {}", came.duration_since(asked).as_nanos())?;
        }
        to.write_all(&line)?;
        line.clear();
    }
    Ok(())
}
