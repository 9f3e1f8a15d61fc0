//! A fixture: a home and a project as an earlier version left them, and how that version itself continued them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rapport_core::{Event, Purpose, Question};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::archive;
use crate::support::project::{Project, Running};

/// What is said to every permission that is asked for.
pub(super) const PERMISSION: &str = "permission";
/// Where a fixture says what comes out.
const EXPECTED: &str = "expected.json";

/// What the version that made a fixture made of it.
#[derive(Serialize, Deserialize)]
pub(super) struct Expected {
    /// How it came to be.
    pub(super) made: String,
    /// How it stands.
    pub(super) now: Seen,
    /// What a person can do next, and what that leads to. Each begins with the fixture as it is.
    pub(super) ends: Vec<End>,
}

/// What a person can do, and how it ends.
#[derive(Serialize, Deserialize)]
pub(super) struct End {
    /// Commands, each with its exit code.
    pub(super) commands: Vec<(Vec<String>, i32)>,
    pub(super) then: Seen,
}

impl End {
    /// Whether it is this one command.
    pub(super) fn is_just(&self, command: &str) -> bool {
        matches!(&self.commands[..], [(words, _)] if words == &[command])
    }
}

/// A world as a person sees it.
#[derive(Serialize, Deserialize)]
pub(super) struct Seen {
    /// `rapport status --all --json`.
    sessions: Value,
    /// `rapport log --tree --json` of each session that has turns.
    turns: BTreeMap<String, Value>,
    /// The project's files that were not so before, without the times in them; null for one that is gone.
    files: BTreeMap<String, Option<String>>,
}

/// Answers to questions, by their text. Permissions are given unless `PERMISSION` says otherwise.
pub(super) type Answers = BTreeMap<String, Vec<String>>;

/// A fixture in a directory of its own, with this program. The agent plays the scenario that came with it.
pub(super) fn open(fixture: &str, program: Option<&Path>) -> Project {
    let folder = tempfile::tempdir().unwrap();
    archive::unpack(fixture, folder.path());
    std::fs::remove_file(folder.path().join(EXPECTED)).ok();
    let command = format!("rehearsal --scenario {}", folder.path().join("scenario.yaml").display());
    let project = Project::around(folder).set("RAPPORT_AGENT_COMMAND", &command);
    match program {
        Some(program) => project.run_by(program),
        None => project,
    }
}

/// What a fixture says comes out.
pub(super) fn expected(fixture: &str) -> Expected {
    serde_json::from_str(archive::read(fixture, EXPECTED).unwrap()).unwrap()
}

/// A fixture of this world with what is expected of it.
pub(super) fn with_expected(world: &str, expected: &Expected) -> String {
    let text = serde_json::to_string_pretty(expected).unwrap();
    format!("-- {EXPECTED}\n{text}\n{world}")
}

/// Does what a person would; gives the exit codes.
pub(super) fn act(project: &Project, commands: &[Vec<String>]) -> Vec<i32> {
    let play = |words: &[String]| {
        let answers: Answers = serde_json::from_str(&words[2]).unwrap();
        finish(project, &words[1], &answers)
    };
    let act = |words: &Vec<String>| match words[0].as_str() {
        "finish" => play(words),
        // The versions that made the fixtures asked nobody here.
        "undo" => project.rapport(&[&words[..], &["--yes".to_owned()]].concat()).code(),
        _ => project.rapport(words).code(),
    };
    commands.iter().map(act).collect()
}

/// Resumes a session until it ends, and answers all of its questions. Returns its exit code.
fn finish(project: &Project, session: &str, answers: &Answers) -> i32 {
    let mut code = -1;
    for _ in 0..5 {
        let mut running = project.start(&["--resume", session], &[]);
        answer_everything(project, &mut running, session, answers);
        code = running.finish();
        if code == 0 {
            break;
        }
    }
    code
}

/// Answers what is asked, as it is asked, from another process; until the run is over or dead.
pub(super) fn answer_everything(project: &Project, running: &mut Running, session: &str, answers: &Answers) {
    let mut open: BTreeMap<String, Question> = BTreeMap::new();
    while let Some(entry) = running.next() {
        for fact in entry.facts {
            match fact {
                Event::Asked { questions, .. } => {
                    open.extend(questions.into_iter().map(|question| (question.id.to_string(), question)));
                }
                Event::Answered { question, .. } => drop(open.remove(question.as_str())),
                _ => {}
            }
        }
        // The run repeats its past first; a question that was already answered there is skipped.
        let view: Value = project.json(&["status", "--json", session]);
        if entry.seq < view["seq"].as_u64().unwrap() {
            continue;
        }
        for (id, question) in std::mem::take(&mut open) {
            let values = match question.purpose {
                Purpose::Clarify => answers[&question.text].clone(),
                Purpose::Confirm => vec!["confirm".to_owned()],
                Purpose::Elicit(_) => unreachable!("no story has a server"),
                Purpose::Budget { .. } => unreachable!("no story has a budget"),
                Purpose::Idle => unreachable!("no story has a lead"),
                Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } => {
                    answers.get(PERMISSION).cloned().unwrap_or_else(|| vec!["allow".to_owned()])
                }
            };
            let command = ["answer", session, "--question", &id].map(str::to_owned);
            project.rapport(&[&command[..], &values].concat());
        }
    }
}

/// Looks at everything, and at what became of the files there were.
pub(super) fn look(project: &Project, before: &Files) -> Seen {
    project.wait_alone(Duration::from_secs(10));
    let sessions: Value = project.json(&["status", "--all", "--json"]);
    let ids = sessions.as_array().unwrap().iter().map(|view| view["id"].as_str().unwrap());
    let turns = ids.filter_map(|id| {
        let ran = project.rapport(&["log", "--tree", id, "--json"]);
        let mut turns: Value = serde_json::from_slice(&ran.0.stdout).ok()?;
        // What was called the status of a turn is its detail now; its status is a word that sessions have as well.
        for turn in turns.as_array_mut().into_iter().flatten().filter(|turn| turn.get("turn").is_some()) {
            turn["status"] = turn["detail"].clone();
        }
        Some((id.to_owned(), turns))
    });
    let turns = turns.collect();
    let now = files(project);
    let gone = before.keys().filter(|name| !now.contains_key(*name)).map(|name| (name.clone(), None));
    let new = now.iter().filter(|(name, text)| before.get(*name) != Some(text));
    let files = gone.chain(new.map(|(name, text)| (name.clone(), Some(text.clone())))).collect();
    away(project, Seen { sessions, turns, files })
}

/// The same without the directory it is in.
fn away(project: &Project, seen: Seen) -> Seen {
    let place = project.root().parent().unwrap().to_str().unwrap().to_owned();
    let text = serde_json::to_string(&seen).unwrap().replace(&place, "/fixture");
    serde_json::from_str(&text).unwrap()
}

/// Files by their names.
pub(super) type Files = BTreeMap<String, String>;

/// Files that people read. Those that Rapport reads are judged by what it says about them.
pub(super) fn files(project: &Project) -> Files {
    let mut files = Files::new();
    collect(&project.root(), &project.root(), &mut files);
    files
}

fn collect(root: &Path, folder: &Path, files: &mut Files) {
    const OURS: [&str; 5] = ["plan.md", "report.md", ".context", "memos.yaml", "progress.md"];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            // A plan outside of sessions has its files beside its log since it has one.
            if ![".git", ".rapport/worktrees", ".rapport/batches"].contains(&name.as_str()) {
                collect(root, &path, files);
            }
        } else if !name.starts_with(".rapport/") || OURS.iter().any(|ending| name.ends_with(ending)) {
            files.insert(name, without_times(&std::fs::read_to_string(&path).unwrap()));
        }
    }
}

/// Lines that differ from run to run are left out.
fn without_times(text: &str) -> String {
    let differs = |line: &&str| {
        [
            "**Started",
            "**Ended",
            "**Duration",
            "**Execution Start",
            "**Execution End",
            "created:",
            "updated:",
            "date:",
        ]
        .iter()
        .any(|word| line.trim_start_matches(['-', ' ']).to_lowercase().starts_with(&word.to_lowercase()))
    };
    text.lines().filter(|line| !differs(line)).map(|line| format!("{line}\n")).collect()
}

impl Seen {
    /// The same without what differs each time it is done: times, and what it cost.
    pub(super) fn in_the_end(mut self) -> Self {
        const KEPT: [&str; 7] = ["id", "status", "phase", "task", "result", "failure", "unasked"];
        let short = |view: &Value| {
            let kept = KEPT.iter().filter_map(|key| Some(((*key).to_owned(), view.get(*key)?.clone())));
            let mut short: Map<String, Value> = kept.collect();
            let texts = |key: &str, what: &str| -> Vec<Value> {
                view[key].as_array().into_iter().flatten().map(|item| item[what].clone()).collect()
            };
            short.insert("questions".into(), json!(texts("questions", "text")));
            Value::Object(short)
        };
        self.sessions = self.sessions.as_array().unwrap().iter().map(short).collect();
        self
    }

    /// Whatever this has and the other has not, or has otherwise.
    pub(super) fn missing_in(&self, other: &Self) -> Vec<String> {
        let mut missing = Vec::new();
        let (ours, theirs) = (serde_json::to_value(self).unwrap(), serde_json::to_value(other).unwrap());
        compare("", &ours, &theirs, &mut missing);
        let more = other.files.keys().filter(|name| !self.files.contains_key(*name));
        missing.extend(more.map(|name| format!("the file {name} was not expected")));
        missing
    }
}

/// What is expected and not so. More may be there: fields are added as time goes by.
pub(super) fn compare(place: &str, expected: &Value, found: &Value, missing: &mut Vec<String>) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (key, value) in expected {
                compare(&format!("{place}/{key}"), value, found.get(key).unwrap_or(&Value::Null), missing);
            }
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            for (n, (expected, found)) in expected.iter().zip(found).enumerate() {
                compare(&format!("{place}/{n}"), expected, found, missing);
            }
        }
        (expected, found) if expected == found || says_more(place, expected, found) => {}
        (expected, found) => missing.push(format!("{place}: {found} instead of {expected}")),
    }
}

/// Where this version reports more precisely than the old one: a plan that waits for review needs a person, a batch
/// or an agent that was cut off says so, an agent that waits does nothing, and problems of a plan have other words.
fn says_more(place: &str, expected: &Value, found: &Value) -> bool {
    const MORE: [(&str, &str, &str); 5] = [
        ("/agent/state", "working", "cut_off"),
        ("/agent/state", "hot", "cut_off"),
        ("/phase", "resting", "reviewing"),
        ("/status", "idle", "needs_input"),
        ("/status", "waits for review", "was interrupted, and waits"),
    ];
    let is =
        |(field, was, now): &(&str, &str, &str)| place.ends_with(field) && expected == was && found == now;
    let reported = place.ends_with("/report.md")
        && valid_part(expected).is_some_and(|was| valid_part(found) == Some(was));
    place.ends_with("/agent/doing") && found.is_null() || reported || MORE.iter().any(is)
}

/// A report without the words for what is wrong with its plan, if something is.
fn valid_part(report: &Value) -> Option<(&str, &str)> {
    let (before, errors) = report.as_str()?.split_once("## Validation Errors")?;
    Some((before, errors.split_once("## Applied State Changes")?.1))
}

/// Whether a file belongs into a fixture: of git's files only those that something refers to.
pub(super) fn worth_keeping(project: &Project) -> impl Fn(&str) -> bool {
    const NEEDLESS: [&str; 5] = ["hooks", "logs", "info", "description", "COMMIT_EDITMSG"];
    let objects = referred_to(project);
    move |path: &str| match path.strip_prefix("app/.git/") {
        Some(inside) => match inside.strip_prefix("objects/") {
            Some(object) if object.contains('/') => objects.contains(&object.replace('/', "")),
            _ => !NEEDLESS.contains(&inside),
        },
        None => true,
    }
}

/// The git objects that commits or logs lead to.
fn referred_to(project: &Project) -> BTreeSet<String> {
    let logs = sessions(project).into_iter().map(|(_, log)| log);
    let all = logs.collect::<String>();
    let words = all.split(|c: char| !c.is_ascii_hexdigit()).filter(|word| word.len() == 40);
    let is_there = |word: &&str| {
        let mut command = std::process::Command::new("git");
        command.args(["cat-file", "-e", word]).current_dir(project.root());
        command.stderr(std::process::Stdio::null()).status().unwrap().success()
    };
    let roots: BTreeSet<_> = words.filter(is_there).collect();
    let listed = project.git(&[&["rev-list", "--objects", "--all"], &Vec::from_iter(roots)[..]].concat());
    listed.lines().map(|line| line[..40].to_owned()).collect()
}

/// Every session's log, as its file has it and as the program shows it.
pub(super) fn logs(project: &Project) -> Vec<(Vec<Value>, Vec<Value>)> {
    let shown = |(id, log): (String, String)| {
        let shown = project.rapport(&["log", &id, "--json"]);
        assert_eq!(shown.code(), 0, "{}", shown.err());
        (entries(&log), entries(&shown.out()))
    };
    sessions(project).into_iter().map(shown).collect()
}

/// Every session with its log. A directory whose log has no whole line is what is left of one that was never begun.
fn sessions(project: &Project) -> Vec<(String, String)> {
    let folder = project.root().join(".rapport/sessions");
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let logs = folders.filter_map(|folder| {
        let log = std::fs::read_to_string(folder.join("log.jsonl")).ok()?;
        let id = folder.file_name()?.to_str()?.to_owned();
        log.contains('\n').then_some((id, log))
    });
    logs.collect()
}

fn entries(text: &str) -> Vec<Value> {
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let entry = |line: &str| {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        let object = entry.as_object_mut().unwrap();
        object.remove("crc");
        object.remove("v");
        entry
    };
    whole.map(entry).collect()
}
