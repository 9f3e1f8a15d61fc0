//! `rapport serve` as people start it, with a Telegram and a model on loopback, and the files that it leaves.
#![allow(dead_code, reason = "measurements share it with the tests; neither uses all of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport_core::{Event, InteractiveFile, Purpose, QuestionId, Session};
use tempfile::TempDir;

use super::telegram::TelegramServer;

/// A `rapport serve`, until it is dropped.
pub(crate) struct Serving {
    child: Child,
    folder: TempDir,
}

/// What the log of a planned task says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Logged {
    /// Its chat.
    pub(crate) chat: i64,
    /// The value of every answer, in the order they were given.
    pub(crate) answers: Vec<String>,
}

impl Serving {
    /// Serves these people in an empty project, with a planner at this address. What it says is dropped.
    pub(crate) fn start(
        server: &TelegramServer,
        planner: &str,
        people: impl IntoIterator<Item = i64>,
        more: &[(&str, &str)],
    ) -> Self {
        Self::start_in(Self::folder(), server, planner, people, more)
    }

    /// Room for an empty project and a home. On the disk the project is on, not on a temporary file system that may
    /// be memory.
    pub(crate) fn folder() -> TempDir {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        for name in ["home", "app", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let app = folder.path().join("app");
        let git =
            Command::new("git").args(["init", "--quiet", "--initial-branch=main"]).current_dir(&app).status();
        assert!(git.unwrap().success());
        folder
    }

    /// The same in a project that was made before.
    pub(crate) fn start_in(
        folder: TempDir,
        server: &TelegramServer,
        planner: &str,
        people: impl IntoIterator<Item = i64>,
        more: &[(&str, &str)],
    ) -> Self {
        let app = folder.path().join("app");
        let people: Vec<_> = people.into_iter().map(|id| id.to_string()).collect();
        let mut command = Command::new(env!("CARGO_BIN_EXE_rapport"));
        command.arg("serve").current_dir(&app).env_clear().stdin(Stdio::null()).stdout(Stdio::null());
        command.env("PATH", "/usr/bin:/bin").env("HOME", folder.path().join("home"));
        command.env("TMPDIR", folder.path().join("tmp")).env("RAPPORT_WEB_ENABLED", "false");
        command.env("RAPPORT_TELEGRAM_TOKEN", server.token()).env("RAPPORT_TELEGRAM_API_URL", server.url());
        command.env("RAPPORT_TELEGRAM_USERS", people.join(","));
        command.env("RAPPORT_PLANNER_VIA", "api").env("RAPPORT_PLANNER_API_KEY", "any");
        command.env("RAPPORT_PLANNER_BASE_URL", planner);
        command.env("RAPPORT_AGENT_COMMAND", "rehearsal").envs(more.iter().copied());
        Self { child: command.spawn().unwrap(), folder }
    }

    /// The id of its process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The project.
    pub(crate) fn app(&self) -> PathBuf {
        self.folder.path().join("app")
    }

    /// The most that was ever resident of it, in megabytes.
    pub(crate) fn peak(&self) -> f64 {
        self.status("VmHWM:") * 1024.0 / 1e6
    }

    /// How many threads it has.
    pub(crate) fn threads(&self) -> f64 {
        self.status("Threads:")
    }

    /// Has it end, as Ctrl-C does, and waits until it has.
    pub(crate) fn stop(&mut self) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT).unwrap();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "it ended with {status}");
    }

    /// What the logs of all planned tasks say.
    pub(crate) fn logged(&self) -> Vec<Logged> {
        let store = BlockingStore::new(Files::new(rapport::config::sessions(&self.app())));
        let logged = |id| {
            let entries = store.read(&id, 0).unwrap();
            let session = Session::replay(&entries).unwrap();
            let chat =
                rapport::channels::telegram::room::Room::of(session.created().origin.as_ref().unwrap())
                    .unwrap()
                    .chat;
            let items: Vec<_> = session.rounds().flat_map(|round| round.items).collect();
            // The confirmation of a plan is an answer as well, and none of these.
            let clarifies = |id: &QuestionId| {
                items.iter().any(|item| item.question.id == *id && item.question.purpose == Purpose::Clarify)
            };
            let facts = entries.iter().flat_map(|entry| &entry.facts);
            let answers = facts.filter_map(|fact| match fact {
                Event::Answered { question, answer, .. } if clarifies(question) => {
                    Some(answer.values.join("+"))
                }
                _ => None,
            });
            Logged { chat, answers: answers.collect() }
        };
        store.list().unwrap().into_iter().map(logged).collect()
    }

    /// The file of a chat, for people and tools.
    pub(crate) fn file(&self, chat: i64) -> Option<InteractiveFile> {
        let path = self.folder.path().join(format!("home/.rapport/sessions/{chat}-interactive.json"));
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    fn status(&self, field: &str) -> f64 {
        let path = Path::new("/proc").join(self.id().to_string()).join("status");
        let status = std::fs::read_to_string(path).unwrap();
        let value = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        value.trim().trim_end_matches("kB").trim().parse().unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
