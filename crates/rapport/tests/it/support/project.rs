//! A project with an empty home, and the `rapport` binary in it.

use std::ffi::OsStr;
use std::io::{BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::unistd::Pid;
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport_core::{Event, OpenQuestion, SessionId, View};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tempfile::TempDir;

use super::needs;
use super::patience::{wait_at_most, wait_for};
use super::pty::Pty;
pub(crate) use super::running::{Ran, Running};

/// A git repository with one commit, and nothing else in the world.
pub(crate) struct Project {
    folder: TempDir,
    root: PathBuf,
    env: Vec<(String, String)>,
    program: PathBuf,
}

impl Project {
    /// A project whose agent plays this scenario.
    pub(crate) fn with_scenario(yaml: &str) -> Self {
        Self::with_agent("").playing(yaml)
    }

    /// The same with an agent that plays this scenario.
    pub(crate) fn playing(self, yaml: &str) -> Self {
        let scenario = self.path("scenario.yaml");
        std::fs::write(&scenario, yaml).unwrap();
        self.set("RAPPORT_AGENT_COMMAND", &format!("rehearsal --scenario {}", scenario.display()))
    }

    /// A project with this agent.
    pub(crate) fn with_agent(command: &str) -> Self {
        Self::called("app", command)
    }

    /// A project in a directory of this name, which may be a path.
    pub(crate) fn called(name: &str, command: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Self { root: folder.path().join(name), ..Self::around(folder) };
        std::fs::create_dir_all(project.path("home")).unwrap();
        std::fs::create_dir_all(project.root()).unwrap();
        project.begin();
        project.set("RAPPORT_AGENT_COMMAND", command)
    }

    /// An existing project, with its home: `app` and `home` in this directory.
    pub(crate) fn around(folder: TempDir) -> Self {
        let root = folder.path().join("app");
        Self { root, folder, env: Vec::new(), program: env!("CARGO_BIN_EXE_rapport").into() }
    }

    /// The same with another `rapport`.
    pub(crate) fn run_by(self, program: &Path) -> Self {
        Self { program: program.to_owned(), ..self }
    }

    /// Puts a small app into the directory, with its history.
    pub(crate) fn begin(&self) {
        std::fs::write(self.root().join("README.md"), "# An app\n").unwrap();
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "-m", "An app"]);
    }

    /// The same with a variable for every command.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
        self
    }

    /// The same with agents in this kind of place.
    pub(crate) fn working_in(self, worker: &str) -> Self {
        self.reaching_the_engine().set("RAPPORT_WORKER", worker)
    }

    /// The same with the container engine of the tests, if there is one.
    pub(crate) fn reaching_the_engine(self) -> Self {
        match needs::engine_if_any() {
            Some(engine) => self.set("DOCKER_HOST", &engine).set("RAPPORT_WORKER_IMAGE", needs::IMAGE),
            None => self,
        }
    }

    /// Something beside the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The project's own directory.
    pub(crate) fn root(&self) -> PathBuf {
        self.root.clone()
    }

    /// `rapport`, ready to be given arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.current_dir(self.root()).env_clear().env("HOME", self.path("home"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).stdin(Stdio::null());
        // Only the tests of the page want one.
        command.env("RAPPORT_WEB_ENABLED", "false");
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end.
    pub(crate) fn rapport<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        Ran(self.command().args(args).output().unwrap())
    }

    /// Runs a line of a shell in the project, with `rapport` on its path.
    pub(crate) fn sh(&self, line: &str) -> Ran {
        let command = self.command();
        let path = command.get_envs().find_map(|(name, value)| value.filter(|_| name == "PATH"));
        let programs = self.program.parent().unwrap().display();
        let path = format!("{programs}:{}", path.unwrap_or_default().to_string_lossy());
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", line]).current_dir(self.root()).env_clear().stdin(Stdio::null());
        shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("PATH", path);
        Ran(shell.output().unwrap())
    }

    /// Starts `rapport run --json` and reads what it prints, line by line.
    pub(crate) fn start<S: AsRef<OsStr>>(&self, args: &[S], env: &[(&str, &str)]) -> Running {
        let args: Vec<_> = [OsStr::new("run"), OsStr::new("--json")]
            .into_iter()
            .chain(args.iter().map(AsRef::as_ref))
            .collect();
        self.launch(&args, env)
    }

    /// Starts any command that prints entries, and reads them.
    pub(crate) fn launch<S: AsRef<OsStr>>(&self, args: &[S], env: &[(&str, &str)]) -> Running {
        let mut command = self.command();
        command.args(args).envs(env.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Running { child, lines }
    }

    /// Starts any command, with what it prints kept.
    pub(crate) fn spawn<S: AsRef<OsStr>>(&self, args: &[S]) -> Child {
        self.command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Gives a command something to read.
    pub(crate) fn rapport_reading<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Ran {
        let mut command = self.command();
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // One that does not want it all may be gone before it has it all.
        let _ = child.stdin.take().unwrap().write_all(input);
        Ran(child.wait_with_output().unwrap())
    }

    /// A command in a terminal, in a shell that says how the terminal is after it.
    pub(crate) fn terminal(&self, args: &[&str], columns: u16, rows: u16) -> Pty {
        const SCRIPT: &str = "cd \"$PROJECT\" && \"$@\"; echo \"left $?\"; \
            stty -a | tr ' ;' '\\n\\n' | grep -x -e icanon -e echo";
        self.pty(
            "/bin/sh",
            &[&["-c", SCRIPT, "sh", env!("CARGO_BIN_EXE_rapport")], args].concat(),
            columns,
            rows,
        )
    }

    /// A line for a shell, in a terminal.
    pub(crate) fn shell(&self, line: &str, columns: u16, rows: u16) -> Pty {
        let script = format!("cd \"$PROJECT\" && {{ {line}; }}; echo \"left $?\"");
        self.pty("/bin/sh", &["-c", &script], columns, rows)
    }

    /// A shell that waits for commands, in a terminal.
    pub(crate) fn interactive_shell(&self, columns: u16, rows: u16) -> Pty {
        let script = "cd \"$PROJECT\" && PS1='shell: ' exec bash --norc --noprofile -i";
        self.pty("/bin/bash", &["-c", script], columns, rows)
    }

    fn pty(&self, program: &str, words: &[&str], columns: u16, rows: u16) -> Pty {
        let (home, root) = (self.path("home").display().to_string(), self.root().display().to_string());
        let mut env =
            vec![("HOME", home.as_str()), ("PROJECT", root.as_str()), ("RAPPORT_WEB_ENABLED", "false")];
        env.extend(self.env.iter().map(|(name, value)| (name.as_str(), value.as_str())));
        Pty::spawn(program, words, &env, columns, rows)
    }

    /// Every process that runs in this project's name, with its command line.
    pub(crate) fn processes(&self) -> Vec<(Pid, String)> {
        // Its own, or one of a workplace.
        let mark = format!("\0HOME={}/", self.folder.path().display());
        let is_ours = |bytes: Vec<u8>| bytes.windows(mark.len()).any(|bytes| bytes == mark.as_bytes());
        let read = |id: i32, what: &str| std::fs::read(format!("/proc/{id}/{what}")).unwrap_or_default();
        let environment = |id: i32| [b"\0".to_vec(), read(id, "environ")].concat();
        let names = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
        let ids = names.filter_map(|name| name.to_str()?.parse().ok());
        ids.filter(|id| is_ours(environment(*id)))
            .map(|id| (Pid::from_raw(id), String::from_utf8_lossy(&read(id, "cmdline")).replace('\0', " ")))
            .collect()
    }

    /// Those of the agent, and of what keeps it.
    pub(crate) fn agents_alive(&self) -> Vec<(Pid, String)> {
        let is_agent = |words: &str| words.contains(" rehearse ") || words.contains(" keep -");
        self.processes().into_iter().filter(|(_, words)| is_agent(words)).collect()
    }

    /// Waits until nothing of the agent is left.
    #[track_caller]
    pub(crate) fn wait_alone(&self, most: Duration) {
        wait_at_most(most, "the agent to be gone", || self.agents_alive().is_empty().then_some(()));
    }

    /// Waits until its only session waits for an answer, and gives what is asked.
    #[track_caller]
    pub(crate) fn wait_asked(&self) -> Vec<OpenQuestion> {
        wait_for("a question", || {
            let all: Vec<View> = self.json(&["status", "--json"]);
            assert!(all.len() < 2, "one session was expected");
            all.into_iter().map(|view| view.questions).find(|open| !open.is_empty())
        })
    }

    /// Waits until it asks just this.
    #[track_caller]
    pub(crate) fn wait_asked_for(&self, question: &str) {
        wait_for(question, || {
            let all: Vec<View> = self.json(&["status", "--json"]);
            all.iter().flat_map(|view| &view.questions).any(|open| open.id.as_str() == question).then_some(())
        });
    }

    /// What a command prints, as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, args: &[&str]) -> T {
        let ran = self.rapport(args);
        serde_json::from_slice(&ran.0.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", ran.out(), ran.err()))
    }

    /// Has the scripted agent keep records of its processes.
    pub(crate) fn recorded(self) -> Self {
        let folder = self.path("records").display().to_string();
        self.set("RAPPORT_REHEARSAL_RECORD", &folder)
    }

    /// What each process of the agent read, line by line, in the order they were started.
    pub(crate) fn agent_inputs(&self) -> Vec<Vec<Value>> {
        let lines = |text: String| text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut paths: Vec<_> =
            std::fs::read_dir(self.path("records")).unwrap().map(|e| e.unwrap().path()).collect();
        paths.retain(|path| path.to_string_lossy().ends_with("stdin.ndjson"));
        paths.sort();
        paths.iter().map(|path| lines(std::fs::read_to_string(path).unwrap())).collect()
    }

    /// What each process of the agent was started with, as the records have it.
    pub(crate) fn agent_arguments(&self) -> Vec<String> {
        let records = std::fs::read_dir(self.path("records")).into_iter().flatten().flatten();
        let arguments =
            records.map(|entry| entry.path()).filter(|path| path.to_string_lossy().ends_with("argv.json"));
        arguments.map(|path| std::fs::read_to_string(path).unwrap()).collect()
    }

    /// A file of the project; empty if there is none.
    pub(crate) fn file(&self, path: &str) -> String {
        std::fs::read_to_string(self.root().join(path)).unwrap_or_default()
    }

    /// Where its logs are.
    pub(crate) fn store(&self) -> BlockingStore {
        BlockingStore::new(Files::new(self.root().join(".rapport/sessions")))
    }

    /// Its only session.
    pub(crate) fn session(&self) -> SessionId {
        let all = self.store().list().unwrap();
        assert_eq!(all.len(), 1, "one session was expected: {all:?}");
        all[0].clone()
    }

    /// Lets count what a test put into the log of its only session, as if Rapport had left it so.
    #[track_caller]
    pub(crate) fn trust(&self) {
        self.rapport(&["trust", "--yes", self.session().as_str()]).check(0, "is trusted from now on");
    }

    /// Its only session's facts.
    pub(crate) fn facts(&self) -> Vec<Event> {
        let entries = self.store().read(&self.session(), 0).unwrap();
        entries.into_iter().flat_map(|entry| entry.facts).collect()
    }

    /// The facts of its only session, entry by entry.
    pub(crate) fn facts_by_entry(&self) -> Vec<Vec<Event>> {
        let entries = self.store().read(&self.session(), 0).unwrap();
        entries.into_iter().map(|entry| entry.facts).collect()
    }

    /// Its only session as it stands.
    pub(crate) fn view(&self) -> View {
        let ran = self.rapport(&["status", "--json", self.session().as_str()]);
        serde_json::from_slice(&ran.0.stdout).unwrap()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        let identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
        let output = Command::new("git").args(identity).args(args).current_dir(self.root()).output().unwrap();
        assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Every conversation of the scripted agent, as it keeps them.
    pub(crate) fn transcripts(&self) -> Vec<Vec<Value>> {
        self.transcripts_below("home/.rapport/rehearsal/projects")
    }

    /// Every conversation below this folder.
    pub(crate) fn transcripts_below(&self, folder: &str) -> Vec<Vec<Value>> {
        let mut found = Vec::new();
        collect(&self.path(folder), &mut found);
        let lines = |path: &PathBuf| {
            let text = std::fs::read_to_string(path).unwrap();
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
        };
        found.iter().map(lines).collect()
    }
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => collect(&path, found),
            path => found.push(path),
        }
    }
}

/// A line of a log as a person without a key writes it: with a checksum, and without a seal.
pub(crate) fn unsigned(mut entry: serde_json::Value) -> String {
    for field in ["seal", "crc"] {
        entry.as_object_mut().unwrap().remove(field);
    }
    let line = entry.to_string();
    let checked = line.strip_suffix('}').unwrap();
    format!("{checked},\"crc\":\"{:08x}\"}}\n", crc32fast::hash(checked.as_bytes()))
}
