//! Lists the settings and their sources, for showing to others: a value is shown only if it cannot be a secret, a name
//! or a path.

use std::path::Path;

use rapport_settings::{Declared, Document, Row, Section as _, Shown};
use serde::Serialize;
use serde_json::Value;

use super::{FILE, Layer, places};

/// Shown although no row declares it: the short form of `worker.kind`.
const ALSO_SHOWN: &str = "worker";

/// A variable that no file can set, and that is not a secret.
const ALSO_SHOWN_VARIABLE: &str = "RAPPORT_LOG";

/// The prefixes of variables that configure Rapport and that no file can set.
const PREFIXES: [&str; 3] = ["RAPPORT_", "RELAY_", "HTTPS_PROXY"];

/// One setting from one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReportedSetting {
    /// The source: `home`, `project` or `environment`.
    pub source: &'static str,
    /// The setting, or the variable.
    pub key: String,
    /// The value; `***` if it could be a secret.
    pub value: String,
}

/// All settings in the files and the environment, in ascending order of precedence. Agents have configuration variables
/// of their own.
pub fn reported_settings(
    home: &Path,
    project: &Path,
    env: impl Iterator<Item = (String, String)>,
    declared: &[Declared],
    is_of_agents: impl Fn(&str) -> bool,
) -> Vec<ReportedSetting> {
    let rows: Vec<_> =
        Layer::rows().into_iter().chain(declared.iter().flat_map(|section| section.rows.clone())).collect();
    let mut reported = Vec::new();
    let folders = [("home", home.to_owned()), ("project", places::rapport_folder(project))];
    for (source, folder) in folders {
        match read(&folder.join(FILE)) {
            Ok(None) => {}
            Ok(Some(value)) => leaves(source, "", &value, &rows, &mut reported),
            Err(()) => {
                reported.push(ReportedSetting { source, key: FILE.into(), value: "cannot be read".into() })
            }
        }
    }
    let ours = |name: &str| {
        PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || rows.iter().any(|row| row.is_set_by(name))
            || is_of_agents(name)
    };
    let mut variables: Vec<_> = env.filter(|(name, _)| ours(name)).collect();
    variables.sort();
    reported.extend(variables.into_iter().map(|(name, value)| {
        let is_shown = rows.iter().any(|row| row.shown == Shown::Shown && row.is_set_by(&name));
        let value = masked(is_shown || name == ALSO_SHOWN_VARIABLE, &value);
        ReportedSetting { source: "environment", value, key: name }
    }));
    reported
}

fn read(path: &Path) -> Result<Option<Value>, ()> {
    let Some(document) = Document::open(path).map_err(drop)? else { return Ok(None) };
    serde_saphyr::from_str(document.text()).map(Some).map_err(drop)
}

fn leaves(source: &'static str, key: &str, value: &Value, rows: &[Row], reported: &mut Vec<ReportedSetting>) {
    if let Value::Object(fields) = value {
        for (name, value) in fields {
            let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
            leaves(source, &key, value, rows, reported);
        }
    } else if !value.is_null() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let is_shown = rows.iter().any(|row| row.shown == Shown::Shown && row.key == key);
        let value = masked(is_shown || key == ALSO_SHOWN, &text);
        reported.push(ReportedSetting { source, key: key.to_owned(), value });
    }
}

/// Masks a value that could be a secret, including that of an undeclared setting.
fn masked(is_shown: bool, value: &str) -> String {
    if is_shown { value.to_owned() } else { "***".to_owned() }
}
