//! Detects the technologies of a project from its own files, without running anything: a file per language under
//! `stack/`.

mod dotnet;
mod go;
mod java;
mod javascript;
mod make;
mod php;
mod python;
mod ruby;
mod rust;

use std::path::Path;

use super::tree::ProjectTree;

/// A language of a project with its tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Stack {
    /// Its name, as people write it.
    pub(super) language: String,
    /// The file that was read.
    pub(super) manifest: String,
    pub(super) package_manager: Option<String>,
    pub(super) build_tool: Option<String>,
    pub(super) test_framework: Option<String>,
    /// The command that runs the tests by default.
    pub(super) test_command: Option<String>,
    /// The project's own version.
    pub(super) version: Option<String>,
    /// The description in the manifest.
    pub(super) description: Option<String>,
    /// The members of a workspace: directories, or patterns of them.
    pub(super) members: Vec<String>,
}

impl Stack {
    /// All stacks of a project, in a fixed order.
    pub(super) fn all(tree: &ProjectTree) -> Vec<Self> {
        let readers = [
            rust::read,
            javascript::read,
            python::read,
            go::read,
            java::read,
            ruby::read,
            php::read,
            dotnet::read,
            make::read,
        ];
        let mut stacks: Vec<_> = readers.into_iter().filter_map(|read| read(tree)).collect();
        // A command runner counts only if the project has no language.
        if stacks.len() > 1 {
            stacks.retain(|stack| !make::is_runner(&stack.language));
        }
        stacks
    }

    fn new(language: &str, manifest: &str) -> Self {
        Self { language: language.to_owned(), manifest: manifest.to_owned(), ..Self::default() }
    }

    /// In one line: the language, its manifest and its tools.
    pub(super) fn line(&self) -> String {
        let tools = [
            self.package_manager.clone(),
            self.build_tool.clone(),
            self.test_framework.as_ref().map(|tests| format!("tests with {tests}")),
        ];
        let mut named: Vec<String> = Vec::new();
        for tool in tools.into_iter().flatten() {
            if !named.contains(&tool) {
                named.push(tool);
            }
        }
        let tools = if named.is_empty() { String::new() } else { format!(": {}", named.join(", ")) };
        format!("{} ({}){tools}", self.language, self.manifest)
    }
}

/// The languages of the project, one per line; `None` if none was detected.
pub fn detect(project: &Path) -> Option<String> {
    let stacks = Stack::all(&ProjectTree::root_only(project).ok()?);
    let lines: Vec<_> = stacks.iter().map(in_a_prompt).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn in_a_prompt(stack: &Stack) -> String {
    let begin = format!("- {} ({})", stack.language, stack.manifest);
    match &stack.test_command {
        Some(tests) => format!("{begin}, tests usually run with `{tests}`"),
        None => begin,
    }
}

/// The file of the command runner, and its targets.
pub(super) fn targets_of(tree: &ProjectTree) -> Option<(&'static str, Vec<String>)> {
    let (file, _) = make::RUNNERS.into_iter().find(|(file, _)| tree.has(file))?;
    let targets = make::targets(&tree.text(file)?);
    (!targets.is_empty()).then_some((file, targets))
}

/// The name for the first of these words that occurs in a text.
fn first_of(text: &str, words: &[(&str, &str)]) -> Option<String> {
    words.iter().find(|(word, _)| text.contains(word)).map(|(_, name)| (*name).to_owned())
}

/// The text between two others, trimmed; `None` if it is empty.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> Option<&'a str> {
    let rest = &text[text.find(begin)? + begin.len()..];
    let found = rest[..rest.find(end)?].trim();
    (!found.is_empty()).then_some(found)
}

/// A quoted value after this name and an equals sign, such as `version = "1.2"`, on a line of its own.
fn assigned(text: &str, name: &str) -> Option<String> {
    let lines = text.lines().map(str::trim);
    let mut values = lines.filter_map(|line| {
        let (left, right) = line.split_once(['=', ':']).or_else(|| line.split_once(' '))?;
        let is_it = left.trim().trim_matches('"').rsplit('.').next() == Some(name);
        let right = right.trim().trim_end_matches(',');
        let quote = right.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let value = right[1..].split(quote).next()?;
        (is_it && !value.is_empty()).then(|| value.to_owned())
    });
    values.next()
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
            (
                &["package.json", "pnpm-lock.yaml", "Makefile"],
                Some("- JavaScript (package.json), tests usually run with `pnpm test`"),
            ),
            (&["justfile"], Some("- just (justfile)")),
        ] {
            let project = tempfile::tempdir().unwrap();
            files.iter().for_each(|file| std::fs::write(project.path().join(file), "").unwrap());
            assert_eq!(detect(project.path()).as_deref(), stack, "{files:?}");
        }
    }

    #[test]
    fn values_are_found_in_lines() {
        for (text, found) in [
            ("version = \"1.2.3\"", Some("1.2.3")),
            ("  spec.version = '2.0'", Some("2.0")),
            ("\"version\": \"3\",", Some("3")),
            ("version '4.1'", Some("4.1")),
            ("version = project.version", None),
            ("conversion = \"1\"", None),
            ("version = \"\"", None),
        ] {
            assert_eq!(assigned(text, "version").as_deref(), found, "{text}");
        }
    }
}
