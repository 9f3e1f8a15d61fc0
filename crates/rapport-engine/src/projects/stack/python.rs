//! Python: `pyproject.toml`, `setup.py`, `setup.cfg`, `requirements.txt` or `Pipfile`.

use toml::{Table, Value};

use super::{Stack, assigned};
use crate::projects::tree::ProjectTree;

const MANIFESTS: [&str; 5] = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"];

pub(super) fn read(tree: &ProjectTree) -> Option<Stack> {
    let manifest = MANIFESTS.into_iter().find(|name| tree.has(name))?;
    let text = tree.text(manifest).unwrap_or_default();
    let project: Table = match manifest {
        "pyproject.toml" => text.parse().unwrap_or_default(),
        _ => Table::new(),
    };
    let tool = |name: &str| project.get("tool").and_then(|tool| tool.get(name));
    let named = |name: &str| {
        let standard = project.get("project").and_then(|project| project.get(name)?.as_str());
        let poetry = || tool("poetry").and_then(|poetry| poetry.get(name)?.as_str());
        standard.or_else(poetry).map(str::to_owned).or_else(|| in_setup(manifest, &text, name))
    };
    let members = tool("uv").and_then(|uv| uv.get("workspace")?.get("members")?.as_array());
    let members = members.into_iter().flatten().filter_map(|member| Some(member.as_str()?.to_owned()));
    let backend = project.get("build-system").and_then(|system| system.get("build-backend")?.as_str());
    let (tests, command) = tests(tree, &text, tool("pytest").is_some());
    Some(Stack {
        package_manager: manager(tree, tool("uv"), tool("poetry"), tool("pdm")),
        build_tool: backend.map(|backend| backend.split('.').next().unwrap_or(backend).to_owned()),
        test_framework: tests,
        test_command: Some(command),
        version: named("version"),
        description: named("description"),
        members: members.collect(),
        ..Stack::new("Python", manifest)
    })
}

fn manager(
    tree: &ProjectTree,
    uv: Option<&Value>,
    poetry: Option<&Value>,
    pdm: Option<&Value>,
) -> Option<String> {
    let signs = [
        ("uv", uv.is_some() || tree.has("uv.lock")),
        ("poetry", poetry.is_some() || tree.has("poetry.lock")),
        ("pdm", pdm.is_some() || tree.has("pdm.lock")),
        ("pipenv", tree.has("Pipfile")),
        ("pip", true),
    ];
    signs.into_iter().find(|(_, is_used)| *is_used).map(|(name, _)| name.to_owned())
}

/// The test runner and its command. If none is detected, the command is the default one.
fn tests(tree: &ProjectTree, manifest: &str, is_configured: bool) -> (Option<String>, String) {
    let names_it = |file: &str| tree.text(file).is_some_and(|text| text.contains("pytest"));
    let has_pytest = is_configured
        || manifest.contains("pytest")
        || ["pytest.ini", "conftest.py"].iter().any(|file| tree.has(file))
        || ["requirements-dev.txt", "requirements.txt", "tox.ini"].iter().any(|file| names_it(file));
    match (has_pytest, tree.has("tox.ini")) {
        (true, _) => (Some("pytest".into()), "pytest".into()),
        (false, true) => (Some("tox".into()), "tox".into()),
        (false, false) => (None, "pytest".into()),
    }
}

/// A value of `setup.py` or `setup.cfg`.
fn in_setup(manifest: &str, text: &str, name: &str) -> Option<String> {
    match manifest {
        "setup.py" => assigned(text, name),
        "setup.cfg" => {
            let lines = text.lines().filter_map(|line| line.split_once('='));
            let mut found = lines.filter(|(left, _)| left.trim() == name).map(|(_, value)| value.trim());
            // `attr: package.version` is known only by running code.
            found.next().filter(|value| !value.is_empty() && !value.contains(':')).map(str::to_owned)
        }
        _ => None,
    }
}
