//! Lists the settings and their sources, for showing to others: a value is shown only if it cannot be a secret, a name
//! or a path.

use std::path::Path;

use serde::Serialize;
use serde_json::Value;

use super::{FILE, places};
use rapport_durable as durable;

/// Settings whose values are not secret. All others are masked, including those that are added later.
const HARMLESS: [&str; 24] = [
    "agent.name",
    "agent.hot",
    "agent.silence",
    "agent.permission_mode",
    "agent.channel",
    "rounds.max",
    "questions.expire",
    "planner.via",
    "planner.model",
    "planner.timeout",
    "telegram.remind",
    "telegram.faster",
    "telegram.quiet",
    "telegram.budget",
    "worker",
    "worker.kind",
    "worker.network",
    "context.max_file_bytes",
    "context.max_tokens",
    "execution.timeout",
    "terminal.notify",
    "terminal.plain",
    "plain",
    "log",
];

/// The prefixes of the variables that configure Rapport.
const PREFIXES: [&str; 4] = ["RAPPORT_", "TELEGRAM_", "RELAY_", "HTTPS_PROXY"];

/// One setting from one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Said {
    /// The source: `home`, `project` or `environment`.
    pub source: &'static str,
    /// The setting, or the variable.
    pub key: String,
    /// The value; `***` if it could be a secret.
    pub value: String,
}

/// All settings in the files and the environment, in ascending order of precedence. Agents have configuration variables
/// of their own.
pub fn said(
    home: &Path,
    project: &Path,
    env: impl Iterator<Item = (String, String)>,
    is_of_agents: impl Fn(&str) -> bool,
) -> Vec<Said> {
    let mut said = Vec::new();
    let folders = [("home", home.to_owned()), ("project", places::rapport_folder(project))];
    for (source, folder) in folders {
        match read(&folder.join(FILE)) {
            Ok(None) => {}
            Ok(Some(value)) => leaves(source, "", &value, &mut said),
            Err(()) => said.push(Said { source, key: FILE.into(), value: "cannot be read".into() }),
        }
    }
    let ours = |name: &str| PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || is_of_agents(name);
    let mut variables: Vec<_> = env.filter(|(name, _)| ours(name)).collect();
    variables.sort();
    said.extend(variables.into_iter().map(|(name, value)| {
        let is_harmless = HARMLESS.iter().any(|key| name.strip_prefix("RAPPORT_") == Some(&variable(key)));
        Said { source: "environment", value: masked(is_harmless, &value), key: name }
    }));
    said
}

fn read(path: &Path) -> Result<Option<Value>, ()> {
    let content = match durable::read_file(path, super::LARGEST) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(_) => return Err(()),
    };
    let text = String::from_utf8(content).map_err(drop)?;
    serde_saphyr::from_str(&text).map(Some).map_err(drop)
}

fn leaves(source: &'static str, key: &str, value: &Value, said: &mut Vec<Said>) {
    if let Value::Object(fields) = value {
        for (name, value) in fields {
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            leaves(source, &key, value, said);
        }
    } else if !value.is_null() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let value = masked(HARMLESS.contains(&key), &text);
        said.push(Said { source, key: key.to_owned(), value });
    }
}

/// The variable of a setting, without its prefix.
fn variable(key: &str) -> String {
    key.replace('.', "_").to_uppercase()
}

fn masked(is_harmless: bool, value: &str) -> String {
    if is_harmless { value.to_owned() } else { "***".to_owned() }
}
