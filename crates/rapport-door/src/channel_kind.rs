//! A kind of channel, as `serve`, `doctor` and the settings see it before one runs. Everything about a channel is in its own
//! crate; the program has a list of kinds.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use rapport_core::{Aim, By, Created};
use rapport_settings::{ConfigError, Declared, Sources};
use secrecy::SecretString;

use crate::{Channel, ChannelError, Projects};

/// A kind of channel.
pub trait ChannelKind: Send + Sync {
    /// Its name for `serve --channel`, and of its people: [`Channel::name`].
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

    /// A channel that is ready to run: whatever it listens on or holds alone, it has.
    fn open(&self, setup: ChannelSetup) -> BoxFuture<'static, Result<Box<dyn Channel>, ChannelError>>;

    /// What `doctor` finds out about it.
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

/// What `doctor` finds out about a channel. One that is not configured is no fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Diagnosis {
    Good(String),
    /// It is configured, and cannot be served.
    Bad {
        found: String,
        advice: String,
    },
}

/// Creates the first fact of a session, from its task and aim.
pub type NewSession = Arc<dyn Fn(String, Aim) -> Result<Created, String> + Send + Sync>;

/// Creates the first fact of a session whose agent works outside of the project's directory, from its task, the kind of place, or
/// the usual one, and what that place is to be limited to. Says why there can be none. Blocks.
pub type NewSeparateSession =
    Arc<dyn Fn(String, Option<&str>, &LimitWish) -> Result<Created, String> + Send + Sync>;

/// Creates the first fact of a session that does work, as somebody wants it. Says why there can be none. Blocks.
pub type NewWork = Arc<dyn Fn(WorkWish) -> Result<Created, String> + Send + Sync>;

/// Work that somebody wants done. What is `None` is as usual.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkWish {
    pub task: String,
    /// The kind of place to work in.
    pub worker: Option<String>,
    /// The kind of agent.
    pub agent: Option<String>,
}

/// What people should know before an agent works in a place of this kind, in clauses. Blocks.
pub type WorkplaceWarnings = Arc<dyn Fn(&str) -> Vec<String> + Send + Sync>;

/// What a workplace is to be limited to, as it was written. It may be less than the settings allow, and not more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitWish {
    /// An amount of memory, such as `512m`.
    pub memory: Option<String>,
    /// The number of processors.
    pub cpus: Option<String>,
    /// How long it keeps running while nobody uses it, in milliseconds.
    pub idle_ms: Option<u64>,
}

/// The workers for sessions whose agents work outside of the project's directory.
#[derive(Clone)]
pub struct WorkerChoice {
    pub new: NewSeparateSession,
    /// What a lead should know before an agent works in such a place.
    pub warnings: WorkplaceWarnings,
    /// The name of the usual kind.
    pub usual: String,
    /// The names of all kinds.
    pub kinds: Vec<&'static str>,
}

/// What a channel is made from.
#[derive(Clone)]
pub struct ChannelSetup {
    /// Rapport's home, for the channel's own files.
    pub home: PathBuf,
    pub workers: WorkerChoice,
    /// Where the channel's section is read from.
    pub settings: Arc<Sources>,
    /// The project that is served, or the first of several: what names no project is about this one.
    pub project: ProjectSetup,
    /// The other projects that are served.
    pub others: Vec<ProjectSetup>,
    /// The secrets that Rapport knows, which no channel shows.
    pub secrets: Vec<SecretString>,
    /// The environment for programs that the channel runs.
    pub environment: Vec<(OsString, OsString)>,
    /// The person who runs this process, as a terminal would name them.
    pub person: By,
    /// What is known about projects, those that are served and others.
    pub projects: Arc<dyn Projects>,
    /// What all sessions together may cost on a day, in millionths of a dollar, if that is limited.
    pub daily_budget: Option<u64>,
}

impl ChannelSetup {
    /// All projects that are served, the first one first.
    pub fn projects(&self) -> impl Iterator<Item = &ProjectSetup> {
        std::iter::once(&self.project).chain(&self.others)
    }
}

/// A project, as a channel that serves it knows it.
#[derive(Clone)]
pub struct ProjectSetup {
    /// A short name that no other of them has.
    pub name: String,
    /// Its directory, as its sessions name it.
    pub path: String,
    pub new_session: NewSession,
    pub new_work: NewWork,
    /// The names of the kinds of workers, the usual one first.
    pub workers: Vec<String>,
    /// The names of the kinds of agents, the usual one first.
    pub agents: Vec<String>,
    /// The maximum number of rounds of questions before a plan, if set.
    pub max_rounds: Option<u32>,
}
