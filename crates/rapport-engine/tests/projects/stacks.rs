//! The context of a repository of each stack, as a whole. A fixture is a text: `-- path --` begins a file, and each line
//! `-- commit: MESSAGE --` commits what came before it.

use std::fs;
use std::path::Path;

use crate::support::{World, git, write};

/// LEAD-4, LEAD-23: what exploring finds, in a repository of each stack.
macro_rules! stacks {
    ($($test:ident $name:literal),* $(,)?) => {
        $(#[test]
        fn $test() {
            check($name, include_str!(concat!("fixtures/", $name, ".txt")));
        })*
    };
}

stacks! {
    lead_4_a_cargo_workspace "rust",
    lead_4_a_pnpm_workspace "javascript",
    lead_4_a_python_project "python",
    lead_4_a_go_module "go",
    lead_4_a_maven_project "java",
    lead_4_a_gem "ruby",
    lead_4_a_composer_package "php",
    lead_4_a_dotnet_solution "dotnet",
    lead_4_a_makefile "make",
}

fn check(name: &str, fixture: &str) {
    let world = World::new();
    let root = world.project(name, &[]);
    unpack(&root, fixture);
    world.known().explored(root.to_str().unwrap()).unwrap();
    let context = world.context(name).replace(root.to_str().unwrap(), "/code");
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, context);
    });
    every_directory_has_a_text(&world, name, &root);
}

/// Each directory to the second level has a text.
fn every_directory_has_a_text(world: &World, name: &str, root: &Path) {
    let loaded = world.known().loaded(name).unwrap();
    let folders = |of: &Path| -> Vec<_> {
        let entries = fs::read_dir(of).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.is_dir() && !path.ends_with(".git")).collect()
    };
    for outer in folders(root) {
        for directory in folders(&outer).into_iter().chain([outer]) {
            let path = directory.strip_prefix(root).unwrap().to_str().unwrap();
            let text = loaded.context.found.structure.get(path);
            assert!(text.is_some_and(|text| !text.is_empty()), "{path} has no text");
        }
    }
}

fn unpack(root: &Path, fixture: &str) {
    git(root, &["init", "--quiet", "-b", "main"]);
    let mut file: Option<(String, String)> = None;
    for line in fixture.lines().chain(["-- end --"]) {
        let Some(mark) = line.strip_prefix("-- ").and_then(|rest| rest.strip_suffix(" --")) else {
            let (_, content) = file.as_mut().expect("a file begins first");
            content.extend([line, "\n"]);
            continue;
        };
        if let Some((path, content)) = file.take() {
            write(&root.join(path), &content);
        }
        match mark.strip_prefix("commit: ") {
            Some(message) => {
                git(root, &["add", "."]);
                git(root, &["commit", "--quiet", "--allow-empty", "-m", message]);
            }
            None if mark == "end" => {}
            None => file = Some((mark.to_owned(), String::new())),
        }
    }
}
