//! Agents by name: a session says which agent it runs with and by which command, and gets that one.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rapport_core::AgentCommand;

use super::Agent;

/// Makes an agent of one kind that is run with this command, or says why it cannot.
pub type MakeAgent = Box<dyn Fn(&[String]) -> Result<Arc<dyn Agent>, String> + Send + Sync>;

/// Every kind of agent there is. Each command is made into an agent once.
pub struct AgentsByName {
    kinds: HashMap<String, MakeAgent>,
    usual: AgentCommand,
    /// Whether the usual one runs every session, whatever it was begun with: somebody named it for this very run.
    for_all: bool,
    made: Mutex<HashMap<AgentCommand, Arc<dyn Agent>>>,
}

impl AgentsByName {
    /// No kind yet; sessions that do not say have this agent.
    pub fn new(usual: AgentCommand) -> Self {
        Self { kinds: HashMap::new(), usual, for_all: false, made: Mutex::default() }
    }

    /// One agent for all sessions, whatever they say.
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

    /// Whether the usual agent runs every session.
    #[must_use]
    pub fn for_all(self, for_all: bool) -> Self {
        Self { for_all, ..self }
    }

    /// The agent that new sessions begin with.
    pub fn usual(&self) -> &AgentCommand {
        &self.usual
    }

    /// The agent of a session, by what the session says.
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
