//! Agents by name: a session's facts contain its agent and command, which select the agent.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rapport_core::AgentCommand;

use super::Agent;

/// Creates an agent of one kind with this command, or says why it cannot.
pub type MakeAgent = Box<dyn Fn(&[String]) -> Result<Arc<dyn Agent>, String> + Send + Sync>;

/// All kinds of agents. Each command is turned into an agent once.
pub struct AgentsByName {
    kinds: HashMap<String, MakeAgent>,
    usual: AgentCommand,
    /// Whether the default agent runs every session, whatever it was begun with: it was named for this very run.
    for_all: bool,
    made: Mutex<HashMap<AgentCommand, Arc<dyn Agent>>>,
}

impl AgentsByName {
    /// No kinds yet, with this default agent for sessions that name none.
    pub fn new(usual: AgentCommand) -> Self {
        Self { kinds: HashMap::new(), usual, for_all: false, made: Mutex::default() }
    }

    /// One agent for all sessions.
    pub fn only(agent: Arc<dyn Agent>) -> Self {
        let usual = AgentCommand { name: "only".into(), command: Vec::new() };
        let kind: MakeAgent = Box::new(move |_| Ok(agent.clone()));
        Self::new(usual).with("only", kind).for_all(true)
    }

    /// Adds a kind of agent.
    #[must_use]
    pub fn with(mut self, name: &str, make: MakeAgent) -> Self {
        self.kinds.insert(name.to_owned(), make);
        self
    }

    /// Whether the default agent runs every session.
    #[must_use]
    pub fn for_all(self, for_all: bool) -> Self {
        Self { for_all, ..self }
    }

    /// The agent of new sessions.
    pub fn usual(&self) -> &AgentCommand {
        &self.usual
    }

    /// The agent of a session, given what its facts say.
    pub fn find(&self, said: Option<&AgentCommand>) -> Result<Arc<dyn Agent>, String> {
        let named = said.filter(|_| !self.for_all).unwrap_or(&self.usual);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(agent) = made.get(named) {
            return Ok(agent.clone());
        }
        let Some(make) = self.kinds.get(&named.name) else {
            return Err(format!("this program does not know the agent {:?}", named.name));
        };
        let agent = make(&named.command)?;
        made.insert(named.clone(), agent.clone());
        Ok(agent)
    }
}

impl fmt::Debug for AgentsByName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentsByName").field("usual", &self.usual).finish_non_exhaustive()
    }
}
