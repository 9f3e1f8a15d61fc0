//! Small fake agents: shell scripts that print recorded lines and note what they are told. And a run against one.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rapport::agents::claude::{Claude, ClaudeConfig};
use rapport::agents::{Agent, Command, Controls, Happened, Report, RunId};
use rapport_core::{AgentDid, By, CallId, CallReply, ConversationId, Leave, Order, Told, TurnId, TurnKind};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Long enough for a busy machine, short enough to notice.
const PATIENCE: Duration = Duration::from_secs(30);
pub(super) const CONVERSATION: &str = "11111111-2222-4333-8444-555555555555";

/// A script, line by line.
#[derive(Default)]
pub(super) struct Script(String);

impl Script {
    /// Begins as every talk does: with being initialised.
    pub(super) fn new() -> Self {
        Self::default().hear("initialize")
    }

    /// Reads lines until one has this in it.
    pub(super) fn hear(self, word: &str) -> Self {
        self.sh(&format!("hear {}", quoted(word)))
    }

    /// Prints a line.
    pub(super) fn say(self, line: &str) -> Self {
        self.sh(&format!("printf '%s\\n' {}", quoted(line)))
    }

    /// Prints lines.
    pub(super) fn say_all<'a>(self, lines: impl IntoIterator<Item = &'a String>) -> Self {
        lines.into_iter().fold(self, |script, line| script.say(line))
    }

    /// Does anything else.
    pub(super) fn sh(mut self, command: &str) -> Self {
        self.0.push_str(command);
        self.0.push('\n');
        self
    }

    /// Reads until the input is closed, as the CLI does when a turn is over.
    pub(super) fn until_closed(self) -> Self {
        self.sh("while IFS= read -r line; do printf '%s\\n' \"$line\" >> told; done")
    }
}

/// Where a fake agent lives.
pub(super) struct World {
    pub(super) config: ClaudeConfig,
    home: TempDir,
}

impl World {
    pub(super) fn new(script: Script) -> Self {
        const PRELUDE: &str = r#"printf '%s\n' "$@" > args
hear() {
    while IFS= read -r line; do
        printf '%s\n' "$line" >> told
        case "$line" in *"$1"*) return ;; esac
    done
    exit 9
}
"#;
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("agent.sh");
        fs::write(&path, format!("{PRELUDE}{}", script.0)).unwrap();
        let mut config = ClaudeConfig::new("/bin/sh", env!("CARGO_BIN_EXE_rapport"));
        config.leading_args = vec![path.into()];
        let var = |name: &str, value: OsString| (OsString::from(name), value);
        config.env = vec![var("HOME", home.path().into()), var("PATH", "/usr/bin:/bin".into())];
        config.grace = Duration::from_secs(10);
        Self { config, home }
    }

    /// With the rehearsal agent in the place of a script.
    pub(super) fn rehearsing(scenario: &str) -> Self {
        let mut world = Self::new(Script::default());
        fs::write(world.path("scenario.yaml"), scenario).unwrap();
        world.config.program = env!("CARGO_BIN_EXE_rapport").into();
        let path = world.path("scenario.yaml").into_os_string();
        world.config.leading_args = vec!["rehearse".into(), "--scenario".into(), path];
        world
    }

    /// Gives it a past.
    pub(super) fn with_transcript(self, lines: &[&str]) -> Self {
        let folder = self.home.path().join(".claude/projects/any");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{CONVERSATION}.jsonl")), lines.join("\n") + "\n").unwrap();
        self
    }

    pub(super) fn start(self) -> Run {
        self.start_with(order())
    }

    /// Starts it again, with whatever it keeps on disk.
    pub(super) fn start_with(self, order: Order) -> Run {
        let (sender, reports) = mpsc::channel(1);
        let agent = Claude::new(self.config.clone());
        let controls = agent.start(RunId(7), order, self.home.path().to_owned().into(), sender);
        Run { world: self, controls, reports }
    }
}

/// A started agent.
pub(super) struct Run {
    world: World,
    controls: Controls,
    reports: mpsc::Receiver<Report>,
}

impl Run {
    /// The next thing it did.
    pub(super) async fn did(&mut self) -> Option<AgentDid> {
        loop {
            let report = timeout(PATIENCE, self.reports.recv()).await.expect("something in time")?;
            assert_eq!(report.run, RunId(7));
            if let Happened::Did(did) = report.what {
                return Some(did);
            }
        }
    }

    /// Waits for the next question; tells the call, and whether it can be put away.
    pub(super) async fn asked(&mut self) -> (CallId, rapport_core::Ask, bool) {
        loop {
            if let AgentDid::Ask { call, ask, parkable } = self.did().await.expect("a question") {
                return (call, ask, parkable);
            }
        }
    }

    /// Everything it does until it is gone: exactly one leave, as the last thing.
    pub(super) async fn rest(&mut self) -> (Vec<AgentDid>, Leave) {
        let mut all = Vec::new();
        while let Some(did) = self.did().await {
            all.push(did);
        }
        let Some(AgentDid::Leave(leave)) = all.pop() else { panic!("no leave at the end: {all:#?}") };
        assert!(!all.iter().any(|did| matches!(did, AgentDid::Leave(_))));
        (all, leave)
    }

    /// How it leaves.
    pub(super) async fn leave(&mut self) -> Leave {
        self.rest().await.1
    }

    pub(super) fn send(&self, command: Command) {
        self.controls.commands.send(command).unwrap();
    }

    pub(super) fn reply(&self, call: &str, reply: CallReply) {
        self.send(Command::Reply { call: CallId::new(call), reply });
    }

    /// What it was told, line by line.
    pub(super) fn told(&self) -> Vec<Value> {
        let told = fs::read_to_string(self.path("told")).unwrap_or_default();
        told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The messages among what it was told.
    pub(super) fn messages(&self) -> Vec<String> {
        let messages = self.told().into_iter().filter(|line| line["type"] == "user");
        messages.map(|line| line["message"]["content"].as_str().unwrap().to_owned()).collect()
    }

    /// The responses among what it was told.
    pub(super) fn responses(&self) -> Vec<Value> {
        let responses = self.told().into_iter().filter(|line| line["type"] == "control_response");
        responses.map(|mut line| line["response"]["response"].take()).collect()
    }

    /// How it was started.
    pub(super) fn args(&self) -> String {
        fs::read_to_string(self.path("args")).unwrap().replace('\n', " ").trim().to_owned()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.world.home.path().join(name)
    }

    /// Leaves nobody to report to.
    pub(super) fn abandon(self) -> World {
        self.world
    }
}

impl World {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }
}

pub(super) fn order() -> Order {
    Order {
        turn: TurnId(1),
        kind: TurnKind::Work,
        conversation: ConversationId::new(CONVERSATION),
        prompt: "add auth".into(),
        replies: Vec::new(),
    }
}

pub(super) fn answers(pairs: &[(&str, &str)]) -> CallReply {
    let by = || By::Person { channel: "terminal".into(), id: "dev".into() };
    let told = |(question, answer): &(&str, &str)| Told {
        question: (*question).into(),
        answer: (*answer).into(),
        by: by(),
    };
    CallReply::Answers(pairs.iter().map(told).collect())
}

/// The words of a failure.
pub(super) fn failure(leave: Leave) -> String {
    match leave {
        Leave::Failed { reason } => reason,
        other => panic!("not a failure: {other:?}"),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
