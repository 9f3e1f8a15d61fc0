//! The helpers of actions: web searches, and sessions of other agents.

use super::plan;
use crate::actions::Pending;
use crate::cli::new;
use crate::config::Settings;
use crate::error::Failure;
use crate::turns::{Folder, Helpers};
use crate::wiring::{self, Workspace};

/// The helpers of a project.
pub(crate) struct ProjectHelpers {
    pub(crate) place: Workspace,
    pub(crate) settings: Settings,
}

impl Helpers for ProjectHelpers {
    fn research<'a>(&'a self, queries: &'a [String]) -> Pending<'a> {
        Box::pin(self.search(queries))
    }

    fn invoke<'a>(&'a self, agent: &'a str, message: &'a str) -> Pending<'a> {
        Box::pin(async move {
            let begun = self.begin(agent, message).await.map_err(|failure| failure.message)?;
            Ok(begun.id.to_string())
        })
    }
}

impl ProjectHelpers {
    /// Creates a session for another agent, with its first turn ready to be planned.
    async fn begin(&self, agent: &str, message: &str) -> Result<Folder, Failure> {
        let folder = new::make(&self.place, agent, self.settings.clone()).await?;
        plan::prepare_for(&self.place, &self.settings, &folder, agent, message).await?;
        Ok(folder)
    }

    /// Searches the web through the agent, in a separate conversation.
    async fn search(&self, queries: &[String]) -> Result<String, String> {
        let agent = wiring::agent(&self.place, &self.settings).map_err(|failure| failure.message)?;
        let agent = agent.one_shot().ok_or("this agent cannot search the web outside of a session")?;
        let list: String = queries.iter().map(|query| format!("- {}\n", query.replace('\n', " "))).collect();
        let prompt = format!(
            "Search the web for each of these, and tell what you found, in Markdown, with the addresses it is from:\n\n{list}"
        );
        agent.ask(&self.place.project, &prompt, "WebSearch,WebFetch").await
    }
}
