//! Describes the directories of a project to the second level: by the heading of its README, by its manifest or its
//! code, or else by the kinds of its files.

use std::collections::BTreeMap;

use rapport_core::display_text;
use serde_json::Value;

use super::tree::ProjectTree;

/// The maximum number of directories.
const MOST: usize = 1000;
/// The number of bytes of a file that are searched for a description.
const LOOKED_AT: u64 = 4096;
/// The maximum number of characters of a text.
const LONGEST: usize = 120;
/// The maximum number of kinds of files to name.
const MOST_KINDS: usize = 3;

/// The directories with their texts, and how many were left out because there are too many.
pub(super) fn describe(tree: &ProjectTree) -> (BTreeMap<String, String>, usize) {
    let mut kinds: BTreeMap<&str, BTreeMap<&str, usize>> = BTreeMap::new();
    for found in tree.files() {
        let name = found.path.rsplit('/').next().unwrap_or_default();
        for (end, _) in found.path.match_indices('/').take(2) {
            *kinds.entry(&found.path[..end]).or_default().entry(kind(name)).or_default() += 1;
        }
    }
    let left_out = kinds.len().saturating_sub(MOST);
    // If there are too many, the outer ones say more.
    let mut directories: Vec<_> = kinds.iter().collect();
    directories.sort_by_key(|(path, _)| (path.contains('/'), **path));
    let texts = directories.into_iter().take(MOST).map(|(directory, kinds)| {
        let text = said(tree, directory).unwrap_or_else(|| in_words(kinds));
        ((*directory).to_owned(), text)
    });
    (texts.collect(), left_out)
}

/// Reads the description of a package from its manifest.
type DescriptionReader = fn(&str) -> Option<String>;

/// The description in a directory's own files.
fn said(tree: &ProjectTree, directory: &str) -> Option<String> {
    let path = |name: &str| format!("{directory}/{name}");
    let names: Vec<_> = tree.names_in(directory).collect();
    let readme = names.iter().find(|name| name.to_lowercase().split('.').next() == Some("readme"));
    let beginning = |path: &str| tree.beginning(path, LOOKED_AT).map(|found| found.text);
    if let Some(heading) = readme.and_then(|name| heading(&beginning(&path(name))?)) {
        return shown(&heading);
    }
    let manifests: [(&str, DescriptionReader); 3] =
        [("Cargo.toml", in_toml), ("package.json", in_json), ("pyproject.toml", in_toml)];
    for (name, read) in manifests {
        if names.contains(&name)
            && let Some(text) =
                beginning(&path(name)).and_then(|text| read(&text)).and_then(|text| shown(&text))
        {
            return Some(text);
        }
    }
    let base = directory.rsplit('/').next().unwrap_or(directory);
    let own = [format!("{base}.go"), format!("{base}.rs")];
    let sources =
        ["lib.rs", "mod.rs", "main.rs", "__init__.py", "doc.go", "index.ts", "index.js", "package-info.java"];
    let here = sources
        .into_iter()
        .chain(own.iter().map(String::as_str))
        .filter(|name| names.contains(name))
        .map(path);
    // A Rust package has its code one level below, and a module may have its file beside the directory.
    let below = ["src/lib.rs", "src/main.rs"].into_iter().map(path);
    let beside = [format!("{directory}.rs")];
    let any_go = names.iter().find(|name| name.ends_with(".go")).map(|name| path(name));
    let files = here.chain(below).chain(beside).chain(any_go);
    files.filter_map(|path| doc_comment(&path, &beginning(&path)?)).find_map(|text| shown(&text))
}

/// A text from a file as one line, with hidden characters made visible; `None` if nothing is left of it.
fn shown(text: &str) -> Option<String> {
    let line = display_text::line(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let line = match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", line[..end].trim_end()),
        None => line,
    };
    (!line.is_empty()).then_some(line)
}

/// The first heading of a README, or else its first line of text.
fn heading(text: &str) -> Option<String> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let heading = lines().find_map(|line| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len() && title.starts_with(' '))
            .then(|| title.trim().trim_end_matches('#').trim())
    });
    let is_text = |line: &&str| line.starts_with(|c: char| c.is_alphanumeric());
    heading.filter(|title| !title.is_empty()).or_else(|| lines().find(is_text)).map(str::to_owned)
}

/// The description in a TOML manifest. Only its beginning was read, so it is searched instead of parsed.
fn in_toml(text: &str) -> Option<String> {
    let lines = text.lines().filter_map(|line| line.split_once('='));
    let mut found = lines.filter(|(name, _)| name.trim() == "description").map(|(_, value)| value.trim());
    let value = found.next()?.trim_matches('"');
    (!value.is_empty()).then(|| value.to_owned())
}

/// The description in a JSON manifest.
fn in_json(text: &str) -> Option<String> {
    let manifest: Value = serde_json::from_str(text).ok()?;
    manifest["description"].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned)
}

/// The first sentence of a source file's own documentation.
fn doc_comment(path: &str, text: &str) -> Option<String> {
    let ending = path.rsplit('.').next().unwrap_or_default();
    let comment = match ending {
        "rs" => {
            let lines = text.lines().skip_while(|line| line.trim().is_empty() || line.starts_with("#!["));
            block(lines.map_while(|line| line.trim_start().strip_prefix("//!")))
        }
        "go" => {
            let lines: Vec<_> = text.lines().take_while(|line| !line.starts_with("package ")).collect();
            // A build tag or a licence is a separate comment, above an empty line.
            let begin = lines.iter().rposition(|line| line.trim().is_empty()).map_or(0, |at| at + 1);
            block(lines[begin..].iter().filter_map(|line| line.strip_prefix("//")))
        }
        "py" => {
            let text = text.trim_start();
            let quotes = ["\"\"\"", "'''"].into_iter().find(|quotes| text.starts_with(quotes))?;
            block(text[quotes.len()..].split(quotes).next()?.lines())
        }
        _ => {
            let inside = text.trim_start().strip_prefix("/**")?.split("*/").next()?;
            block(inside.lines().map(|line| line.trim().trim_start_matches('*')))
        }
    };
    let comment = comment?;
    let is_marker = |text: &str| text.starts_with('@') || text.starts_with("Copyright");
    let end = comment.find(". ").map_or(comment.len(), |at| at + 1);
    (!is_marker(&comment)).then(|| comment[..end].to_owned())
}

/// The first paragraph of a comment, as one line.
fn block<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let lines = lines.map(str::trim).skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
    let text = lines.collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then_some(text)
}

/// The kinds of files, the most frequent first: `12 Rust files, 1 Markdown file`.
fn in_words(kinds: &BTreeMap<&str, usize>) -> String {
    let mut counted: Vec<_> = kinds.iter().collect();
    counted.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), **name));
    let more: usize = counted.iter().skip(MOST_KINDS).map(|(_, count)| **count).sum();
    let files = |count: usize| if count == 1 { "file" } else { "files" };
    let named = counted.iter().take(MOST_KINDS).map(|(name, count)| match name.is_empty() {
        true => format!("{count} other {}", files(**count)),
        false => format!("{count} {name} {}", files(**count)),
    });
    let more = (more > 0).then(|| format!("{more} more"));
    named.chain(more).collect::<Vec<_>>().join(", ")
}

/// The common name of a kind of file; empty if there is none.
fn kind(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).unwrap_or_default();
    match ending {
        "rs" => "Rust",
        "ts" | "tsx" | "mts" | "cts" => "TypeScript",
        "js" | "jsx" | "mjs" | "cjs" => "JavaScript",
        "py" | "pyi" => "Python",
        "go" => "Go",
        "java" => "Java",
        "kt" | "kts" => "Kotlin",
        "rb" | "rake" => "Ruby",
        "php" => "PHP",
        "cs" => "C#",
        "fs" | "fsx" => "F#",
        "c" | "h" => "C",
        "cc" | "cpp" | "cxx" | "hpp" => "C++",
        "swift" => "Swift",
        "scala" => "Scala",
        "ex" | "exs" => "Elixir",
        "sh" | "bash" | "zsh" => "shell",
        "sql" => "SQL",
        "html" | "htm" => "HTML",
        "css" | "scss" | "sass" | "less" => "style sheet",
        "vue" => "Vue",
        "svelte" => "Svelte",
        "md" | "mdx" => "Markdown",
        "rst" | "txt" | "adoc" => "text",
        "json" | "jsonc" | "json5" => "JSON",
        "yaml" | "yml" => "YAML",
        "toml" => "TOML",
        "xml" | "csproj" | "fsproj" => "XML",
        "csv" | "tsv" => "table",
        "png" | "jpg" | "jpeg" | "gif" | "svg" | "webp" | "ico" => "image",
        "lock" => "lock",
        "proto" => "Protobuf",
        "tf" => "Terraform",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readme_has_a_heading_or_a_first_line() {
        for (text, expected) in [
            ("# The API\n\ntext", Some("The API")),
            ("<p align=center>\n\n## Parts ##\n", Some("Parts")),
            ("The first line.\nmore", Some("The first line.")),
            ("#!/bin/sh\n", None),
            ("\n\n", None),
        ] {
            assert_eq!(heading(text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn sources_describe_themselves() {
        for (path, text, expected) in [
            ("src/lib.rs", "//! Reads logs. Fast.\n\nmod a;", Some("Reads logs.")),
            ("src/lib.rs", "#![warn(x)]\n//! One job\n//! in two lines.\n", Some("One job in two lines.")),
            ("src/lib.rs", "use a;\n//! no", None),
            ("a/doc.go", "// Licence.\n\n// Package a adds.\npackage a\n", Some("Package a adds.")),
            ("a/a.go", "//go:build linux\n\npackage a\n", None),
            ("a/__init__.py", "\"\"\"Tools.\n\nMore.\"\"\"\n", Some("Tools.")),
            ("a/__init__.py", "import a\n", None),
            ("a/index.ts", "/**\n * The public part.\n */\nexport", Some("The public part.")),
            ("a/index.ts", "/** @license MIT */", None),
        ] {
            assert_eq!(doc_comment(path, text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn kinds_are_counted() {
        let counted = |kinds: &[(&'static str, usize)]| in_words(&kinds.iter().copied().collect());
        assert_eq!(counted(&[("Rust", 12), ("Markdown", 1)]), "12 Rust files, 1 Markdown file");
        assert_eq!(counted(&[("", 2)]), "2 other files");
        assert_eq!(
            counted(&[("A", 4), ("B", 3), ("C", 2), ("D", 1)]),
            "4 A files, 3 B files, 2 C files, 1 more"
        );
    }
}
