//! The core reads no file, clock, socket or environment, starts nothing, and is not random. This holds it to that:
//! its dependencies are a closed list, and its sources do not so much as mention the ways out.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on stops")]
#![allow(clippy::disallowed_methods, reason = "the test reads the sources; they read nothing")]

use std::fs;
use std::path::{Path, PathBuf};

/// What the core may be built on. None of these does anything but compute, with the features they have here.
const DEPENDENCIES: [&str; 7] = ["jiff", "memchr", "serde", "serde_json", "similar", "slug", "thiserror"];

/// The ways out, and what to do instead.
const WAYS_OUT: [(&str, &str); 18] = [
    ("std::fs", "a store writes, a want says what"),
    ("std::io", "a channel reads and writes"),
    ("std::net", "a channel talks"),
    ("std::process", "an agent's driver starts processes"),
    ("std::env", "settings come in as terms"),
    ("std::thread", "the engine runs things side by side"),
    ("std::time", "time comes in as `now`"),
    ("SystemTime", "time comes in as `now`"),
    ("Instant", "time comes in as `now`"),
    ("::now(", "time comes in as `now`"),
    ("tokio", "the engine waits"),
    ("async ", "the engine waits"),
    (".await", "the engine waits"),
    ("print", "a channel prints"),
    ("static mut", "a session is all the state there is"),
    ("Mutex", "a session has one owner"),
    ("rand::", "names come in with what they name"),
    ("uuid", "names come in with what they name"),
];

#[test]
fn it_is_built_on_nothing_that_acts() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names = section.lines().filter(|line| !line.trim().is_empty()).map(|line| {
        let end = line.find(['.', ' ', '=']).unwrap();
        &line[..end]
    });
    assert_eq!(names.collect::<Vec<_>>(), DEPENDENCIES);
    assert!(!manifest.contains("build ="), "no build script");
    assert!(!manifest.contains("[target."), "the same everywhere");
}

/// jiff can read the time zones of the system, unless it is built without.
#[test]
fn its_calendar_knows_no_system() {
    let workspace = fs::read_to_string(root().join("../../Cargo.toml")).unwrap();
    let jiff = workspace.lines().find(|line| line.starts_with("jiff = ")).unwrap();
    assert_eq!(jiff, r#"jiff = { version = "0.2", default-features = false, features = ["serde", "std"] }"#);
}

#[test]
fn its_sources_mention_no_way_out() {
    let sources = sources(&root().join("src"));
    assert!(sources.len() > 10, "the sources are elsewhere: {sources:?}");
    let mut found = Vec::new();
    for path in sources {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            let out = WAYS_OUT.iter().find(|(way_out, _)| code.contains(way_out));
            if let Some((way_out, instead)) = out {
                found.push(format!("{}:{}: {way_out}: {instead}", path.display(), number + 1));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}
