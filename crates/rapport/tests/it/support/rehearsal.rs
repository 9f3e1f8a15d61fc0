//! A separate rehearsal: temporary directory, home, project, scenario, counter and records, so that tests do not
//! interfere (CLARIFY-27). `Live` is a process that a test talks to line by line.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The flags of a live conversation, as the driver passes them.
pub(crate) const LIVE: &[&str] = &[
    "-p",
    "--verbose",
    "--input-format",
    "stream-json",
    "--output-format",
    "stream-json",
    "--permission-prompt-tool",
    "stdio",
];

/// The flags of plain mode with events.
pub(crate) const PLAIN: &[&str] = &["-p", "--verbose", "--output-format", "stream-json"];

/// Nothing in a rehearsal takes this long; a test that waits longer has failed.
const PATIENCE: Duration = Duration::from_secs(30);

/// A scenario with everything it needs around it.
pub(crate) struct Rehearsal {
    dir: TempDir,
    scenario: PathBuf,
    counted: bool,
}

impl Rehearsal {
    /// A scenario passed by `--scenario`.
    pub(crate) fn of(scenario: ScenarioBuilder) -> Self {
        let dir = TempDir::new().unwrap();
        let scenario = scenario.write_into(dir.path()).unwrap();
        Self::at(dir, scenario)
    }

    /// A scenario written as a file would be.
    pub(crate) fn of_text(text: &str) -> Self {
        let dir = TempDir::new().unwrap();
        let scenario = dir.path().join("scenario.yaml");
        std::fs::write(&scenario, text).unwrap();
        Self::at(dir, scenario)
    }

    /// A built-in scenario.
    pub(crate) fn built_in(name: &str) -> Self {
        Self::at(TempDir::new().unwrap(), name.into())
    }

    /// A scenario passed by `FAKE_CLAUDE_CONFIG`, whose invocations are counted.
    pub(crate) fn counted(scenario: ScenarioBuilder) -> Self {
        Self { counted: true, ..Self::of(scenario) }
    }

    fn at(dir: TempDir, scenario: PathBuf) -> Self {
        for name in ["home", "project"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        Self { dir, scenario, counted: false }
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.dir.path().join("project").canonicalize().unwrap()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().join("home")
    }

    /// A file of the project.
    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.project().join(name)).ok()
    }

    /// The transcript of a session.
    pub(crate) fn transcript(&self, session: &str) -> PathBuf {
        let folder = self.project().to_string_lossy().replace(['/', '.'], "-");
        self.home().join(".claude/projects").join(folder).join(format!("{session}.jsonl"))
    }

    /// What a process needs in its environment.
    pub(crate) fn env(&self) -> Vec<(&'static str, PathBuf)> {
        let mut env = vec![("HOME", self.home()), ("RAPPORT_REHEARSAL_RECORD", self.record_dir())];
        if self.counted {
            env.push(("FAKE_CLAUDE_CONFIG", self.scenario.clone()));
        }
        env
    }

    /// How many processes were started.
    pub(crate) fn invocation_count(&self) -> usize {
        self.records("argv.json").len()
    }

    /// The command line of process `n`, from 1.
    pub(crate) fn argv(&self, n: usize) -> Vec<String> {
        let text = std::fs::read_to_string(&self.records("argv.json")[n - 1]).unwrap();
        serde_json::from_value(serde_json::from_str::<Value>(&text).unwrap()["argv"].clone()).unwrap()
    }

    /// What process `n` read, from 1.
    pub(crate) fn stdin(&self, n: usize) -> Vec<Value> {
        json_lines(&std::fs::read_to_string(&self.records("stdin.ndjson")[n - 1]).unwrap())
    }

    /// What process `n` printed, from 1.
    pub(crate) fn stdout(&self, n: usize) -> Vec<Value> {
        json_lines(&std::fs::read_to_string(&self.records("stdout.ndjson")[n - 1]).unwrap())
    }

    /// Runs a process to its end, with nothing on stdin.
    pub(crate) fn run(&self, flags: &[&str]) -> Output {
        self.command(flags).stdin(Stdio::null()).output().unwrap()
    }

    /// Runs plain mode to its end and returns its events.
    pub(crate) fn plain(&self, flags: &[&str]) -> Vec<Value> {
        json_lines(&String::from_utf8(self.run(&[PLAIN, flags].concat()).stdout).unwrap())
    }

    /// Starts a live process.
    pub(crate) fn live(&self, flags: &[&str]) -> Live {
        Live::start(self.command(&[LIVE, flags].concat()))
    }

    /// Starts a live process that is told hooks for questions, and sends it a message.
    pub(crate) fn live_with(&self, flags: &[&str], hooks: Value, message: &str) -> Live {
        let mut live = self.live(flags);
        live.initialize(hooks);
        live.message(message);
        live
    }

    pub(crate) fn command(&self, flags: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rapport"));
        command.arg("rehearse").current_dir(self.project()).env_remove("CLAUDE_CONFIG_DIR");
        if !self.counted {
            command.arg("--scenario").arg(&self.scenario);
        }
        command.args(flags).envs(self.env());
        command
    }

    fn record_dir(&self) -> PathBuf {
        self.dir.path().join("records")
    }

    fn records(&self, ending: &str) -> Vec<PathBuf> {
        let Ok(dir) = std::fs::read_dir(self.record_dir()) else {
            return Vec::new();
        };
        let mut paths: Vec<_> = dir.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.to_string_lossy().ends_with(ending));
        paths.sort();
        paths
    }
}

/// A live process.
pub(crate) struct Live {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Live {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (sender, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { stdin: child.stdin.take(), child, lines }
    }

    pub(crate) fn send(&mut self, line: &Value) {
        // A process that has died reads no more; what it printed before is what the test looks at.
        let _ = writeln!(self.stdin.as_mut().unwrap(), "{line}");
    }

    pub(crate) fn initialize(&mut self, hooks: Value) {
        let request = json!({"subtype": "initialize", "hooks": hooks});
        self.send(&json!({"type": "control_request", "request_id": "init1", "request": request}));
    }

    pub(crate) fn message(&mut self, text: &str) {
        let message = json!({"role": "user", "content": text});
        self.send(&json!({"type": "user", "message": message, "parent_tool_use_id": null, "session_id": ""}));
    }

    pub(crate) fn respond(&mut self, request: &Value, response: Value) {
        let response =
            json!({"subtype": "success", "request_id": request["request_id"], "response": response});
        self.send(&json!({"type": "control_response", "response": response}));
    }

    /// Answers a question, whichever way it was asked.
    pub(crate) fn answer(&mut self, request: &Value, answers: Value) {
        let hooked = request["request"]["subtype"] == "hook_callback";
        let asked =
            if hooked { &request["request"]["input"]["tool_input"] } else { &request["request"]["input"] };
        let mut input = asked.clone();
        input["answers"] = answers;
        let response =
            if hooked { hook("allow", input) } else { json!({"behavior": "allow", "updatedInput": input}) };
        self.respond(request, response);
    }

    /// The next line, whatever it is.
    pub(crate) fn line(&mut self) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("the rehearsal went silent"),
        }
    }

    /// The next event.
    pub(crate) fn event(&mut self) -> Value {
        let line = self.line().expect("the rehearsal ended early");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line}: {error}"))
    }

    /// Reads on until an event of this type, which is returned.
    pub(crate) fn until(&mut self, kind: &str) -> Value {
        loop {
            let event = self.event();
            if event["type"] == kind {
                return event;
            }
        }
    }

    /// Closes stdin.
    pub(crate) fn close(&mut self) {
        self.stdin = None;
    }

    /// Closes stdin, reads to the end, and returns what came and how it ended.
    pub(crate) fn finish(mut self) -> (Vec<Value>, ExitStatus) {
        self.close();
        let mut events = Vec::new();
        while let Some(line) = self.line() {
            events.push(serde_json::from_str(&line).unwrap_or(Value::String(line)));
        }
        (events, self.child.wait().unwrap())
    }

    /// Kills the process as a power cut would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for the process to end by itself, with stdin still open.
    pub(crate) fn wait(mut self) -> ExitStatus {
        let open = self.stdin.take();
        let status = self.child.wait().unwrap();
        drop(open);
        status
    }
}

impl Drop for Live {
    /// A failed test leaves no process behind; one that has ended does not mind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a hook answers.
pub(crate) fn hook(decision: &str, input: Value) -> Value {
    let mut output = json!({"hookEventName": "PreToolUse", "permissionDecision": decision});
    if !input.is_null() {
        output["updatedInput"] = input;
    }
    json!({"hookSpecificOutput": output})
}

/// The hook the driver registers.
pub(crate) fn ask_hook() -> Value {
    json!({"PreToolUse": [{"matcher": "AskUserQuestion", "hookCallbackIds": ["ask"], "timeout": 86400}]})
}

/// The lines of a stream that are JSON.
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A recorded exchange with the real CLI.
pub(crate) fn recorded(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it/support/recorded")
        .join(format!("{name}.ndjson"));
    json_lines(&std::fs::read_to_string(path).unwrap())
}
