//! One layer of settings, in which every setting is optional.

use std::path::{Path, PathBuf};

use jiff::SignedDuration;
use rapport_durable as durable;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::ConfigError;
use super::planner::PlannerLayer;
use super::telegram::TelegramLayer;
use super::worker::WorkerLayer;

/// The maximum size of a settings file.
pub(super) const LARGEST: u64 = 1024 * 1024;

/// One layer of settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Layer {
    /// Settings of the agent.
    pub agent: AgentLayer,
    /// Settings of rounds of questions.
    pub rounds: RoundsLayer,
    /// Settings of questions.
    pub questions: QuestionsLayer,
    /// Settings of the planner.
    pub planner: PlannerLayer,
    /// Settings of the Telegram channel.
    pub telegram: TelegramLayer,
    /// The command that shows the preview of an action (`nvim -R`); the file's path becomes its last argument.
    pub preview_command: Option<String>,
    /// The command that searches the web for a plan; the queries become its last arguments.
    pub research_command: Option<String>,
    /// Settings of the workplaces of agents.
    pub worker: WorkerLayer,
    /// Settings of what an agent is shown.
    pub context: ContextLayer,
    /// Settings of carrying out plans.
    pub execution: ExecutionLayer,
    /// Settings of the terminal.
    pub terminal: TerminalLayer,
    /// The directories of projects whose own settings are trusted completely. Only the home's file can set this.
    pub trusted: Option<Vec<PathBuf>>,
}

/// Settings of the terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TerminalLayer {
    /// Whether to use plain lines instead of a screen, as screen readers need it.
    pub plain: Option<bool>,
    /// How to notify a person who looks elsewhere that a question waits: `off`, `bell` or `desktop`.
    pub notify: Option<Notify>,
}

/// How to notify a person who looks elsewhere that a question waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Notify {
    Off,
    /// By the terminal's bell.
    #[default]
    Bell,
    /// By a notification on the desktop.
    Desktop,
}

/// Settings of what an agent is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextLayer {
    /// The maximum size of a file to show, in bytes.
    pub max_file_bytes: Option<u64>,
    /// The number of tokens above which sending needs a confirmation.
    pub max_tokens: Option<u64>,
}

/// Settings of carrying out plans.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ExecutionLayer {
    /// The time limit of a command if its plan sets none (`60s`).
    #[serde(deserialize_with = "some_duration")]
    pub timeout: Option<SignedDuration>,
    /// Additional environment variables for the commands of a plan.
    pub env: Option<Vec<String>>,
}

/// Settings of the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentLayer {
    /// The kind of agent.
    pub name: Option<String>,
    /// The CLI to run, or `rehearsal` for the scripted one.
    pub command: Option<String>,
    /// How long a waiting agent's process is kept (`5m`).
    #[serde(deserialize_with = "some_duration")]
    pub hot: Option<SignedDuration>,
    /// How long an agent may be silent while it works (`30m`).
    #[serde(deserialize_with = "some_duration")]
    pub silence: Option<SignedDuration>,
    /// The permission mode of working turns (`default`, `acceptEdits`, ...).
    pub permission_mode: Option<String>,
    /// How to communicate with the CLI: `auto`, `live` or `print`.
    pub channel: Option<ChannelChoice>,
    /// Additional environment variables for the agent.
    pub env: Option<Vec<String>>,
}

/// How to communicate with the agent's CLI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelChoice {
    /// Live if the CLI's version allows it, otherwise print.
    #[default]
    Auto,
    /// Over its live channel.
    Live,
    /// One process per message, for CLIs without a live channel.
    Print,
}

/// Settings of rounds of questions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RoundsLayer {
    /// The maximum number of rounds before a plan.
    pub max: Option<u32>,
}

/// Settings of questions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QuestionsLayer {
    /// How long questions stay open (`168h` for a week).
    #[serde(deserialize_with = "some_duration")]
    pub expire: Option<SignedDuration>,
}

impl Layer {
    /// Reads the layer from a file; empty if the file does not exist.
    pub fn from_file(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let content = match durable::read_file(path, LARGEST) {
            Ok(content) => content,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(source) => return Err(ConfigError::Unreadable { path: name, source }),
        };
        let text = String::from_utf8(content)
            .map_err(|_| ConfigError::Wrong { place: name.clone(), what: "it is not UTF-8 text".into() })?;
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        serde_saphyr::from_str(&text).map_err(|error| {
            let Some(at) = error.location() else {
                return ConfigError::Wrong { place: name, what: error.to_string() };
            };
            let place = format!("{name}:{}:{}", at.line(), at.column());
            let what = error.without_snippet().to_string();
            let what = what.trim_end_matches(&format!(" at line {}, column {}", at.line(), at.column()));
            ConfigError::Wrong { place, what: what.to_owned() }
        })
    }

    /// Reads the layer from the environment: `agent.hot` is `RAPPORT_AGENT_HOT`, and so on.
    pub fn from_env(env: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let list =
            |value: String| value.split([',', ' ']).filter(|w| !w.is_empty()).map(str::to_owned).collect();
        Ok(Self {
            agent: AgentLayer {
                name: env("RAPPORT_AGENT_NAME"),
                command: env("RAPPORT_AGENT_COMMAND"),
                hot: parsed(&env, "RAPPORT_AGENT_HOT", duration)?,
                silence: parsed(&env, "RAPPORT_AGENT_SILENCE", duration)?,
                permission_mode: env("RAPPORT_AGENT_PERMISSION_MODE"),
                channel: parsed(&env, "RAPPORT_AGENT_CHANNEL", channel)?,
                env: env("RAPPORT_AGENT_ENV").map(list),
            },
            rounds: RoundsLayer { max: parsed(&env, "RAPPORT_ROUNDS_MAX", number)? },
            questions: QuestionsLayer { expire: parsed(&env, "RAPPORT_QUESTIONS_EXPIRE", duration)? },
            planner: PlannerLayer::from_env(&env)?,
            telegram: TelegramLayer::from_env(&env)?,
            preview_command: env("RAPPORT_PREVIEW_COMMAND"),
            research_command: env("RAPPORT_RESEARCH_COMMAND"),
            worker: WorkerLayer::from_env(&env)?,
            context: ContextLayer {
                max_file_bytes: parsed(&env, "RAPPORT_CONTEXT_MAX_FILE_BYTES", number)?.map(u64::from),
                max_tokens: parsed(&env, "RAPPORT_CONTEXT_MAX_TOKENS", number)?.map(u64::from),
            },
            execution: ExecutionLayer {
                timeout: parsed(&env, "RAPPORT_EXECUTION_TIMEOUT", duration)?,
                env: env("RAPPORT_EXECUTION_ENV").map(list),
            },
            terminal: TerminalLayer {
                plain: ["RAPPORT_TERMINAL_PLAIN", "RAPPORT_PLAIN"].into_iter().find_map(&env).map(is_yes),
                notify: parsed(&env, "RAPPORT_TERMINAL_NOTIFY", notify)?,
            },
            trusted: None,
        })
    }

    /// This layer, overridden by another one.
    pub fn under(self, upper: Self) -> Self {
        Self {
            agent: AgentLayer {
                name: upper.agent.name.or(self.agent.name),
                command: upper.agent.command.or(self.agent.command),
                hot: upper.agent.hot.or(self.agent.hot),
                silence: upper.agent.silence.or(self.agent.silence),
                permission_mode: upper.agent.permission_mode.or(self.agent.permission_mode),
                channel: upper.agent.channel.or(self.agent.channel),
                env: upper.agent.env.or(self.agent.env),
            },
            rounds: RoundsLayer { max: upper.rounds.max.or(self.rounds.max) },
            questions: QuestionsLayer { expire: upper.questions.expire.or(self.questions.expire) },
            planner: self.planner.under(upper.planner),
            telegram: self.telegram.under(upper.telegram),
            preview_command: upper.preview_command.or(self.preview_command),
            research_command: upper.research_command.or(self.research_command),
            worker: self.worker.under(upper.worker),
            context: ContextLayer {
                max_file_bytes: upper.context.max_file_bytes.or(self.context.max_file_bytes),
                max_tokens: upper.context.max_tokens.or(self.context.max_tokens),
            },
            execution: ExecutionLayer {
                timeout: upper.execution.timeout.or(self.execution.timeout),
                env: upper.execution.env.or(self.execution.env),
            },
            terminal: self.terminal.under(upper.terminal),
            trusted: upper.trusted.or(self.trusted),
        }
    }
}

impl TerminalLayer {
    /// This layer, overridden by another one.
    pub(super) fn under(self, upper: Self) -> Self {
        Self { plain: upper.plain.or(self.plain), notify: upper.notify.or(self.notify) }
    }
}

/// Parses a duration such as `30s`; a negative one is refused.
pub fn duration(words: &str) -> Result<SignedDuration, String> {
    let parsed = words.parse().ok().filter(|duration: &SignedDuration| !duration.is_negative());
    parsed.ok_or_else(|| format!("{words:?} is not a time such as 30s, 5m or 2h"))
}

/// A switch in the environment is on unless its value means off.
fn is_yes(word: String) -> bool {
    !matches!(word.as_str(), "" | "0" | "false" | "no")
}

fn number(words: &str) -> Result<u32, String> {
    words.parse().map_err(|_| format!("{words:?} is not a number such as 5"))
}

fn channel(word: &str) -> Result<ChannelChoice, String> {
    match word {
        "auto" => Ok(ChannelChoice::Auto),
        "live" => Ok(ChannelChoice::Live),
        "print" => Ok(ChannelChoice::Print),
        _ => Err(format!("{word:?} is not one of auto, live and print")),
    }
}

fn notify(word: &str) -> Result<Notify, String> {
    match word {
        "off" => Ok(Notify::Off),
        "bell" => Ok(Notify::Bell),
        "desktop" => Ok(Notify::Desktop),
        _ => Err(format!("{word:?} is not one of off, bell and desktop")),
    }
}

pub(super) fn some_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SignedDuration>, D::Error> {
    let words = Option::<String>::deserialize(deserializer)?;
    words.map(|words| duration(&words).map_err(D::Error::custom)).transpose()
}

pub(super) fn parsed<T>(
    env: impl Fn(&str) -> Option<String>,
    name: &str,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, ConfigError> {
    let value = env(name).map(|value| parse(&value));
    value.transpose().map_err(|what| ConfigError::Variable { name: name.into(), what })
}
