//! Agents by name: the available kinds of agents, and the agent of a session. The facts of a session name the kind
//! and the command of its agent.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rapport_core::AgentCommand;
use rapport_settings::Declared;

use super::Agent;
use crate::clock::Clock;
use crate::config::Settings;
use crate::projects::trust::{Brought, Trust};

/// A kind of agent: its properties before it runs.
pub trait AgentKind: Send + Sync {
    /// Its name in the setting `agent.name`, and in the facts of its sessions.
    fn name(&self) -> &'static str;

    /// The default command.
    fn usual_command(&self) -> &'static str;

    /// Builds an agent of this kind that runs this command; fails with the reason if that is not possible.
    fn make(&self, command: &[String], setup: &AgentSetup) -> Result<Arc<dyn Agent>, String>;

    /// The settings that only it has, as a part of the section `agent`.
    fn section(&self) -> Option<Declared> {
        None
    }

    /// How to install it, one line per option.
    fn installation(&self) -> &'static str {
        ""
    }

    /// What to do about a failure that its program reports in its own words, one line per option. The program may
    /// name a command of its own screen, which cannot be typed here.
    fn remedy(&self, _failure: &str) -> &'static str {
        ""
    }

    /// The configuration that it would read from the files of a project when it starts. It is used only if the person
    /// trusts it.
    fn brought(&self, _project: &Path, _environment: &Environment) -> Vec<Brought> {
        Vec::new()
    }

    /// The variables that may hold the person's credentials. Their values are never shown.
    fn credentials(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a variable of the person's environment configures it; a bug report names such variables.
    fn is_set_up_by(&self, _variable: &str) -> bool {
        false
    }
}

/// What every kind of agent is built from, besides its command.
#[derive(Clone, Debug)]
pub struct AgentSetup {
    pub home: PathBuf,
    /// Rapport's own binary, which runs as the keeper of the agent.
    pub keeper: PathBuf,
    /// The effective settings.
    pub settings: Settings,
    /// The person's trust in the project's configuration.
    pub trust: Trust,
    /// The environment in which the person started Rapport. An agent gets only the variables that its kind passes on.
    pub environment: Environment,
    /// The clock by which a login expires.
    pub clock: Clock,
}

/// Variables and their values.
#[derive(Clone, Debug, Default)]
pub struct Environment(pub Vec<(OsString, OsString)>);

impl Environment {
    /// The environment of this process.
    pub fn of_this_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// The value of a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let found = self.0.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }
}

/// All kinds of agents. The first is the default.
#[derive(Clone)]
pub struct AgentKinds(Vec<Arc<dyn AgentKind>>);

impl AgentKinds {
    pub(super) fn of(kinds: Vec<Arc<dyn AgentKind>>) -> Self {
        Self(kinds)
    }

    /// Adds another kind.
    #[must_use]
    pub fn with(mut self, kind: impl AgentKind + 'static) -> Self {
        self.0.push(Arc::new(kind));
        self
    }

    /// The names of all kinds.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|kind| kind.name())
    }

    /// The kind of this name.
    pub fn find(&self, name: &str) -> Result<&dyn AgentKind, String> {
        let found = self.0.iter().find(|kind| kind.name() == name);
        found.map(|kind| &**kind).ok_or_else(|| {
            let known: Vec<_> = self.0.iter().map(|kind| kind.name()).collect();
            format!("this program does not know the agent {name:?}; it knows: {}", known.join(", "))
        })
    }

    /// The kind that the settings choose.
    pub fn chosen(&self, settings: &Settings) -> Result<&dyn AgentKind, String> {
        match (&settings.agent_name, self.0.first()) {
            (Some(name), _) => self.find(name),
            (None, Some(usual)) => Ok(&**usual),
            (None, None) => Err("this program knows no agent".to_owned()),
        }
    }

    /// The agent of new sessions.
    pub fn command(&self, settings: &Settings) -> Result<AgentCommand, String> {
        let kind = self.chosen(settings)?;
        let command = settings.agent_command.clone().unwrap_or_else(|| vec![kind.usual_command().to_owned()]);
        if command.is_empty() {
            return Err("agent.command is empty".to_owned());
        }
        Ok(AgentCommand { name: kind.name().to_owned(), command })
    }

    /// The settings that only one kind has.
    pub fn sections(&self) -> Vec<Declared> {
        self.0.iter().filter_map(|kind| kind.section()).collect()
    }

    /// The configuration that any kind would read from the files of a project.
    pub fn brought(&self, project: &Path, environment: &Environment) -> Vec<Brought> {
        self.0.iter().flat_map(|kind| kind.brought(project, environment)).collect()
    }

    /// The variables that may hold the person's credentials for any kind.
    pub fn credentials(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|kind| kind.credentials().iter().copied())
    }

    /// Whether a variable of the person's environment configures any kind.
    pub fn are_set_up_by(&self, variable: &str) -> bool {
        self.0.iter().any(|kind| kind.is_set_up_by(variable))
    }
}

impl fmt::Debug for AgentKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|kind| kind.name())).finish()
    }
}

/// The agents of sessions. Each command becomes an agent once.
pub struct AgentsByName {
    from: Source,
    made: Mutex<HashMap<AgentCommand, Arc<dyn Agent>>>,
}

enum Source {
    /// By the facts of the session, or by the settings if these name none.
    Kinds {
        kinds: AgentKinds,
        setup: Box<AgentSetup>,
        /// The agent of new sessions.
        usual: AgentCommand,
    },
    /// The same agent for all sessions.
    Only(Arc<dyn Agent>),
}

impl AgentsByName {
    /// Agents of these kinds. A session that names none gets the agent of the settings.
    pub fn new(kinds: AgentKinds, setup: AgentSetup) -> Result<Self, String> {
        let usual = kinds.command(&setup.settings)?;
        Ok(Self { from: Source::Kinds { kinds, setup: Box::new(setup), usual }, made: Mutex::default() })
    }

    /// One agent for all sessions.
    pub fn only(agent: Arc<dyn Agent>) -> Self {
        Self { from: Source::Only(agent), made: Mutex::default() }
    }

    /// The agent of a session, according to its facts.
    pub fn find(&self, said: Option<&AgentCommand>) -> Result<Arc<dyn Agent>, String> {
        let (kinds, setup, usual) = match &self.from {
            Source::Kinds { kinds, setup, usual } => (kinds, setup, usual),
            Source::Only(agent) => return Ok(agent.clone()),
        };
        let named = match said {
            None => usual.clone(),
            // The person named a command for this run: it also runs sessions that began with another one.
            Some(said) if setup.settings.agent_is_named => {
                AgentCommand { name: said.name.clone(), command: usual.command.clone() }
            }
            Some(said) => said.clone(),
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = made.get(&named) {
            return Ok(agent.clone());
        }
        let agent = kinds.find(&named.name)?.make(&named.command, setup)?;
        made.insert(named, agent.clone());
        Ok(agent)
    }
}

impl fmt::Debug for AgentsByName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentsByName").finish_non_exhaustive()
    }
}
