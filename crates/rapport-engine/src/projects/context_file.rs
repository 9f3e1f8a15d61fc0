//! `context.yaml`: what is known about a project, in a file that people edit too. Their text stays as it is, comments
//! included: only the parts of the file whose values change are rewritten. `found.json` beside it has the last
//! findings, so that a value that a person changed can be told from a found one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rapport_core::{CONTEXT_FORMAT, ProjectContext, ProjectFindings};
use rapport_door::ProjectError;
use rapport_durable as durable;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The maximum size of the file.
const MOST: u64 = 4 * 1024 * 1024;

/// The first lines of a new file.
const HEAD: &str = "# What Rapport knows about this project. Edit it as you like: what you change is kept.\n";

/// The order of the parts in a new file.
const ORDER: [&str; 20] = [
    "v",
    "name",
    "path",
    "lastExplored",
    "type",
    "stacks",
    "packageManager",
    "buildTool",
    "testFramework",
    "version",
    "description",
    "workspaces",
    "structure",
    "conventions",
    "preferences",
    "proposed",
    "declined",
    "history",
    "claudeMd",
    "agentsMd",
];

/// The parts of a file, by name.
type Parts = BTreeMap<String, Value>;

/// A project's `context.yaml` with its text.
#[derive(Clone, Debug)]
pub(super) struct ContextFile {
    path: PathBuf,
    text: String,
    parts: Parts,
    pub(super) context: ProjectContext,
}

/// The findings of one exploration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Finding {
    pub(super) at: Timestamp,
    /// The directory that was explored.
    pub(super) path: String,
    pub(super) found: Map<String, Value>,
}

impl Finding {
    pub(super) fn new(at: Timestamp, path: &str, found: &ProjectFindings, conventions: &[String]) -> Self {
        let mut parts = match serde_json::to_value(found) {
            Ok(Value::Object(parts)) => parts,
            _ => Map::new(),
        };
        if !conventions.is_empty() {
            parts.insert("conventions".into(), conventions.into());
        }
        Self { at, path: path.to_owned(), found: parts }
    }

    /// The version that was found.
    pub(super) fn version(&self) -> Option<String> {
        self.found.get("version")?.as_str().map(str::to_owned)
    }
}

impl ContextFile {
    /// Reads the file of a project; `None` if there is none.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, ProjectError> {
        let path = folder.join("context.yaml");
        let Some(text) = text(&path)? else { return Ok(None) };
        let broken = |what: String| ProjectError::Broken { place: path.display().to_string(), what };
        #[derive(Deserialize)]
        struct Format {
            v: Option<u32>,
        }
        // A newer file may have a different structure, so its format is read first.
        let located = |error: &serde_saphyr::Error| {
            let line = error.location().map(|at| format!("line {}: ", at.line())).unwrap_or_default();
            broken(format!("{line}{}", error.without_snippet()))
        };
        let format: Format = serde_saphyr::from_str(&text).map_err(|error| located(&error))?;
        let found = format.v.unwrap_or(CONTEXT_FORMAT);
        if found > CONTEXT_FORMAT {
            let place = path.display().to_string();
            return Err(ProjectError::Newer { place, found, known: CONTEXT_FORMAT });
        }
        let context: ProjectContext = serde_saphyr::from_str(&text).map_err(|error| located(&error))?;
        let parts: Parts = serde_saphyr::from_str(&text).map_err(|error| located(&error))?;
        Ok(Some(Self { path, text, parts, context }))
    }

    /// A new file with a name and a path, which is not written yet.
    pub(super) fn new(folder: &Path, name: &str, path: &str) -> Self {
        let mut file = Self {
            path: folder.join("context.yaml"),
            text: HEAD.to_owned(),
            parts: Parts::new(),
            context: ProjectContext { name: name.into(), path: path.into(), ..ProjectContext::default() },
        };
        file.set("v", CONTEXT_FORMAT.into());
        file.set("name", name.into());
        file.set("path", path.into());
        file
    }

    /// Sets one part of the file; null removes it.
    pub(super) fn set(&mut self, name: &str, value: Value) {
        if self.parts.get(name).unwrap_or(&Value::Null) == &value {
            return;
        }
        self.text = with_part(&self.text, name, &value);
        if value.is_null() {
            self.parts.remove(name);
        } else {
            self.parts.insert(name.to_owned(), value);
        }
    }

    /// Takes over the findings of an exploration. A value that differs from the last finding counts as written by a
    /// person, and stays.
    pub(super) fn take(&mut self, before: Option<&Finding>, now: &Finding) {
        let nothing = Map::new();
        let before = before.map_or(&nothing, |finding| &finding.found);
        let names: BTreeSet<&String> = before.keys().chain(now.found.keys()).collect();
        for name in names {
            let here = self.parts.get(name).unwrap_or(&Value::Null);
            let null = Value::Null;
            let (was, is) = (before.get(name).unwrap_or(&null), now.found.get(name).unwrap_or(&null));
            let merged = merged(here, was, is);
            self.set(name, merged);
        }
        self.set("path", now.path.clone().into());
        self.set("lastExplored", now.at.to_string().into());
    }

    /// Writes the file durably. If the edited text does not read back as these values, the whole file is rewritten:
    /// that loses people's formatting, but not their values.
    pub(super) fn write(mut self) -> Result<ProjectContext, ProjectError> {
        let reads_alike =
            |text: &str| serde_saphyr::from_str::<Parts>(text).is_ok_and(|parts| parts == self.parts);
        if !reads_alike(&self.text) {
            self.text = plain(&self.parts);
        }
        let context = serde_saphyr::from_str(&self.text).map_err(|error| ProjectError::Broken {
            place: self.path.display().to_string(),
            what: format!("the new content cannot be read back: {}", error.without_snippet()),
        })?;
        durable::replace_private(&self.path, self.text.as_bytes()).map_err(io_error("write", &self.path))?;
        Ok(context)
    }
}

/// Findings by their time. There are two while a new one is taken over; the time in `context.yaml` says which of them
/// it is based on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct FoundFile {
    v: u32,
    findings: Vec<Finding>,
}

impl FoundFile {
    /// Reads the findings; empty if there is no such file. People do not edit this file, so a broken one counts as
    /// missing: then everything in `context.yaml` counts as written by a person.
    pub(super) fn read(folder: &Path) -> Result<Self, ProjectError> {
        let path = folder.join("found.json");
        let found: Self = text(&path)?.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        match found.v > CONTEXT_FORMAT {
            true => {
                let (place, found) = (path.display().to_string(), found.v);
                Err(ProjectError::Newer { place, found, known: CONTEXT_FORMAT })
            }
            false => Ok(found),
        }
    }

    /// The finding on which a context is based: that of its time, or else the newest.
    pub(super) fn under(&self, context: &ProjectContext) -> Option<&Finding> {
        let its = |finding: &&Finding| Some(finding.at) == context.last_explored;
        context.last_explored?;
        self.findings.iter().rfind(its).or(self.findings.last())
    }

    /// Adds a finding beside the one that is still in use. Durable when this returns.
    pub(super) fn write(folder: &Path, before: Option<&Finding>, now: &Finding) -> Result<(), ProjectError> {
        let path = folder.join("found.json");
        let findings = before.into_iter().chain([now]).cloned().collect();
        let mut text = serde_json::to_vec(&Self { v: CONTEXT_FORMAT, findings })
            .map_err(|error| ProjectError::Failed(error.to_string()))?;
        text.push(b'\n');
        durable::replace_private(&path, &text).map_err(io_error("write", &path))
    }
}

/// Adds the attempted action and the path to an error.
pub(super) fn io_error(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ProjectError {
    let place = path.display().to_string();
    move |source| ProjectError::Io { what, place, source }
}

/// A file of Rapport's home as text; `None` if it does not exist. Never follows a link, never blocks.
fn text(path: &Path) -> Result<Option<String>, ProjectError> {
    let broken = |what: String| ProjectError::Broken { place: path.display().to_string(), what };
    let file = match durable::open_own(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(io_error("read", path))?,
    };
    let mut bytes = Vec::new();
    file.take(MOST + 1).read_to_end(&mut bytes).map_err(io_error("read", path))?;
    if bytes.len() as u64 > MOST {
        return Err(broken(format!("it is larger than {MOST} bytes")));
    }
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()]
            .iter()
            .filter(|byte| **byte == b'\n')
            .count();
        broken(format!("line {}: it is not UTF-8 text", line + 1))
    })
}

/// The new value of a part when its finding changes: a person's change stays.
fn merged(here: &Value, was: &Value, is: &Value) -> Value {
    match (here, was, is) {
        _ if here == was => is.clone(),
        (Value::Object(here), _, _) if was.is_object() || is.is_object() => {
            let nothing = Map::new();
            let (was, is) = (was.as_object().unwrap_or(&nothing), is.as_object().unwrap_or(&nothing));
            let names: BTreeSet<_> = here.keys().chain(was.keys()).chain(is.keys()).collect();
            let null = Value::Null;
            let one = |name: &String| {
                let at = |map: &Map<String, Value>| map.get(name).unwrap_or(&null).clone();
                let value = merged(&at(here), &at(was), &at(is));
                (!value.is_null()).then(|| (name.clone(), value))
            };
            Value::Object(names.into_iter().filter_map(one).collect())
        }
        (Value::Array(here), _, _) if was.is_array() || is.is_array() => {
            let nothing = Vec::new();
            let (was, is) = (was.as_array().unwrap_or(&nothing), is.as_array().unwrap_or(&nothing));
            // Removes items that are no longer found; items that a person removed do not come back.
            let kept = here.iter().filter(|item| is.contains(item) || !was.contains(item));
            let new = is.iter().filter(|item| !was.contains(item) && !here.contains(item));
            let all: Vec<_> = kept.chain(new).cloned().collect();
            if all.is_empty() { Value::Null } else { all.into() }
        }
        // Nothing was found before, and no person wrote anything.
        (Value::Null, Value::Null, _) => is.clone(),
        _ => here.clone(),
    }
}

/// The text with another value for one part, formatted as in a new file. All other lines stay.
fn with_part(text: &str, name: &str, value: &Value) -> String {
    let new = if value.is_null() { String::new() } else { rendered(name, value) };
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    let Some(begin) = lines.iter().position(|line| part_name(line) == Some(name)) else {
        return appended(text, &lines, name, &new);
    };
    let inside = lines[begin + 1..].iter().take_while(|line| is_inside(line)).count();
    // Trailing empty lines and comments belong to the next part.
    let is_gap = |line: &&&str| line.trim().is_empty();
    let gap = lines[begin + 1..begin + 1 + inside].iter().rev().take_while(is_gap).count();
    let end = begin + 1 + inside - gap;
    [lines[..begin].concat(), new, lines[end..].concat()].concat()
}

/// The text with a new part, after those that precede it in the usual order.
fn appended(text: &str, lines: &[&str], name: &str, new: &str) -> String {
    let place = |name: &str| ORDER.iter().position(|known| *known == name);
    // An unknown key was added by a person, and stays below the comment above it.
    let follows =
        |line: &&str| part_name(line).and_then(place).is_some_and(|other| Some(other) > place(name));
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match lines.iter().position(follows) {
        Some(at) if ORDER.contains(&name) => {
            [lines[..at].concat(), new.to_owned(), lines[at..].concat()].concat()
        }
        _ => format!("{text}{newline}{new}"),
    }
}

/// The name of the part that begins in a line.
fn part_name(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(':')?;
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
    (begins && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')).then_some(name)
}

/// Whether a line belongs to the part above it.
fn is_inside(line: &str) -> bool {
    line.trim().is_empty()
        || line.starts_with([' ', '\t'])
        || line.starts_with("- ")
        || line.trim_end() == "-"
}

/// All parts, as a new file has them.
fn plain(parts: &Parts) -> String {
    let known = ORDER.iter().filter_map(|name| Some(((*name).to_owned(), parts.get(*name)?)));
    let others = parts.iter().filter(|(name, _)| !ORDER.contains(&name.as_str()));
    let all = known.chain(others.map(|(name, value)| (name.clone(), value)));
    let text: String = all.map(|(name, value)| rendered(&name, value)).collect();
    format!("{HEAD}{text}")
}

/// A part as YAML. JSON is valid YAML, so a value that needs quoting is written as JSON.
fn rendered(name: &str, value: &Value) -> String {
    let key = scalar(name);
    match value {
        Value::Object(map) if !map.is_empty() => {
            let lines = map.iter().map(|(name, value)| format!("  {}: {}\n", scalar(name), flat(value)));
            format!("{key}:\n{}", lines.collect::<String>())
        }
        Value::Array(items) if !items.is_empty() => {
            format!("{key}:\n{}", items.iter().map(item).collect::<String>())
        }
        Value::String(text) if text.contains('\n') => block(&key, text),
        _ => format!("{key}: {}\n", flat(value)),
    }
}

/// An item of a list; an object has a line for each of its values.
fn item(value: &Value) -> String {
    let Value::Object(map) = value else { return format!("  - {}\n", flat(value)) };
    // The text comes first, because people look for it.
    let first = map.iter().filter(|(name, _)| *name == "text");
    let rest = map.iter().filter(|(name, _)| *name != "text");
    let lines = first.chain(rest).enumerate().map(|(at, (name, value))| {
        let mark = if at == 0 { "-" } else { " " };
        format!("  {mark} {}: {}\n", scalar(name), flat(value))
    });
    lines.collect()
}

/// A value in one line.
fn flat(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        _ => value.to_string(),
    }
}

/// A text in one line, without quotes if it reads the same.
fn scalar(text: &str) -> String {
    let is_plain_char = |c: char| c.is_alphanumeric() || " ./()+_<>=;@-".contains(c);
    let begins_plain = text.starts_with(|c: char| c.is_alphabetic() || c == '/');
    let may_be_plain = begins_plain && !text.ends_with(' ') && text.chars().all(is_plain_char);
    let reads_alike = || serde_saphyr::from_str::<Value>(text).is_ok_and(|read| read == *text);
    if may_be_plain && reads_alike() { text.to_owned() } else { Value::from(text).to_string() }
}

/// A text of several lines as a block, if it reads the same.
fn block(key: &str, text: &str) -> String {
    let lines: String =
        text.lines().map(|line| if line.is_empty() { "\n".into() } else { format!("  {line}\n") }).collect();
    let mark = if text.ends_with('\n') { "|2" } else { "|2-" };
    let block = format!("{key}: {mark}\n{lines}");
    let reads_alike =
        serde_saphyr::from_str::<BTreeMap<String, String>>(&block).is_ok_and(|read| read.values().eq([text]));
    if reads_alike { block } else { format!("{key}: {}\n", Value::from(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(text: &str, name: &str, value: &Value, expected: &str) {
        let after = with_part(text, name, value);
        assert_eq!(after, expected);
        let parts: Parts = serde_saphyr::from_str(&after).unwrap();
        assert_eq!(parts.get(name).unwrap_or(&Value::Null), value);
    }

    /// LEAD-4: a part is written in its place, and the lines of people stay.
    #[test]
    fn lead_4_a_part_is_written_in_its_place() {
        check(
            "name: app\n# mine\nowner: ann # me\n",
            "type",
            &json!("Rust"),
            "name: app\n# mine\nowner: ann # me\ntype: Rust\n",
        );
        check(
            "name: app\npreferences:\n  - x\n",
            "type",
            &json!("C#"),
            "name: app\ntype: \"C#\"\npreferences:\n  - x\n",
        );
        check(
            "# top\nstructure:\n  a: old # why\n  b: x\n\n# about it\nname: app\n",
            "structure",
            &json!({ "a": "new", "c: d": "#" }),
            "# top\nstructure:\n  a: new\n  \"c: d\": \"#\"\n\n# about it\nname: app\n",
        );
        check("a: 1\nclaudeMd: |-\n  x\n\n  y\nb: 2\n", "claudeMd", &Value::Null, "a: 1\nb: 2\n");
        check("a: 1", "b", &json!("x\n  y\n"), "a: 1\nb: |2\n  x\n    y\n");
        check(
            "",
            "conventions",
            &json!(["a", { "text": "b: c", "from": "s/q1" }]),
            "conventions:\n  - a\n  - text: \"b: c\"\n    from: s/q1\n",
        );
        check("preferences:\n- a\n- b\n", "preferences", &json!(["b"]), "preferences:\n  - b\n");
        for odd in [
            "yes",
            "null",
            "1.5",
            "- x",
            "a: b",
            "x #y",
            "",
            " x",
            "\u{1b}[31m",
            "~",
            "a\tb",
            "|",
            "2026-01-24",
        ] {
            let text = with_part("", "x", &json!(odd));
            assert_eq!(serde_saphyr::from_str::<Parts>(&text).unwrap()["x"], json!(odd), "{text}");
        }
        for odd in ["a\n", "\na", " a\nb", "a\n\n\n", "a\r\nb", "a\n\u{85}b", "# x\n- y", "\t\n", "a\n \n"] {
            let text = with_part("y: 1\n", "x", &json!(odd));
            assert_eq!(serde_saphyr::from_str::<Parts>(&text).unwrap()["x"], json!(odd), "{text:?}");
        }
    }

    /// A person's changes stay; everything else follows the project.
    #[test]
    fn what_people_changed_is_kept() {
        for (here, was, is, expected) in [
            (json!("Rust"), json!("Rust"), json!("Go"), json!("Go")),
            (json!("mine"), json!("Rust"), json!("Go"), json!("mine")),
            (Value::Null, Value::Null, json!("Go"), json!("Go")),
            (Value::Null, json!("Rust"), json!("Go"), Value::Null),
            (json!("Rust"), json!("Rust"), Value::Null, Value::Null),
            (
                json!({ "a": "mine", "b": "B", "note": "n" }),
                json!({ "a": "A", "b": "B", "c": "C" }),
                json!({ "a": "A2", "b": "B2", "c": "C2", "d": "D" }),
                json!({ "a": "mine", "b": "B2", "note": "n", "d": "D" }),
            ),
            (
                json!(["kept", "mine", { "text": "learned" }]),
                json!(["kept", "taken out", "gone"]),
                json!(["kept", "taken out", "new"]),
                json!(["kept", "mine", { "text": "learned" }, "new"]),
            ),
        ] {
            assert_eq!(merged(&here, &was, &is), expected, "{here} {was} {is}");
        }
    }
}
