//! Settings: `config.yaml` in the home and in the project, then the environment, then flags. Later ones win, but a
//! project that is not trusted may not set everything (`trust.rs`).

mod layer;
mod places;
mod planner;
mod said;
mod secret;
mod telegram;
mod trust;
mod worker;

use std::path::Path;

use jiff::SignedDuration;
use rapport_durable as durable;
use thiserror::Error;

use crate::projects::trust::{Brought, Standing, Trust};

use layer::LARGEST;
pub use layer::{
    AgentLayer, ChannelChoice, ContextLayer, ExecutionLayer, Layer, Notify, QuestionsLayer, RoundsLayer,
    TerminalLayer, duration,
};
pub use places::{home, link_outward, project};
pub use planner::{PlannerLayer, PlannerVia};
pub use said::{Said, said};
pub use secret::Secret;
pub use telegram::{TelegramLayer, TelegramSettings, WebhookLayer, WebhookSettings};
pub use worker::{NetworkName, WorkerLayer, WorkerName, worker};

/// The word for the scripted agent in `agent.command`.
pub const REHEARSAL: &str = "rehearsal";

/// The name of the settings file, in the home and in a project.
const FILE: &str = "config.yaml";

/// The default maximum size of a file to show to an agent.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The default number of tokens above which sending needs a confirmation: about the context size of a model.
const MAX_TOKENS: u64 = 200_000;

/// The effective settings, merged from all layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The kind of agent of new sessions, if set.
    pub agent_name: Option<String>,
    /// The CLI to run, with its leading arguments, if set.
    pub agent_command: Option<Vec<String>>,
    /// Whether that CLI was named for this run only; then it also runs sessions that began with another one.
    pub agent_is_named: bool,
    /// How long a waiting agent's process is kept.
    pub hot: SignedDuration,
    /// How long an agent may be silent while it works.
    pub silence: SignedDuration,
    /// The permission mode of working turns.
    pub permission_mode: String,
    /// How to communicate with the agent's CLI.
    pub channel: ChannelChoice,
    /// Additional environment variables for the agent.
    pub agent_env: Vec<String>,
    /// The maximum number of rounds of questions before a plan, if set.
    pub max_rounds: Option<u32>,
    /// How long a question stays open; `None` means forever.
    pub expire: Option<SignedDuration>,
    /// Settings of the planner.
    pub planner: PlannerLayer,
    /// Settings of the Telegram channel.
    pub telegram: TelegramSettings,
    /// The command that shows the preview of an action, if set.
    pub preview_command: Option<Vec<String>>,
    /// The command that searches the web for a plan; if it is empty, the agent searches.
    pub research_command: Vec<String>,
    /// The worker: the kind of workplace.
    pub worker: WorkerName,
    /// The network access of a sandboxed workplace.
    pub network: NetworkName,
    /// The hosts that it may reach, if the network is an allowlist.
    pub allowed_hosts: Vec<String>,
    /// The maximum size of a file to show to an agent, in bytes.
    pub max_file_bytes: u64,
    /// The number of tokens above which sending needs a confirmation.
    pub max_tokens: u64,
    /// The time limit of a command if its plan sets none.
    pub command_timeout: SignedDuration,
    /// Additional environment variables for the commands of a plan.
    pub command_env: Vec<String>,
    /// A warning for the person about settings of an untrusted project that were ignored.
    pub warning: Option<String>,
}

/// Errors in the settings.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file exists and cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable { path: String, source: std::io::Error },
    /// The content of a file is invalid.
    #[error("{place}: {what}")]
    Wrong {
        /// The file, and the position in it.
        place: String,
        what: String,
    },
    /// The value of a variable is invalid.
    #[error("{name}: {what}")]
    Variable { name: String, what: String },
}

impl Settings {
    /// Merges all layers.
    pub fn load(
        home: &Path,
        project: &Path,
        env: impl Fn(&str) -> Option<String>,
        flags: Layer,
    ) -> Result<Self, ConfigError> {
        let home_file = home.join(FILE);
        let home = Layer::from_file(&home_file)?;
        let (of_project, warning) = of_project(&home, &home_file, project, &env)?;
        let env = Layer::from_env(env)?;
        let agent_is_named = flags.agent.command.is_some();
        let all = home.under(of_project).under(env).under(flags);
        Ok(Self {
            agent_name: all.agent.name,
            agent_command: all.agent.command.map(|command| words(&command)),
            agent_is_named,
            hot: all.agent.hot.unwrap_or(SignedDuration::from_mins(5)),
            silence: all.agent.silence.unwrap_or(SignedDuration::from_mins(30)),
            permission_mode: all.agent.permission_mode.unwrap_or_else(|| "default".into()),
            channel: all.agent.channel.unwrap_or_default(),
            agent_env: all.agent.env.unwrap_or_default(),
            max_rounds: all.rounds.max,
            expire: all.questions.expire,
            planner: all.planner,
            telegram: all.telegram.settings()?,
            preview_command: all.preview_command.map(|line| words(&line)).filter(|words| !words.is_empty()),
            research_command: all.research_command.map(|line| words(&line)).unwrap_or_default(),
            worker: all.worker.kind.unwrap_or_default(),
            network: all.worker.network.unwrap_or(match &all.worker.allow {
                // Naming hosts implies an allowlist.
                Some(_) => NetworkName::Allowlist,
                None => NetworkName::None,
            }),
            allowed_hosts: all.worker.allow.unwrap_or_default(),
            max_file_bytes: all.context.max_file_bytes.unwrap_or(MAX_FILE_BYTES),
            max_tokens: all.context.max_tokens.unwrap_or(MAX_TOKENS),
            command_env: all.execution.env.unwrap_or_default(),
            command_timeout: all.execution.timeout.unwrap_or(SignedDuration::from_secs(60)),
            warning,
        })
    }

    pub fn is_rehearsal(&self) -> bool {
        self.agent_command.iter().flatten().next().is_some_and(|program| program == REHEARSAL)
    }
}

/// The project's own settings, as far as they are allowed, and a warning about the rest.
fn of_project(
    home: &Layer,
    home_file: &Path,
    project: &Path,
    env: impl Fn(&str) -> Option<String>,
) -> Result<(Layer, Option<String>), ConfigError> {
    let file = places::rapport_folder(project).join(FILE);
    let mut layer = Layer::from_file(&file)?;
    let mut harmless = layer.clone();
    let names = trust::set_aside(&mut harmless, home);
    // The home may be inside the project; then both are the same file.
    if names.is_empty() || file == home_file {
        return Ok((layer, None));
    }
    // The transcriber hears the person, so only the person may choose it, even if the project is trusted.
    layer.telegram.transcriber = None;
    let folder = home_file.parent().unwrap_or(home_file);
    let listed =
        trust::is_listed(home.trusted.as_deref().unwrap_or_default(), project, env("HOME").as_deref());
    let said = Trust::of(folder, project).with_whole(listed);
    if said.standing(brought(folder, project).as_slice()) == Standing::Trusted {
        return Ok((layer, None));
    }
    Ok((harmless, Some(trust::warning(&names, &file))))
}

/// The settings of the terminal. Invalid settings are ignored here; the code that needs the other settings reports
/// them.
pub fn terminal(home: &Path, project: &Path, env: impl Fn(&str) -> Option<String>) -> TerminalLayer {
    let files = [home.to_owned(), places::rapport_folder(project)].map(|folder| folder.join(FILE));
    let layers = files.iter().map(|file| Layer::from_file(file)).chain([Layer::from_env(env)]);
    layers.flatten().fold(TerminalLayer::default(), |under, layer| under.under(layer.terminal))
}

/// The person's trust in this project.
pub fn trust(
    home: &Path,
    project: &Path,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Trust, ConfigError> {
    let listed = Layer::from_file(&home.join(FILE))?.trusted.unwrap_or_default();
    let whole = trust::is_listed(&listed, project, env("HOME").as_deref());
    Ok(Trust::of(home, project).with_whole(whole))
}

/// The project's own settings that need the person's trust, if there are any.
pub fn brought(home: &Path, project: &Path) -> Option<Brought> {
    let file = places::rapport_folder(project).join(FILE);
    if file == home.join(FILE) {
        return None;
    }
    let name = file.strip_prefix(project).unwrap_or(&file).display().to_string();
    let content = match durable::read_file(&file, LARGEST) {
        Ok(content) => content,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => return Some(Brought::unseen(name, error)),
    };
    // Settings that cannot be parsed are ignored completely.
    let mut layer = Layer::from_file(&file).unwrap_or_default();
    let own = Layer::from_file(&home.join(FILE)).unwrap_or_default();
    let is_harmless = trust::set_aside(&mut layer, &own).is_empty();
    let says = || String::from_utf8_lossy(&content).lines().map(str::to_owned).collect();
    (!is_harmless).then(|| Brought::new(name, &content, says()))
}

/// The directory of a project's sessions.
pub fn sessions(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("sessions")
}

/// The file that selects what all sessions of a project are shown.
pub fn global_context(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("global.context")
}

/// The file of a project's memos.
pub fn memos(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("memos.yaml")
}

/// The directory of a project's agents, each with its additional instructions.
pub fn agents(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("agents")
}

/// The directory of the journals of a project's batches.
pub fn batches(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("batches")
}

/// The directory of the worktrees of a project's branches.
pub fn worktrees(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("worktrees")
}

/// Splits a command line into words. Quotes group a word and have no other meaning here.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in command.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}
