//! A conversation as the CLI stores it on disk: which parts of an order it already contains.
//!
//! The file belongs to the CLI. Reading ignores unknown lines and a torn last line. A stored copy is restored if the
//! CLI has lost its own.

mod fork;
mod pending_calls;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use rapport_core::{CallId, ConversationId};

use super::{message_ids, wire};
use crate::workers;
use rapport_durable as durable;

pub use fork::{copy, fork};
pub use pending_calls::pending;

#[derive(Debug, Default)]
pub struct Transcript {
    exists: bool,
    lines: usize,
    calls: HashMap<String, usize>,
    results: HashMap<String, ToolResult>,
    /// The texts of messages to the agent, each with its line.
    texts: Vec<(usize, String)>,
    /// Messages sent during a turn, by name, and the line that contains each.
    named: HashMap<String, String>,
    deferred: Vec<(usize, String)>,
    branches: Branches,
    /// The line of the conversation's last own message.
    last_message: Option<usize>,
    /// The calls that enter or leave plan mode, in order.
    modes: Vec<(CallId, PlanMode)>,
}

/// The effect of a call on plan mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanMode {
    Entered,
    /// Plan mode ends, if a person agrees.
    Left,
}

#[derive(Debug)]
struct ToolResult {
    uuid: String,
    is_error: bool,
}

/// Which line follows which. A resumed conversation can continue on another branch: the model never sees the lines of
/// the old branch again.
#[derive(Debug, Default)]
struct Branches {
    parents: HashMap<String, String>,
    last: Option<String>,
}

impl Branches {
    fn note(&mut self, line: &wire::Line<'_>) {
        if line.uuid.is_empty() {
            return;
        }
        self.parents.insert(line.uuid.to_string(), line.parent_uuid.to_string());
        let is_message = matches!(line.kind(), wire::WireKind::Assistant | wire::WireKind::User);
        if (is_message || line.read_in_turn().is_some()) && !line.is_sidechain.0 {
            self.last = Some(line.uuid.to_string());
        }
    }

    /// Whether this line is on the live branch. Results of concurrent calls are siblings, each below its call, and the
    /// conversation continues from one of them.
    fn is_live(&self, uuid: &str) -> bool {
        if uuid.is_empty() {
            return true;
        }
        let live = self.live();
        live.contains(uuid) || self.parents.get(uuid).is_some_and(|parent| live.contains(parent.as_str()))
    }

    fn live(&self) -> HashSet<&str> {
        let mut live = HashSet::new();
        let mut next = self.last.as_deref();
        // A file from outside may contain a cycle.
        while let Some(uuid) = next.filter(|uuid| live.insert(*uuid)) {
            next = self.parents.get(uuid).map(String::as_str).filter(|parent| !parent.is_empty());
        }
        live
    }
}

impl Transcript {
    /// Reads the conversation of an agent with this environment in this directory.
    pub fn find(
        env: &[(OsString, OsString)],
        directory: &Path,
        conversation: &ConversationId,
    ) -> io::Result<Self> {
        match path(env, directory, conversation) {
            Some(path) => Self::read(BufReader::new(File::open(path)?)),
            None => Ok(Self::default()),
        }
    }

    /// Reads a conversation, line by line.
    pub fn read(mut reader: impl BufRead) -> io::Result<Self> {
        let mut transcript = Self { exists: true, ..Self::default() };
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            transcript.note_line(&line);
            line.clear();
        }
        Ok(transcript)
    }

    fn note_line(&mut self, line: &[u8]) {
        if let Ok(text) = std::str::from_utf8(line) {
            self.note(text);
        }
        self.lines += 1;
    }

    /// Whether such a conversation exists.
    pub fn exists(&self) -> bool {
        self.exists
    }

    /// Whether it contains this call.
    pub fn has_call(&self, call: &CallId) -> bool {
        self.calls.contains_key(call.as_str())
    }

    /// Whether the call has its answer on the live branch.
    pub fn answered(&self, call: &CallId) -> bool {
        self.result(call).is_some_and(|result| !result.is_error)
    }

    /// Whether the call was interrupted or denied, or its questions were closed without an answer.
    pub fn failed(&self, call: &CallId) -> bool {
        self.result(call).is_some_and(|result| result.is_error)
    }

    fn result(&self, call: &CallId) -> Option<&ToolResult> {
        self.results.get(call.as_str()).filter(|result| self.branches.is_live(&result.uuid))
    }

    /// Whether a message with this name is on the live branch.
    pub(super) fn has_message(&self, name: &str) -> bool {
        self.named.get(name).is_some_and(|line| self.branches.is_live(line))
    }

    /// How often the agent was sent exactly this, alone or as part of a message.
    pub fn times_sent(&self, text: &str) -> usize {
        self.texts.iter().filter(|(_, sent)| sent == text).count()
    }

    /// Whether a message of answers after this call is about this question (CLARIFY-11).
    pub fn was_answered_since(&self, call: &CallId, question: &str) -> bool {
        let since = self.calls.get(call.as_str()).copied().unwrap_or_default();
        let mut messages =
            self.texts.iter().filter(|(line, text)| *line >= since && text.starts_with(ANSWERS));
        messages.any(|(_, text)| text.contains(&format!(": {question}\n")))
    }

    /// Whether the call was deferred and will be repeated when the conversation is resumed. That no longer holds once
    /// the conversation continued, with any result or message: the CLI may repeat the call even then, but the model
    /// reads that the result is missing.
    pub fn is_deferred(&self, call: &CallId) -> bool {
        let quoted = format!("\"{call}\"");
        let noted = self.deferred.iter().rev().find(|(_, note)| note.contains(&quoted));
        noted.is_some_and(|(noted, _)| self.last_message.is_none_or(|last| last < *noted))
    }

    /// Whether any call was deferred and will be repeated.
    pub fn has_deferred(&self) -> bool {
        self.calls.keys().any(|call| self.is_deferred(&CallId::new(call)))
    }

    /// Whether the agent last entered or left plan mode, according to the call's result, or to this decision about a
    /// call without one. The CLI itself does not restore the mode on resume.
    pub(crate) fn plan_mode(&self, decided: impl Fn(&CallId) -> bool) -> Option<PlanMode> {
        let took_effect = |(call, mode): &&(CallId, PlanMode)| {
            self.answered(call) || *mode == PlanMode::Left && decided(call)
        };
        self.modes.iter().rev().find(took_effect).map(|(_, mode)| *mode)
    }

    /// Whether this call asks to leave plan mode.
    pub(crate) fn leaves_plan_mode(&self, call: &CallId) -> bool {
        self.modes.iter().any(|(known, mode)| known == call && *mode == PlanMode::Left)
    }

    fn note(&mut self, text: &str) {
        let text = &*wire::without_halves(text);
        let Ok(line) = wire::parse(text) else {
            return;
        };
        if line.is_deferred_note() {
            self.deferred.push((self.lines, text.to_owned()));
        }
        self.branches.note(&line);
        if let Some(name) = line.read_in_turn() {
            self.named.insert(name.to_owned(), line.uuid.to_string());
            self.last_message = Some(self.lines);
        }
        let Some(message) = line.message.as_ref() else {
            return;
        };
        if matches!(line.kind(), wire::WireKind::Assistant | wire::WireKind::User) && !line.is_sidechain.0 {
            self.last_message = Some(self.lines);
        }
        match line.kind() {
            wire::WireKind::Assistant => {
                for call in message.blocks().filter(|block| block.is_tool_use()) {
                    self.calls.insert(call.id.to_string(), self.lines);
                    let mode = match &*call.name {
                        wire::ENTER_PLAN_MODE => PlanMode::Entered,
                        wire::EXIT_PLAN_MODE => PlanMode::Left,
                        _ => continue,
                    };
                    if !line.is_sidechain.0 {
                        self.modes.push((CallId::new(&*call.id), mode));
                    }
                }
            }
            wire::WireKind::User => self.note_user(message, &line.uuid),
            _ => {}
        }
    }

    fn note_user(&mut self, message: &wire::Message<'_>, uuid: &str) {
        let line = self.lines;
        for block in message.blocks().filter(|block| block.is_tool_result()) {
            let is_error = block.is_error.0 || block.is_unanswered();
            let result = ToolResult { uuid: uuid.to_owned(), is_error };
            self.results.insert(block.tool_use_id.to_string(), result);
        }
        // A message during a turn is identified by its name: the same words may be the prompt of another turn.
        if message_ids::is_name(uuid) {
            self.named.insert(uuid.to_owned(), uuid.to_owned());
            return;
        }
        // A message in two pieces is one message. A text counts once per message.
        let whole: String = message.texts().take(2).collect();
        let texts: BTreeSet<_> = message.texts().chain([whole.as_str()]).flat_map(parts).collect();
        self.texts
            .extend(texts.into_iter().filter(|part| !part.is_empty()).map(|part| (line, part.to_owned())));
    }
}

/// A conversation that the CLI is writing. Only new lines are read, so that checking it often costs no more than
/// reading it once.
#[derive(Debug, Default)]
pub(super) struct Growing {
    path: Option<PathBuf>,
    /// The length that was read, up to the end of a line.
    end: u64,
    transcript: Transcript,
}

impl Growing {
    /// Reads new lines of the file at this path. A file that was replaced or truncated is read from its beginning.
    pub(super) fn read(&mut self, path: Option<PathBuf>) -> io::Result<()> {
        let Some(path) = path else { return Ok(()) };
        let mut file = File::open(&path)?;
        if self.path.as_ref() != Some(&path) || file.metadata()?.len() < self.end {
            let transcript = Transcript { exists: true, ..Transcript::default() };
            *self = Self { path: Some(path), end: 0, transcript };
        }
        file.seek(SeekFrom::Start(self.end))?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        // A line without an end is read again as a whole.
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            self.transcript.note_line(&line);
            self.end += line.len() as u64;
            line.clear();
        }
        Ok(())
    }

    pub(super) fn transcript(&self) -> &Transcript {
        &self.transcript
    }
}

/// The beginning of a message with answers; if a message has two parts, the answers come second.
pub(super) const ANSWERS: &str = "Here are my answers to your questions:";

/// A message, and its parts.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let joint = format!("\n\n{ANSWERS}");
    let split = text.rfind(&joint).map(|at| [&text[..at], &text[at + 2..]]);
    [text].into_iter().chain(split.into_iter().flatten())
}

/// The path of this conversation, if the CLI has it.
pub(super) fn path(
    env: &[(OsString, OsString)],
    directory: &Path,
    conversation: &ConversationId,
) -> Option<PathBuf> {
    let expected = expected(env, directory, conversation)?;
    if expected.is_file() {
        return Some(expected);
    }
    let folders = fs::read_dir(expected.parent()?.parent()?).ok()?;
    let name = expected.file_name()?;
    folders.flatten().map(|folder| folder.path().join(name)).find(|path| path.is_file())
}

/// The content of a conversation, if the CLI has it.
pub fn content(
    env: &[(OsString, OsString)],
    directory: &Path,
    conversation: &ConversationId,
) -> io::Result<Option<Vec<u8>>> {
    path(env, directory, conversation).map(fs::read).transpose()
}

/// Whether the CLI does not have this conversation.
pub(super) fn is_missing(
    env: &[(OsString, OsString)],
    directory: &Path,
    conversation: &ConversationId,
) -> bool {
    path(env, directory, conversation).is_none()
}

/// Restores a conversation to where the CLI expects it: from the folder of another directory, or from the stored
/// copy.
pub(super) fn restore(
    env: &[(OsString, OsString)],
    directory: &Path,
    conversation: &ConversationId,
    kept: Option<Vec<u8>>,
) -> io::Result<()> {
    let Some(expected) = expected(env, directory, conversation).filter(|path| !path.is_file()) else {
        return Ok(());
    };
    // The conversation of a moved project is in the folder of the old directory, which older CLIs do not read.
    let moved = content(env, directory, conversation)?;
    let Some(content) = moved.or(kept) else { return Ok(()) };
    durable::private_folder(expected.parent().unwrap_or(&expected))?;
    durable::replace_private(&expected, &content)
}

/// Refuses a conversation, or a path for one, if a link leads out of this home.
pub(super) fn stays_in(
    home: &Path,
    env: &[(OsString, OsString)],
    directory: &Path,
    conversation: &ConversationId,
) -> io::Result<()> {
    let places = [path(env, directory, conversation), expected(env, directory, conversation)];
    places.iter().flatten().try_for_each(|place| workers::leads_inside(home, place))
}

/// Where the CLI expects this conversation.
pub(super) fn expected(
    env: &[(OsString, OsString)],
    directory: &Path,
    conversation: &ConversationId,
) -> Option<PathBuf> {
    Some(home(env)?.join("projects").join(folder(directory)).join(file_name(conversation)?))
}

/// The CLI's directory.
pub(super) fn home(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    variable(env, "CLAUDE_CONFIG_DIR").or_else(|| variable(env, "HOME").map(|home| home.join(".claude")))
}

/// A directory from a variable of the agent's environment.
pub(super) fn variable(env: &[(OsString, OsString)], name: &str) -> Option<PathBuf> {
    let mut values = env.iter().filter(|(key, _)| key.as_os_str() == OsStr::new(name));
    values.next_back().map(|(_, value)| PathBuf::from(value)).filter(|path| !path.as_os_str().is_empty())
}

/// The id comes from outside: one that could lead to another path is refused.
fn file_name(conversation: &ConversationId) -> Option<String> {
    let id = conversation.as_str();
    let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    (!id.is_empty() && id.chars().all(plain)).then(|| format!("{id}.jsonl"))
}

fn folder(directory: &Path) -> String {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    folder_name(&directory.to_string_lossy())
}

/// The CLI's name for the folder of a directory's conversations, as observed with 2.1.325: letters and digits, hyphens
/// for everything else; a long name is cut and gets a checksum. Lengths are in UTF-16 units.
pub(crate) fn folder_name(directory: &str) -> String {
    const LONGEST: usize = 200;
    let plain = |unit: u16| {
        let letter = u8::try_from(unit).ok().filter(u8::is_ascii_alphanumeric);
        letter.map_or('-', char::from)
    };
    let mut name: String = directory.encode_utf16().map(plain).collect();
    if name.len() > LONGEST {
        let add = |sum: i32, unit: u16| sum.wrapping_mul(31).wrapping_add(unit.into());
        let sum = directory.encode_utf16().fold(0, add);
        name.truncate(LONGEST);
        name = format!("{name}-{}", base_36(sum.unsigned_abs()));
    }
    name
}

fn base_36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.extend(char::from_digit(number % 36, 36));
        number /= 36;
        if number == 0 {
            return digits.into_iter().rev().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// Lines are read once: a conversation may be as long as a day's work. A line is applied once it is complete.
    #[test]
    fn a_growing_conversation_is_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c.jsonl");
        let used = |id: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"{id}","name":"Bash"}}]}}}}"#
            )
        };
        let has = |growing: &Growing, id: &str| growing.transcript().has_call(&CallId::new(id));
        let mut growing = Growing::default();
        growing.read(None).unwrap();
        assert!(!growing.transcript().exists());
        let first = format!("{}\n", used("one"));
        fs::write(&path, &first).unwrap();
        growing.read(Some(path.clone())).unwrap();
        assert!(growing.transcript().exists() && has(&growing, "one"));
        // The part already read was replaced, which goes unnoticed.
        let torn = &used("two")[..30];
        fs::write(&path, format!("{}{torn}", first.replace("one", "six"))).unwrap();
        growing.read(Some(path.clone())).unwrap();
        assert!(has(&growing, "one") && !has(&growing, "six") && !has(&growing, "two"));
        let rest = format!("{}\n", &used("two")[30..]);
        File::options().append(true).open(&path).unwrap().write_all(rest.as_bytes()).unwrap();
        growing.read(Some(path.clone())).unwrap();
        assert!(has(&growing, "two"));
        fs::write(&path, format!("{}\n", used("new"))).unwrap();
        growing.read(Some(path)).unwrap();
        assert!(has(&growing, "new") && !has(&growing, "one"), "a shorter one is another");
    }

    /// Otherwise an agent could make its host read any file, and be shown it when it is resumed.
    #[test]
    fn no_link_leads_to_a_conversation_out_of_a_home() {
        let folder = tempfile::tempdir().unwrap();
        let (home, id) = (folder.path().join("home"), ConversationId::new("c"));
        let env = vec![(OsString::from("HOME"), home.clone().into_os_string())];
        let check = || stays_in(&home, &env, folder.path(), &id).is_ok();
        let place = expected(&env, folder.path(), &id).unwrap();
        let above = place.parent().unwrap();
        fs::create_dir_all(&home).unwrap();
        assert!(check(), "there is nothing yet");
        fs::create_dir_all(above).unwrap();
        fs::write(&place, "{}\n").unwrap();
        assert!(check());
        fs::remove_file(&place).unwrap();
        fs::write(folder.path().join("secret"), "secret\n").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), &place).unwrap();
        assert!(!check(), "a link instead of it");
        fs::remove_dir_all(above).unwrap();
        std::os::unix::fs::symlink(folder.path(), above).unwrap();
        assert!(!check(), "a link on the way to it");
    }

    /// Names observed with the CLI.
    #[test]
    fn conversations_are_where_the_cli_looks_for_them() {
        let long = "long".repeat(30);
        let cut = &"long".repeat(16)[..59];
        let cases = [
            ("/tmp/tmp.h6FboR75GF/my app_x.y+ü".to_owned(), "-tmp-tmp-h6FboR75GF-my-app-x-y--".to_owned()),
            (
                format!("/tmp/tmp.h6FboR75GF/{long}/{long}"),
                format!("-tmp-tmp-h6FboR75GF-{long}-{cut}-rjzqe0"),
            ),
        ];
        for (directory, name) in cases {
            assert_eq!(folder_name(&directory), name);
        }
    }
}
