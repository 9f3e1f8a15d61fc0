//! Detects the technologies of a project from the files at its root.

use std::path::Path;

/// The files to look for, in order; the language; the usual test command.
const SIGNS: [(&str, &str, &str); 5] = [
    ("Cargo.toml", "Rust", "cargo test"),
    ("package.json", "JavaScript", "npm test"),
    ("pyproject.toml", "Python", "pytest"),
    ("setup.py", "Python", "pytest"),
    ("go.mod", "Go", "go test ./..."),
];

/// The languages of the project, one per line; `None` if no file tells.
pub fn detect(project: &Path) -> Option<String> {
    describe(|name| project.join(name).is_file())
}

fn describe(has: impl Fn(&str) -> bool) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut seen = Vec::new();
    for (file, language, tests) in SIGNS.into_iter().filter(|(file, ..)| has(file)) {
        if seen.contains(&language) {
            continue;
        }
        seen.push(language);
        let language = if file == "package.json" && has("tsconfig.json") { "TypeScript" } else { language };
        lines.push(format!("- {language} ({file}), tests usually run with `{tests}`"));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_tell_in_their_order() {
        for (files, stack) in [
            (&[][..], None),
            (&["README.md"], None),
            (&["go.mod"], Some("- Go (go.mod), tests usually run with `go test ./...`")),
            (
                &["setup.py", "pyproject.toml"],
                Some("- Python (pyproject.toml), tests usually run with `pytest`"),
            ),
            (
                &["tsconfig.json", "package.json", "Cargo.toml"],
                Some(
                    "- Rust (Cargo.toml), tests usually run with `cargo test`\n\
                     - TypeScript (package.json), tests usually run with `npm test`",
                ),
            ),
        ] {
            assert_eq!(describe(|name| files.contains(&name)).as_deref(), stack, "{files:?}");
        }
    }
}
