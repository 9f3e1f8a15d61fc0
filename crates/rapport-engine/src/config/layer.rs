//! The sections of the settings, as tables: one row per setting, in which every setting is optional.

use std::path::PathBuf;

use jiff::SignedDuration;
use rapport_core::message_queue::{DropPolicy, QueueMode};
use rapport_core::routing::Policy;
use rapport_settings::{Dollars, Setting, one_of, section};

use super::planner::PlannerLayer;
use super::worker::WorkerLayer;

section! {
    /// One layer of settings.
    pub struct Layer in "", blank variables: Value {
        /// The command that shows the preview of an action (`nvim -R`); the file's path becomes its last argument.
        preview_command: String, Trusted, Masked;
        /// The command that searches the web for a plan; the queries become its last arguments.
        research_command: String, Trusted, Masked;
        /// How sessions are stored. A project cannot choose that: its sessions would be elsewhere.
        store: String, Person, Shown;
        /// The directories of projects whose own settings are trusted completely.
        trusted: Vec<PathBuf>, Home, Masked;
    }
    sections {
        agent: AgentLayer;
        rounds: RoundsLayer;
        questions: QuestionsLayer;
        lead: LeadLayer;
        planner: PlannerLayer;
        serve: ServeLayer;
        projects: ProjectsLayer;
        #[serde(deserialize_with = "super::worker::name_or_section")]
        worker: WorkerLayer;
        context: ContextLayer;
        execution: ExecutionLayer;
        terminal: TerminalLayer;
    }
}

section! {
    /// Only the name of the store, which has to be readable even if another setting is invalid.
    pub(super) struct StoreName in "", blank variables: Unset {
        store: String, Person, Shown;
    }
    sections {}
}

section! {
    /// Settings of the agent. Kinds of agents declare more of this section.
    pub struct AgentLayer in "agent.", shared, blank variables: Value {
        /// The kind of agent.
        name: String, Trusted, Shown;
        /// The CLI to run, or `rehearsal` for the scripted one.
        command: String, Trusted, Masked;
        /// How long a waiting agent's process is kept (`5m`).
        hot: SignedDuration, Project, Shown;
        /// How long an agent may be silent while it works (`30m`).
        silence: SignedDuration, Trusted, Shown;
        /// The cost at which a person is asked about a session, in dollars.
        budget: Dollars, Trusted, Shown;
        /// The daily cost of all sessions at which a person is asked, in dollars.
        daily_budget: Dollars, Trusted, Shown;
        /// Additional environment variables for the agent.
        env: Vec<String>, Trusted, Masked;
    }
    sections {}
}

section! {
    /// Settings of rounds of questions.
    pub struct RoundsLayer in "rounds.", blank variables: Value {
        /// The maximum number of rounds before a plan.
        max: u32, Trusted, Shown;
    }
    sections {}
}

section! {
    /// Settings of questions.
    pub struct QuestionsLayer in "questions.", blank variables: Value {
        /// How long they stay open (`168h` for a week).
        expire: SignedDuration, Trusted, Shown;
        /// Whether a short reply of the agent with a question mark is a question.
        in_text: bool, Trusted, Shown;
    }
    sections {}
}

section! {
    /// Settings of leads, which are asked first.
    pub struct LeadLayer in "lead.", blank variables: Value {
        /// What the lead of a session may do with its questions: `ask`, `assist` or `auto`.
        policy: LeadPolicy, Trusted, Shown;
        /// How long a lead has for a question before a person is asked (`60s`).
        time: SignedDuration, Trusted, Shown;
        /// How many answers a lead may give in an hour.
        per_hour: u32, Trusted, Shown;
        /// How long the person has before others are asked as well (`30m`); by default no others are asked.
        person_time: SignedDuration, Trusted, Shown;
        /// Whether a short task whose scope is obvious begins without planning (false).
        quick: bool, Trusted, Shown;
    }
    sections {
        queue: LeadQueueLayer;
    }
}

section! {
    /// Settings of messages to a lead, or another conversation, whose agent works.
    pub struct LeadQueueLayer in "lead.queue.", blank variables: Value {
        /// How they reach the agent: `steer`, `followup`, `collect`, `steer-backlog` or `interrupt`.
        mode: LeadQueueMode, Trusted, Shown;
        /// How long it has to be quiet before messages that wait become a turn (`1s`).
        debounce: SignedDuration, Trusted, Shown;
        /// How many messages may wait.
        cap: LeadQueueCap, Trusted, Shown;
        /// Which message gives way when more come: `old`, `new` or `summarize`.
        drop: LeadQueueDrop, Trusted, Shown;
    }
    sections {}
}

/// How messages reach an agent at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadQueueMode(pub QueueMode);

impl Setting for LeadQueueMode {
    fn parse(word: &str) -> Result<Self, String> {
        one_of(word, &QueueMode::ALL.map(|mode| (mode.word(), Self(mode))))
    }
}

/// Which message gives way when too many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadQueueDrop(pub DropPolicy);

impl Setting for LeadQueueDrop {
    fn parse(word: &str) -> Result<Self, String> {
        one_of(word, &DropPolicy::ALL.map(|policy| (policy.word(), Self(policy))))
    }
}

/// How many messages may wait: at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadQueueCap(pub u32);

impl Setting for LeadQueueCap {
    fn parse(word: &str) -> Result<Self, String> {
        match u32::parse(word)? {
            0 => Err("it must be at least 1".to_owned()),
            cap => Ok(Self(cap)),
        }
    }
}

/// A policy for the questions of sessions with a lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeadPolicy(pub Policy);

impl Setting for LeadPolicy {
    fn parse(word: &str) -> Result<Self, String> {
        let policies = [Policy::Ask, Policy::Assist, Policy::Auto];
        one_of(word, &policies.map(|policy| (policy.word(), Self(policy))))
    }
}

section! {
    /// Settings of `serve`. Each channel has a section of its own, which its crate declares.
    pub struct ServeLayer in "serve.", blank variables: Unset {
        /// The project to serve; by default the one that `serve` is started in.
        project: PathBuf, Trusted, Masked, or "RAPPORT_TELEGRAM_PROJECT", or "PROJECT_DIR";
        /// Several projects to serve at once, the first one first.
        projects: Vec<PathBuf>, Home, Masked;
    }
    sections {}
}

section! {
    /// Settings of projects.
    pub struct ProjectsLayer in "projects.", blank variables: Unset {
        /// Directories in which projects are found by their names.
        directories: Vec<PathBuf>, Home, Masked;
    }
    sections {}
}

section! {
    /// Settings of what an agent is shown.
    pub struct ContextLayer in "context.", blank variables: Value {
        /// The maximum size of a file to show, in bytes.
        max_file_bytes: u64, Project, Shown;
        /// The number of tokens above which sending needs a confirmation.
        max_tokens: u64, Trusted, Shown;
    }
    sections {}
}

section! {
    /// Settings of carrying out plans.
    pub struct ExecutionLayer in "execution.", blank variables: Value {
        /// The time limit of a command if its plan sets none (`60s`).
        timeout: SignedDuration, Project, Shown;
        /// Additional environment variables for the commands of a plan.
        env: Vec<String>, Trusted, Masked;
    }
    sections {}
}

section! {
    /// Settings of the terminal.
    pub struct TerminalLayer in "terminal.", blank variables: Value {
        /// Whether to use plain lines instead of a screen, as screen readers need it.
        plain: bool, Project, Shown, or "RAPPORT_PLAIN";
        /// How to notify a person who looks elsewhere that a question waits: `off`, `bell` or `desktop`.
        notify: Notify, Project, Shown;
    }
    sections {}
}

/// How to notify a person who looks elsewhere that a question waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notify {
    Off,
    /// By the terminal's bell.
    #[default]
    Bell,
    /// By a notification on the desktop.
    Desktop,
}

impl Setting for Notify {
    fn parse(word: &str) -> Result<Self, String> {
        one_of(word, &[("off", Self::Off), ("bell", Self::Bell), ("desktop", Self::Desktop)])
    }
}
