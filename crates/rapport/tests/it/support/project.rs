//! A project with an empty home, and the `rapport` binary in it.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use rapport::stores::Store as _;
use rapport::stores::files::Files;
use rapport_core::{Entry, Event, SessionId, View};
use serde_json::Value;
use tempfile::TempDir;

/// A git repository with one commit, and nothing else in the world.
pub(crate) struct Project {
    folder: TempDir,
    env: Vec<(String, String)>,
}

impl Project {
    /// A project whose agent plays this scenario.
    pub(crate) fn with_scenario(yaml: &str) -> Self {
        let project = Self::with_agent("");
        std::fs::write(project.path("scenario.yaml"), yaml).unwrap();
        let command = format!("rehearsal --scenario {}", project.path("scenario.yaml").display());
        project.set("RAPPORT_AGENT_COMMAND", &command)
    }

    /// A project with this agent.
    pub(crate) fn with_agent(command: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = Self { folder, env: Vec::new() }.set("RAPPORT_AGENT_COMMAND", command);
        std::fs::create_dir_all(project.path("home")).unwrap();
        std::fs::create_dir_all(project.root()).unwrap();
        std::fs::write(project.root().join("README.md"), "# An app\n").unwrap();
        project.git(&["init", "--quiet", "--initial-branch=main"]);
        project.git(&["add", "--all"]);
        project.git(&["commit", "--quiet", "-m", "An app"]);
        project
    }

    /// The same with a variable for every command.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.into(), value.into()));
        self
    }

    /// Something beside the project.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The project's own directory.
    pub(crate) fn root(&self) -> PathBuf {
        self.path("app")
    }

    /// `rapport`, ready to be given arguments.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rapport"));
        command.current_dir(self.root()).env_clear().env("HOME", self.path("home"));
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).stdin(Stdio::null());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it to its end.
    pub(crate) fn rapport<S: AsRef<OsStr>>(&self, args: &[S]) -> Ran {
        Ran(self.command().args(args).output().unwrap())
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

    /// Where its logs are.
    pub(crate) fn store(&self) -> Files {
        Files::new(self.root().join(".rapport/sessions"))
    }

    /// Its only session.
    pub(crate) fn session(&self) -> SessionId {
        let all = self.store().list().unwrap();
        assert_eq!(all.len(), 1, "one session was expected: {all:?}");
        all[0].clone()
    }

    /// Its only session's facts.
    pub(crate) fn facts(&self) -> Vec<Event> {
        let entries = self.store().read(&self.session(), 0).unwrap();
        entries.into_iter().flat_map(|entry| entry.facts).collect()
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
        let mut found = Vec::new();
        collect(&self.path("home/.rapport/rehearsal/projects"), &mut found);
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

/// A command that ran.
pub(crate) struct Ran(pub(crate) Output);

impl Ran {
    pub(crate) fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    pub(crate) fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// Its exit code, and that it said this.
    #[track_caller]
    pub(crate) fn check(&self, code: i32, says: &str) -> &Self {
        let all = format!("{}{}", self.out(), self.err());
        assert_eq!(self.code(), code, "{all}");
        assert!(all.contains(says), "{says:?} was expected in:\n{all}");
        self
    }
}

/// A `rapport run` under way.
pub(crate) struct Running {
    pub(crate) child: Child,
    lines: BufReader<ChildStdout>,
}

impl Running {
    /// The next entry it has stored; `None` when it is over or gone.
    pub(crate) fn next(&mut self) -> Option<Entry> {
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            if let Ok(entry) = Entry::from_json(&line) {
                return Some(entry);
            }
        }
    }

    /// Reads on until a fact like this; panics if there is none.
    pub(crate) fn until(&mut self, what: impl Fn(&Event) -> bool) -> Event {
        while let Some(entry) = self.next() {
            if let Some(fact) = entry.facts.into_iter().find(|fact| what(fact)) {
                return fact;
            }
        }
        let mut error = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = std::io::Read::read_to_string(&mut stderr, &mut error);
        }
        panic!("the run ended before what was expected; it said: {error}");
    }

    /// Reads until a round of questions is asked.
    pub(crate) fn until_asked(&mut self) -> Event {
        self.until(|fact| matches!(fact, Event::Asked { .. }))
    }

    /// Reads to the end and gives the exit code (-1 for a signal).
    pub(crate) fn finish(mut self) -> i32 {
        while self.next().is_some() {}
        self.child.wait().unwrap().code().unwrap_or(-1)
    }

    /// `kill -9`.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
