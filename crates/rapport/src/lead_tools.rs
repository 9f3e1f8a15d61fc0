//! Offers Rapport's own tools to the agents of leads, in the process that runs them. The sessions that a lead starts
//! run here, and continue while the lead is idle.

use std::sync::Arc;

use rapport_door::Sessions;

use crate::config::Settings;
use crate::engine::socket::LeadTools;
use crate::wiring::Workspace;

/// Whether this build has the tools.
pub(crate) const ARE_BUILT: bool = cfg!(feature = "mcp");

/// The tools for the leads of this place; `None` in a build without them.
#[cfg(not(feature = "mcp"))]
pub(crate) fn of(_: &Workspace, _: &Settings, _: Arc<dyn Sessions>) -> Option<Arc<dyn LeadTools>> {
    None
}

/// The tools for the leads of this place.
#[cfg(feature = "mcp")]
pub(crate) fn of(
    place: &Workspace,
    settings: &Settings,
    sessions: Arc<dyn Sessions>,
) -> Option<Arc<dyn LeadTools>> {
    Some(Arc::new(over_mcp::McpTools { place: place.clone(), settings: settings.clone(), sessions }))
}

#[cfg(feature = "mcp")]
mod over_mcp {
    use futures_util::FutureExt as _;
    use futures_util::future::BoxFuture;
    use rapport_core::{Decider, SessionId};
    use rapport_mcp::{McpSetup, serve_lead};
    use tracing::warn;

    use super::{Arc, LeadTools, Sessions, Settings, Workspace};
    use crate::clock::Clock;
    use crate::engine::socket::{self, ToolsStream};
    use crate::engine::{ChannelLease, claims};

    /// The tools over MCP.
    pub(super) struct McpTools {
        pub(super) place: Workspace,
        pub(super) settings: Settings,
        pub(super) sessions: Arc<dyn Sessions>,
    }

    impl LeadTools for McpTools {
        fn serve(&self, lead: SessionId, stream: ToolsStream) -> BoxFuture<'static, ()> {
            let setup = McpSetup {
                project: self.place.project.clone(),
                workers: self.place.worker_choice(&self.settings),
                apply: Decider::Person,
                questions: self.settings.lead_policy,
                lead: Some(lead),
                // The agent of a lead must not speak for the person.
                dialogs: false,
                person: socket::person_here(),
                projects: Arc::new(self.place.projects()),
                version: env!("CARGO_PKG_VERSION"),
                clock: Clock::system(),
            };
            let (sessions, run) = (self.sessions.clone(), self.place.home.join("run"));
            async move {
                // For sessions that other processes run. A channel for leads in this process may hold it already.
                let _lease = ChannelLease::take(&run, claims::LEADS).await.ok();
                if let Err(error) = serve_lead(setup, sessions, stream).await {
                    warn!(%error, "tools of a lead ended");
                }
            }
            .boxed()
        }
    }
}
