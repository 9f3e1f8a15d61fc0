//! `rapport serve` as people in Telegram see it: the real program, a strict Telegram, the scripted agent (CHAT-47,
//! CHAT-48).

mod agents;
mod backlog;
mod cancel;
mod cases;
mod chat;
mod claude_command;
mod day;
mod elsewhere;
mod faults;
mod files;
mod groups;
mod kills;
mod lead;
mod left;
mod logged;
mod looks;
mod projects;
mod real;
mod refused;
mod stopping;
mod strangers;
mod turns;
mod upgrades;
mod webhook;
mod words;
mod work;

use std::fs::File;
use std::process::{Child, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rapport_core::{Aim, Event, Session, SessionId};
use serde_json::Value;

use crate::support::patience::{wait_at_most, wait_for};
use crate::support::project::Project;
use crate::support::telegram::{Person, Rates, TelegramServer};

/// How many times as fast the time of Telegram's limits runs, for the bot and the server alike. What keeps to them then
/// keeps to them always; one story does it in real time.
const FASTER: u32 = 20;

/// Who may use the bot.
pub(crate) const ANNA: i64 = 42;

/// Three questions in two rounds, then work.
pub(crate) const AUTH: &str = r##"
version: 1
name: auth
batches:
  - goal: jwt auth
    description: implement jwt auth system
    questions:
      - { question: "Which framework?", options: [{ label: Express, value: express }, { label: Fastify, value: fastify }], allowFreeText: true }
      - { question: "Refresh tokens?", options: [{ label: "Yes, 7 days", value: "yes" }, { label: "No", value: "no" }] }
      - { question: "Existing auth?", options: [{ label: None, value: none }, { label: Sessions, value: sessions }] }
  - questions:
      - { question: "Where are tokens kept?", options: [{ label: Cookies, value: cookies }, { label: Memory, value: memory }] }
invocations:
  - steps:
      - write: { path: auth.txt, content: "done\n", permission: true }
    result: "Auth is **in place**."
"##;

/// A stage: Telegram, a project, and the program between them.
pub(crate) struct Stage {
    pub(crate) server: TelegramServer,
    pub(crate) project: Project,
    serving: Option<Child>,
    runs: usize,
}

impl Stage {
    /// With an agent that plays this, and Anna allowed.
    pub(crate) async fn playing(scenario: &str) -> Self {
        let mut stage = Self::quiet(scenario).await;
        stage.serve();
        stage
    }

    /// The same, before the program is started.
    pub(crate) async fn quiet(scenario: &str) -> Self {
        Self::of(Project::with_scenario(scenario).recorded()).await
    }

    /// The same for a project with an agent of its own.
    pub(crate) async fn of(project: Project) -> Self {
        let server = TelegramServer::start().await;
        server.rates(Rates::Faster(FASTER));
        let project = project
            .set("RAPPORT_TELEGRAM_FASTER", &FASTER.to_string())
            .set("TELEGRAM_BOT_TOKEN", server.token())
            .set("TELEGRAM_USER_ID", &ANNA.to_string())
            .set("RAPPORT_AGENT_PERMISSION_MODE", "acceptEdits")
            .set("RAPPORT_TELEGRAM_API_URL", &server.url());
        Self { server, project, serving: None, runs: 0 }
    }

    /// Starts the program.
    pub(crate) fn serve(&mut self) {
        self.serve_with(&[]);
    }

    /// Starts it with variables of its own.
    pub(crate) fn serve_with(&mut self, env: &[(&str, &str)]) {
        self.start(&[], env);
    }

    /// Starts it with these arguments.
    pub(crate) fn serve_as(&mut self, args: &[String]) {
        self.start(args, &[]);
    }

    fn start(&mut self, args: &[String], env: &[(&str, &str)]) {
        assert!(self.serving.is_none(), "it runs already");
        self.runs += 1;
        let output =
            |name: &str| File::create(self.project.path(&format!("serve-{}.{name}", self.runs))).unwrap();
        let mut command = self.project.command();
        command.args(["serve", "--json"]).args(args).envs(env.iter().copied());
        command.stdout(Stdio::from(output("out"))).stderr(Stdio::from(output("err")));
        self.serving = Some(command.spawn().unwrap());
    }

    /// Whether it was killed, by itself or another.
    pub(crate) fn has_died(&mut self) -> bool {
        let has = self.serving.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some());
        if has {
            self.serving = None;
        }
        has
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        let mut child = self.serving.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Asks it to stop; its exit code.
    pub(crate) fn stop(&mut self) -> i32 {
        let child = self.serving.as_ref().unwrap();
        kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
        self.ended()
    }

    /// Waits until it has ended; its exit code.
    pub(crate) fn ended(&mut self) -> i32 {
        let mut child = self.serving.take().unwrap();
        wait_at_most(Duration::from_secs(30), "the end of serve", || child.try_wait().unwrap())
            .code()
            .unwrap_or(-1)
    }

    /// The kilobytes that it has written to and shares with nobody.
    pub(crate) fn private_memory(&self) -> u64 {
        let id = self.serving.as_ref().unwrap().id();
        let maps = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).unwrap();
        let own = maps.lines().find_map(|line| line.strip_prefix("Private_Dirty:")).unwrap();
        own.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// How often it has read from files and the like, as the system counts.
    pub(crate) fn reads(&self) -> u64 {
        let id = self.serving.as_ref().unwrap().id();
        let counts = std::fs::read_to_string(format!("/proc/{id}/io")).unwrap();
        let reads = counts.lines().find_map(|line| line.strip_prefix("syscr: ")).unwrap();
        reads.parse().unwrap()
    }

    /// Everything it has printed.
    pub(crate) fn printed(&self) -> String {
        let names = (1..=self.runs).flat_map(|run| [format!("serve-{run}.out"), format!("serve-{run}.err")]);
        names.map(|name| std::fs::read_to_string(self.project.path(&name)).unwrap_or_default()).collect()
    }

    /// Somebody who may use the bot.
    pub(crate) fn anna(&self) -> Person {
        self.server.person(ANNA, "Anna")
    }

    /// The file of a chat's plan, as it is now.
    pub(crate) fn file(&self, chat: i64) -> Option<Value> {
        let path = self.project.path(&format!("home/.rapport/sessions/{chat}-interactive.json"));
        serde_json::from_slice(&std::fs::read(path).ok()?).ok()
    }

    /// Waits until the file of a chat's plan is like this.
    #[track_caller]
    pub(crate) fn filed(&self, chat: i64, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        wait_for(what, || self.file(chat).filter(|file| is(file)))
    }

    /// Waits until there is no such file.
    #[track_caller]
    pub(crate) fn unfiled(&self, chat: i64) {
        wait_for("the file to be gone", || self.file(chat).is_none().then_some(()));
    }

    /// Every session with its facts.
    pub(crate) fn sessions(&self) -> Vec<(SessionId, Session, Vec<Event>)> {
        let store = self.project.store();
        let read = |id: SessionId| {
            let entries = store.read(&id, 0).unwrap();
            let session = Session::replay(&entries).unwrap();
            (id, session, entries.into_iter().flat_map(|entry| entry.facts).collect())
        };
        store.list().unwrap().into_iter().map(read).collect()
    }

    /// The sessions that are for this.
    pub(crate) fn sessions_for(&self, aim: &Aim) -> usize {
        self.sessions().iter().filter(|(_, session, _)| session.created().aim == *aim).count()
    }

    /// What each process of the agent that worked was told first.
    pub(crate) fn prompts(&self) -> Vec<String> {
        let records = self.project.path("records");
        if !records.exists() {
            return Vec::new();
        }
        // A call of the planner, which only makes questions, begins no conversation.
        let begins = |line: &Value| line["request"]["subtype"] == "initialize";
        let said = self.project.agent_inputs().into_iter().filter_map(|lines| {
            lines.iter().find(|line| begins(line))?;
            let said = lines.iter().find(|line| line["type"] == "user")?;
            Some(said["message"]["content"].to_string())
        });
        said.collect()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let ended = self.serving.as_mut().map(Child::try_wait);
        if let Some(mut child) = self.serving.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
        if std::thread::panicking() {
            eprintln!("serve had ended: {ended:?}; it printed:\n{}", self.printed());
        }
    }
}
