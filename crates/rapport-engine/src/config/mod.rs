//! Settings: `config.yaml` in the home and in the project, then the environment, then flags. Later ones win, but a project
//! may not say everything by itself (`trust.rs`).

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

/// The file of settings, in the home and in a project.
const FILE: &str = "config.yaml";

/// The largest file that an agent is shown whole, where the settings do not say.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// How many tokens are sent without a question, where the settings do not say: about what a model can read at once.
const MAX_TOKENS: u64 = 200_000;

/// What holds, after all layers are laid over each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The kind of agent that new sessions begin with, where somebody says so.
    pub agent_name: Option<String>,
    /// The CLI to run, and what goes before its arguments, where somebody says so.
    pub agent_command: Option<Vec<String>>,
    /// Whether that CLI was named for this very run, so that it also runs sessions that were begun with another.
    pub agent_is_named: bool,
    /// How long a waiting agent's process is kept.
    pub hot: SignedDuration,
    /// How long an agent may be silent while it works.
    pub silence: SignedDuration,
    /// The permission mode of working turns.
    pub permission_mode: String,
    /// How the agent is talked to.
    pub channel: ChannelChoice,
    /// Variables the agent gets beside the usual ones.
    pub agent_env: Vec<String>,
    /// How many rounds of questions before a plan, where somebody says so.
    pub max_rounds: Option<u32>,
    /// How long a question stays open; forever where nothing is said.
    pub expire: Option<SignedDuration>,
    /// Who makes rounds of questions, as far as anything is said about it.
    pub planner: PlannerLayer,
    /// About the Telegram channel.
    pub telegram: TelegramSettings,
    /// What shows the preview of an action, where it is set.
    pub preview_command: Option<Vec<String>>,
    /// What searches the web for a plan; the agent does where it is empty.
    pub research_command: Vec<String>,
    /// The kind of place that agents work in.
    pub worker: WorkerName,
    /// What of the network can be reached from a place that is apart from the host.
    pub network: NetworkName,
    /// The hosts that can be reached from there, where that is a list.
    pub allowed_hosts: Vec<String>,
    /// The largest file that an agent is shown whole, in bytes.
    pub max_file_bytes: u64,
    /// More tokens than this are not sent without a question.
    pub max_tokens: u64,
    /// How long a command of a plan may take where the plan does not say so.
    pub command_timeout: SignedDuration,
    /// Variables that commands of a plan get beside the usual ones.
    pub command_env: Vec<String>,
    /// What the person has to know about them: what a project that is not trusted would have liked to say.
    pub warning: Option<String>,
}

/// What is wrong with the settings.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file is there and cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// Which file.
        path: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not what it should be.
    #[error("{place}: {what}")]
    Wrong {
        /// Which file, and where in it.
        place: String,
        /// What is wrong there.
        what: String,
    },
    /// A variable is not what it should be.
    #[error("{name}: {what}")]
    Variable {
        /// Which one.
        name: String,
        /// What is wrong with it.
        what: String,
    },
}

impl Settings {
    /// Lays all layers over each other.
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
                // Whoever names hosts wants them reached.
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

    /// Whether the scripted agent runs.
    pub fn is_rehearsal(&self) -> bool {
        self.agent_command.iter().flatten().next().is_some_and(|program| program == REHEARSAL)
    }
}

/// What a project says itself, as far as it may, and what the person is told about the rest.
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
    // A home can be a project's folder too; then both are one file.
    if names.is_empty() || file == home_file {
        return Ok((layer, None));
    }
    // What listens to a person is theirs to choose, however much they trust a project.
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

/// How the terminal is to be used. Settings that cannot be read say nothing here; whoever needs the rest of them tells so.
pub fn terminal(home: &Path, project: &Path, env: impl Fn(&str) -> Option<String>) -> TerminalLayer {
    let files = [home.to_owned(), places::rapport_folder(project)].map(|folder| folder.join(FILE));
    let layers = files.iter().map(|file| Layer::from_file(file)).chain([Layer::from_env(env)]);
    layers.flatten().fold(TerminalLayer::default(), |under, layer| under.under(layer.terminal))
}

/// What the person said about this project.
pub fn trust(
    home: &Path,
    project: &Path,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Trust, ConfigError> {
    let listed = Layer::from_file(&home.join(FILE))?.trusted.unwrap_or_default();
    let whole = trust::is_listed(&listed, project, env("HOME").as_deref());
    Ok(Trust::of(home, project).with_whole(whole))
}

/// The project's own settings, where they say something that counts only if the person trusts it.
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
    // What cannot be understood does not count at all.
    let mut layer = Layer::from_file(&file).unwrap_or_default();
    let own = Layer::from_file(&home.join(FILE)).unwrap_or_default();
    let is_harmless = trust::set_aside(&mut layer, &own).is_empty();
    let says = || String::from_utf8_lossy(&content).lines().map(str::to_owned).collect();
    (!is_harmless).then(|| Brought::new(name, &content, says()))
}

/// Where a project's sessions are.
pub fn sessions(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("sessions")
}

/// What every session of files in a project is shown.
pub fn global_context(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("global.context")
}

/// What every session of files in a project remembers.
pub fn memos(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("memos.yaml")
}

/// What agents of a project are told beside the usual, by name.
pub fn agents(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("agents")
}

/// Where the journals of a project's batches are.
pub fn batches(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("batches")
}

/// Where the worktrees of a project's branches are.
pub fn worktrees(project: &Path) -> std::path::PathBuf {
    places::rapport_folder(project).join("worktrees")
}

/// A command line as words. Quotes hold a word together; that is all they do here.
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
