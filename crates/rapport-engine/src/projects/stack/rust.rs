//! Rust: `Cargo.toml`.

use toml::Table;

use super::Stack;
use crate::projects::tree::ProjectTree;

pub(super) fn read(tree: &ProjectTree) -> Option<Stack> {
    if !tree.has("Cargo.toml") {
        return None;
    }
    let manifest: Table = tree.text("Cargo.toml").and_then(|text| text.parse().ok()).unwrap_or_default();
    let workspace = manifest.get("workspace");
    let package = manifest.get("package").or_else(|| workspace?.get("package"));
    let inherited = |name: &str| workspace?.get("package")?.get(name)?.as_str();
    let named = |name: &str| package?.get(name)?.as_str().or_else(|| inherited(name)).map(str::to_owned);
    let members = workspace.and_then(|workspace| workspace.get("members")?.as_array());
    let members = members.into_iter().flatten().filter_map(|member| Some(member.as_str()?.to_owned()));
    let has_nextest = tree.has(".config/nextest.toml");
    Some(Stack {
        package_manager: Some("cargo".into()),
        build_tool: Some("cargo".into()),
        test_framework: Some(if has_nextest { "cargo nextest" } else { "cargo test" }.into()),
        test_command: Some(if has_nextest { "cargo nextest run" } else { "cargo test" }.into()),
        version: named("version"),
        description: named("description"),
        members: members.collect(),
        ..Stack::new("Rust", "Cargo.toml")
    })
}
