//! Assembles the parts of an engine. Only this module uses all of them.

use std::collections::{BTreeSet, HashMap};
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rapport_core::routing::Policy;
use rapport_core::{Aim, Clarifier, Created, Decider, Session, SessionId, Terms};
use rapport_door::{ChannelSetup, Diagnosis, NewBranch, NewWork, ProjectSetup, WorkWish, WorkerChoice};
use tokio::task::JoinHandle;

use crate::actions;
use crate::agents::{Agent, AgentKinds, AgentSetup, AgentsByName, Environment};
use crate::branches;
use crate::channels::ChannelKinds;
use crate::channels::terminal::{self, terminal_text};
use crate::clock::{self, Clock};
use crate::config::{self, KnownSettings, Layer, NetworkName, Secret, Settings, Sources};
use crate::engine::claims::AGENTS_ANSWER_NOTHING;
use crate::engine::socket::{self, Serving, Socket};
use crate::engine::strays::Sweeper;
use crate::engine::{
    AgentLimits, AgentSlots, DailySpending, Engine, Parts, ProjectSessions, Sessions, descent,
};
use crate::environment;
use crate::error::{Code, Failure};
use crate::lead_tools;
use crate::options::Common;
use crate::output::warn;
use crate::planners::messages::{ApiAccess, Credential};
use crate::planners::{self, ModelAccess, Planner, Via};
use crate::projects::grants::Grants;
use crate::projects::known_projects::KnownProjects;
use crate::projects::recorder;
use crate::projects::trust::{Brought, Trust, TrustLevel};
use crate::seals::Seals;
use crate::stores::blocking::{BlockingStore, wait};
use crate::stores::{ChosenStore, Holder, SettingsReader, Store, StoreKinds, StoreSite};
use crate::threads::off_thread;
use crate::turns::batches::{Batches, Naming};
use crate::turns::{Folder, Helpers, TurnError, Workshop};
use crate::workers::history::commits;
use crate::workers::network::{HostPattern, Network};
use crate::workers::{Worker, WorkerKind, WorkerKinds, WorkerSetup, WorkerSources, Workers, local};

/// The channel in which the leads of a project begin.
pub const LEADS_BEGIN_IN: &str = "terminal";

/// The number of recent sessions among which the lead is looked for.
const LOOKED_AT: usize = 200;

/// The length of the day at the beginning of a session's name.
const DAY: usize = 8;

/// The default number of rounds of questions before a plan.
pub const ROUNDS: u32 = 5;

/// The maximum number of files to name in the warning that the agent is started without them.
const MOST_NAMED: usize = 5;

/// How long the start of a host waits for the cleaning up of workplaces that are no longer needed.
const SWEEPING: Duration = Duration::from_secs(5);

/// How long the end of a host waits until the ends of its sessions are recorded.
const RECORDING: Duration = Duration::from_millis(500);

/// How long a model may take to make a round of questions.
const PLANNER_TIMEOUT: Duration = Duration::from_secs(60);

/// Where a command runs: the home and the project.
#[derive(Clone, Debug)]
pub struct Workspace {
    pub home: PathBuf,
    pub project: PathBuf,
    /// The available kinds of agents.
    pub agents: AgentKinds,
    /// The available kinds of channels.
    pub channels: ChannelKinds,
    /// The available kinds of workers.
    pub worker_kinds: WorkerKinds,
    /// The available kinds of stores.
    pub stores: StoreKinds,
    /// The store of sessions.
    pub stored_by: ChosenStore,
}

impl Workspace {
    /// This home and this project, with Rapport's own agents, channels, workers and store.
    pub fn new(home: PathBuf, project: PathBuf) -> Self {
        let stores = StoreKinds::builtin();
        Self {
            home,
            project,
            agents: AgentKinds::builtin(),
            channels: ChannelKinds::builtin(),
            worker_kinds: WorkerKinds::builtin(),
            stored_by: stores.usual(),
            stores,
        }
    }

    /// Determines the place from the command line, the environment and the current directory.
    pub fn find(common: &Common) -> Result<Self, Failure> {
        let home = config::home(variable).ok_or_else(|| {
            Failure::new(Code::Usage, "neither RAPPORT_HOME nor HOME is set")
                .hint("Say where Rapport may keep its files: export RAPPORT_HOME=DIR")
        })?;
        let project = match &common.project {
            Some(directory) => {
                let refused = |why: &dyn std::fmt::Display| {
                    let what = format!("cannot use {} as the project: {why}", directory.display());
                    Failure::new(Code::Usage, what).hint("Name an existing directory: --project DIR")
                };
                let found = directory.canonicalize().map_err(|error| refused(&error))?;
                if !found.is_dir() {
                    return Err(refused(&"it is not a directory"));
                }
                found
            }
            None => {
                let here = env::current_dir().map_err(|error| {
                    Failure::new(Code::Usage, format!("the current directory is gone: {error}"))
                })?;
                config::project(&here, &home)
            }
        };
        if let Some(link) = config::link_outward(&project).filter(|link| *link != home) {
            let what = format!(
                "{} is a link that leads out of the project",
                terminal_text::line(&link.display().to_string())
            );
            return Err(Failure::new(Code::Refused, what).hint(
                "Rapport would read and write elsewhere. Replace it by a directory or a file of its own.",
            ));
        }
        let screen = config::terminal(&home, &project, variable);
        if screen.plain.unwrap_or(false) {
            terminal::use_lines();
        }
        terminal::notify_by(match screen.notify.unwrap_or_default() {
            config::Notify::Off => terminal::Notice::Off,
            config::Notify::Bell => terminal::Notice::Bell,
            config::Notify::Desktop => terminal::Notice::Desktop,
        });
        Self::new(home, project).with_store()
    }

    /// The same with the store that the person chose.
    fn with_store(self) -> Result<Self, Failure> {
        let Some(name) = config::store(&self.home, variable) else { return Ok(self) };
        let stored_by = self.stores.find(&name).map_err(|why| {
            Failure::new(Code::Usage, format!("the setting `store`: {why}")).hint(
                "Name one of them in the config.yaml of your home, or in RAPPORT_STORE, or leave it out.",
            )
        })?;
        Ok(Self { stored_by, ..self })
    }

    /// The sections and names that the settings may contain and that are declared outside of `config/`.
    pub fn known_settings(&self) -> KnownSettings {
        let kinds = [self.agents.sections(), self.worker_kinds.sections(), self.stores.sections()].concat();
        let sections = [self.channels.sections(), kinds].concat();
        KnownSettings { sections, workers: self.worker_kinds.clone() }
    }

    /// The sources of the settings.
    pub fn sources(&self) -> Result<Sources, Failure> {
        Ok(config::sources(&self.home, &self.project, variables(), &self.known_settings())?)
    }

    /// The effective settings. A warning about them is printed once, on stderr.
    pub fn settings(&self, flags: Layer) -> Result<Settings, Failure> {
        self.settings_of(&self.sources()?, flags)
    }

    /// The settings, for callers that work without them as well; a mistake in them is reported elsewhere.
    fn settings_if_right(&self) -> Option<Settings> {
        self.load(&self.sources().ok()?, Layer::default()).ok()
    }

    fn load(&self, sources: &Sources, flags: Layer) -> Result<Settings, Failure> {
        Ok(Settings::load(sources, flags, &self.configured_workers(sources)?)?)
    }

    /// The kinds of workers as these sources and the project configure them.
    fn configured_workers(&self, settings: &Sources) -> Result<WorkerKinds, Failure> {
        let sources = WorkerSources { settings, project: &self.project, trust: &self.trust()? };
        Ok(self.worker_kinds.configured(&sources)?)
    }

    /// The same, read from these sources.
    pub fn settings_of(&self, sources: &Sources, flags: Layer) -> Result<Settings, Failure> {
        let settings = self.load(sources, flags)?;
        if let Some(warning) = &settings.warning {
            warn_once(warning.clone());
        }
        Ok(settings)
    }

    pub fn seals(&self) -> Seals {
        Seals::new(self.home.clone(), self.project.clone())
    }

    /// The place of a batch with this journal.
    pub fn batch(&self, journal: &Path) -> actions::BatchSite {
        let (project, journal) = (self.project.clone(), journal.to_owned());
        let seals = Some(Arc::new(self.seals()));
        actions::BatchSite { project, journal, seals, clock: Clock::system() }
    }

    /// The project's configuration that needs the person's trust: its settings, and the files that the agent's CLI
    /// would use.
    pub fn brought(&self) -> Vec<Brought> {
        self.brought_with(self.worker_kinds.brought(&self.project))
    }

    /// The same, without files that only workers would use that are not chosen.
    pub fn brought_and_used(&self) -> Vec<Brought> {
        let worker = self.settings_if_right().map(|settings| settings.worker).unwrap_or_default();
        let chosen = self.worker_kinds.find(&worker);
        self.brought_with(chosen.map(|kind| kind.brought(&self.project)).unwrap_or_default())
    }

    fn brought_with(&self, for_workers: Vec<Brought>) -> Vec<Brought> {
        let settings = config::brought(&self.home, &self.project, &self.known_settings());
        settings.into_iter().chain(self.brought_for_agents()).chain(for_workers).collect()
    }

    fn brought_for_agents(&self) -> Vec<Brought> {
        self.agents.brought(&self.project, &Environment::of_this_process())
    }

    /// The person's decision about that.
    pub fn trust(&self) -> Result<Trust, Failure> {
        Ok(config::trust(&self.home, &self.project, variable)?)
    }

    /// Warns on stderr about untrusted files that the agent's CLI is started without.
    fn tell_what_does_not_count(&self) -> Result<(), Failure> {
        let brought = self.brought_for_agents();
        if self.trust()?.standing(&brought) == TrustLevel::Trusted {
            return Ok(());
        }
        let mut names: Vec<_> = brought.iter().map(|one| terminal_text::line(&one.name)).collect();
        let more = names.len().saturating_sub(MOST_NAMED);
        names.truncate(MOST_NAMED);
        let more = if more == 0 { String::new() } else { format!(" and {more} more files") };
        warn_once(format!(
            "the agent is started without {}{more}, which came with the project\n  \
             Look at what it brings, and decide whether to trust it: rapport trust",
            names.join(", ")
        ));
        Ok(())
    }

    /// The door to all sessions here, for a command that runs none of them itself.
    pub fn sessions(&self) -> ProjectSessions {
        self.sessions_in(&SessionKind::Sessions)
    }

    /// What is known about projects, this one and others.
    pub fn projects(&self) -> KnownProjects {
        let places = self.settings_if_right().map(|settings| settings.project_directories);
        let here = self.clone();
        let sessions = move |project: &Path| {
            let place = Self { project: project.to_owned(), ..here.clone() };
            Some(Arc::new(place.sessions()) as Arc<dyn Sessions>)
        };
        KnownProjects::new(self.home.clone(), Clock::system(), commits)
            .looking_in(places.unwrap_or_default())
            .with_sessions(Arc::new(sessions))
    }

    /// The same for the sessions of a kind.
    pub fn sessions_in(&self, kind: &SessionKind) -> ProjectSessions {
        ProjectSessions::new(self.store_in(kind), None, Arc::new(self.workers()), Clock::system())
            .granting(Grants::of(&self.home, &self.project))
    }

    /// The store of this project's logs, for commands that block.
    pub fn store(&self) -> BlockingStore {
        self.store_in(&SessionKind::Sessions).into()
    }

    /// The store of a kind's logs.
    pub fn store_in(&self, kind: &SessionKind) -> Arc<dyn Store> {
        self.stored_by.store(self.store_site(kind))
    }

    fn store_site(&self, kind: &SessionKind) -> StoreSite {
        let (home, project, known) = (self.home.clone(), self.project.clone(), self.known_settings());
        StoreSite {
            root: kind.root(&self.project),
            project: self.project.clone(),
            seals: Arc::new(self.seals()),
            settings: SettingsReader::new(move || config::sources(&home, &project, variables(), &known)),
        }
    }

    /// What `doctor` reports about the store. Blocks.
    pub fn diagnose_store(&self) -> Diagnosis {
        wait(self.stored_by.diagnose(self.store_site(&SessionKind::Sessions)))
    }

    /// The documents of a session of this project.
    pub fn folder(&self, id: &SessionId) -> Folder {
        self.folder_in(&SessionKind::Sessions, id)
    }

    /// The same for a session of this kind.
    pub fn folder_in(&self, kind: &SessionKind, id: &SessionId) -> Folder {
        Folder::new(self.store_in(kind), id)
    }

    /// The documents of all sessions of files in this project. Blocks.
    pub fn folders(&self) -> Result<Vec<Folder>, TurnError> {
        wait(Folder::all(&self.store_in(&SessionKind::Sessions)))
    }

    /// Where this project's sessions are, in words for a person.
    pub fn whereabouts(&self) -> String {
        self.stored_by.whereabouts(&self.store_site(&SessionKind::Sessions), None)
    }

    /// The batches of the turns of this project's sessions.
    pub fn batches(&self) -> Batches {
        Batches::of(&self.project, Naming::ByTurn).sealed_by(Arc::new(self.seals()))
    }

    /// The workers of this project.
    pub fn workers(&self) -> Workers {
        let right = self.settings_if_right();
        let right =
            right.and_then(|settings| Some((self.worker_setup_of(&settings).ok()?, settings.workers)));
        // A mistake in the settings prevents starting an agent, but not looking at its work.
        let (setup, kinds) = right.unwrap_or_else(|| {
            let environment = Sources { env: variables(), ..Sources::default() };
            let kinds = self.configured_workers(&environment).unwrap_or_else(|_| self.worker_kinds.clone());
            (self.worker_setup(Network::None), kinds)
        });
        kinds.workers(&setup)
    }

    /// The directory with the files of a session: the project's, or a separate one.
    pub fn files_of(&self, id: &SessionId, created: &Created) -> Result<PathBuf, Failure> {
        if !created.works_apart() {
            return Ok(self.project.clone());
        }
        let found = self.workers().directory(id, created);
        found.map_err(|error| Failure::new(Code::Trouble, format!("cannot find the files of {id}: {error}")))
    }

    /// The name of the agent that plans turns, unless a turn names another.
    pub fn planning_agent(&self, settings: &Settings) -> String {
        let agent = self.agents.command(settings).ok();
        let program = agent.and_then(|agent| agent.command.into_iter().next()).unwrap_or_default();
        program.rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// The setup of workers, according to the settings.
    pub fn worker_setup_of(&self, settings: &Settings) -> Result<WorkerSetup, Failure> {
        Ok(self.worker_setup(network(settings)?))
    }

    fn worker_setup(&self, network: Network) -> WorkerSetup {
        WorkerSetup {
            home: self.home.clone(),
            // If the program's own path is unknown, starting a process fails and reports why.
            keeper: env::current_exe().unwrap_or_default(),
            worktrees: config::worktrees(&self.project),
            person: env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            network,
            clock: Clock::system(),
            // What cannot be read is not trusted.
            trust: self.trust().unwrap_or_default(),
        }
    }

    /// The setup of channels.
    pub fn channel_setup(&self, settings: &Settings, sources: Arc<Sources>) -> ChannelSetup {
        let name = self.project.file_name().unwrap_or(self.project.as_os_str());
        let project = self.project_setup(name.to_string_lossy().into_owned(), settings);
        let is_usual = |name: &OsStr| name.to_str().is_some_and(environment::is_usual);
        ChannelSetup {
            home: self.home.clone(),
            workers: self.worker_choice(settings),
            settings: sources,
            project,
            others: Vec::new(),
            secrets: self.secrets(settings).map(Secret::into_inner).collect(),
            environment: env::vars_os().filter(|(name, _)| is_usual(name)).collect(),
            person: socket::person_here(),
            projects: Arc::new(self.projects()),
            has_lead_tools: lead_tools::ARE_BUILT,
            daily_budget: settings.daily_budget.map(|limit| limit.0),
        }
    }

    /// The secrets that Rapport knows.
    pub fn secrets(&self, settings: &Settings) -> impl Iterator<Item = Secret> {
        let named = self.agents.credentials().filter_map(variable).map(Secret::new);
        settings.planner.api_key.clone().into_iter().chain(named)
    }

    /// This project as channels know it, by this name.
    pub fn project_setup(&self, name: String, settings: &Settings) -> ProjectSetup {
        let (place, own) = (self.clone(), settings.clone());
        let usual_first = |usual: &str, names: &mut dyn Iterator<Item = &'static str>| {
            let mut names: Vec<String> = names.map(str::to_owned).collect();
            // The sort is stable: the others keep their order.
            names.sort_by_key(|name| name != usual);
            names
        };
        let agent = self.agents.chosen(settings).map(|kind| kind.name()).unwrap_or_default();
        ProjectSetup {
            name,
            new_work: self.new_work(settings),
            new_branch: self.new_branch(),
            workers: usual_first(&settings.worker, &mut self.worker_kinds.iter().map(WorkerKind::name)),
            agents: usual_first(agent, &mut self.agents.names()),
            path: self.project.display().to_string(),
            new_session: Arc::new(move |task, aim| {
                place.session(task, aim, &own).map_err(|failure| failure.message)
            }),
            max_rounds: settings.max_rounds,
            policy: settings.lead_policy,
            quick_tasks: settings.quick_tasks,
        }
    }

    /// Opens questions of this project's sessions again, in branches.
    fn new_branch(&self) -> NewBranch {
        let place = self.clone();
        Arc::new(move |session, question| {
            let made = branches::open_again(&place, session, question);
            made.map(|made| made.session).map_err(|failure| failure.message)
        })
    }

    /// Creates the first fact of work that a person wants, in this project. A person may choose any kind of worker,
    /// because they could change the setting as well.
    fn new_work(&self, settings: &Settings) -> NewWork {
        let (place, own) = (self.clone(), settings.clone());
        Arc::new(move |wish| {
            let WorkWish { task, worker, agent, policy } = wish;
            let mut settings = own.clone();
            settings.lead_policy = policy.unwrap_or(own.lead_policy);
            if let Some(agent) = agent.filter(|agent| Some(agent) != own.agent_name.as_ref()) {
                let usual = place.agents.chosen(&own).map(|kind| kind.name()).unwrap_or_default();
                let kind = place.agents.find(&agent)?.name();
                // The command in the settings is that of the default agent.
                settings.agent_command = own.agent_command.clone().filter(|_| kind == usual);
                settings.agent_name = Some(agent);
            }
            if let Some(worker) = worker {
                let kind = own.workers.find(&worker)?;
                if kind.is_apart() {
                    let setup = place.worker_setup_of(&own).map_err(|failure| failure.message)?;
                    kind.check(&place.project, &setup).map_err(|none| none.to_string())?;
                }
                settings.worker = worker;
            }
            let mut created = place.session(task, Aim::Work, &settings).map_err(|failure| failure.message)?;
            if settings.lead_policy != Policy::Ask {
                created.lead = place.lead().map_err(|failure| failure.message)?;
                if created.lead.is_none() && policy.is_some() {
                    return Err("this project has no lead yet; begin one with: rapport chat".to_owned());
                }
            }
            Ok(created)
        })
    }

    /// The newest lead of this project that was begun in a terminal and has not ended. Blocks.
    pub fn lead(&self) -> Result<Option<SessionId>, Failure> {
        let store = self.store();
        let lead_since = |id: &SessionId| {
            // A session that is not trusted must not lead others.
            let session = store.counted(id, 0).ok().and_then(|entries| Session::replay(&entries))?;
            let created = session.created();
            let is_here = created.origin.as_ref().is_some_and(|origin| origin.channel == LEADS_BEGIN_IN);
            (created.is_lead && is_here && !session.is_over()).then(|| session.times().0)
        };
        let day = |id: &SessionId| id.as_str().get(..DAY).map(str::to_owned);
        let mut newest: Option<(Timestamp, SessionId)> = None;
        for id in store.list()?.into_iter().rev().take(LOOKED_AT) {
            // The names of one day are not sorted by time; those of an earlier day are older than the lead that was
            // found.
            if newest.as_ref().is_some_and(|(_, lead)| day(lead) != day(&id)) {
                break;
            }
            let found = lead_since(&id).map(|since| (since, id));
            newest = found.into_iter().chain(newest).max_by_key(|(since, _)| *since);
        }
        Ok(newest.map(|(_, id)| id))
    }

    /// The workers for sessions outside of the project's directory.
    pub fn worker_choice(&self, settings: &Settings) -> WorkerChoice {
        let (place, own) = (self.clone(), settings.clone());
        WorkerChoice {
            new: Arc::new(move |task, named, wish| {
                let kind = apart(&own, named)?;
                let limits = kind.limit(wish)?;
                let setup = place.worker_setup_of(&own).map_err(|failure| failure.message)?;
                kind.check(&place.project, &setup).map_err(|none| none.to_string())?;
                let settings = Settings { worker: kind.name().to_owned(), ..own.clone() };
                let created = place.session(task, Aim::Work, &settings).map_err(|failure| failure.message)?;
                let mut created = Created { limits, ..created };
                created.terms.hot = place.hot(&created, &settings);
                Ok(created)
            }),
            warnings: {
                let (place, own) = (self.clone(), settings.clone());
                Arc::new(move |worker| place.warnings(worker, &own))
            },
            usual: apart(settings, None).map(|kind| kind.name().to_owned()).unwrap_or_default(),
            kinds: self.worker_kinds.apart().map(WorkerKind::name).collect(),
        }
    }

    /// What people should know before an agent works with a worker of this kind, in clauses that are safe to show.
    fn warnings(&self, worker: &str, settings: &Settings) -> Vec<String> {
        let (Ok(kind), Ok(setup)) = (settings.workers.find(worker), self.worker_setup_of(settings)) else {
            return Vec::new();
        };
        kind.warnings(&self.project, &setup).iter().map(|warning| terminal_text::line(warning)).collect()
    }

    /// The first fact of a new session here.
    pub fn session(&self, task: String, aim: Aim, settings: &Settings) -> Result<Created, Failure> {
        let project = self.project.to_str().ok_or_else(|| {
            Failure::new(Code::Usage, format!("the path {} is not UTF-8 text", self.project.display()))
        })?;
        // Sessions with another aim change nothing, or have to work in the project itself.
        let worker = if aim == Aim::Work { &settings.worker } else { self.worker_kinds.usual().name() };
        let check = settings.check.clone().filter(|_| aim == Aim::Work);
        let terms = Terms {
            max_rounds: settings.max_rounds.unwrap_or(ROUNDS),
            hot: settings.hot,
            expire: settings.expire,
            clarifier: Clarifier::Agent,
            budget_micros: settings.budget.map(|budget| budget.0),
            check,
            branch: local::branch(&self.project),
            apply: Decider::Person,
            questions_in_text: settings.questions_in_text,
            questions: settings.lead_policy,
            routing: settings.routing,
            queue: settings.queue,
        };
        let (conversation, by) = (clock::new_conversation(), socket::person_here());
        // If no agent can be built, starting a turn reports why.
        let agent = self.agents.command(settings).ok();
        let begun = Created::new(task, project.to_owned(), conversation, by);
        let apart = self.worker_kinds.find(worker).ok().map(WorkerKind::is_apart);
        let mut created = Created { aim, terms, agent, worker: worker.to_owned(), apart, ..begun };
        created.terms.hot = self.hot(&created, settings);
        Ok(created)
    }

    /// How long a waiting agent of this session is kept: as the settings say, or less if its workplace limits that.
    pub fn hot(&self, created: &Created, settings: &Settings) -> SignedDuration {
        let kind = settings.workers.find(&created.worker).ok();
        let place = kind.and_then(|kind| SignedDuration::try_from(kind.hot_at_most()?).ok());
        let idle = created.limits.and_then(|limits| i64::try_from(limits.idle_ms?).ok());
        let limits = [place, idle.map(SignedDuration::from_millis)];
        limits.into_iter().flatten().fold(settings.hot, SignedDuration::min)
    }
}

/// The kinds of stored sessions in a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionKind {
    Sessions,
    /// Plans without a session, each with its batch, and the plan's name.
    Plans(String),
}

impl SessionKind {
    fn root(&self, project: &Path) -> PathBuf {
        match self {
            SessionKind::Sessions => config::sessions(project),
            SessionKind::Plans(_) => config::batches(project),
        }
    }

    fn workshop(
        &self,
        place: &Workspace,
        settings: &Settings,
        helpers: Arc<dyn Helpers>,
    ) -> Result<Workshop, Failure> {
        let mut config = crate::actions::ActionConfig::new(env::current_exe()?);
        config.command_env.clone_from(&settings.command_env);
        config.command_timeout =
            Duration::try_from(settings.command_timeout).unwrap_or(config.command_timeout);
        config.research_command = settings.research_command.clone();
        let (naming, plan_name) = match self {
            SessionKind::Sessions => (Naming::ByTurn, None),
            SessionKind::Plans(name) => (Naming::Alone, Some(name.clone())),
        };
        let seals = Arc::new(place.seals());
        Ok(Workshop {
            batches: Batches::of(&place.project, naming).sealed_by(seals.clone()),
            plan_name,
            seals: Some(seals),
            config,
            agent: place.planning_agent(settings),
            max_file_bytes: settings.max_file_bytes,
            max_tokens: settings.max_tokens,
            helpers,
        })
    }
}

/// An engine with a socket to it.
#[derive(Debug)]
pub struct Host {
    sessions: ProjectSessions,
    engine: Engine,
    socket: Serving,
    sweeping: JoinHandle<()>,
    /// Records how sessions end.
    recording: JoinHandle<()>,
}

impl Host {
    /// Starts an engine for the sessions of a kind. The helpers do what an action cannot do alone.
    pub async fn start(
        place: &Workspace,
        settings: &Settings,
        kind: &SessionKind,
        helpers: Arc<dyn Helpers>,
    ) -> Result<Self, Failure> {
        let (own, effective, kind) = (place.clone(), settings.clone(), kind.clone());
        let prepared = off_thread(move || prepare(&own, &effective, &kind, helpers));
        let (socket, parts) = prepared.await??;
        let (store, worker) = (parts.store.clone(), parts.worker.clone());
        let sweeping = sweep(place, worker.clone()).await;
        let engine = Engine::start(parts);
        let sessions = ProjectSessions::new(store, Some(engine.gateway()), worker, Clock::system())
            .granting(Grants::of(&place.home, &place.project));
        let tools = lead_tools::of(place, settings, Arc::new(sessions.clone()));
        let socket = socket.serve(engine.gateway(), tools);
        let (known, own) = (place.projects(), Arc::new(sessions.clone()));
        let seen = engine.gateway().watch().await;
        let seen = seen.map_err(|error| Failure::new(Code::Trouble, error.to_string()))?;
        let recording = tokio::spawn(recorder::record(known, own, seen));
        Ok(Self { sessions, engine, socket, sweeping, recording })
    }

    /// The door to all sessions of the place, including those of this engine.
    pub fn sessions(&self) -> Arc<dyn Sessions> {
        Arc::new(self.sessions.clone())
    }

    /// Stops the engine; nothing is lost.
    pub async fn stop(self) {
        self.sweeping.abort();
        self.socket.stop().await;
        self.engine.stop().await;
        // Ends that are not recorded by then are recorded when the project is next loaded.
        let abort = self.recording.abort_handle();
        if tokio::time::timeout(RECORDING, self.recording).await.is_err() {
            abort.abort();
        }
    }
}

/// All parts of an engine, and its socket. Warns on stderr of what a person should know before. Blocks.
fn prepare(
    place: &Workspace,
    settings: &Settings,
    kind: &SessionKind,
    helpers: Arc<dyn Helpers>,
) -> Result<(Socket, Parts), Failure> {
    refuse_agents()?;
    raise_file_limit();
    place.tell_what_does_not_count()?;
    tell_of_workplace(place, settings);
    let socket = Socket::bind(&place.home.join("run")).map_err(|error| {
        Failure::new(Code::Trouble, format!("cannot listen in {}: {error}", place.home.join("run").display()))
            .hint("Rapport needs a folder of its own that it can write to. Name another: export RAPPORT_HOME=DIR")
    })?;
    let parts = Parts {
        store: faulty(place.store_in(kind)),
        agents: Arc::new(agents(place, settings)?),
        planner: planner(place, settings)?,
        worker: Arc::new(settings.workers.workers(&place.worker_setup_of(settings)?)),
        workshop: Some(kind.workshop(place, settings, helpers)?),
        clock: Clock::system(),
        holder: Holder::this_process(Some(socket.address())),
        home: place.home.clone(),
        limits: limits(place, settings),
    };
    Ok((socket, parts))
}

/// The limits that all agents of this person share.
fn limits(place: &Workspace, settings: &Settings) -> AgentLimits {
    let slots = settings.at_once.map(|most| AgentSlots::at_most(most.get(), place.home.join("run/places")));
    let daily = settings.daily_budget.map(|limit| DailySpending::at_most(limit.0, place.home.join("spent")));
    AgentLimits { slots: slots.unwrap_or_default(), daily }
}

/// The kind of worker for a session outside of the project's directory: the named one, else that of the settings,
/// else the first. A caller may ask for stricter isolation than the settings, not for weaker.
fn apart<'a>(settings: &'a Settings, named: Option<&str>) -> Result<&'a dyn WorkerKind, String> {
    let kinds = &settings.workers;
    let own = kinds.find(&settings.worker)?;
    let usual = kinds.apart().find(|kind| kind.name() == own.name()).or_else(|| kinds.apart().next());
    let chosen = match named {
        Some(name) => kinds.find(name.trim())?,
        None => usual.ok_or("there is no worker that works outside of the project's directory")?,
    };
    if !chosen.is_apart() {
        let names: Vec<_> = kinds.apart().map(WorkerKind::name).collect();
        return Err(format!(
            "{} works in the project itself; choose one of {}",
            chosen.name(),
            names.join(", ")
        ));
    }
    if own.is_wall() && !chosen.is_wall() {
        return Err(format!(
            "the person's setting is {}, which confines the agent, and {} does not",
            own.name(),
            chosen.name()
        ));
    }
    Ok(chosen)
}

/// Cleans up workplaces of this project's sessions that are no longer needed, now and then from time to time.
async fn sweep(place: &Workspace, worker: Arc<dyn Worker>) -> JoinHandle<()> {
    let store = faulty(place.store_in(&SessionKind::Sessions));
    // Without an address: a caller that wants a session that is being cleaned up waits.
    let holder = Holder::this_process(None);
    let (project, home) = (place.project.clone(), place.home.clone());
    let sweeper = Sweeper { worker, store, project, home, holder, clock: Clock::system() };
    let first = sweeper.clone();
    let mut first = tokio::spawn(async move { first.sweep().await });
    // This comes before any session is held, because the sweeper holds sessions for a moment. If the container engine
    // does not answer, the start continues.
    let done = tokio::time::timeout(SWEEPING, &mut first).await.is_ok();
    tokio::spawn(async move {
        if !done {
            let _ = first.await;
        }
        sweeper.always().await;
    })
}

/// Warns on stderr of what a workplace outside of the project's directory lacks.
fn tell_of_workplace(place: &Workspace, settings: &Settings) {
    place.warnings(&settings.worker, settings).into_iter().for_each(warn_once);
}

/// Prints a warning on stderr, unless this process has printed the same one.
fn warn_once(words: String) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if !told.contains(&words) {
        warn(&words);
        told.insert(words);
    }
}

/// The network access of confined agents.
fn network(settings: &Settings) -> Result<Network, Failure> {
    let patterns = settings.allowed_hosts.iter().map(|host| host.parse());
    let patterns = patterns.collect::<Result<Vec<HostPattern>, _>>();
    let patterns = patterns.map_err(|why| Failure::new(Code::Usage, format!("worker.allow: {why}")))?;
    Ok(match settings.network {
        NetworkName::None => Network::None,
        NetworkName::Allowlist => Network::Allowlist(patterns),
        NetworkName::Open => Network::Open,
    })
}

/// Refuses to act for a person if an agent started this program.
pub fn refuse_agents() -> Result<(), Failure> {
    if !descent::is_of_an_agent(std::process::id()) {
        return Ok(());
    }
    Err(Failure::new(Code::Refused, AGENTS_ANSWER_NOTHING)
        .hint("Let the person do it, in a terminal of their own or in a channel such as Telegram."))
}

/// Raises the limit of file descriptors: each held session needs two.
fn raise_file_limit() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // If this fails, fewer sessions fit at once.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// The agents of sessions here, by name. New sessions use the agent of the settings.
pub fn agents(place: &Workspace, settings: &Settings) -> Result<AgentsByName, Failure> {
    let setup = AgentSetup {
        home: place.home.clone(),
        keeper: env::current_exe()?,
        settings: settings.clone(),
        trust: place.trust()?,
        environment: Environment::of_this_process(),
        clock: Clock::system(),
    };
    AgentsByName::new(place.agents.clone(), setup).map_err(|why| {
        Failure::new(Code::Usage, why).hint(
            "Name the agent in config.yaml, or in RAPPORT_AGENT_NAME and RAPPORT_AGENT_COMMAND; for one run: --agent COMMAND",
        )
    })
}

/// The agent of the settings, for new sessions.
pub fn agent(place: &Workspace, settings: &Settings) -> Result<Arc<dyn Agent>, Failure> {
    agents(place, settings)?.find(None).map_err(|why| Failure::new(Code::Usage, why))
}

/// The planner: a model that makes rounds of questions, over its API if there is a key, otherwise through the agent's
/// CLI.
pub fn planner(place: &Workspace, settings: &Settings) -> Result<Arc<dyn Planner>, Failure> {
    let said = &settings.planner;
    let found = ApiAccess::found(variable);
    let key = said.api_key.clone().map(|key| Credential::Key(key.into_inner()));
    let means = ModelAccess {
        via: match said.via.unwrap_or_default() {
            // The scripted agent needs no network, even if there are keys.
            config::PlannerVia::Auto if settings.is_rehearsal() => Via::Agent,
            config::PlannerVia::Auto => Via::Auto,
            config::PlannerVia::Api => Via::Api,
            config::PlannerVia::Agent => Via::Agent,
        },
        credential: key.or(found.credential),
        base_url: said.base_url.clone().or(found.base_url),
        model: said.model.clone(),
        timeout: said
            .timeout
            .map_or(PLANNER_TIMEOUT, |said| Duration::try_from(said).unwrap_or(Duration::MAX)),
        agent: agent(place, settings)?,
        directory: place.project.clone(),
    };
    planners::choose(means).map_err(|error| {
        let hint = format!(
            "Give a key with {}, or let the agent's CLI ask: set planner.via to \"agent\" in config.yaml.",
            ApiAccess::KEY
        );
        Failure::new(Code::Usage, error.to_string()).hint(hint)
    })
}

/// In debug builds a crash test can use a store that kills the process.
pub(crate) fn faulty(store: Arc<dyn Store>) -> Arc<dyn Store> {
    #[cfg(debug_assertions)]
    return crate::stores::faults::wrap(store);
    #[cfg(not(debug_assertions))]
    store
}

/// The environment, as far as it is text.
fn variables() -> HashMap<String, String> {
    let text = |word: OsString| word.into_string().ok();
    env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?))).collect()
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}
