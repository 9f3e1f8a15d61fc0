//! Templates of tasks: files of the project (`.rapport/templates/NAME.md`) with named blanks (`{{file}}`), which the
//! caller that starts a worker fills in (WORK-23).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use rapport_durable::read_file;

use crate::tool_error::ToolError;

/// The name of the blank for the task itself.
const TASK: &str = "task";

/// The maximum size of a template in bytes.
const MOST: u64 = 64 * 1024;

/// The number of templates to name.
const NAMED: usize = 50;

fn folder(project: &Path) -> PathBuf {
    project.join(".rapport").join("templates")
}

/// The existing templates, by name. Blocks.
pub(crate) fn names(project: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder(project)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_suffix(".md").filter(|name| is_name(name)).map(str::to_owned)
    });
    // Sorted, because the order of directory entries is not defined.
    names.collect::<BTreeSet<_>>().into_iter().take(NAMED).collect()
}

/// A task from a template. Blocks.
pub(crate) fn task(
    project: &Path,
    name: &str,
    task: Option<&str>,
    blanks: &BTreeMap<String, String>,
) -> Result<String, ToolError> {
    let text = read(project, name).map_err(|why| {
        let known = names(project);
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        ToolError::invalid(format!(
            "template: cannot use {name:?}: {why}. Those in .rapport/templates of the project: {known}"
        ))
    })?;
    fill(&text, task, blanks)
        .map_err(|why| ToolError::invalid(format!("template: {name} was not filled in: {why}")))
}

fn read(project: &Path, name: &str) -> io::Result<String> {
    if !is_name(name) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a template's name has letters, digits, - and _",
        ));
    }
    let path = folder(project).join(format!("{name}.md"));
    // A cloned repository may contain links that lead out of it.
    if !path.canonicalize()?.starts_with(project.canonicalize()?) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is a link that leads out of the project",
        ));
    }
    String::from_utf8(read_file(&path, MOST)?).map_err(io::Error::other)
}

/// Whether this can name a template or a blank; a path cannot.
fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.chars().all(is_plain)
}

/// Fills in the blanks. Every blank needs a value and every value a blank, so that a misspelt name is an error.
fn fill(text: &str, task: Option<&str>, blanks: &BTreeMap<String, String>) -> Result<String, String> {
    let (mut filled, mut rest, mut missing, mut used) =
        (String::new(), text, BTreeSet::new(), BTreeSet::new());
    while let Some((before, after)) = rest.split_once("{{") {
        filled.push_str(before);
        let Some((name, behind)) = after.split_once("}}").filter(|(name, _)| is_name(name.trim())) else {
            // Braces that do not enclose a blank are text.
            filled.push_str("{{");
            rest = after;
            continue;
        };
        let name = name.trim();
        match blanks.get(name).map(String::as_str).or_else(|| task.filter(|_| name == TASK)) {
            Some(words) => filled.push_str(words.trim()),
            None => drop(missing.insert(name)),
        }
        used.insert(name);
        rest = behind;
    }
    filled.push_str(rest);
    let unknown: Vec<_> = blanks.keys().map(String::as_str).filter(|name| !used.contains(name)).collect();
    if !missing.is_empty() {
        let missing: Vec<_> = missing.into_iter().collect();
        return Err(format!("give blanks for {}", missing.join(", ")));
    }
    if !unknown.is_empty() {
        return Err(format!("it has no blank {}", unknown.join(", ")));
    }
    let filled = filled.trim().to_owned();
    Ok(match task.map(str::trim).filter(|task| !task.is_empty() && !used.contains(TASK)) {
        Some(task) => format!("{filled}\n\n{task}"),
        None => filled,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blanks(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, words)| ((*name).to_owned(), (*words).to_owned())).collect()
    }

    #[test]
    fn blanks_are_filled_in_once() {
        let text = "Fix {{ bug }} in {{file}}.\n\n{{task}}\n\n{{ not a blank }} and {{file}}\n";
        let given = blanks(&[("bug", "the {{file}} leak"), ("file", "a.rs")]);
        assert_eq!(
            fill(text, Some("Soon."), &given).unwrap(),
            "Fix the {{file}} leak in a.rs.\n\nSoon.\n\n{{ not a blank }} and a.rs"
        );
        assert_eq!(fill("Tidy up.", Some("All of it."), &blanks(&[])).unwrap(), "Tidy up.\n\nAll of it.");
        assert_eq!(fill("Tidy up.", Some(" "), &blanks(&[])).unwrap(), "Tidy up.");
        assert_eq!(fill("Tidy up.", None, &blanks(&[])).unwrap(), "Tidy up.");
        assert_eq!(fill("a {{", Some(""), &blanks(&[])).unwrap(), "a {{");
    }

    #[test]
    fn what_is_missing_or_left_over_is_named() {
        assert_eq!(fill("{{b}} {{a}} {{b}}", Some(""), &blanks(&[])).unwrap_err(), "give blanks for a, b");
        assert_eq!(fill("{{task}}", None, &blanks(&[])).unwrap_err(), "give blanks for task");
        assert_eq!(
            fill("{{a}}", Some(""), &blanks(&[("a", "x"), ("c", "y")])).unwrap_err(),
            "it has no blank c"
        );
    }
}
