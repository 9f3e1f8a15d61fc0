//! Command runners: `make` and `just`.

use super::Stack;
use crate::projects::tree::ProjectTree;

/// Their files, and their names.
pub(super) const RUNNERS: [(&str, &str); 6] = [
    ("justfile", "just"),
    ("Justfile", "just"),
    (".justfile", "just"),
    ("GNUmakefile", "make"),
    ("Makefile", "make"),
    ("makefile", "make"),
];

/// The maximum number of targets to name.
const MOST_NAMED: usize = 12;

pub(super) fn is_runner(language: &str) -> bool {
    RUNNERS.iter().any(|(_, name)| *name == language)
}

pub(super) fn read(tree: &ProjectTree) -> Option<Stack> {
    let (file, name) = RUNNERS.into_iter().find(|(file, _)| tree.has(file))?;
    let has_tests = targets(&tree.text(file).unwrap_or_default()).iter().any(|target| target == "test");
    let command = has_tests.then(|| format!("{name} test"));
    Some(Stack {
        build_tool: Some(name.into()),
        test_framework: command.clone(),
        test_command: command,
        ..Stack::new(name, file)
    })
}

/// The targets in such a file: words at the start of a line, before a colon.
pub(super) fn targets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_private = false;
    for line in text.lines().filter(|line| !line.starts_with([' ', '\t', '#', '.', '@'])) {
        if line.starts_with('[') {
            is_private |= line.contains("private");
            continue;
        }
        let Some((names, rest)) = line.split_once(':') else { continue };
        let mut words = names.split_whitespace();
        let name = words.next().unwrap_or_default();
        // `x := 1` and `x = a:b` assign. A recipe of `just` may have parameters after its name.
        if rest.starts_with('=') || words.next().is_some_and(|word| word.ends_with('=')) {
            continue;
        }
        if std::mem::take(&mut is_private) {
            continue;
        }
        let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        if is_name && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    found.truncate(MOST_NAMED);
    found
}
