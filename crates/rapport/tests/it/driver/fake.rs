//! Small fake agents: shell scripts that print recorded lines and record what they are told. And a run with one.

use std::ffi::OsString;
use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::time::Duration;

use rapport::agents::claude::ClaudeConfig;
use rapport_core::Order;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::driven::{CONVERSATION, Driven};
pub(super) use crate::support::driven::{answers, failure, order};

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
        let driven = Driven::start(self.config.clone(), order, self.home.path().to_owned());
        Run { world: self, driven }
    }
}

/// A started agent.
pub(super) struct Run {
    world: World,
    driven: Driven,
}

impl Deref for Run {
    type Target = Driven;
    fn deref(&self) -> &Driven {
        &self.driven
    }
}

impl DerefMut for Run {
    fn deref_mut(&mut self) -> &mut Driven {
        &mut self.driven
    }
}

impl Run {
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

    /// Drops the receiver of its reports.
    pub(super) fn abandon(self) -> World {
        self.world
    }
}

impl World {
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
