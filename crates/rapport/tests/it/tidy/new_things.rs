//! The cost of a new thing: the table "Where a new thing goes" of `ARCHITECTURE.md` names the files, and they exist.

use std::path::{Path, PathBuf};

use super::{crates, sources, without_tests};

/// The most files that a new thing may touch.
const MOST: usize = 5;

/// What the table has to tell of.
const THINGS: [&str; 10] =
    ["channel", "agent", "worker", "store", "command", "fact", "act", "want", "kind of action", "setting"];

/// The enums that some code has to name every variant of: the thing, the file and the name of its enum.
const NAMED_EVERYWHERE: [(&str, &str, &str); 4] = [
    ("fact", "crates/rapport-core/src/event.rs", "Event"),
    ("act", "crates/rapport-core/src/input.rs", "Act"),
    ("want", "crates/rapport-core/src/want.rs", "Want"),
    ("kind of action", "crates/rapport-core/src/action_plan/kinds.rs", "ActionKind"),
];

/// A file that names at least this share of the variants, in percent, most probably has to name the next one as well.
const NEARLY_ALL: usize = 90;

/// A row: the thing, and the files that it touches.
type Row = (String, Vec<String>);

fn root() -> PathBuf {
    crates().parent().unwrap().to_owned()
}

fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn a_new_thing_touches_at_most_five_files_that_exist() {
    let table = rows(&page("ARCHITECTURE.md"));
    for thing in THINGS {
        assert_eq!(
            table.iter().filter(|(name, _)| name == thing).count(),
            1,
            "one row tells of a new {thing}"
        );
    }
    let wrong: Vec<_> = table.iter().flat_map(|row| mistakes(row, &root())).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn mistakes_in_the_table_are_noticed() {
    let page = "## Where a new thing goes\n\n| a new… | files | what |\n|---|---|---|\n\
        | fact | `src/a.rs`, `src/<name>.rs`, `docs/` | `src/no.rs` is no file of it |\n\n## Then\n| x | `y` | z |\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/a.rs"), "").unwrap();
    let found = rows(page);
    assert_eq!(
        found,
        [("fact".to_owned(), ["src/a.rs", "src/<name>.rs", "docs/"].map(str::to_owned).to_vec())]
    );
    assert_eq!(mistakes(&found[0], folder.path()), ["fact: there is no docs/"]);
    let six = (1..=6).map(|_| "src/a.rs".to_owned()).collect();
    assert_eq!(mistakes(&("fact".into(), six), folder.path()), ["fact: 6 files"]);
    assert_eq!(mistakes(&("fact".into(), Vec::new()), folder.path()), ["fact: names no file"]);
    let none = ("fact".to_owned(), vec!["src/<name>/".to_owned()]);
    assert_eq!(mistakes(&none, folder.path()), ["fact: there is no src/<name>/"]);
}

/// A file that names nearly all facts, acts, wants or kinds of action has to name the next one too, so its row has it.
#[test]
fn files_that_name_nearly_all_things_of_a_kind_are_in_its_row() {
    let table = rows(&page("ARCHITECTURE.md"));
    for (thing, file, name) in NAMED_EVERYWHERE {
        let all = variants(&page(file), name);
        assert!(all.len() > 5, "{all:?}");
        let (_, row) = table.iter().find(|(row, _)| row == thing).unwrap();
        let missing: Vec<_> = sources()
            .iter()
            .filter(|path| {
                names_nearly_all(without_tests(&std::fs::read_to_string(path).unwrap()), name, &all)
            })
            .map(|path| path.strip_prefix(root()).unwrap().to_string_lossy().into_owned())
            .filter(|path| !row.iter().any(|pattern| fits(pattern, path)))
            .collect();
        assert!(missing.is_empty(), "a new {thing} touches these as well: {missing:?}");
    }
}

#[test]
fn files_that_name_nearly_all_are_found() {
    let all = ["One", "OneMore", "Two"].map(str::to_owned);
    for (text, expected) in [
        ("Event::One { .. } | Event::OneMore(_) | Event::Two =>", true),
        ("Self::One | Self::OneMore | Self::Two", true),
        ("Event::OneMore | Event::Two", false),
        ("Other::One | Other::OneMore | Other::Two", false),
    ] {
        assert_eq!(names_nearly_all(text, "Event", &all), expected, "{text}");
    }
    let row = "crates/rapport-core/src/session/<who>.rs";
    assert!(
        fits(row, "crates/rapport-core/src/session/wants.rs")
            && !fits(row, "crates/rapport-core/src/want.rs")
    );
}

/// Whether a text names nearly all variants of an enum.
fn names_nearly_all(text: &str, name: &str, all: &[String]) -> bool {
    let own = format!("{name}::");
    let is_named = |variant: &&String| {
        let is_whole = |at: usize| !text[at..].starts_with(|c: char| c.is_alphanumeric());
        [own.as_str(), "Self::"].iter().any(|of| {
            let path = format!("{of}{variant}");
            let is_start = |at: usize| !text[..at].ends_with(|c: char| c.is_alphanumeric());
            text.match_indices(&path).any(|(at, _)| is_start(at) && is_whole(at + path.len()))
        })
    };
    all.iter().filter(is_named).count() * 100 >= all.len() * NEARLY_ALL
}

/// Whether a path is one that a row names, perhaps with a placeholder.
fn fits(pattern: &str, path: &str) -> bool {
    match (pattern.split_once('<'), pattern.split_once('>')) {
        (Some((before, _)), Some((_, after))) => path.starts_with(before) && path.ends_with(after),
        _ => pattern == path,
    }
}

/// The rows of the table, without its head.
fn rows(page: &str) -> Vec<Row> {
    let (_, rest) = page.split_once("## Where a new thing goes\n").unwrap();
    let section = rest.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|line| {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let files = cells[2].split('`').skip(1).step_by(2).map(str::to_owned);
        (cells[1].to_owned(), files.collect())
    })
    .collect()
}

fn mistakes((thing, files): &Row, root: &Path) -> Vec<String> {
    let mut wrong: Vec<_> = files
        .iter()
        .filter(|file| !exists(root, file))
        .map(|file| format!("{thing}: there is no {file}"))
        .collect();
    match files.len() {
        0 => wrong.push(format!("{thing}: names no file")),
        count if count > MOST => wrong.push(format!("{thing}: {count} files")),
        _ => {}
    }
    wrong
}

/// Whether a path exists. A part with a placeholder (`<name>.rs`) needs one of its kind; a folder is named with a
/// slash.
fn exists(root: &Path, path: &str) -> bool {
    let is_folder = path.ends_with('/');
    let mut found = vec![root.to_owned()];
    for part in path.trim_end_matches('/').split('/') {
        found = found.iter().flat_map(|folder| inside(folder, part)).collect();
    }
    found.iter().any(|path| path.is_dir() == is_folder)
}

fn inside(folder: &Path, part: &str) -> Vec<PathBuf> {
    let Some((before, rest)) = part.split_once('<') else {
        let path = folder.join(part);
        return if path.exists() { vec![path] } else { Vec::new() };
    };
    let after = rest.split_once('>').map_or("", |(_, after)| after);
    let fits = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.len() > before.len() + after.len() && name.starts_with(before) && name.ends_with(after)
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(fits).collect()
}

/// The format has a row for every fact: what a log holds is a contract with other programs.
#[test]
fn every_fact_is_in_the_format_of_the_log() {
    let source = page("crates/rapport-core/src/event.rs");
    let facts: Vec<_> = variants(&source, "Event").iter().map(|name| logged(&source, name)).collect();
    assert!(facts.len() > 60 && facts.contains(&"asked_again".to_owned()), "{facts:?}");
    let format = page("docs/formats/log.md");
    let told: Vec<_> =
        format.lines().filter_map(|line| line.strip_prefix("| `")?.split('|').next()).collect();
    let is_told = |fact: &&String| {
        told.iter().any(|cell| cell.split(", ").any(|name| name.trim().trim_matches('`') == **fact))
    };
    let silent: Vec<_> = facts.iter().filter(|fact| !is_told(fact)).collect();
    assert!(silent.is_empty(), "{silent:?}");
}

/// The variants of an enum.
fn variants(source: &str, name: &str) -> Vec<String> {
    let (_, rest) = source.split_once(&format!("\npub enum {name} {{\n")).unwrap();
    let body = rest.split("\n}\n").next().unwrap_or_default();
    let is_variant = |line: &&str| {
        let rest = line.strip_prefix("    ");
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
    };
    let name =
        |line: &str| line.trim().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
    // What a newer program wrote is kept under its own name.
    body.lines().filter(is_variant).map(name).filter(|name| name != "Unknown").collect()
}

/// The name of a fact in a log, which may be older than the name of its variant.
fn logged(source: &str, name: &str) -> String {
    let renamed = source.lines().zip(source.lines().skip(1)).find(|(_, line)| {
        line.strip_prefix("    ")
            .and_then(|line| line.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with(' '))
    });
    let renamed = renamed
        .and_then(|(before, _)| before.trim().strip_prefix("#[serde(rename = \"")?.strip_suffix("\")]"));
    renamed.map_or_else(|| snake_case(name), str::to_owned)
}

fn snake_case(name: &str) -> String {
    let mut words = String::new();
    for (at, c) in name.char_indices() {
        if c.is_ascii_uppercase() && at > 0 {
            words.push('_');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}
