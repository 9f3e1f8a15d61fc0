//! Settings: `config.yaml` in the home and in the project, then the environment, then flags. Later ones win, but a
//! project that is not trusted may not set everything (`trust.rs`).

mod layer;
mod places;
mod planner;
mod settings_report;
mod trust;
mod worker;

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::SignedDuration;
use rapport_core::message_queue::QueueTerms;
use rapport_core::routing::{Policy, RoutingTerms};
use rapport_settings::{Document, Dollars, May, Section as _, words};

use crate::projects::trust::{Brought, Trust, TrustLevel};
use crate::workers::WorkerKinds;

use layer::{LeadQueueLayer, StoreName};

pub use layer::{
    AgentLayer, ContextLayer, ExecutionLayer, Layer, LeadLayer, LeadPolicy, Notify, QuestionsLayer,
    RoundsLayer, ServeLayer, TerminalLayer,
};
pub use places::{home, link_outward, project};
pub use planner::{PlannerLayer, PlannerVia};
pub use rapport_settings::{ConfigError, Declared, Secret, Sources, duration};
pub use settings_report::{ReportedSetting, reported_settings};
pub use worker::{NetworkName, WorkerLayer};

/// The word for the scripted agent in `agent.command`.
pub(crate) const REHEARSAL: &str = "rehearsal";

/// The name of the settings file, in the home and in a project.
const FILE: &str = "config.yaml";

/// The sections of which kinds of agents and workers declare a part.
const SHARED: [&str; 2] = ["agent", "worker"];

/// The default maximum size of a file to show to an agent.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// The default number of tokens above which sending needs a confirmation: about the context size of a model.
const MAX_TOKENS: u64 = 200_000;

/// The effective settings, merged from all layers.
#[derive(Clone, Debug)]
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
    /// Additional environment variables for the agent.
    pub agent_env: Vec<String>,
    /// The cost at which a person is asked about a session, if set.
    pub budget: Option<Dollars>,
    /// The daily cost of all sessions at which a person is asked, if set.
    pub daily_budget: Option<Dollars>,
    /// The maximum number of rounds of questions before a plan, if set.
    pub max_rounds: Option<u32>,
    /// How long a question stays open; `None` means forever.
    pub expire: Option<SignedDuration>,
    /// Whether a short reply with a question mark is a question.
    pub questions_in_text: bool,
    /// What the lead of a session may do with its questions.
    pub lead_policy: Policy,
    /// The times and limits of asking a lead.
    pub routing: RoutingTerms,
    /// Whether a short task whose scope is obvious begins without planning.
    pub quick_tasks: bool,
    /// How messages reach the agent of a conversation while it works.
    pub queue: QueueTerms,
    /// Settings of the planner.
    pub planner: PlannerLayer,
    /// The project that `serve` serves, if set.
    pub serve_project: Option<PathBuf>,
    /// Several projects that `serve` serves at once.
    pub serve_projects: Vec<PathBuf>,
    /// Directories in which projects are found by their names.
    pub project_directories: Vec<PathBuf>,
    /// The command that shows the preview of an action, if set.
    pub preview_command: Option<Vec<String>>,
    /// The command that searches the web for a plan; if it is empty, the agent searches.
    pub research_command: Vec<String>,
    /// The name of the worker: the kind of workplace.
    pub worker: String,
    /// The network access of a sandboxed workplace.
    pub network: NetworkName,
    /// The hosts that it may reach, if the network is an allowlist.
    pub allowed_hosts: Vec<String>,
    /// How many agents may work at the same time outside of the project's directory, if that is limited.
    pub at_once: Option<NonZeroU32>,
    /// The command that checks finished work, if set.
    pub check: Option<String>,
    /// The kinds of workers, as they are configured.
    pub workers: WorkerKinds,
    /// The sources of all these settings, for sections that other crates declare.
    pub sources: Arc<Sources>,
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

impl Settings {
    /// Merges all sources, with flags above them. The name of the worker has to be one of these kinds.
    pub fn load(sources: &Sources, flags: Layer, workers: &WorkerKinds) -> Result<Self, ConfigError> {
        let home = read(sources.home.as_ref())?;
        let mut of_project = read(sources.project.as_ref())?;
        trust::set_aside(&mut of_project, &home, sources.project_may(), workers);
        let env = Layer::from_env(&|name| sources.variable(name))?;
        for (layer, file) in [(&home, &sources.home), (&of_project, &sources.project), (&env, &None)] {
            is_worker_known(layer, file.as_ref(), workers)?;
        }
        let agent_is_named = flags.agent.command.is_some();
        let all = home.under(of_project).under(env).under(flags);
        Ok(Self {
            agent_name: all.agent.name,
            agent_command: all.agent.command.map(|command| words(&command)),
            agent_is_named,
            hot: all.agent.hot.unwrap_or(SignedDuration::from_mins(5)),
            silence: all.agent.silence.unwrap_or(SignedDuration::from_mins(30)),
            agent_env: all.agent.env.unwrap_or_default(),
            budget: all.agent.budget,
            daily_budget: all.agent.daily_budget,
            max_rounds: all.rounds.max,
            expire: all.questions.expire,
            questions_in_text: all.questions.in_text.unwrap_or(false),
            lead_policy: all.lead.policy.map_or(Policy::Assist, |named| named.0),
            routing: routing(&all.lead),
            quick_tasks: all.lead.quick.unwrap_or(false),
            queue: queue(&all.lead.queue),
            planner: all.planner,
            serve_project: all.serve.project,
            serve_projects: all.serve.projects.unwrap_or_default(),
            project_directories: all.projects.directories.unwrap_or_default(),
            preview_command: all.preview_command.map(|line| words(&line)).filter(|words| !words.is_empty()),
            research_command: all.research_command.map(|line| words(&line)).unwrap_or_default(),
            worker: all.worker.kind.clone().unwrap_or_else(|| workers.usual().name().to_owned()),
            network: all.worker.network.unwrap_or(match &all.worker.allow {
                // Naming hosts implies an allowlist.
                Some(_) => NetworkName::Allowlist,
                None => NetworkName::None,
            }),
            allowed_hosts: all.worker.allow.clone().unwrap_or_default(),
            at_once: all.worker.at_once.into_iter().chain(workers.at_once()).min(),
            check: all.worker.check.clone().filter(|command| !command.trim().is_empty()),
            workers: workers.clone(),
            sources: Arc::new(sources.clone()),
            max_file_bytes: all.context.max_file_bytes.unwrap_or(MAX_FILE_BYTES),
            max_tokens: all.context.max_tokens.unwrap_or(MAX_TOKENS),
            command_env: all.execution.env.unwrap_or_default(),
            command_timeout: all.execution.timeout.unwrap_or(SignedDuration::from_secs(60)),
            warning: sources.warning.clone(),
        })
    }

    pub fn is_rehearsal(&self) -> bool {
        self.agent_command.iter().flatten().next().is_some_and(|program| program == REHEARSAL)
    }
}

/// The times and limits of asking a lead.
fn routing(said: &LeadLayer) -> RoutingTerms {
    let usual = RoutingTerms::default();
    RoutingTerms {
        lead_time: said.time.unwrap_or(usual.lead_time),
        per_hour: said.per_hour.unwrap_or(usual.per_hour),
        person_time: said.person_time,
    }
}

/// How messages reach the agent of a conversation while it works.
fn queue(said: &LeadQueueLayer) -> QueueTerms {
    let usual = QueueTerms::default();
    QueueTerms {
        mode: said.mode.map_or(usual.mode, |named| named.0),
        debounce: said.debounce.unwrap_or(usual.debounce),
        cap: said.cap.map_or(usual.cap, |cap| cap.0),
        drop: said.drop.map_or(usual.drop, |named| named.0),
    }
}

/// Refuses an unknown name of a worker, in this file or, without one, in the environment.
fn is_worker_known(layer: &Layer, file: Option<&Document>, workers: &WorkerKinds) -> Result<(), ConfigError> {
    let Some(Err(what)) = layer.worker.kind.as_deref().map(|name| workers.find(name)) else { return Ok(()) };
    Err(match file {
        Some(file) => ConfigError::Wrong { place: format!("{}: worker", file.path().display()), what },
        None => ConfigError::Variable { name: "RAPPORT_WORKER".into(), what },
    })
}

/// What the reader of the settings knows besides the engine's own sections.
#[derive(Clone, Debug)]
pub struct KnownSettings {
    /// The sections that other crates declare, and read.
    pub sections: Vec<Declared>,
    /// The kinds of workers that can be named.
    pub workers: WorkerKinds,
}

/// Opens the sources of settings.
pub fn sources(
    home: &Path,
    project: &Path,
    env: HashMap<String, String>,
    declared: &KnownSettings,
) -> Result<Sources, ConfigError> {
    let (home_file, file) = (home.join(FILE), places::rapport_folder(project).join(FILE));
    let own = Document::open(&home_file)?;
    // The home may be inside the project; then both are the same file.
    let theirs = if file == home_file { None } else { Document::open(&file)? };
    let layer = read(own.as_ref())?;
    own.as_ref().map(|own| names_at_top(own, &declared.sections)).transpose()?;
    let names =
        theirs.as_ref().map_or_else(|| Ok(Vec::new()), |theirs| untrusted(theirs, &layer, declared))?;
    let mut sources = Sources { home: own, project: theirs, is_trusted: true, env, warning: None };
    if let Some(theirs) = sources.project.as_ref().filter(|_| !names.is_empty()) {
        let listed = layer.trusted.unwrap_or_default();
        let listed = trust::is_listed(&listed, project, sources.variable("HOME").as_deref());
        let said = Trust::of(home, project).with_whole(listed);
        // The decision is about the content that was read, even if the file changes meanwhile.
        sources.is_trusted = said.standing(&[shown(theirs, project)]) == TrustLevel::Trusted;
        sources.warning = (!sources.is_trusted).then(|| trust::warning(&names, &file));
    }
    // The crates that declare parts of a section read them later; mistakes in them are reported here, with all
    // others.
    let mut parts = declared.sections.iter().filter(|section| section.is_shared);
    parts.try_for_each(|section| section.check(&sources))?;
    Ok(sources)
}

/// The names at the top of a settings file. A name that no section declares is refused, at the top and in sections of
/// which several crates declare a part.
fn names_at_top(document: &Document, declared: &[Declared]) -> Result<Vec<String>, ConfigError> {
    let (shared, whole): (Vec<_>, Vec<_>) = declared.iter().partition(|section| section.is_shared);
    let own = Layer::rows();
    let top = own.iter().map(|row| row.key.split('.').next().unwrap_or_default());
    let mut known: Vec<_> = top.chain(whole.iter().map(|section| section.name)).collect();
    known.dedup();
    for section in SHARED {
        let rows = own.iter().chain(shared.iter().flat_map(|part| &part.rows));
        let inside = |key: &'static str| key.strip_prefix(section)?.strip_prefix('.');
        let known: Vec<_> = rows.filter_map(|row| inside(row.key)).collect();
        document.names_in(section, &known)?;
    }
    document.names(&known)
}

fn read(document: Option<&Document>) -> Result<Layer, ConfigError> {
    document.map_or_else(|| Ok(Layer::default()), Document::read)
}

/// The settings in a project's file that need the person's trust. A section that another crate declares as a whole
/// needs it completely.
fn untrusted(
    document: &Document,
    home: &Layer,
    declared: &KnownSettings,
) -> Result<Vec<&'static str>, ConfigError> {
    let mut names = trust::set_aside(&mut document.read()?, home, May::Project, &declared.workers);
    let at_top = names_at_top(document, &declared.sections)?;
    for section in &declared.sections {
        if section.is_shared {
            names.extend(section.beyond(document, May::Project)?);
        } else if at_top.iter().any(|name| name == section.name) {
            names.push(section.name);
        }
    }
    Ok(names)
}

/// The settings of the terminal. Invalid settings are ignored here; the code that needs the other settings reports
/// them.
pub fn terminal(home: &Path, project: &Path, env: impl Fn(&str) -> Option<String>) -> TerminalLayer {
    let files = [home.to_owned(), places::rapport_folder(project)].map(|folder| folder.join(FILE));
    let documents = files.iter().filter_map(|file| Document::open(file).ok().flatten());
    let layers =
        documents.map(|document| document.read::<TerminalLayer>()).chain([TerminalLayer::from_env(&env)]);
    layers.flatten().fold(TerminalLayer::default(), rapport_settings::Section::under)
}

/// The name of the store that the person chose. A file that cannot be parsed is ignored here; the code that needs the
/// other settings reports it.
pub fn store(home: &Path, env: impl Fn(&str) -> Option<String>) -> Option<String> {
    let document = Document::open(&home.join(FILE)).ok().flatten();
    let layers = [document.map(|document| document.read::<StoreName>()), Some(StoreName::from_env(&env))];
    let layers = layers.into_iter().flatten().flatten();
    layers.fold(StoreName::default(), rapport_settings::Section::under).store
}

/// The person's trust in this project.
pub fn trust(
    home: &Path,
    project: &Path,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Trust, ConfigError> {
    let listed = read(Document::open(&home.join(FILE))?.as_ref())?.trusted.unwrap_or_default();
    let whole = trust::is_listed(&listed, project, env("HOME").as_deref());
    Ok(Trust::of(home, project).with_whole(whole))
}

/// The project's own settings that need the person's trust, if there are any.
pub fn brought(home: &Path, project: &Path, declared: &KnownSettings) -> Option<Brought> {
    let (home_file, file) = (home.join(FILE), places::rapport_folder(project).join(FILE));
    if file == home_file {
        return None;
    }
    let document = match Document::open(&file) {
        Ok(document) => document?,
        Err(ConfigError::Unreadable { source, .. }) => {
            return Some(Brought::unseen(name(&file, project), source));
        }
        // Settings that cannot be parsed are ignored completely.
        Err(_) => return None,
    };
    // The person's own settings may be damaged; then the project's still need trust.
    let own = Document::open(&home_file).and_then(|own| read(own.as_ref())).unwrap_or_default();
    let names = untrusted(&document, &own, declared).unwrap_or_default();
    (!names.is_empty()).then(|| shown(&document, project))
}

/// A project's settings, as the person is shown them.
fn shown(document: &Document, project: &Path) -> Brought {
    let text = document.text();
    let says = text.lines().map(str::to_owned).collect();
    Brought::new(name(document.path(), project), text.as_bytes(), says)
}

fn name(file: &Path, project: &Path) -> String {
    file.strip_prefix(project).unwrap_or(file).display().to_string()
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
