//! Rules about the code itself: which folder may use which, and what every file begins with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a folder of the engine may use of the others. Between crates the compiler holds the arrows; here they go one way
/// as well, and siblings never use siblings.
const ENGINE: [(&str, &[&str]); 12] = [
    ("clock", &[]),
    ("config", &["projects"]),
    ("actions", &["seals", "workers"]),
    ("projects", &[]),
    ("seals", &[]),
    ("stores", &["seals"]),
    ("turns", &["actions", "config", "seals"]),
    ("workers", &[]),
    ("agents", &["projects", "workers"]),
    ("planners", &["agents"]),
    ("logged", &[]),
    (
        "engine",
        &[
            "actions", "agents", "clock", "config", "logged", "planners", "projects", "stores", "turns",
            "workers",
        ],
    ),
];

#[test]
fn arrows_between_folders_go_one_way() {
    let may_use: BTreeMap<_, _> = ENGINE.into_iter().collect();
    let source = crates().join("rapport-engine/src");
    let mut wrong = Vec::new();
    for file in files(&source) {
        let inside = file.strip_prefix(&source).unwrap();
        let folder = inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
        if folder == "lib" {
            continue;
        }
        let allowed = may_use.get(folder.as_str()).unwrap_or_else(|| panic!("no rule for {folder}"));
        for used in uses(&std::fs::read_to_string(&file).unwrap()) {
            if used != folder && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{} uses {used}", inside.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent: Vec<_> = sources()
        .into_iter()
        .filter(|file| !std::fs::read_to_string(file).unwrap().starts_with("//! "))
        .collect();
    assert!(silent.is_empty(), "{silent:?}");
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Every source file of every crate.
fn sources() -> Vec<PathBuf> {
    let crates = std::fs::read_dir(crates()).unwrap().map(|entry| entry.unwrap().path().join("src"));
    crates.flat_map(|source| files(&source)).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        match entry.unwrap().path() {
            path if path.is_dir() => found.extend(files(&path)),
            path if path.extension().is_some_and(|ending| ending == "rs") => found.push(path),
            _ => {}
        }
    }
    found
}

/// The folders a file names after `crate::`, its tests aside.
fn uses(text: &str) -> Vec<String> {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let named = code.flat_map(|line| line.split("crate::").skip(1));
    let word = |rest: &str| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    named.map(word).filter(|word| !word.is_empty()).collect()
}
