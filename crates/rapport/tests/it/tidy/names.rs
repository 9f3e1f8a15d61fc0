//! The name of a type is unique in its crate, so that a reader knows which one is meant.

use std::collections::BTreeMap;

use super::{crates, files};

#[test]
fn a_type_has_a_name_of_its_own_in_its_crate() {
    let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for folder in std::fs::read_dir(crates()).unwrap() {
        let folder = folder.unwrap();
        let krate = folder.file_name().to_string_lossy().into_owned();
        for file in files(&folder.path().join("src")) {
            for name in types(&std::fs::read_to_string(&file).unwrap()) {
                // The arguments of a command are `Args` in its file, which names the command.
                if krate == "rapport" && name == "Args" {
                    continue;
                }
                found.entry((krate.clone(), name)).or_default().push(file.display().to_string());
            }
        }
    }
    assert!(found.len() > 900, "too few types are found: {}", found.len());
    let twice: Vec<_> = found.iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

/// The types that a file declares for others.
fn types(source: &str) -> Vec<String> {
    let declared = source.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub")?;
        let rest = match rest.strip_prefix('(') {
            None => rest,
            Some(rest) => rest.split_once(')')?.1,
        };
        let rest = rest.strip_prefix(' ')?;
        let named =
            ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))?;
        let name = named.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        // What a macro declares has no name before it is expanded.
        (!name.is_empty()).then_some(name)
    });
    declared.collect()
}

#[test]
fn types_are_found_by_what_declares_them() {
    let source = "pub struct A;\n    pub enum B {}\nstruct D;\npub trait E {}\npub type F<T> = T;\n\
        pub(crate) struct C;\npub(super) enum G {}\npub(in crate::x) struct H;\npub struct $name;";
    assert_eq!(types(source), ["A", "B", "E", "F", "C", "G", "H"]);
}
