//! Agents by name: the kinds of agents that there are, and which agent a session has. A session says the kind and the command,
//! and gets that one.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rapport_core::AgentCommand;

use super::{Agent, claude};
use crate::config::Settings;
use crate::projects::trust::{Brought, Trust};

/// A kind of agent: what has to be known about it before one runs.
pub trait AgentKind: Send + Sync {
    /// Its name in the setting `agent.name`, and in the facts of its sessions.
    fn name(&self) -> &'static str;

    /// The command it is run with where nobody names another.
    fn usual_command(&self) -> &'static str;

    /// An agent of this kind that is run with this command, or why there can be none.
    fn make(&self, command: &[String], setup: &AgentSetup) -> Result<Arc<dyn Agent>, String>;

    /// How to get it, a line for each way.
    fn installation(&self) -> &'static str {
        ""
    }

    /// What it would take from the files of a project as soon as it starts. Counts only where the person trusts it.
    fn brought(&self, _project: &Path, _environment: &Environment) -> Vec<Brought> {
        Vec::new()
    }

    /// The variables in which the person may keep what lets it in somewhere. Their values are shown nowhere.
    fn credentials(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a variable of the person's environment sets it up, so that a report of bugs names it.
    fn is_set_up_by(&self, _variable: &str) -> bool {
        false
    }
}

/// What every kind of agent is made from, beside its command.
#[derive(Clone, Debug)]
pub struct AgentSetup {
    /// Rapport's home.
    pub home: PathBuf,
    /// Our own binary, which keeps an agent from outliving us.
    pub keeper: PathBuf,
    /// The settings that hold.
    pub settings: Settings,
    /// What the person said about what the project brings.
    pub trust: Trust,
    /// The environment that the person started Rapport in. An agent gets only what its kind lets through.
    pub environment: Environment,
}

/// Variables and their values.
#[derive(Clone, Debug, Default)]
pub struct Environment(pub Vec<(OsString, OsString)>);

impl Environment {
    /// That of this process.
    pub fn of_this_process() -> Self {
        Self(std::env::vars_os().collect())
    }

    /// The value of a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        let found = self.0.iter().rev().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }
}

/// Every kind of agent that there is. The first is the usual one.
#[derive(Clone)]
pub struct AgentKinds(Vec<Arc<dyn AgentKind>>);

impl AgentKinds {
    /// Those that come with Rapport. A new one is one line here.
    pub fn builtin() -> Self {
        Self(vec![Arc::new(claude::ClaudeCode)])
    }

    /// The same with another one.
    #[must_use]
    pub fn with(mut self, kind: impl AgentKind + 'static) -> Self {
        self.0.push(Arc::new(kind));
        self
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

    /// The agent that new sessions begin with.
    pub fn command(&self, settings: &Settings) -> Result<AgentCommand, String> {
        let kind = self.chosen(settings)?;
        let command = settings.agent_command.clone().unwrap_or_else(|| vec![kind.usual_command().to_owned()]);
        if command.is_empty() {
            return Err("agent.command is empty".to_owned());
        }
        Ok(AgentCommand { name: kind.name().to_owned(), command })
    }

    /// What any of them would take from the files of a project.
    pub fn brought(&self, project: &Path, environment: &Environment) -> Vec<Brought> {
        self.0.iter().flat_map(|kind| kind.brought(project, environment)).collect()
    }

    /// The variables in which the person may keep what lets any of them in somewhere.
    pub fn credentials(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|kind| kind.credentials().iter().copied())
    }

    /// Whether a variable of the person's environment sets one of them up.
    pub fn are_set_up_by(&self, variable: &str) -> bool {
        self.0.iter().any(|kind| kind.is_set_up_by(variable))
    }
}

impl fmt::Debug for AgentKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|kind| kind.name())).finish()
    }
}

/// The agents of sessions. Each command is made into an agent once.
pub struct AgentsByName {
    from: Source,
    made: Mutex<HashMap<AgentCommand, Arc<dyn Agent>>>,
}

enum Source {
    /// As the sessions and the settings say.
    Kinds {
        kinds: AgentKinds,
        setup: Box<AgentSetup>,
        /// The agent that new sessions begin with.
        usual: AgentCommand,
    },
    /// The same for all.
    Only(Arc<dyn Agent>),
}

impl AgentsByName {
    /// Agents of these kinds. Sessions that do not say have the one of the settings.
    pub fn new(kinds: AgentKinds, setup: AgentSetup) -> Result<Self, String> {
        let usual = kinds.command(&setup.settings)?;
        Ok(Self { from: Source::Kinds { kinds, setup: Box::new(setup), usual }, made: Mutex::default() })
    }

    /// One agent for all sessions, whatever they say.
    pub fn only(agent: Arc<dyn Agent>) -> Self {
        Self { from: Source::Only(agent), made: Mutex::default() }
    }

    /// The agent of a session, by what the session says.
    pub fn find(&self, said: Option<&AgentCommand>) -> Result<Arc<dyn Agent>, String> {
        let (kinds, setup, usual) = match &self.from {
            Source::Kinds { kinds, setup, usual } => (kinds, setup, usual),
            Source::Only(agent) => return Ok(agent.clone()),
        };
        let named = match said {
            None => usual.clone(),
            // Somebody named a command for this very run: it also runs sessions that were begun with another.
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
