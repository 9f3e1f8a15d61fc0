//! Claude Code as a kind of agent: its properties before it runs, and how to build one from the settings.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rapport_settings::{ConfigError, Declared, section};

use super::channel::ChannelChoice;
use super::command::{ClaudeConfig, takes_variable};
use super::project_setup::{self, Own};
use super::{Claude, credentials};
use crate::agents::Agent;
use crate::agents::registry::{AgentKind, AgentSetup, Environment};
use crate::config::REHEARSAL;
use crate::environment;
use crate::projects::trust::Brought;

/// The agent's name in the facts of a session.
pub const NAME: &str = "claude";

/// How long an agent may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(3);

/// How to log in.
pub(super) const LOG_IN: &str = "Log in with: claude auth login
or give it a key: export ANTHROPIC_API_KEY=KEY";

/// The variable that names the CLI's folder, if that is not in the person's home.
const FOLDER: &str = "CLAUDE_CONFIG_DIR";

/// Variables that only the scripted agent reads.
const OF_REHEARSAL: [&str; 2] = ["FAKE_CLAUDE_CONFIG", "RAPPORT_REHEARSAL_RECORD"];

/// The prefixes of the variables that configure the CLI.
const PREFIXES: [&str; 3] = ["ANTHROPIC_", "CLAUDE_", "DISABLE_"];

section! {
    /// What Claude Code adds to the settings of agents.
    struct ClaudeLayer in "agent.", shared, blank variables: Value {
        /// The permission mode of working turns (`default`, `acceptEdits`, ...).
        permission_mode: String, Trusted, Shown;
        /// How to communicate with the CLI: `auto`, `live` or `print`.
        channel: ChannelChoice, Trusted, Shown;
    }
    sections {}
}

/// Claude Code, and other programs that speak its protocol, such as the scripted agent.
#[derive(Clone, Copy, Debug)]
pub struct ClaudeCode;

impl AgentKind for ClaudeCode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn usual_command(&self) -> &'static str {
        "claude"
    }

    fn make(&self, command: &[String], setup: &AgentSetup) -> Result<Arc<dyn Agent>, String> {
        let config = ClaudeConfig::from_settings(command, setup).map_err(|error| error.to_string())?;
        let config = config.ok_or("the agent's command is empty")?;
        Ok(Arc::new(Claude::new(config)))
    }

    fn section(&self) -> Option<Declared> {
        Some(Declared::of::<ClaudeLayer>())
    }

    fn installation(&self) -> &'static str {
        "Install Claude Code with: npm install -g @anthropic-ai/claude-code"
    }

    fn remedy(&self, failure: &str) -> &'static str {
        // `/login` is a command of the CLI's own screen.
        if failure.contains("/login") { LOG_IN } else { "" }
    }

    fn brought(&self, project: &Path, environment: &Environment) -> Vec<Brought> {
        let path = |name: &str| environment.get(name).map(PathBuf::from);
        project_setup::brought(project, &Own::new(path("HOME"), path(FOLDER)))
    }

    fn credentials(&self) -> &'static [&'static str] {
        &credentials::CREDENTIALS
    }

    fn is_set_up_by(&self, variable: &str) -> bool {
        PREFIXES.iter().any(|prefix| variable.starts_with(prefix))
    }
}

impl ClaudeConfig {
    /// The driver's configuration for this command, according to the settings; `None` if the command is empty.
    fn from_settings(command: &[String], setup: &AgentSetup) -> Result<Option<Self>, ConfigError> {
        let settings = &setup.settings;
        let own = settings.sources.load::<ClaudeLayer>()?;
        let Some((program, rest)) = command.split_first() else { return Ok(None) };
        let is_rehearsal = program == REHEARSAL;
        let rest = rest.iter().map(OsString::from);
        let (program, leading_args) = if is_rehearsal {
            (setup.keeper.clone(), ["rehearse".into()].into_iter().chain(rest).collect())
        } else {
            (PathBuf::from(program), rest.collect())
        };
        Ok(Some(Self {
            program,
            leading_args,
            extra_args: Vec::new(),
            // The scripted agent supports every channel, so its version does not matter.
            channel: match own.channel.unwrap_or_default() {
                ChannelChoice::Auto if is_rehearsal => ChannelChoice::Live,
                choice => choice,
            },
            work_mode: own.permission_mode.unwrap_or_else(|| "default".into()),
            env: variables(setup, is_rehearsal),
            keeper: setup.keeper.clone(),
            silence: Duration::try_from(settings.silence).unwrap_or(Duration::MAX),
            grace: GRACE,
            trust: setup.trust.clone(),
            login: None,
            clock: setup.clock.clone(),
            private: Some(setup.home.join("run")),
            is_rehearsal,
        }))
    }
}

/// The part of the person's environment that the agent gets.
fn variables(setup: &AgentSetup, is_rehearsal: bool) -> Vec<(OsString, OsString)> {
    let wanted = |name: &str| {
        environment::is_usual(name)
            || takes_variable(name)
            || setup.settings.agent_env.iter().any(|named| named == name)
            || is_rehearsal && OF_REHEARSAL.contains(&name)
    };
    let all = setup.environment.0.iter();
    let mut env: Vec<_> = all.filter(|(name, _)| name.to_str().is_some_and(wanted)).cloned().collect();
    // The scripted agent stores its conversations separately from those of the real one.
    if is_rehearsal && !env.iter().any(|(name, _)| name == FOLDER) {
        env.push((FOLDER.into(), setup.home.join("rehearsal").into()));
    }
    env
}
