//! `.devcontainer/devcontainer.json`, the file from which editors make a container for a project: the image, the
//! command that runs once the container is made, and variables. It comes with the repository, so it takes effect only
//! if the person trusts it.

use std::io;
use std::path::Path;

use rapport_durable as durable;
use serde_json::{Map, Value};

use crate::projects::trust::Brought;

/// The paths of the file, relative to the project's directory.
const PLACES: [&str; 2] = [".devcontainer/devcontainer.json", ".devcontainer.json"];

/// Properties that do not affect how the container is made.
const NO_MATTER: [&str; 8] = [
    "$schema",
    "name",
    "customizations",
    "extensions",
    "settings",
    "workspaceFolder",
    "remoteUser",
    "containerUser",
];

/// The variables of the file that stand for the project's directory; the second is the name in older files.
const FOLDERS: [&str; 2] = ["${containerWorkspaceFolder}", "${workspaceFolder}"];

/// What a project's file says of its containers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Devcontainer {
    pub(super) image: Option<String>,
    /// The command that runs once the container is made, for a shell.
    pub(super) setup: Option<String>,
    pub(super) env: Vec<(String, String)>,
    /// The properties that are not honoured, by name.
    pub(super) unused: Vec<String>,
}

/// The file of a project: its name, and its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DevcontainerFile {
    pub(super) name: &'static str,
    content: Vec<u8>,
}

impl DevcontainerFile {
    /// The file of this project, if it has one.
    pub(super) fn of(project: &Path) -> io::Result<Option<Self>> {
        for name in PLACES {
            match durable::read_inside(&project.join(name), project) {
                Ok(content) => return Ok(Some(Self { name, content })),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The file as an item for the person to trust.
    pub(super) fn brought(&self) -> Brought {
        let text = String::from_utf8_lossy(&self.content);
        Brought::new(self.name, &self.content, text.lines().map(str::to_owned).collect())
    }

    /// Parses the file. `directory` is the project's directory in the container.
    pub(super) fn read(&self, directory: &str) -> Result<Devcontainer, String> {
        let text = String::from_utf8_lossy(&self.content);
        let object: Map<String, Value> =
            serde_json::from_str(&without_comments(&text)).map_err(|error| error.to_string())?;
        let mut found = Devcontainer::default();
        for (name, value) in object {
            let is_used = match (name.as_str(), &value) {
                ("image", Value::String(image)) => {
                    found.image = Some(image.clone());
                    true
                }
                ("postCreateCommand", command) => {
                    found.setup = commands(command);
                    found.setup.is_some()
                }
                ("containerEnv", Value::Object(variables)) => {
                    let count = found.env.len() + variables.len();
                    found.env.extend(
                        variables.iter().filter_map(|(name, value)| variable(name, value, directory)),
                    );
                    found.env.len() == count
                }
                (name, _) => NO_MATTER.contains(&name),
            };
            if !is_used {
                found.unused.push(name);
            }
        }
        found.env.sort();
        Ok(found)
    }
}

/// A variable, if its value refers to nothing of the person's machine.
fn variable(name: &str, value: &Value, directory: &str) -> Option<(String, String)> {
    let value =
        FOLDERS.iter().fold(value.as_str()?.to_owned(), |text, folder| text.replace(folder, directory));
    let is_plain = !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0');
    (is_plain && !value.contains("${")).then(|| (name.to_owned(), value))
}

/// A command as one line for a shell. The file may contain a line, the words of a program, or an object of such
/// commands by name.
fn commands(command: &Value) -> Option<String> {
    match command {
        Value::String(line) if !line.trim().is_empty() => Some(line.clone()),
        Value::Array(words) if !words.is_empty() => {
            let words: Option<Vec<_>> = words.iter().map(|word| word.as_str().map(quoted)).collect();
            Some(words?.join(" "))
        }
        Value::Object(named) if !named.is_empty() => {
            let lines: Option<Vec<_>> =
                named.values().map(|one| commands(one).map(|line| format!("({line})"))).collect();
            Some(lines?.join(" && "))
        }
        _ => None,
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The text as plain JSON: without comments, and without commas before a closing bracket.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.trim_start_matches('\u{feff}').chars().peekable();
    let mut comma = None;
    while let Some(c) = rest.next() {
        match (c, rest.peek().copied()) {
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                rest.next();
                let mut before = ' ';
                for c in rest.by_ref() {
                    if before == '*' && c == '/' {
                        break;
                    }
                    before = c;
                }
                plain.push(' ');
            }
            ('"', _) => {
                comma = None;
                plain.push('"');
                let mut is_escaped = false;
                for c in rest.by_ref() {
                    plain.push(c);
                    if c == '"' && !is_escaped {
                        break;
                    }
                    is_escaped = c == '\\' && !is_escaped;
                }
            }
            (',', _) => {
                comma = Some(plain.len());
                plain.push(',');
            }
            (c, _) => {
                if let (']' | '}', Some(at)) = (c, comma) {
                    plain.remove(at);
                }
                if !c.is_whitespace() {
                    comma = None;
                }
                plain.push(c);
            }
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Devcontainer, String> {
        DevcontainerFile { name: PLACES[0], content: text.as_bytes().to_vec() }.read("/work/project")
    }

    #[test]
    fn what_can_be_honoured_is_read_and_the_rest_is_named() {
        let found = read(
            r#"// For editors
            {
              "name": "app", /* a // name */ "image": "debian:stable",
              "postCreateCommand": "npm ci", // all of it
              "containerEnv": { "URL": "http://a//b", "CACHE": "${containerWorkspaceFolder}/cache", "ME": "${localEnv:USER}" },
              "features": { "ghcr.io/devcontainers/features/node:1": {}, },
              "mounts": [ "source=/,target=/host,type=bind", ],
            }"#,
        );
        let found = found.unwrap();
        assert_eq!((found.image.as_deref(), found.setup.as_deref()), (Some("debian:stable"), Some("npm ci")));
        let env = found.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        assert_eq!(env.collect::<Vec<_>>(), [("CACHE", "/work/project/cache"), ("URL", "http://a//b")]);
        assert_eq!(found.unused, ["containerEnv", "features", "mounts"]);
    }

    #[test]
    fn a_command_is_a_line_or_words_or_several() {
        let setup = |command: &str| read(&format!(r#"{{"postCreateCommand": {command}}}"#)).unwrap().setup;
        assert_eq!(setup(r#""make \"x\"""#).as_deref(), Some(r#"make "x""#));
        assert_eq!(setup(r#"["echo", "it's"]"#).as_deref(), Some(r"'echo' 'it'\''s'"));
        assert_eq!(setup(r#"{"a": "one", "b": ["two", "$x"]}"#).as_deref(), Some("(one) && ('two' '$x')"));
        for none in ["\"  \"", "[]", "{}", "7", "null", "[1]"] {
            assert_eq!(setup(none), None, "{none}");
        }
    }

    #[test]
    fn what_is_no_json_is_told() {
        for text in ["", "{", "[]", "{\"image\": }", "{\"image\": \"a\" /* never closed"] {
            assert!(read(text).is_err(), "{text}");
        }
        assert_eq!(read("{}").unwrap(), Devcontainer::default());
        assert_eq!(read(r#"{"image": ["a"]}"#).unwrap().unused, ["image"]);
    }
}
