//! Go: `go.mod`, or `go.work` for a workspace.

use super::Stack;
use crate::projects::tree::ProjectTree;

pub(super) fn read(tree: &ProjectTree) -> Option<Stack> {
    let manifest = ["go.mod", "go.work"].into_iter().find(|name| tree.has(name))?;
    let text = tree.text(manifest).unwrap_or_default();
    let module = text.lines().find_map(|line| line.strip_prefix("module ")).map(str::trim);
    let has_testify = text.contains("github.com/stretchr/testify");
    Some(Stack {
        package_manager: Some("go modules".into()),
        build_tool: Some("go build".into()),
        test_framework: Some(if has_testify { "go test with testify" } else { "go test" }.into()),
        test_command: Some("go test ./...".into()),
        description: module.map(|module| format!("Go module {module}")),
        members: tree.text("go.work").map(|text| used(&text)).unwrap_or_default(),
        ..Stack::new("Go", manifest)
    })
}

/// The directories that a workspace uses, in one line or in a block.
fn used(text: &str) -> Vec<String> {
    let mut is_open = false;
    let mut found = Vec::new();
    for line in text.lines().map(|line| line.split("//").next().unwrap_or_default().trim()) {
        match line {
            "use (" => is_open = true,
            ")" => is_open = false,
            "" => {}
            _ if is_open => found.push(line.trim_start_matches("./").to_owned()),
            _ => found.extend(
                line.strip_prefix("use ").map(|path| path.trim().trim_start_matches("./").to_owned()),
            ),
        }
    }
    found.retain(|path| path != ".");
    found
}
