//! JavaScript and TypeScript: `package.json`, with npm, pnpm, Yarn or Bun.

use serde_json::Value;

use super::{Stack, first_of};
use crate::projects::tree::ProjectTree;

/// The lock files of package managers; the first that exists decides.
const LOCKS: [(&str, &str); 6] = [
    ("pnpm-lock.yaml", "pnpm"),
    ("pnpm-workspace.yaml", "pnpm"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("yarn.lock", "yarn"),
    ("package-lock.json", "npm"),
];

/// Packages that run tests, and their common names.
const TESTS: [(&str, &str); 8] = [
    ("vitest", "Vitest"),
    ("jest", "Jest"),
    ("mocha", "Mocha"),
    ("ava", "AVA"),
    ("jasmine", "Jasmine"),
    ("tap", "node-tap"),
    ("@playwright/test", "Playwright"),
    ("cypress", "Cypress"),
];

/// Packages that build.
const BUILDS: [(&str, &str); 11] = [
    ("next", "Next.js"),
    ("nuxt", "Nuxt"),
    ("vite", "Vite"),
    ("webpack", "webpack"),
    ("rollup", "Rollup"),
    ("tsup", "tsup"),
    ("esbuild", "esbuild"),
    ("parcel", "Parcel"),
    ("turbo", "Turborepo"),
    ("nx", "Nx"),
    ("typescript", "tsc"),
];

pub(super) fn read(tree: &ProjectTree) -> Option<Stack> {
    if !tree.has("package.json") {
        return None;
    }
    let text = tree.text("package.json").unwrap_or_default();
    let manifest: Value = serde_json::from_str(&text).unwrap_or_default();
    let depends_on = |name: &str| {
        ["dependencies", "devDependencies"].iter().any(|kind| manifest[*kind].get(name).is_some())
    };
    let of = |known: &[(&str, &str)]| {
        known.iter().find(|(name, _)| depends_on(name)).map(|(_, word)| (*word).to_owned())
    };
    let is_typed = tree.has("tsconfig.json") || depends_on("typescript");
    let manager = manager(tree, &manifest);
    let script = manifest["scripts"]["test"].as_str().unwrap_or_default();
    let by_script = || first_of(script, &[("node --test", "node:test"), ("bun test", "bun test")]);
    let named = |name: &str| manifest[name].as_str().map(str::to_owned);
    Some(Stack {
        test_command: Some(format!("{manager} test")),
        package_manager: Some(manager),
        build_tool: of(&BUILDS),
        test_framework: of(&TESTS).or_else(by_script),
        version: named("version"),
        description: named("description"),
        members: members(tree, &manifest),
        ..Stack::new(if is_typed { "TypeScript" } else { "JavaScript" }, "package.json")
    })
}

/// The package manager: as the manifest says (`pnpm@9.1.0`), else by its lock file.
fn manager(tree: &ProjectTree, manifest: &Value) -> String {
    let said = manifest["packageManager"].as_str().and_then(|said| said.split('@').next());
    let said = said.filter(|said| ["npm", "pnpm", "yarn", "bun"].contains(said));
    let locked = || LOCKS.iter().find(|(lock, _)| tree.has(lock)).map(|(_, name)| *name);
    said.or_else(locked).unwrap_or("npm").to_owned()
}

/// The members of a workspace, of `package.json` or of pnpm's own file.
fn members(tree: &ProjectTree, manifest: &Value) -> Vec<String> {
    #[derive(serde::Deserialize)]
    struct Workspace {
        #[serde(default)]
        packages: Vec<String>,
    }
    let said = manifest["workspaces"].as_array().or_else(|| manifest["workspaces"]["packages"].as_array());
    if let Some(said) = said {
        return said.iter().filter_map(|member| Some(member.as_str()?.to_owned())).collect();
    }
    let workspace =
        tree.text("pnpm-workspace.yaml").and_then(|text| serde_saphyr::from_str::<Workspace>(&text).ok());
    workspace.map(|workspace| workspace.packages).unwrap_or_default()
}
