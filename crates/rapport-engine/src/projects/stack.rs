//! What a project is made of, as far as the files at its root tell.

use std::path::Path;

/// The files that tell, in the order in which they are looked for; what they tell; how tests are usually run.
const SIGNS: [(&str, &str, &str); 5] = [
    ("Cargo.toml", "Rust", "cargo test"),
    ("package.json", "JavaScript", "npm test"),
    ("pyproject.toml", "Python", "pytest"),
    ("setup.py", "Python", "pytest"),
    ("go.mod", "Go", "go test ./..."),
];

/// What the project is made of, a line for each language; nothing where no file tells.
pub fn detect(project: &Path) -> Option<String> {
    describe(|name| project.join(name).is_file())
}

/// The same for a project that has these files.
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
