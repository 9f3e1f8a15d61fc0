//! Parses a tool call for people: the whole command, the change to a file, or the whole input.

use std::path::Path;
use std::time::Duration;

use rapport_core::{Part, Permission, Rule};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use super::words;
use crate::workers::{Workplace, shortened};

/// The time limit for finding the smallest diff; after that a larger one is used.
const AT_MOST: Duration = Duration::from_millis(500);
/// The maximum size of a file to compare with new content. Beyond it the whole content is shown.
const LARGEST_FILE: u64 = 4 * 1024 * 1024;

/// The permission that this call needs. `suggestions` are the rules that the CLI itself would store.
pub(super) fn permission(tool: &str, input: Option<&RawValue>, suggestions: Option<&RawValue>) -> Permission {
    let what = words::what(tool, input);
    let input: Value = input.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let parts = parts(tool, &input).unwrap_or_else(|| vec![Part::Input(pretty(&input))]);
    let mut asked =
        Permission { tool: tool.into(), what, kind: words::kind(tool), parts, ..Permission::default() };
    asked.rule = rule(&asked, suggestions);
    asked
}

/// All values of an input of a known form; `None` for any other form.
fn parts(tool: &str, input: &Value) -> Option<Vec<Part>> {
    let mut rest = input.as_object()?.clone();
    let mut parts = match tool {
        "Bash" => command(&mut rest)?,
        "Write" => {
            text(&mut rest, "file_path")?;
            vec![Part::Content(text(&mut rest, "content")?)]
        }
        "Edit" => {
            text(&mut rest, "file_path")?;
            replaced(&mut rest)?
        }
        "MultiEdit" => {
            text(&mut rest, "file_path")?;
            several_replaced(&rest.remove("edits")?)?
        }
        "NotebookEdit" => {
            text(&mut rest, "notebook_path")?;
            let cell = ["edit_mode", "cell_id", "cell_type"];
            let notes = cell.into_iter().filter_map(|key| Some(note(key, &rest.remove(key)?)));
            let mut parts: Vec<Part> = notes.collect();
            parts.push(Part::Content(text(&mut rest, "new_source").unwrap_or_default()));
            parts
        }
        _ => return None,
    };
    // An unknown value may change what the call does.
    parts.extend(rest.iter().map(|(key, value)| Part::Flag(format!("{key}: {}", inline(value)))));
    Some(parts)
}

fn command(rest: &mut Map<String, Value>) -> Option<Vec<Part>> {
    let command = text(rest, "command")?;
    let mut parts: Vec<Part> = text(rest, "description").map(Part::Purpose).into_iter().collect();
    parts.extend(rest.remove("timeout").map(|value| note("timeout", &value)));
    for (key, meaning) in [
        ("run_in_background", "runs in the background, beyond the end of its call"),
        ("dangerouslyDisableSandbox", "runs outside of the sandbox"),
    ] {
        if let Some(Value::Bool(is_on)) = rest.get(key).cloned() {
            rest.remove(key);
            parts.extend(is_on.then(|| Part::Flag(meaning.into())));
        }
    }
    parts.push(Part::Command(command));
    Some(parts)
}

fn several_replaced(edits: &Value) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    for edit in edits.as_array()? {
        let mut rest = edit.as_object()?.clone();
        parts.extend(replaced(&mut rest)?);
        if !rest.is_empty() {
            return None;
        }
    }
    Some(parts)
}

fn replaced(rest: &mut Map<String, Value>) -> Option<Vec<Part>> {
    let (old, new) = (text(rest, "old_string")?, text(rest, "new_string")?);
    let everywhere = rest.get("replace_all").and_then(Value::as_bool);
    // A value that is not a boolean stays among the unknown ones, which are shown.
    if everywhere.is_some() {
        rest.remove("replace_all");
    }
    let note = everywhere.filter(|is_on| *is_on).map(|_| Part::Note("wherever the file has this:".into()));
    Some(note.into_iter().chain([Part::Diff(whole_diff(&old, &new))]).collect())
}

fn text(rest: &mut Map<String, Value>, key: &str) -> Option<String> {
    let text = rest.get(key)?.as_str()?.to_owned();
    rest.remove(key);
    Some(text)
}

fn note(key: &str, value: &Value) -> Part {
    Part::Note(format!("{key}: {}", inline(value)))
}

fn inline(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn pretty(input: &Value) -> String {
    serde_json::to_string_pretty(input).unwrap_or_default()
}

/// The rule that is offered: one of the CLI's, if it is about this tool and understood here; else, if calls can be
/// distinguished by their subject, this exact call. Never a mode, and never a directory.
fn rule(asked: &Permission, suggestions: Option<&RawValue>) -> Option<Rule> {
    let by_subject =
        matches!(&*asked.tool, "Bash" | "Write" | "Edit" | "MultiEdit" | "NotebookEdit" | "Read");
    let suggested = suggested(suggestions).into_iter().filter(|rule| rule.pattern.is_some() || !by_subject);
    let mut suggested = suggested.filter(|rule| rule.covers(asked));
    let only_this = || Rule::exactly(&asked.tool, &asked.what);
    suggested.next().or_else(|| by_subject.then(only_this)).filter(|rule| rule.covers(asked))
}

fn suggested(suggestions: Option<&RawValue>) -> Vec<Rule> {
    let suggestions: Value =
        suggestions.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let updates = suggestions.as_array().into_iter().flatten();
    let adds = updates.filter(|update| update["type"] == "addRules" && update["behavior"] == "allow");
    let rules = adds.flat_map(|update| update["rules"].as_array().into_iter().flatten());
    rules.filter_map(|rule| Rule::parse(rule["toolName"].as_str()?, rule["ruleContent"].as_str())).collect()
}

/// Adds what only the files show: that the call would change another file than the one it names, and the difference
/// from an existing file. Blocks, so it runs off the loop.
pub(super) fn compare(asked: &mut Permission, workplace: &dyn Workplace) {
    let names_a_file = asked.parts.iter().any(|part| matches!(part, Part::Content(_) | Part::Diff(_)));
    if !names_a_file {
        return;
    }
    // As the CLI reads a path: one in the home is not below the directory.
    let path = asked.what.trim();
    let path = (path != "~" && !path.starts_with("~/")).then(|| shortened(&workplace.directory().join(path)));
    if let Some(led) = path.as_deref().and_then(|path| led_elsewhere(workplace, path)) {
        asked.parts.insert(0, Part::Flag(led));
        asked.rule = asked.rule.take().filter(|rule| rule.covers(asked));
    }
    let written = asked.parts.iter().find_map(|part| match part {
        Part::Content(content) if asked.tool == "Write" => Some(content),
        _ => None,
    });
    let (Some(content), Some(path)) = (written, path) else { return };
    if let Some(before) = there(workplace, &path) {
        let diff = TextDiff::configure().timeout(AT_MOST).diff_lines(before.as_str(), content.as_str());
        let diff = diff.unified_diff().missing_newline_hint(false).to_string();
        let same = || Part::Note("the file has this content already".into());
        asked.parts.push(if diff.is_empty() { same() } else { Part::Diff(diff) });
    }
}

/// A warning if another file than the one at this path would be changed: a link could be the agent's, or come with
/// the project.
fn led_elsewhere(workplace: &dyn Workplace, path: &Path) -> Option<String> {
    match workplace.leads_to(path) {
        Ok(None) => None,
        Ok(Some(real)) => Some(format!("it is a link that leads to {}", real.display())),
        Err(error) => Some(format!("nobody can say where it leads: {error}")),
    }
}

/// The text of a file where the agent works, if it is a file of the project. Files outside, also those that a link
/// leads to, are not read: the agent may not be allowed to see them, and the question is stored and sent to people.
fn there(workplace: &dyn Workplace, path: &Path) -> Option<String> {
    let inside = path.strip_prefix(workplace.directory()).ok()?.to_str()?;
    let content = workplace.read(inside).ok()??;
    String::from_utf8(content).ok().filter(|text| text.len() as u64 <= LARGEST_FILE)
}

/// All lines of both texts.
fn whole_diff(old: &str, new: &str) -> String {
    let diff = TextDiff::configure().timeout(AT_MOST).diff_lines(old, new);
    let line = |change: similar::Change<&str>| {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        format!("{sign}{}\n", change.value().trim_end_matches('\n'))
    };
    diff.iter_all_changes().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::workers::local::Directory;

    fn asked(tool: &str, input: Value, suggestions: Value) -> Permission {
        let raw = |value: Value| serde_json::value::to_raw_value(&value).unwrap();
        permission(tool, Some(&raw(input)), Some(&raw(suggestions)))
    }

    #[track_caller]
    fn check(tool: &str, input: Value, expected: &str) {
        assert_eq!(asked(tool, input, json!([])).text(), expected);
    }

    /// The question contains everything that would happen.
    #[test]
    fn every_value_of_an_input_is_shown() {
        check(
            "Bash",
            json!({"command": "make\nmake install", "description": "Install it", "timeout": 5000,
                   "run_in_background": true, "dangerouslyDisableSandbox": true, "novel": 1}),
            "  It says: Install it\n  timeout: 5000\n! runs in the background, beyond the end of its call\n\
             ! runs outside of the sandbox\n  make\n  make install\n! novel: 1\n",
        );
        let edit = json!({"file_path": "/a.rs", "old_string": "one\ntwo\n", "new_string": "one\n2\n", "replace_all": true});
        check("Edit", edit, "  /a.rs\n  wherever the file has this:\n  one\n- two\n+ 2\n");
        // The CLI may take a value that is not a boolean for one.
        for (odd, shown) in [(json!("true"), "true"), (json!(1), "1"), (json!(null), "null")] {
            let edit = json!({"file_path": "/a", "old_string": "a", "new_string": "b", "replace_all": odd});
            check("Edit", edit, &format!("  /a\n- a\n+ b\n! replace_all: {shown}\n"));
        }
        let edit = json!({"file_path": "/a", "old_string": "a", "new_string": "b", "replace_all": false});
        check("Edit", edit, "  /a\n- a\n+ b\n");
        let edits = json!([{"old_string": "a", "new_string": "b", "replace_all": "true"}]);
        let shown = asked("MultiEdit", json!({"file_path": "/a", "edits": edits}), json!([])).text();
        assert!(shown.contains("\"replace_all\": \"true\""), "{shown}");
        let edits = json!([{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}]);
        check("MultiEdit", json!({"file_path": "/a", "edits": edits}), "  /a\n- a\n+ b\n- c\n");
        check("Write", json!({"file_path": "/a", "content": "x\ny\n"}), "  /a\n+ x\n+ y\n");
        check(
            "NotebookEdit",
            json!({"notebook_path": "/n.ipynb", "cell_id": "c1", "new_source": "print(1)"}),
            "  /n.ipynb\n  cell_id: c1\n+ print(1)\n",
        );
        check("mcp__x__y", json!({"a": [1]}), "  {\n    \"a\": [\n      1\n    ]\n  }\n");
        check("Bash", json!({"command": 1}), "  {\n    \"command\": 1\n  }\n");
    }

    /// "always" is one rule about this tool, never a mode or a directory.
    #[test]
    fn a_rule_allows_no_more_than_it_says() {
        let rules = |rules: Value| {
            json!([
                {"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"},
                {"type": "addDirectories", "directories": ["/"], "destination": "session"},
                {"type": "setMode", "mode": "acceptEdits", "destination": "session"},
            ])
        };
        let bash = |content: &str| json!([{"toolName": "Bash", "ruleContent": content}]);
        for (tool, input, suggested, expected) in [
            ("Bash", json!({"command": "git tag v1"}), rules(bash("git tag *")), Some("Bash(git tag *)")),
            (
                "Bash",
                json!({"command": "touch one.txt"}),
                rules(bash("touch one.txt")),
                Some("Bash(touch one.txt)"),
            ),
            (
                "Bash",
                json!({"command": "touch x && rm y"}),
                rules(bash("touch x *")),
                Some("Bash(touch x && rm y)"),
            ),
            ("Bash", json!({"command": "ls"}), rules(json!([{"toolName": "Bash"}])), Some("Bash(ls)")),
            ("Bash", json!({"command": "ls", "dangerouslyDisableSandbox": true}), rules(bash("ls *")), None),
            ("Write", json!({"file_path": "/a", "content": ""}), rules(json!([])), Some("Write(/a)")),
            ("mcp__x__y", json!({}), rules(json!([{"toolName": "mcp__x__y"}])), Some("mcp__x__y")),
            ("mcp__x__y", json!({}), rules(json!([{"toolName": "mcp__x"}])), None),
        ] {
            let rule = asked(tool, input.clone(), suggested).rule.map(|rule| rule.to_string());
            assert_eq!(rule.as_deref(), expected, "{tool} {input}");
        }
    }

    #[test]
    fn a_file_that_is_there_is_compared() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "one\ntwo\n").unwrap();
        let mut written = asked("Write", json!({"file_path": "a.txt", "content": "one\n2\n"}), json!([]));
        compare(&mut written, &Directory::at(folder.path()));
        assert_eq!(written.text(), "  a.txt\n  @@ -1,2 +1,2 @@\n  one\n- two\n+ 2\n");
        nix::unistd::mkfifo(&folder.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let mut written = asked("Write", json!({"file_path": "pipe", "content": "x"}), json!([]));
        compare(&mut written, &Directory::at(folder.path()));
        assert_eq!(written.text(), "  pipe\n+ x\n");
    }

    /// A question is stored, and sent to people, so it contains nothing of files outside of the project. It says
    /// where a link leads, and no rule covers such a file.
    #[test]
    fn a_link_is_told_and_nothing_outside_is_shown() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let app = folder.join("app");
        std::fs::create_dir(&app).unwrap();
        std::fs::write(folder.join("key"), "SECRET\n").unwrap();
        std::fs::write(app.join("real.txt"), "one\n").unwrap();
        std::os::unix::fs::symlink("../key", app.join("outside")).unwrap();
        std::os::unix::fs::symlink("../none", app.join("dangling")).unwrap();
        std::os::unix::fs::symlink("real.txt", app.join("inside")).unwrap();
        std::os::unix::fs::symlink(&folder, app.join("up")).unwrap();
        let key = folder.join("key").display().to_string();
        let flag = |target: &str| format!("! it is a link that leads to {}\n", folder.join(target).display());
        for (path, shown) in [
            ("outside", flag("key")),
            ("up/key", flag("key")),
            ("dangling", flag("none")),
            ("inside", flag("app/real.txt") + "  @@ -1 +1 @@\n- one\n+ x\n"),
            ("up/../real.txt", "  @@ -1 +1 @@\n- one\n+ x\n".into()),
            (&key, String::new()),
            ("../key", String::new()),
            ("~/key", String::new()),
        ] {
            let mut written = asked("Write", json!({"file_path": path, "content": "x\n"}), json!([]));
            compare(&mut written, &Directory::at(&app));
            let expected = if shown.contains("@@") { shown } else { format!("{shown}+ x\n") };
            assert_eq!(written.text(), format!("  {path}\n{expected}"), "Write {path}");
            assert_eq!(written.rule.is_none(), written.text().contains("! "), "Write {path}");
        }
        for (tool, input) in [
            ("Edit", json!({"file_path": "outside", "old_string": "a", "new_string": "b"})),
            ("MultiEdit", json!({"file_path": "outside", "edits": [{"old_string": "a", "new_string": "b"}]})),
            ("NotebookEdit", json!({"notebook_path": "outside", "new_source": "b"})),
        ] {
            let mut edited = asked(tool, input, json!([]));
            compare(&mut edited, &Directory::at(&app));
            assert!(edited.text().contains(&flag("key")), "{tool}: {}", edited.text());
            assert!(!edited.text().contains("SECRET") && edited.rule.is_none(), "{tool}");
        }
    }
}
