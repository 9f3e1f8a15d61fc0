//! Detects a project's conventions from its files and its commits.

use serde_json::Value;

use super::history::Commit;
use super::stack::targets_of;
use super::tree::ProjectTree;

/// Files that configure a tool, and the convention that follows. Of each row, the first existing file is named.
const TOOLS: [(&[&str], &str); 21] = [
    (&["rustfmt.toml", ".rustfmt.toml"], "Code is formatted by rustfmt"),
    (&["clippy.toml", ".clippy.toml"], "Clippy is configured"),
    (
        &[
            ".prettierrc",
            ".prettierrc.json",
            ".prettierrc.yaml",
            ".prettierrc.yml",
            "prettier.config.js",
            "prettier.config.mjs",
        ],
        "Code is formatted by Prettier",
    ),
    (
        &[
            "eslint.config.js",
            "eslint.config.mjs",
            "eslint.config.ts",
            ".eslintrc.json",
            ".eslintrc.js",
            ".eslintrc.cjs",
            ".eslintrc.yml",
            ".eslintrc",
        ],
        "Code is checked by ESLint",
    ),
    (&["biome.json", "biome.jsonc"], "Code is formatted and checked by Biome"),
    (&["ruff.toml", ".ruff.toml"], "Code is checked by Ruff"),
    (&["mypy.ini", ".mypy.ini"], "Types are checked by mypy"),
    (&["pyrightconfig.json"], "Types are checked by Pyright"),
    (&[".flake8"], "Code is checked by Flake8"),
    (&[".golangci.yml", ".golangci.yaml", ".golangci.toml"], "Code is checked by golangci-lint"),
    (&[".rubocop.yml"], "Code is checked by RuboCop"),
    (&[".php-cs-fixer.php", ".php-cs-fixer.dist.php"], "Code is formatted by PHP CS Fixer"),
    (&["phpstan.neon", "phpstan.neon.dist"], "Code is checked by PHPStan"),
    (&["checkstyle.xml"], "Code is checked by Checkstyle"),
    (&[".clang-format"], "Code is formatted by clang-format"),
    (&[".globalconfig"], ".NET analyzers are configured"),
    (&[".pre-commit-config.yaml"], "Hooks run before each commit (pre-commit)"),
    (
        &["commitlint.config.js", ".commitlintrc.json", ".commitlintrc.yml"],
        "Commit messages are checked by commitlint",
    ),
    (&[".gitlab-ci.yml"], "GitLab CI checks changes"),
    (&["CONTRIBUTING.md", "CONTRIBUTING.rst", "CONTRIBUTING"], "There are rules for contributions"),
    (&["CHANGELOG.md"], "There is a changelog"),
];

/// Sections of `pyproject.toml` that configure a tool.
const PYTHON_TOOLS: [(&str, &str); 4] = [
    ("[tool.ruff", "Code is checked by Ruff (pyproject.toml)"),
    ("[tool.black", "Code is formatted by Black (pyproject.toml)"),
    ("[tool.isort", "Imports are sorted by isort (pyproject.toml)"),
    ("[tool.mypy", "Types are checked by mypy (pyproject.toml)"),
];

/// The words that begin a conventional commit message.
const KINDS_OF_COMMITS: [&str; 11] =
    ["feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert"];
/// The minimum number of commits from which a habit is inferred.
const ENOUGH_COMMITS: usize = 5;
/// The maximum number of scripts to name.
const MOST_SCRIPTS: usize = 12;

/// The conventions that follow from files and commits, in a fixed order.
pub(super) fn find(tree: &ProjectTree, commits: &[Commit]) -> Vec<String> {
    let mut found = Vec::new();
    found.extend(indentation(tree));
    for (files, what) in TOOLS {
        let file = files.iter().find(|file| tree.has(file));
        found.extend(file.map(|file| format!("{what} ({file})")));
    }
    if let Some(text) = tree.text("pyproject.toml") {
        let tools = PYTHON_TOOLS.iter().filter(|(section, _)| text.contains(section));
        found.extend(tools.map(|(_, what)| (*what).to_owned()));
    }
    if let Some(text) = tree.text("Cargo.toml")
        && ["[workspace.lints", "[lints"]
            .iter()
            .any(|section| text.lines().any(|line| line.starts_with(section)))
    {
        found.push("Lints are configured (Cargo.toml)".into());
    }
    if let Some(text) = tree.text("tsconfig.json") {
        let plain: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        found
            .extend(plain.contains("\"strict\":true").then(|| "TypeScript is strict (tsconfig.json)".into()));
    }
    if tree.names_in(".github/workflows").next().is_some() {
        found.push("GitHub Actions check changes (.github/workflows)".into());
    }
    found.extend(scripts(tree));
    found
        .extend(targets_of(tree).map(|(file, targets)| format!("Commands: {} ({file})", targets.join(", "))));
    found.extend(commit_messages(commits));
    found
}

/// The indentation from `.editorconfig` that applies to most files.
fn indentation(tree: &ProjectTree) -> Option<String> {
    let text = tree.text(".editorconfig")?;
    let section = text.split("[*]").nth(1)?.split('[').next()?;
    let value = |name: &str| {
        let lines = section.lines().filter_map(|line| line.split_once('='));
        let mut values =
            lines.filter(|(left, _)| left.trim() == name).map(|(_, value)| value.trim().to_owned());
        values.next().filter(|value| value.chars().all(char::is_alphanumeric))
    };
    let style = value("indent_style")?;
    let size = value("indent_size").filter(|_| style == "space");
    Some(match size {
        Some(size) => format!("Indentation: {size} spaces (.editorconfig)"),
        None => format!("Indentation: {style}s (.editorconfig)"),
    })
}

/// The scripts of `package.json`.
fn scripts(tree: &ProjectTree) -> Option<String> {
    let manifest: Value = serde_json::from_str(&tree.text("package.json")?).ok()?;
    let scripts = manifest["scripts"].as_object()?;
    let names: Vec<_> = scripts.keys().take(MOST_SCRIPTS).cloned().collect();
    (!names.is_empty()).then(|| format!("Scripts: {} (package.json)", names.join(", ")))
}

/// Whether most commit messages are of the conventional form.
fn commit_messages(commits: &[Commit]) -> Option<String> {
    let is_conventional = |commit: &&Commit| {
        let kind = commit.subject.split(['(', ':', '!']).next().unwrap_or_default();
        commit.subject.contains(": ") && KINDS_OF_COMMITS.contains(&kind)
    };
    let (all, those) = (commits.len(), commits.iter().filter(is_conventional).count());
    (all >= ENOUGH_COMMITS && those * 10 >= all * 6)
        .then(|| format!("Commit messages follow Conventional Commits ({those} of the last {all})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commits(subjects: &[&str]) -> Vec<Commit> {
        subjects
            .iter()
            .map(|subject| Commit { on: "2026-01-24".into(), subject: (*subject).into() })
            .collect()
    }

    #[test]
    fn a_habit_needs_enough_commits() {
        let conventional = ["feat: a", "fix(ui): b", "chore!: c", "docs: d", "Merge branch 'x'"];
        assert_eq!(
            commit_messages(&commits(&conventional)).as_deref(),
            Some("Commit messages follow Conventional Commits (4 of the last 5)")
        );
        assert_eq!(commit_messages(&commits(&conventional[..4])), None);
        assert_eq!(commit_messages(&commits(&["Add a", "Fix: b", "feature: c", "x", "y"])), None);
    }
}
