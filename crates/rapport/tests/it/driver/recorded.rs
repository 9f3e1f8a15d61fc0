//! Exchanges with the real CLI, as recorded.

use std::path::Path;

use serde_json::Value;

/// One line of an exchange.
pub(super) struct Recorded {
    pub(super) to_host: bool,
    pub(super) line: Value,
}

/// An exchange by its name.
pub(super) fn exchange(name: &str) -> Vec<Recorded> {
    let path = folder().join(format!("{name}.ndjson"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(recorded).collect()
}

/// The names of all exchanges.
pub(super) fn names() -> Vec<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path());
    let mut names: Vec<_> =
        files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

/// What the CLI printed in an exchange.
pub(super) fn printed(name: &str) -> Vec<String> {
    let lines = exchange(name).into_iter().filter(|recorded| recorded.to_host);
    lines.map(|recorded| recorded.line.to_string()).collect()
}

/// What the CLI was told in an exchange.
pub(super) fn told(name: &str) -> Vec<Value> {
    let lines = exchange(name).into_iter().filter(|recorded| !recorded.to_host);
    lines.map(|recorded| recorded.line).collect()
}

fn recorded(line: &str) -> Recorded {
    let mut recorded: Value = serde_json::from_str(line).unwrap();
    Recorded { to_host: recorded["to"] == "host", line: recorded["line"].take() }
}

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/recorded"))
}
