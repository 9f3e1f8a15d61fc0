//! A public type's name is unique in its crate: a reader who meets it knows which one it is.

use std::collections::BTreeMap;

use super::{crates, files};

#[test]
fn a_public_type_has_a_name_of_its_own_in_its_crate() {
    let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for folder in std::fs::read_dir(crates()).unwrap() {
        let folder = folder.unwrap();
        let krate = folder.file_name().to_string_lossy().into_owned();
        for file in files(&folder.path().join("src")) {
            for name in public_types(&std::fs::read_to_string(&file).unwrap()) {
                found.entry((krate.clone(), name)).or_default().push(file.display().to_string());
            }
        }
    }
    assert!(found.len() > 300, "too few types are found: {}", found.len());
    let twice: Vec<_> = found.iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

/// The types that a file declares as `pub` without a restriction.
fn public_types(source: &str) -> Vec<String> {
    let declared = source.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub ")?;
        ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))
    });
    let names = declared
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>());
    // What a macro declares has no name before it is expanded.
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn types_are_found_by_what_declares_them() {
    let source = "pub struct A;\n    pub enum B {}\npub(crate) struct C;\nstruct D;\npub trait E {}\npub type F<T> = T;";
    assert_eq!(public_types(source), ["A", "B", "E", "F"]);
}
