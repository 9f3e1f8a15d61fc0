//! The tools that are executed: Write, Edit and Bash, inside the working directory.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::Sender;
use std::thread;

use serde_json::{Value, json};

use super::inbox::AgentInput;

/// The result of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Done {
    pub(super) content: String,
    pub(super) is_error: bool,
    /// The result for programs.
    pub(super) result: Value,
}

/// A prepared edit: the file and its new content.
pub(super) struct PlannedEdit {
    path: PathBuf,
    pub(super) content: String,
}

impl Done {
    pub(super) fn ok(content: impl Into<String>, result: Value) -> Self {
        Self { content: content.into(), is_error: false, result }
    }

    pub(super) fn error(content: impl Into<String>) -> Self {
        let content = content.into();
        Self { result: json!(format!("Error: {content}")), content, is_error: true }
    }
}

/// Writes a whole file.
pub(super) fn write(cwd: &Path, input: &Value) -> Done {
    let (path, content) = (text(input, "file_path"), text(input, "content"));
    let target = match inside(cwd, path) {
        Ok(target) => target,
        Err(why) => return Done::error(why),
    };
    let original = std::fs::read_to_string(&target).ok();
    match put(&target, content) {
        Ok(()) => written(path, content, original),
        Err(error) => Done::error(format!("cannot write {path}: {error}")),
    }
}

/// Write's message on success.
pub(super) fn written(path: &str, content: &str, original: Option<String>) -> Done {
    let (kind, said) = match original {
        None => ("create", format!("File created successfully at: {path}")),
        Some(_) => ("update", format!("The file {path} has been updated successfully.")),
    };
    Done::ok(
        format!("{said} (file state is current in your context — no need to Read it back)"),
        json!({
            "type": kind, "filePath": path, "content": content, "structuredPatch": [],
            "originalFile": original, "userModified": false,
        }),
    )
}

/// Prepares an edit without making it.
pub(super) fn plan_edit(cwd: &Path, input: &Value) -> Result<PlannedEdit, Done> {
    let (path, find) = (text(input, "file_path"), text(input, "old_string"));
    let target = inside(cwd, path).map_err(Done::error)?;
    let before = std::fs::read_to_string(&target)
        .map_err(|error| Done::error(format!("cannot read {path}: {error}")))?;
    if find.is_empty() || !before.contains(find) {
        return Err(Done::error(format!("String to replace not found in file.\nString: {find}")));
    }
    Ok(PlannedEdit { path: target, content: before.replacen(find, text(input, "new_string"), 1) })
}

/// Makes an edit.
pub(super) fn make_edit(planned: &PlannedEdit, input: &Value) -> Done {
    match put(&planned.path, &planned.content) {
        Ok(()) => edited(input),
        Err(error) => Done::error(format!("cannot write {}: {error}", planned.path.display())),
    }
}

/// Whether the file has exactly this content.
pub(super) fn holds(cwd: &Path, input: &Value, content: &str) -> bool {
    let target = inside(cwd, text(input, "file_path"));
    target.is_ok_and(|target| std::fs::read_to_string(target).is_ok_and(|now| now == content))
}

/// Edit's message on success.
pub(super) fn edited(input: &Value) -> Done {
    let path = text(input, "file_path");
    Done::ok(
        format!(
            "The file {path} has been updated successfully. (file state is current in your context — no need to Read it back)"
        ),
        json!({
            "filePath": path, "oldString": text(input, "old_string"), "newString": text(input, "new_string"),
            "structuredPatch": [], "userModified": false, "replaceAll": false,
        }),
    )
}

/// Starts a command; its end is reported as `Happened::Ran`. The child is returned so that it can be stopped.
///
/// It stays in this process group, so that killing the agent's group kills it too.
pub(super) fn start_bash(
    cwd: &Path,
    input: &Value,
    run: u64,
    reports: Sender<AgentInput>,
) -> io::Result<u32> {
    let child = Command::new("sh")
        .args(["-c", text(input, "command")])
        .current_dir(cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let pid = child.id();
    thread::spawn(move || {
        // The receiver is dropped when the play is over.
        let _ = reports.send(AgentInput::Ran { run, done: wait(child) });
    });
    Ok(pid)
}

/// Bash's message on success.
pub(super) fn ran(stdout: &str, stderr: &str) -> Done {
    let said = [stdout, stderr].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n");
    Done::ok(
        said,
        json!({
            "stdout": stdout, "stderr": stderr, "interrupted": false, "isImage": false, "noOutputExpected": false,
        }),
    )
}

/// The absolute path the model names.
pub(super) fn absolute(cwd: &Path, path: &str) -> String {
    cwd.join(path).to_string_lossy().into_owned()
}

fn wait(child: Child) -> Done {
    let Output { status, stdout, stderr } = match child.wait_with_output() {
        Ok(output) => output,
        Err(error) => return Done::error(format!("cannot run the command: {error}")),
    };
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let done = ran(&said(&stdout), &said(&stderr));
    if status.success() {
        return done;
    }
    let code = status.code().map_or_else(|| status.to_string(), |code| format!("Exit code {code}"));
    Done::error(format!("{code}\n{}", done.content).trim_end().to_owned())
}

/// The resolved path, refused if it leaves the working directory by `..` or a link.
fn inside(cwd: &Path, path: &str) -> Result<PathBuf, String> {
    let outside = || format!("{path} is outside the working directory {}", cwd.display());
    let full = cwd.join(path);
    let mut existing = full.as_path();
    let mut missing = Vec::new();
    while existing.symlink_metadata().is_err() {
        missing.push(existing.file_name().ok_or_else(outside)?);
        existing = existing.parent().ok_or_else(outside)?;
    }
    let real = existing.canonicalize().map_err(|_| outside())?;
    let root = cwd.canonicalize().map_err(|_| outside())?;
    if !real.starts_with(root) {
        return Err(outside());
    }
    Ok(missing.into_iter().rev().fold(real, |path, name| path.join(name)))
}

fn put(path: &Path, content: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, content)
}

fn text<'a>(input: &'a Value, key: &str) -> &'a str {
    input[key].as_str().unwrap_or_default()
}
