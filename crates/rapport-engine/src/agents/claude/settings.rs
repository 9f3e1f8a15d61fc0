//! The settings with which the CLI is started.
//!
//! Newer versions let a model decide about tools in plan mode without asking a person: what it considers harmless
//! runs before any plan is confirmed. One setting makes the CLI ask a person instead. The CLI uses only one
//! `--settings`, so if the person has their own settings, both go into one file. The file is private: settings may
//! contain secrets, and every user of the machine can read arguments.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rapport_core::ConversationId;
use rapport_durable as durable;
use serde_json::{Map, Value};

use super::command::ClaudeConfig;

const FLAG: &str = "--settings";

/// The setting: whether a model decides about tools in plan mode.
const DECIDES_IN_PLAN_MODE: &str = "useAutoModeDuringPlan";

/// The maximum size of a settings file, in bytes.
const LARGEST: u64 = 1024 * 1024;

/// The configuration with that setting. A relative path is from the agent's directory, as for the CLI. Blocks.
pub(super) fn asking_in_plan_mode(
    config: &ClaudeConfig,
    directory: &Path,
    conversation: &ConversationId,
) -> Result<ClaudeConfig, String> {
    let (leading, first) = without_settings(&config.leading_args)?;
    let (extra_args, last) = without_settings(&config.extra_args)?;
    let value = match last.or(first) {
        None => with_it(Map::new()).into(),
        Some(named) => {
            let settings = with_it(read(&named, directory)?);
            write(&settings, config, conversation)?.into_os_string()
        }
    };
    let leading_args = leading.into_iter().chain([FLAG.into(), value]).collect();
    Ok(ClaudeConfig { leading_args, extra_args, ..config.clone() })
}

/// Removes the file with which the CLI was started, if there is one. Blocks.
pub(super) fn clear(config: &ClaudeConfig, conversation: &ConversationId) {
    if let Some(file) = file(config, conversation) {
        // A leftover is private, and the next start replaces it.
        let _ = durable::remove(&file);
    }
}

/// The arguments without settings, and the effective settings: the last ones, in either form.
fn without_settings(args: &[OsString]) -> Result<(Vec<OsString>, Option<OsString>), String> {
    let (mut rest, mut named) = (Vec::new(), None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let joined = arg.as_bytes().strip_prefix(FLAG.as_bytes()).and_then(|after| after.strip_prefix(b"="));
        if arg == FLAG {
            named =
                Some(args.next().cloned().ok_or("the agent's command ends with --settings, without a file")?);
        } else if let Some(value) = joined {
            named = Some(OsStr::from_bytes(value).to_owned());
        } else {
            rest.push(arg.clone());
        }
    }
    Ok((rest, named))
}

/// The settings in this text, or else in this file.
fn read(named: &OsStr, directory: &Path) -> Result<Map<String, Value>, String> {
    if let Some(settings) = named.to_str().and_then(|text| serde_json::from_str(text).ok()) {
        return Ok(settings);
    }
    // They may contain secrets, so neither they nor the parser's quotes are reported.
    if named.as_bytes().trim_ascii_start().starts_with(b"{") {
        return Err("the settings in the agent's command are not a JSON object".into());
    }
    let path = directory.join(named);
    let content = durable::read_file(&path, LARGEST)
        .map_err(|error| format!("cannot read the settings {}: {error}", path.display()))?;
    serde_json::from_slice(&content)
        .map_err(|error| format!("the settings {} are not a JSON object: {error}", path.display()))
}

fn with_it(mut settings: Map<String, Value>) -> String {
    settings.insert(DECIDES_IN_PLAN_MODE.into(), Value::Bool(false));
    Value::Object(settings).to_string()
}

fn write(settings: &str, config: &ClaudeConfig, conversation: &ConversationId) -> Result<PathBuf, String> {
    let file = file(config, conversation).ok_or("there is no private folder for the agent's settings")?;
    let written = durable::private_folder(file.parent().unwrap_or(&file))
        .and_then(|()| durable::replace_private(&file, settings.as_bytes()));
    written.map_err(|error| format!("cannot write the settings to {}: {error}", file.display()))?;
    Ok(file)
}

/// One file for each conversation, so that a leftover is replaced. The name is a digest, because the id of a
/// conversation may come from outside.
fn file(config: &ClaudeConfig, conversation: &ConversationId) -> Option<PathBuf> {
    let name = format!("settings-{}.json", durable::digest(conversation.as_str().as_bytes()));
    config.private.as_ref().map(|folder| folder.join(name))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const ASKS: &str = r#"{"useAutoModeDuringPlan":false}"#;

    struct World {
        folder: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("app")).unwrap();
            fs::write(folder.path().join("app/own.json"), r#"{"model":"x","env":{"KEY":"secret"}}"#).unwrap();
            Self { folder }
        }

        fn config(&self, leading: &[&str], extra: &[&str]) -> ClaudeConfig {
            let words = |words: &[&str]| words.iter().map(OsString::from).collect();
            ClaudeConfig {
                leading_args: words(leading),
                extra_args: words(extra),
                private: Some(self.folder.path().join("run")),
                ..ClaudeConfig::new("claude", "rapport")
            }
        }

        fn asking(&self, leading: &[&str], extra: &[&str]) -> Result<ClaudeConfig, String> {
            let conversation = ConversationId::new("../c");
            asking_in_plan_mode(&self.config(leading, extra), &self.folder.path().join("app"), &conversation)
        }

        /// The content of the settings file.
        fn written(&self, asking: &ClaudeConfig) -> Value {
            let file = asking.leading_args.last().unwrap();
            assert!(Path::new(file).starts_with(self.folder.path().join("run")), "{file:?}");
            assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
            serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
        }
    }

    #[test]
    fn without_settings_of_ones_own_no_file_is_written() {
        let world = World::new();
        let asking = world.asking(&["rehearse"], &["--model", "x"]).unwrap();
        assert_eq!(asking.leading_args, ["rehearse", FLAG, ASKS]);
        assert_eq!(asking.extra_args, ["--model", "x"]);
        assert!(!world.folder.path().join("run").exists());
    }

    /// The same as the CLI does (observed with 2.1.325): the last settings count, in either form.
    #[test]
    fn the_last_settings_count_and_nobody_reads_them_among_the_arguments() {
        let world = World::new();
        let own = world.folder.path().join("app/own.json").display().to_string();
        let joined = format!("{FLAG}={own}");
        for (leading, extra, model) in [
            (&["--a", FLAG, "own.json"][..], &[][..], "x"),
            (&[FLAG, own.as_str()], &[], "x"),
            (&[joined.as_str(), FLAG, r#"{"model":"y"}"#], &[], "y"),
            (&[FLAG, r#"{"model":"y"}"#, joined.as_str()], &[], "x"),
            (&[FLAG, r#"{"model":"y"}"#], &[FLAG, r#" {"model":"z","useAutoModeDuringPlan":true} "#], "z"),
        ] {
            let asking = world.asking(leading, extra).unwrap();
            let all: Vec<_> = asking.leading_args.iter().chain(&asking.extra_args).collect();
            assert_eq!(all.iter().filter(|arg| **arg == FLAG).count(), 1, "{all:?}");
            assert!(!format!("{all:?}").contains("secret"), "{all:?}");
            let written = world.written(&asking);
            assert_eq!((&written["model"], &written[DECIDES_IN_PLAN_MODE]), (&model.into(), &false.into()));
        }
        clear(&world.config(&[], &[]), &ConversationId::new("../c"));
        assert_eq!(fs::read_dir(world.folder.path().join("run")).unwrap().count(), 0);
    }

    #[test]
    fn settings_that_cannot_be_read_are_a_reason_not_to_start() {
        let world = World::new();
        fs::write(world.folder.path().join("app/broken.json"), "{ // why\n}").unwrap();
        for (args, why) in [
            (&[FLAG, "none.json"][..], "/app/none.json: No such file"),
            (&[FLAG, "broken.json"], "/app/broken.json are not a JSON object"),
            (&[FLAG, r#"{"env":{"KEY":"a secret",}}"#], "in the agent's command are not a JSON object"),
            (&[FLAG], "without a file"),
        ] {
            let error = world.asking(args, &[]).unwrap_err();
            assert!(error.contains(why) && !error.contains("a secret"), "{error}");
        }
    }
}
