//! The settings that the CLI is started with.
//!
//! Newer versions let a model decide in plan mode, and nobody is asked: what it finds harmless runs before any plan is confirmed.
//! One setting has a person asked instead. It goes into the settings that the person starts the CLI with, because the CLI takes
//! `--settings` only once.

use std::ffi::{OsStr, OsString};

use serde_json::{Map, Value};

const FLAG: &str = "--settings";

/// Whether plan mode lets a model decide about tools.
const DECIDES_IN_PLAN_MODE: &str = "useAutoModeDuringPlan";

/// These arguments with that setting, put in at `place` where they name no settings. Settings that cannot be read stay as they
/// are: the CLI refuses them itself.
pub(super) fn asking_in_plan_mode(mut args: Vec<OsString>, place: usize) -> Vec<OsString> {
    let joined =
        |arg: &OsString| arg.to_str().and_then(|arg| arg.strip_prefix(FLAG)?.strip_prefix('=')).is_some();
    if let Some(at) = args.iter().rposition(joined) {
        let value =
            args[at].to_str().and_then(|arg| arg.split_once('=')).map(|(_, value)| OsString::from(value));
        if let Some(merged) = value.and_then(|value| merged(&value)) {
            args[at] = format!("{FLAG}={merged}").into();
        }
    } else if let Some(at) = args.iter().rposition(|arg| arg == FLAG) {
        if let Some(merged) = args.get(at + 1).and_then(|value| merged(value)) {
            args[at + 1] = merged.into();
        }
    } else {
        args.splice(place..place, [FLAG.into(), with_it(Map::new()).into()]);
    }
    args
}

/// The settings in this text or file, with that setting.
fn merged(value: &OsStr) -> Option<String> {
    let inline = value.to_str().filter(|text| text.trim_start().starts_with('{'));
    let text = inline.map(str::to_owned).or_else(|| std::fs::read_to_string(value).ok())?;
    Some(with_it(serde_json::from_str(&text).ok()?))
}

fn with_it(mut settings: Map<String, Value>) -> String {
    settings.insert(DECIDES_IN_PLAN_MODE.into(), Value::Bool(false));
    Value::Object(settings).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(args: &[&str], place: usize) -> Vec<String> {
        let args = asking_in_plan_mode(args.iter().map(OsString::from).collect(), place);
        args.into_iter().map(|arg| arg.into_string().unwrap()).collect()
    }

    #[test]
    fn a_person_is_asked_in_plan_mode_whatever_else_is_set() {
        const ASKS: &str = r#"{"useAutoModeDuringPlan":false}"#;
        const BOTH: &str = r#"{"model":"x","useAutoModeDuringPlan":false}"#;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        std::fs::write(&file, r#"{"model":"x"}"#).unwrap();
        let file = file.to_str().unwrap();
        assert_eq!(after(&["play", "-p"], 1), ["play", FLAG, ASKS, "-p"]);
        assert_eq!(after(&["-p", FLAG, r#"{"model":"x"}"#], 0), ["-p", FLAG, BOTH]);
        assert_eq!(after(&["-p", FLAG, file], 0), ["-p", FLAG, BOTH]);
        assert_eq!(after(&[&format!("{FLAG}={file}")], 0), [format!("{FLAG}={BOTH}")]);
        let turned_on = r#"{"useAutoModeDuringPlan":true}"#;
        assert_eq!(after(&[FLAG, turned_on], 0), [FLAG, ASKS]);
        assert_eq!(after(&[FLAG, "no such file"], 0), [FLAG, "no such file"]);
    }
}
