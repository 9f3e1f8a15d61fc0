//! Assembles the parts of an engine. Only this module uses all of them.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rapport_core::{Aim, Clarifier, ContainerLimits, Created, Decider, SessionId, Terms};
use rapport_door::{ChannelSetup, ContainerWish, ProjectSetup, WorkerChoice};
use rapport_settings::Setting;
use tokio::task::JoinHandle;

use crate::actions;
use crate::agents::{Agent, AgentKinds, AgentSetup, AgentsByName, Environment};
use crate::channels::ChannelKinds;
use crate::channels::terminal::{self, safe};
use crate::clock::{self, Clock};
use crate::config::{self, Declared, Layer, NetworkName, Secret, Settings, Size, Sources, WorkerName};
use crate::engine::claims::AGENTS_ANSWER_NOTHING;
use crate::engine::socket::{self, Serving, Socket};
use crate::engine::strays::Sweeper;
use crate::engine::{
    AgentLimits, AgentPlaces, DailySpending, Engine, Parts, ProjectSessions, Sessions, descent,
};
use crate::environment;
use crate::error::{Code, Failure};
use crate::options::Common;
use crate::output::warn;
use crate::planners::messages::{ApiAccess, Credential};
use crate::planners::{self, ModelAccess, Planner, Via};
use crate::projects::devcontainer::DevcontainerFile;
use crate::projects::grants::Grants;
use crate::projects::trust::{Brought, Trust, TrustLevel};
use crate::seals::Seals;
use crate::stores::blocking::{BlockingStore, wait};
use crate::stores::files::Files;
use crate::stores::{Holder, Store};
use crate::turns::batches::{Batches, Naming};
use crate::turns::{Folder, Helpers, TurnError, Workshop};
use crate::workers::containers::{self, ContainerSettings};
use crate::workers::network::{HostPattern, Network};
use crate::workers::{self, Worker, WorkerKind, WorkerSetup, Workers, kinds, local};

/// The default number of rounds of questions before a plan.
pub const ROUNDS: u32 = 5;

/// The maximum number of files to name in the warning that the agent is started without them.
const MOST_NAMED: usize = 5;

/// How long the start of a host waits until places that nobody needs are looked after.
const SWEEPING: Duration = Duration::from_secs(5);

/// How long a model may take to make a round of questions.
const PLANNER_TIMEOUT: Duration = Duration::from_secs(60);

/// Where a command runs: the home and the project.
#[derive(Clone, Debug)]
pub struct Place {
    pub home: PathBuf,
    pub project: PathBuf,
    /// The available kinds of agents.
    pub agents: AgentKinds,
    /// The kinds of channels that there are.
    pub channels: ChannelKinds,
}

impl Place {
    /// This home and this project, with the agents and channels that come with Rapport.
    pub fn new(home: PathBuf, project: PathBuf) -> Self {
        Self { home, project, agents: AgentKinds::builtin(), channels: ChannelKinds::builtin() }
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
                safe::line(&link.display().to_string())
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
        Ok(Self::new(home, project))
    }

    /// The sections of the settings that are declared outside of `config/`.
    pub fn sections(&self) -> Vec<Declared> {
        self.channels.sections()
    }

    /// What the settings are read from, here.
    pub fn sources(&self) -> Result<Sources, Failure> {
        let text = |word: OsString| word.into_string().ok();
        let env = env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        Ok(config::sources(&self.home, &self.project, env.collect(), &self.sections())?)
    }

    /// The effective settings. A warning about them is printed once, on stderr.
    pub fn settings(&self, flags: Layer) -> Result<Settings, Failure> {
        self.settings_of(&self.sources()?, flags)
    }

    /// The same, read from these sources.
    pub fn settings_of(&self, sources: &Sources, flags: Layer) -> Result<Settings, Failure> {
        let settings = self.with_devcontainer(Settings::load(sources, flags)?);
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

    /// The project's configuration that needs the person's trust: its settings, and what the agent's CLI would use of
    /// it.
    pub fn brought(&self) -> Vec<Brought> {
        let settings = config::brought(&self.home, &self.project, &self.sections());
        settings.into_iter().chain(self.brought_for_agents()).chain(self.brought_for_containers()).collect()
    }

    /// The same without what only containers would use, if agents do not work in containers here.
    pub fn brought_and_used(&self) -> Vec<Brought> {
        let settings =
            self.sources().ok().and_then(|sources| Settings::load(&sources, Layer::default()).ok());
        let worker = settings.map(|settings| settings.worker).unwrap_or_default();
        let unused = self.brought_for_containers().filter(|_| worker.as_str() != containers::NAME);
        self.brought().into_iter().filter(|one| unused.as_ref() != Some(one)).collect()
    }

    /// The project's `devcontainer.json`, if it has one.
    fn brought_for_containers(&self) -> Option<Brought> {
        match DevcontainerFile::of(&self.project) {
            Ok(file) => file.map(|file| file.brought()),
            Err(error) => Some(Brought::unseen("devcontainer.json", error)),
        }
    }

    /// The settings with what the project's `devcontainer.json` says of containers where they say nothing, if the person
    /// trusts that file.
    fn with_devcontainer(&self, mut settings: Settings) -> Settings {
        let file = match DevcontainerFile::of(&self.project) {
            Ok(None) => return settings,
            Ok(Some(file)) => file,
            Err(error) => {
                settings.devcontainer_remarks.push(format!("devcontainer.json is not used: {error}"));
                return settings;
            }
        };
        let is_trusted =
            self.trust().is_ok_and(|trust| trust.standing(&[file.brought()]) == TrustLevel::Trusted);
        if !is_trusted {
            settings.devcontainer_remarks.push(format!(
                "{} is ignored: a project may not choose images and commands by itself\n  \
                 Look at what it brings, and decide whether to trust it: rapport trust",
                file.name
            ));
            return settings;
        }
        match file.read(containers::PROJECT) {
            Err(why) => settings.devcontainer_remarks.push(format!("{} is not used: {why}", file.name)),
            Ok(found) => {
                let own = &mut settings.containers;
                own.image = own.image.take().or(found.image);
                own.setup = own.setup.take().or(found.setup);
                own.env = found.env;
                if !found.unused.is_empty() {
                    let unused = found.unused.iter().map(|name| safe::line(name)).collect::<Vec<_>>();
                    let remark = format!("{} of {} cannot be honoured", unused.join(", "), file.name);
                    settings.devcontainer_remarks.push(remark);
                }
            }
        }
        settings
    }

    fn brought_for_agents(&self) -> Vec<Brought> {
        self.agents.brought(&self.project, &Environment::of_this_process())
    }

    /// The person's decision about that.
    pub fn trust(&self) -> Result<Trust, Failure> {
        Ok(config::trust(&self.home, &self.project, variable)?)
    }

    /// Warns on stderr about what the agent's CLI is started without.
    fn tell_what_does_not_count(&self) -> Result<(), Failure> {
        let brought = self.brought_for_agents();
        if self.trust()?.standing(&brought) == TrustLevel::Trusted {
            return Ok(());
        }
        let mut names: Vec<_> = brought.iter().map(|one| safe::line(&one.name)).collect();
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
        let files = Files::new(kind.root(&self.project)).of(self.project.clone());
        Arc::new(files.sealed_by(self.seals()))
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
        SessionKind::Sessions.root(&self.project).display().to_string()
    }

    /// The batches of the turns of this project's sessions.
    pub fn batches(&self) -> Batches {
        Batches::of(&self.project, Naming::ByTurn).sealed_by(Arc::new(self.seals()))
    }

    /// The workers of this project.
    pub fn workers(&self) -> Workers {
        let settings =
            self.sources().ok().and_then(|sources| Settings::load(&sources, Layer::default()).ok());
        let settings = settings.map(|settings| self.with_devcontainer(settings));
        let setup = settings.and_then(|settings| self.worker_setup_of(&settings).ok());
        // A mistake in the settings stops what starts an agent, and not what looks at its work.
        let setup = setup.unwrap_or_else(|| {
            let engine = variable(containers::ENGINE);
            self.worker_setup(Network::None, ContainerSettings { engine, ..ContainerSettings::default() })
        });
        Workers::of_every_kind(&setup)
    }

    /// What workers are made from, here, according to the settings.
    pub fn worker_setup_of(&self, settings: &Settings) -> Result<WorkerSetup, Failure> {
        Ok(self.worker_setup(network(settings)?, settings.containers.clone()))
    }

    fn worker_setup(&self, network: Network, containers: ContainerSettings) -> WorkerSetup {
        WorkerSetup {
            home: self.home.clone(),
            // Without a program of its own nothing is started, and that reports why.
            keeper: env::current_exe().unwrap_or_default(),
            worktrees: config::worktrees(&self.project),
            person: env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute()),
            network,
            containers,
        }
    }

    /// What channels are made from, here.
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
        }
    }

    /// The secrets that Rapport knows, here.
    pub fn secrets(&self, settings: &Settings) -> impl Iterator<Item = Secret> {
        let named = self.agents.credentials().filter_map(variable).map(Secret::new);
        settings.planner.api_key.clone().into_iter().chain(named)
    }

    /// This project as channels know it, by this name.
    pub fn project_setup(&self, name: String, settings: &Settings) -> ProjectSetup {
        let (place, own) = (self.clone(), settings.clone());
        ProjectSetup {
            name,
            path: self.project.display().to_string(),
            new_session: Arc::new(move |task, aim| {
                place.session(task, aim, &own).map_err(|failure| failure.message)
            }),
            max_rounds: settings.max_rounds,
        }
    }

    /// The workers for sessions outside of the project's directory.
    pub fn worker_choice(&self, settings: &Settings) -> WorkerChoice {
        let (place, own) = (self.clone(), settings.clone());
        WorkerChoice {
            new: Arc::new(move |task, named, wish| {
                let kind = apart(&own, named)?;
                let limits = container_limits(kind, &own.containers, wish)?;
                let setup = place.worker_setup_of(&own).map_err(|failure| failure.message)?;
                kind.check(&place.project, &setup).map_err(|none| none.to_string())?;
                let settings = Settings { worker: config::worker(kind.name())?, ..own.clone() };
                let mut created =
                    place.session(task, Aim::Work, &settings).map_err(|failure| failure.message)?;
                let idle = limits.and_then(|limits| limits.idle_ms).and_then(|idle| i64::try_from(idle).ok());
                let idle = idle.map_or(SignedDuration::MAX, SignedDuration::from_millis);
                created.terms.hot = created.terms.hot.min(idle);
                Ok(Created { limits, ..created })
            }),
            usual: apart(settings, None).map(|kind| kind.name().to_owned()).unwrap_or_default(),
            kinds: kinds_apart().map(|kind| kind.name()).collect(),
        }
    }

    /// The first fact of a new session here.
    pub fn session(&self, task: String, aim: Aim, settings: &Settings) -> Result<Created, Failure> {
        let project = self.project.to_str().ok_or_else(|| {
            Failure::new(Code::Usage, format!("the path {} is not UTF-8 text", self.project.display()))
        })?;
        // Sessions with another aim change nothing, or have to work in the project itself.
        let worker = if aim == Aim::Work { settings.worker } else { WorkerName::default() };
        let worker = worker.as_str().to_owned();
        let most = kinds::find(&worker).ok().zip(self.worker_setup_of(settings).ok());
        let most = most.and_then(|(kind, setup)| SignedDuration::try_from(kind.hot_at_most(&setup)?).ok());
        let hot = most.map_or(settings.hot, |most| settings.hot.min(most));
        let check = settings.check.clone().filter(|_| aim == Aim::Work);
        let terms = Terms {
            max_rounds: settings.max_rounds.unwrap_or(ROUNDS),
            hot,
            expire: settings.expire,
            clarifier: Clarifier::Agent,
            budget_micros: settings.budget.map(|budget| budget.0),
            check,
            branch: local::branch(&self.project),
            apply: Decider::Person,
            questions_in_text: settings.questions_in_text,
            questions: Decider::Lead,
        };
        let (conversation, by) = (clock::new_conversation(), socket::person_here());
        // If no agent can be built, starting a turn reports why.
        let agent = self.agents.command(settings).ok();
        let begun = Created::new(task, project.to_owned(), conversation, by);
        let apart = kinds::find(&worker).ok().map(WorkerKind::is_apart);
        Ok(Created { aim, terms, agent, worker, apart, ..begun })
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
        place: &Place,
        settings: &Settings,
        helpers: Arc<dyn Helpers>,
    ) -> Result<Workshop, Failure> {
        let mut means = crate::actions::ActionMeans::new(env::current_exe()?);
        means.command_env.clone_from(&settings.command_env);
        means.command_timeout = Duration::try_from(settings.command_timeout).unwrap_or(means.command_timeout);
        means.research_command = settings.research_command.clone();
        let (naming, plan_name) = match self {
            SessionKind::Sessions => (Naming::ByTurn, None),
            SessionKind::Plans(name) => (Naming::Alone, Some(name.clone())),
        };
        let seals = Arc::new(place.seals());
        Ok(Workshop {
            batches: Batches::of(&place.project, naming).sealed_by(seals.clone()),
            plan_name,
            seals: Some(seals),
            means,
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
}

impl Host {
    /// Starts an engine for the sessions of a kind. The helpers do what an action cannot do alone.
    pub async fn start(
        place: &Place,
        settings: &Settings,
        kind: &SessionKind,
        helpers: Arc<dyn Helpers>,
    ) -> Result<Self, Failure> {
        refuse_agents()?;
        raise_file_limit();
        place.tell_what_does_not_count()?;
        tell_of_submodules(place, settings);
        if settings.worker.as_str() == containers::NAME {
            settings.devcontainer_remarks.iter().cloned().for_each(warn_once);
        }
        let socket = Socket::bind(&place.home.join("run")).map_err(|error| {
            Failure::new(
                Code::Trouble,
                format!("cannot listen in {}: {error}", place.home.join("run").display()),
            )
            .hint("Rapport needs a folder of its own that it can write to. Name another: export RAPPORT_HOME=DIR")
        })?;
        let store = faulty(place.store_in(kind));
        let setup = place.worker_setup_of(settings)?;
        let worker = Arc::new(Workers::of_every_kind(&setup));
        let holder = Holder::this_process(Some(socket.address()));
        let (agents, planner) = (Arc::new(agents(place, settings)?), planner(place, settings)?);
        let workshop = Some(kind.workshop(place, settings, helpers)?);
        let sweeping = sweep(place, worker.clone()).await;
        let engine = Engine::start(Parts {
            store: store.clone(),
            agents,
            planner,
            worker,
            workshop,
            clock: Clock::system(),
            holder,
            home: place.home.clone(),
            limits: limits(place, settings),
        });
        let socket = socket.serve(engine.gateway());
        let sessions =
            ProjectSessions::new(store, Some(engine.gateway()), Arc::new(place.workers()), Clock::system())
                .granting(Grants::of(&place.home, &place.project));
        Ok(Self { sessions, engine, socket, sweeping })
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
    }
}

/// What the agents of this person may use together.
fn limits(place: &Place, settings: &Settings) -> AgentLimits {
    let places = settings.at_once.map(|most| AgentPlaces::at_most(most.get(), place.home.join("run/places")));
    let daily = settings.daily_budget.map(|limit| DailySpending::at_most(limit.0, place.home.join("spent")));
    AgentLimits { places: places.unwrap_or_default(), daily }
}

/// The kinds of places outside of the project's directory.
fn kinds_apart() -> impl Iterator<Item = &'static dyn WorkerKind> {
    kinds::all().filter(|kind| kind.is_apart())
}

/// What a container may use, by the settings and what somebody wants it limited to.
fn container_limits(
    kind: &dyn WorkerKind,
    settings: &ContainerSettings,
    wish: &ContainerWish,
) -> Result<Option<ContainerLimits>, String> {
    if *wish == ContainerWish::default() {
        return Ok(None);
    }
    if kind.name() != containers::NAME {
        return Err(format!("a {} is no container: it has no such limits", kind.name()));
    }
    let more = |what: &str, most: String| format!("the settings allow {most}, and not more ({what})");
    let memory = wish.memory.as_deref().map(Size::parse).transpose()?.map(|Size(bytes)| bytes);
    if memory.is_some_and(|bytes| bytes > settings.limits.memory) {
        return Err(more("memory", format!("{}m", settings.limits.memory >> 20)));
    }
    let cpus = wish.cpus.as_deref().map(NonZeroU32::parse).transpose()?.map(NonZeroU32::get);
    if cpus.is_some_and(|cpus| cpus > settings.limits.processors) {
        return Err(more("cpus", settings.limits.processors.to_string()));
    }
    let idle = u64::try_from(settings.idle.as_millis()).unwrap_or(u64::MAX);
    if wish.idle_ms.is_some_and(|wanted| wanted > idle) {
        return Err(more("timeout", idle.to_string()));
    }
    Ok(Some(ContainerLimits { memory, cpus, idle_ms: wish.idle_ms }))
}

/// The kind of place for a session that works outside of the project's directory: the named one, else that of the settings, else
/// the first. A caller may ask for more walls than the settings, not for fewer.
fn apart(settings: &Settings, named: Option<&str>) -> Result<&'static dyn WorkerKind, String> {
    let own = kinds::find(settings.worker.as_str())?;
    let usual = kinds_apart().find(|kind| kind.name() == own.name()).or_else(|| kinds_apart().next());
    let chosen = match named {
        Some(name) => kinds::find(name.trim())?,
        None => usual.ok_or("there is no worker that works outside of the project's directory")?,
    };
    if !chosen.is_apart() {
        let names: Vec<_> = kinds_apart().map(|kind| kind.name()).collect();
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

/// Looks after places of this project's sessions that nobody needs, now and again from time to time.
async fn sweep(place: &Place, worker: Arc<dyn Worker>) -> JoinHandle<()> {
    let store = faulty(place.store_in(&SessionKind::Sessions));
    // Without an address: whoever wants a session that is looked after waits.
    let holder = Holder::this_process(None);
    let sweeper = Sweeper { worker, store, project: place.project.clone(), holder, clock: Clock::system() };
    let first = sweeper.clone();
    let mut first = tokio::spawn(async move { first.sweep().await });
    // Before any session is held, which the sweeper holds for a moment; but an engine that does not answer stops nobody.
    let done = tokio::time::timeout(SWEEPING, &mut first).await.is_ok();
    tokio::spawn(async move {
        if !done {
            let _ = first.await;
        }
        sweeper.always().await;
    })
}

/// Warns on stderr that a workplace outside of the project's directory lacks the files of submodules.
fn tell_of_submodules(place: &Place, settings: &Settings) {
    if settings.worker == WorkerName::default() {
        return;
    }
    let missing = workers::submodules(&place.project);
    if !missing.is_empty() {
        let names: Vec<_> = missing.iter().map(|name| safe::line(name)).collect();
        let workplace = kinds::workplace(settings.worker.as_str());
        warn_once(format!(
            "the agent works in a {workplace}, and submodules are not checked out there: {}",
            names.join(", ")
        ));
    }
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

/// Refuses to act in a person's name if an agent started this program.
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
        // Otherwise fewer sessions fit at once.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// The agents of sessions here, by name. New sessions use the agent of the settings.
pub fn agents(place: &Place, settings: &Settings) -> Result<AgentsByName, Failure> {
    let setup = AgentSetup {
        home: place.home.clone(),
        keeper: env::current_exe()?,
        settings: settings.clone(),
        trust: place.trust()?,
        environment: Environment::of_this_process(),
    };
    AgentsByName::new(place.agents.clone(), setup).map_err(|why| {
        Failure::new(Code::Usage, why).hint(
            "Name the agent in config.yaml, or in RAPPORT_AGENT_NAME and RAPPORT_AGENT_COMMAND; for one run: --agent COMMAND",
        )
    })
}

/// The agent of the settings, for new sessions.
pub fn agent(place: &Place, settings: &Settings) -> Result<Arc<dyn Agent>, Failure> {
    agents(place, settings)?.find(None).map_err(|why| Failure::new(Code::Usage, why))
}

/// The planner: a model that makes rounds of questions, over its API if there is a key, otherwise through the agent's
/// CLI.
pub fn planner(place: &Place, settings: &Settings) -> Result<Arc<dyn Planner>, Failure> {
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
            "Give a key with {}, or let the agent's CLI ask: planner.via is \"agent\" in config.yaml.",
            ApiAccess::KEY
        );
        Failure::new(Code::Usage, error.to_string()).hint(hint)
    })
}

/// In debug builds a crash test can use a store that kills the process.
pub(crate) fn faulty(store: Arc<dyn Store>) -> Arc<dyn Store> {
    #[cfg(debug_assertions)]
    return crate::stores::faulty::wrap(store);
    #[cfg(not(debug_assertions))]
    store
}

fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}
