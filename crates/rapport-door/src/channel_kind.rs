//! A kind of channel, as `serve`, `doctor` and the settings see it before one runs. Everything about a channel is in
//! its own crate; the program has a list of kinds.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rapport_core::routing::Policy;
use rapport_core::{Aim, By, Created, QuestionId, SessionId};
use rapport_settings::{ConfigError, Declared, Sources};
use secrecy::SecretString;

use crate::{Channel, ChannelError, Projects};

/// A kind of channel.
pub trait ChannelKind: Send + Sync {
    /// Its name for `serve --channel`, and the channel of its people: [`Channel::name`].
    fn name(&self) -> &'static str;

    /// The section of the settings that configures it.
    fn section(&self) -> Declared;

    /// Its part of the help of `serve`: what it is for, what configures it, and examples.
    fn help(&self) -> &'static str;

    /// What is missing to run one; `None` if it is configured.
    fn missing(&self, settings: &Sources) -> Result<Option<Missing>, ConfigError>;

    /// The project that its own settings name. `serve.project` takes precedence.
    fn project(&self, _settings: &Sources) -> Result<Option<PathBuf>, ConfigError> {
        Ok(None)
    }

    /// Opens a channel that is ready to run: it listens already, and has the locks that it needs.
    fn open(&self, setup: ChannelSetup) -> BoxFuture<'static, Result<Box<dyn Channel>, ChannelError>>;

    /// What `doctor` reports about it.
    fn diagnose(&self, setup: ChannelSetup) -> BoxFuture<'static, Diagnosis>;
}

/// What is missing to run a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What is missing, as a clause.
    pub what: &'static str,
    /// How to get it: full sentences.
    pub advice: &'static str,
}

/// What `doctor` reports about a channel. A channel that is not configured is not an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Diagnosis {
    Good(String),
    /// It is configured, but cannot be served.
    Bad {
        found: String,
        advice: String,
    },
}

/// Creates the first fact of a session, from its task and aim.
pub type NewSession = Arc<dyn Fn(String, Aim) -> Result<Created, String> + Send + Sync>;

/// Creates the first fact of a session whose agent works outside of the project's directory, from its task, the kind
/// of worker (the default if `None`), and limits for its workplace. An error says why it cannot be created. Blocks.
pub type NewSeparateSession =
    Arc<dyn Fn(String, Option<&str>, &LimitWish) -> Result<Created, String> + Send + Sync>;

/// Creates the first fact of a session that does work, from a person's wish. An error says why it cannot be created.
/// Blocks.
pub type NewWork = Arc<dyn Fn(WorkWish) -> Result<Created, String> + Send + Sync>;

/// Opens a question of a session again in another session, a branch. Returns the branch, or says why there is none.
/// Blocks.
pub type NewBranch = Arc<dyn Fn(&SessionId, &QuestionId) -> Result<SessionId, String> + Send + Sync>;

/// Work that a person wants done. `None` means the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkWish {
    pub task: String,
    /// The kind of worker.
    pub worker: Option<String>,
    /// The kind of agent.
    pub agent: Option<String>,
    /// What the project's lead may do with its questions. A policy that needs a lead is refused without one.
    pub policy: Option<Policy>,
}

/// What people should know before an agent works with a worker of this kind, in clauses. Blocks.
pub type WorkplaceWarnings = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// Limits for a workplace, as they were written. They may be stricter than the settings, not looser.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitWish {
    /// An amount of memory, such as `512m`.
    pub memory: Option<String>,
    /// The number of processors.
    pub cpus: Option<String>,
    /// How long it keeps running while it is not used, in milliseconds.
    pub idle_ms: Option<u64>,
}

/// The workers for sessions whose agents work outside of the project's directory.
#[derive(Clone)]
pub struct WorkerChoice {
    pub new: NewSeparateSession,
    /// What a lead should know before an agent works in such a workplace.
    pub warnings: WorkplaceWarnings,
    /// The name of the default kind.
    pub usual: String,
    /// The names of all kinds.
    pub kinds: Vec<&'static str>,
}

/// The parts that a channel is made from.
#[derive(Clone)]
pub struct ChannelSetup {
    /// Rapport's home, for the channel's own files.
    pub home: PathBuf,
    pub workers: WorkerChoice,
    /// Where the channel's section is read from.
    pub settings: Arc<Sources>,
    /// The project that is served, or the first of several: requests that name no project are about this one.
    pub project: ProjectSetup,
    /// The other projects that are served.
    pub others: Vec<ProjectSetup>,
    /// The secrets that Rapport knows, which channels must not show.
    pub secrets: Vec<SecretString>,
    /// The environment for programs that the channel runs.
    pub environment: Vec<(OsString, OsString)>,
    /// The person who runs this process, as a terminal would name them.
    pub person: By,
    /// What is known about projects, those that are served and others.
    pub projects: Arc<dyn Projects>,
    /// Whether the agents of leads get Rapport's own tools here.
    pub has_lead_tools: bool,
    /// The daily budget of all sessions together, in millionths of a dollar, if there is one.
    pub daily_budget: Option<u64>,
}

impl ChannelSetup {
    /// All served projects, the first one first.
    pub fn projects(&self) -> impl Iterator<Item = &ProjectSetup> {
        std::iter::once(&self.project).chain(&self.others)
    }
}

/// A served project, as its channel knows it.
#[derive(Clone)]
pub struct ProjectSetup {
    /// A short name, unique among the served projects.
    pub name: String,
    /// Its directory, as its sessions name it.
    pub path: String,
    pub new_session: NewSession,
    pub new_work: NewWork,
    pub new_branch: NewBranch,
    /// The names of the kinds of workers, the default first.
    pub workers: Vec<String>,
    /// The names of the kinds of agents, the default first.
    pub agents: Vec<String>,
    /// The maximum number of rounds of questions before a plan, if set.
    pub max_rounds: Option<u32>,
    /// What its lead may do with questions, unless a session says something else.
    pub policy: Policy,
    /// Whether a short task whose scope is obvious begins without planning.
    pub quick_tasks: bool,
}
