//! Carrying out plans: in order and in part, on real files and with real commands, with and without faults, and
//! undone.

mod commands;
mod files;
mod full;
mod killed;
mod moving;
mod order;
mod reading;
mod snapshots;
mod undoing;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use jiff::SignedDuration;
use rapport::actions::{
    ActionBatch, ActionConfig, BatchOutcome, BatchSite, Choice, Details, Interrupted, LaterChanges, Live,
    Outcome, Pending, Requester, Stop, Undone, undo,
};
use rapport::clock::Clock;
use rapport_core::{Action, ActionKind, ActionPlan, Replacement, Resource};
use tempfile::TempDir;

const KEEPER: &str = env!("CARGO_BIN_EXE_rapport");

/// A project in a directory of its own, and a place for the journal.
struct Stage {
    site: BatchSite,
    config: ActionConfig,
    _directory: Option<TempDir>,
}

impl Stage {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut stage = Self::at(directory.path());
        stage._directory = Some(directory);
        stage
    }

    /// In an existing directory.
    fn at(directory: &Path) -> Self {
        let site = BatchSite {
            project: directory.join("project"),
            journal: directory.join("batch"),
            seals: None,
            clock: Clock::system(),
        };
        fs::create_dir_all(&site.project).unwrap();
        Self { site, config: ActionConfig::new(KEEPER), _directory: None }
    }

    /// With this file.
    fn with(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn path(&self, path: &str) -> PathBuf {
        self.site.project.join(path)
    }

    fn text(&self, path: &str) -> Option<String> {
        fs::read(self.path(path)).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Every file and directory of the project, and what is in it.
    fn everything(&self) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        gather(&self.site.project, "", &mut found);
        found
    }

    fn batch<'a>(&'a self, plan: &'a ActionPlan) -> ActionBatch<'a> {
        ActionBatch { plan, site: &self.site, config: &self.config }
    }

    /// Runs all of it.
    async fn run(&self, plan: &ActionPlan) -> BatchOutcome {
        let choices = vec![Choice::Run; plan.actions.len()];
        self.batch(plan).run(&choices, &Nobody, &mut |_| {}, &Stop::never()).await.unwrap()
    }

    async fn resume(&self, plan: &ActionPlan, interrupted: Interrupted) -> BatchOutcome {
        self.batch(plan).resume(interrupted, &Nobody, &mut |_| {}, &Stop::never()).await.unwrap()
    }

    fn undo(&self) -> Undone {
        undo(&self.site, LaterChanges::Refuse).unwrap()
    }
}

fn gather(directory: &Path, prefix: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() && !path.is_symlink() {
            found.insert(format!("{name}/"), String::new());
            gather(&path, &format!("{name}/"), found);
        } else {
            found.insert(name, String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned());
        }
    }
}

/// A requester without any person to ask.
struct Nobody;

impl Requester for Nobody {
    fn ask<'a>(&'a self, _: usize, _: &'a str) -> Pending<'a> {
        Box::pin(async { Err("nobody is there".to_owned()) })
    }

    fn research<'a>(&'a self, _: usize, _: &'a [String]) -> Pending<'a> {
        Box::pin(async { Err("nobody is there".to_owned()) })
    }

    fn invoke<'a>(&'a self, _: usize, _: &'a str, _: &'a str) -> Pending<'a> {
        Box::pin(async { Err("nobody is there".to_owned()) })
    }
}

/// What was seen live, in a few words each.
#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl Seen {
    fn see(&self, live: Live<'_>) {
        let words = match live {
            Live::Started { n, action } => format!("{n} {}", action.kind.name()),
            Live::Output { n, line } => format!("{n} > {line}"),
            Live::Ended { n, settled, .. } => format!("{n} {}", short(&settled.outcome)),
        };
        self.0.lock().unwrap().push(words);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A batch in a few words for each action.
fn told(ran: &BatchOutcome) -> Vec<String> {
    ran.actions.iter().map(|settled| short(&settled.outcome)).collect()
}

fn short(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done { .. } => "done".to_owned(),
        Outcome::Failed { why, .. } => format!("failed: {why}"),
        Outcome::Skipped { reason } => format!("skipped: {reason}"),
    }
}

/// The details of an action that has some.
fn details(ran: &BatchOutcome, n: usize) -> &Details {
    match &ran.actions[n].outcome {
        Outcome::Done { details } | Outcome::Failed { details, .. } => details,
        Outcome::Skipped { reason } => panic!("skipped: {reason}"),
    }
}

fn plan(kinds: impl IntoIterator<Item = ActionKind>) -> ActionPlan {
    let actions =
        kinds.into_iter().map(|kind| Action { kind, description: None, line: 1, remark: None }).collect();
    ActionPlan { title: "A plan".into(), actions, ..ActionPlan::default() }
}

fn create(path: &str, content: &str) -> ActionKind {
    ActionKind::Create { path: path.into(), content: content.into(), overwrite: false }
}

fn overwrite(path: &str, content: &str) -> ActionKind {
    ActionKind::Create { path: path.into(), content: content.into(), overwrite: true }
}

fn delete(path: &str) -> ActionKind {
    ActionKind::Delete { path: path.into() }
}

fn move_file(from: &str, to: &str) -> ActionKind {
    ActionKind::Move { from: from.into(), to: to.into() }
}

fn edit(path: &str, edits: &[(&str, &str)]) -> ActionKind {
    let replacement = |(find, replace): &(&str, &str)| Replacement {
        find: (*find).into(),
        replace: (*replace).into(),
        line: 7,
    };
    ActionKind::Edit { path: path.into(), edits: edits.iter().map(replacement).collect() }
}

fn execute(command: &str) -> ActionKind {
    ActionKind::Execute {
        command: command.into(),
        shell: rapport_core::Shell::Sh,
        cwd: None,
        env: BTreeMap::new(),
        expected: None,
        allow_failure: false,
        timeout: None,
    }
}

fn allowed_to_fail(command: &str) -> ActionKind {
    match execute(command) {
        ActionKind::Execute { command, shell, cwd, env, expected, timeout, .. } => {
            ActionKind::Execute { command, shell, cwd, env, expected, timeout, allow_failure: true }
        }
        _ => unreachable!(),
    }
}

fn execute_within(command: &str, limit: SignedDuration) -> ActionKind {
    match execute(command) {
        ActionKind::Execute { command, shell, cwd, env, expected, allow_failure, .. } => {
            ActionKind::Execute { command, shell, cwd, env, expected, allow_failure, timeout: Some(limit) }
        }
        _ => unreachable!(),
    }
}

fn read(path: &str) -> ActionKind {
    ActionKind::Read { resource: Resource::File(path.into()) }
}

fn chat(message: &str) -> ActionKind {
    ActionKind::ChatWithUser { message: message.into() }
}
