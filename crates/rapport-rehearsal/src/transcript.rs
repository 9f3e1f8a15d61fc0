//! The conversation on disk, where the real CLI keeps it and in its format, with a few additional lines. Every line is
//! written before its event is printed, so that kill -9 at any instant loses nothing.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::folder::folder_name;
use super::history::{History, HistoryPosition, OpenCall};
use super::placeholders::Answer;
use super::result::Totals;
use super::stream::{new_uuid, now};
use super::{Problem, VERSION};

/// A conversation's file and its state.
pub(super) struct Transcript {
    pub(super) path: PathBuf,
    pub(super) history: History,
    session_id: String,
    cwd: String,
    /// Opened with the first line: a conversation without a message has no file.
    file: Option<File>,
}

impl Transcript {
    /// The transcript of a conversation in this directory, with its existing lines.
    pub(super) fn open(cwd: &Path, session_id: &str) -> io::Result<Self> {
        let path = path_of(cwd, session_id);
        let history = read(&path)?;
        let cwd = cwd.to_string_lossy().into_owned();
        Ok(Self { path, history, session_id: session_id.to_owned(), cwd, file: None })
    }

    /// Whether such a conversation exists.
    pub(super) fn exists(cwd: &Path, session_id: &str) -> bool {
        path_of(cwd, session_id).is_file()
    }

    /// Copies a conversation under a new id; the original is unchanged.
    pub(super) fn fork(cwd: &Path, from: &str, to: &str) -> io::Result<()> {
        let bytes = std::fs::read(path_of(cwd, from))?;
        let text = String::from_utf8_lossy(&bytes);
        let mut copy = String::new();
        for mut line in lines(&text) {
            line["sessionId"] = json!(to);
            copy.push_str(&format!("{line}\n"));
        }
        std::fs::write(path_of(cwd, to), copy)
    }

    /// Records a user message, with its uuid if it has one.
    pub(super) fn message(&mut self, text: &str, name: Option<&str>) -> io::Result<()> {
        let mut line = self.entry("user", json!({"role": "user", "content": text}));
        if let Some(name) = name {
            line["uuid"] = json!(name);
        }
        self.write(line)
    }

    /// Records a user message during a turn.
    pub(super) fn steering(&mut self, text: &str, name: Option<&str>) -> io::Result<()> {
        let mut line = self.entry("attachment", Value::Null);
        line["attachment"] = json!({"type": "queued_command", "prompt": text, "source_uuid": name});
        self.write(line)
    }

    /// Records the model's output at this position of the script.
    pub(super) fn assistant(&mut self, place: HistoryPosition, message: Value) -> io::Result<()> {
        let mut line = self.entry("assistant", message);
        line["rehearsal"] = json!({"entry": place.entry, "step": place.step, "call": place.call});
        self.write(line)
    }

    /// Records a tool result.
    pub(super) fn tool_result(&mut self, block: Value, tool_use_result: &Value) -> io::Result<()> {
        let mut line = self.entry("user", json!({"role": "user", "content": [block]}));
        line["toolUseResult"] = tool_use_result.clone();
        self.write(line)
    }

    /// Records a tool call that will be resumed.
    pub(super) fn deferred(&mut self, call: &OpenCall) -> io::Result<()> {
        let mut line = self.entry("deferred_tool_use", Value::Null);
        line["tool_use_id"] = json!(call.id);
        line["tool_name"] = json!(call.name);
        line["tool_input"] = call.input.clone();
        self.write(line)
    }

    /// Records a note about the script at this position.
    pub(super) fn note(&mut self, event: &str, place: HistoryPosition) -> io::Result<()> {
        self.note_with(event, place, json!({}))
    }

    /// Records a tool that needs no permission from now on.
    pub(super) fn allow_tool(&mut self, tool: &str) -> io::Result<()> {
        self.note_with("tool_allowed", HistoryPosition::default(), json!({"tool": tool}))
    }

    /// Records the content of a file before an edit is made.
    pub(super) fn plan_edit(&mut self, place: HistoryPosition, content: &str) -> io::Result<()> {
        self.note_with("edit_planned", place, json!({"content": content}))
    }

    /// Records a question that a message answered.
    pub(super) fn answered(&mut self, call: &OpenCall, answers: &[Answer]) -> io::Result<()> {
        let answers: Vec<Value> = answers
            .iter()
            .map(|(question, answer)| json!({"question": question, "answer": answer}))
            .collect();
        self.note_with("answered", call.place, json!({"tool_use_id": call.id, "answers": answers}))
    }

    /// Records a model response.
    pub(super) fn response(&mut self, place: HistoryPosition, totals: Totals) -> io::Result<()> {
        self.note_with("response", place, json!({"usage": totals.usage, "cost_usd": totals.cost_usd}))
    }

    fn note_with(&mut self, event: &str, place: HistoryPosition, mut line: Value) -> io::Result<()> {
        line["type"] = json!("rehearsal");
        line["event"] = json!(event);
        line["entry"] = json!(place.entry);
        line["step"] = json!(place.step);
        line["call"] = json!(place.call);
        line["sessionId"] = json!(self.session_id);
        line["timestamp"] = json!(now());
        self.write(line)
    }

    fn entry(&self, kind: &str, message: Value) -> Value {
        let mut line = json!({
            "type": kind, "uuid": new_uuid(), "parentUuid": self.history.last_uuid, "timestamp": now(),
            "sessionId": self.session_id, "cwd": self.cwd, "version": VERSION,
            "isSidechain": false, "userType": "external",
        });
        if !message.is_null() {
            line["message"] = message;
        }
        line
    }

    /// One write per line: a kill leaves the whole line or a torn one at the very end, which readers skip.
    fn write(&mut self, line: Value) -> io::Result<()> {
        let text = format!("{line}\n");
        self.append(text.as_bytes()).map_err(|error| about(&self.path, &error))?;
        self.history.apply(&line);
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(open_for_append(&self.path)?),
        };
        file.write_all(bytes)
    }
}

/// The real CLI's error for an unknown conversation.
pub(super) fn not_found(session_id: &str) -> Problem {
    Problem::refused(format!("No conversation found with session ID: {session_id}"))
}

/// The real CLI's error for an id in use.
pub(super) fn in_use(session_id: &str) -> Problem {
    Problem::refused(format!("Error: Session ID {session_id} is already in use."))
}

fn path_of(cwd: &Path, session_id: &str) -> PathBuf {
    let home = std::env::var_os("CLAUDE_CONFIG_DIR")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".claude")))
        .unwrap_or_else(|| PathBuf::from(".claude"));
    let folder = folder_name(&cwd.to_string_lossy());
    // An id is a name, never a path.
    let name = session_id.replace(['/', '\\'], "-");
    home.join("projects").join(folder).join(format!("{name}.jsonl"))
}

fn read(path: &Path) -> io::Result<History> {
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(about(path, &error)),
    };
    let mut history = History::default();
    lines(&text).for_each(|line| history.apply(&line));
    Ok(history)
}

/// The whole lines of a transcript; torn ones are skipped.
fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(Value::is_object)
}

/// The error with the file it is about.
pub(super) fn about(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn open_for_append(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let torn = std::fs::read(path).is_ok_and(|bytes| bytes.last().is_some_and(|last| *last != b'\n'));
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    if torn {
        file.write_all(b"\n")?;
    }
    Ok(file)
}
