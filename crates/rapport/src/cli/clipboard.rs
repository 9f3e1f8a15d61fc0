//! Reads the clipboard through the system's own program, as a shell script would.

use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

use super::typed_lines;
use crate::error::{Code, Failure};

/// A program that prints the clipboard.
struct Reader {
    /// The variable that must be set for its kind of clipboard.
    needs: Option<&'static str>,
    words: &'static [&'static str],
}

#[cfg(target_os = "macos")]
const READERS: [Reader; 1] = [Reader { needs: None, words: &["pbpaste"] }];

#[cfg(not(target_os = "macos"))]
const READERS: [Reader; 3] = [
    Reader { needs: Some("WAYLAND_DISPLAY"), words: &["wl-paste", "--no-newline"] },
    Reader { needs: Some("DISPLAY"), words: &["xclip", "-selection", "clipboard", "-out"] },
    Reader { needs: Some("DISPLAY"), words: &["xsel", "--clipboard", "--output"] },
];

/// The text in the clipboard, from the first installed program that prints one.
pub(super) fn read() -> Result<String, Failure> {
    let usable = READERS.iter().filter(|reader| reader.needs.is_none_or(is_set));
    let usable: Vec<_> = usable.map(|reader| reader.words).collect();
    if usable.is_empty() {
        return Err(failure("there is none without a desktop (neither WAYLAND_DISPLAY nor DISPLAY is set)"));
    }
    let mut troubles = Vec::new();
    for words in &usable {
        match run(words) {
            Ok(output) if output.status.success() => return text(output.stdout),
            Ok(output) => troubles.push(error_line(words[0], &output)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => troubles.push(format!("{}: {error}", words[0])),
        }
    }
    if troubles.is_empty() {
        let names: Vec<_> = usable.iter().map(|words| words[0]).collect();
        return Err(failure(&format!("one of these programs is needed: {}", names.join(", "))));
    }
    Err(failure(&troubles.join("; ")))
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|value| !value.is_empty())
}

fn run(words: &[&str]) -> std::io::Result<Output> {
    Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output()
}

fn text(printed: Vec<u8>) -> Result<String, Failure> {
    let text = typed_lines::all(printed.as_slice(), "the plan from the clipboard")?;
    if text.trim().is_empty() { Err(failure("it is empty")) } else { Ok(text) }
}

/// The error message of a program.
fn error_line(program: &str, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    match said.lines().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!("{program}: {line}"),
        None => format!("{program}: {}", output.status),
    }
}

fn failure(why: &str) -> Failure {
    Failure::new(Code::Usage, format!("cannot read a plan from the clipboard: {why}"))
        .hint("Name the plan's file: rapport execute plan.md")
        .hint("Or pipe the plan in: rapport execute -")
}
