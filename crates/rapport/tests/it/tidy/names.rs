//! The name of a type is unique, so that a reader knows which one is meant: a public name in its crate, any other in
//! its folder.

use std::collections::BTreeMap;

use super::{crates, files};

/// Crates in which only a public type has a name of its own; another one has it in its folder.
const BY_FOLDER: [&str; 1] = ["rapport-telegram"];

#[test]
fn a_type_has_a_name_of_its_own_in_its_crate() {
    let mut found: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for folder in std::fs::read_dir(crates()).unwrap() {
        let folder = folder.unwrap();
        let krate = folder.file_name().to_string_lossy().into_owned();
        let source = folder.path().join("src");
        for file in files(&source) {
            let inside = file.strip_prefix(&source).unwrap();
            let first = inside.iter().next().unwrap().to_string_lossy();
            let part = format!("{krate}/{}", first.trim_end_matches(".rs"));
            for (sight, name) in types(&std::fs::read_to_string(&file).unwrap()) {
                // The arguments of a command are `Args` in its file, which names the command.
                if krate == "rapport" && name == "Args" {
                    continue;
                }
                let mut note = |place: &str| {
                    let key = (place.to_owned(), name.clone());
                    found.entry(key).or_default().push(file.display().to_string());
                };
                if sight == Sight::Crate || !BY_FOLDER.contains(&krate.as_str()) {
                    note(&krate);
                }
                note(&part);
            }
        }
    }
    assert!(found.len() > 900, "too few types are found: {}", found.len());
    let twice: Vec<_> = found.iter().filter(|(_, files)| files.len() > 1).collect();
    assert!(twice.is_empty(), "{twice:#?}");
}

/// From where a type can be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    /// From other crates.
    Crate,
    /// From a part of its crate.
    Folder,
}

/// The types that a file declares for others.
fn types(source: &str) -> Vec<(Sight, String)> {
    let declared = source.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix("pub")?;
        let (sight, rest) = match rest.strip_prefix('(') {
            None => (Sight::Crate, rest),
            Some(rest) => {
                let (_, rest) = rest.split_once(')')?;
                (Sight::Folder, rest)
            }
        };
        let rest = rest.strip_prefix(' ')?;
        let named =
            ["struct ", "enum ", "trait ", "type "].iter().find_map(|kind| rest.strip_prefix(kind))?;
        let name = named.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        // What a macro declares has no name before it is expanded.
        (!name.is_empty()).then_some((sight, name))
    });
    declared.collect()
}

#[test]
fn types_are_found_by_what_declares_them() {
    let source = "pub struct A;\n    pub enum B {}\nstruct D;\npub trait E {}\npub type F<T> = T;\n\
        pub(crate) struct C;\npub(super) enum G {}\npub(in crate::x) struct H;\npub struct $name;";
    let found = types(source);
    let named: Vec<_> = found.iter().map(|(sight, name)| (*sight, name.as_str())).collect();
    let everywhere = ["A", "B", "E", "F"].map(|name| (Sight::Crate, name));
    let inside = ["C", "G", "H"].map(|name| (Sight::Folder, name));
    assert_eq!(named, [&everywhere[..], &inside].concat());
}
