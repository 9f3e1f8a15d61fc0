//! `rapport mcp`: a server for another assistant, over standard input and output.

use std::sync::Arc;

use rapport_core::routing::Policy;
use rapport_core::{Decider, SessionId};
use rapport_mcp::{CHANNEL, DeciderName, McpLayer, McpSetup, PolicyName, StdioError, serve_stdio};
use rapport_settings::Setting as _;

use super::agent_flags::AgentFlags;
use super::screen::StopSignal;
use super::{Common, host};
use crate::cli::runtime;
use crate::clock::Clock;
use crate::config::Settings;
use crate::engine::{ChannelLease, claims, socket};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;

/// The maximum number of concurrent writes. More would only cost memory, because the disk is the limit.
const WRITERS: usize = 64;

/// Let another assistant start workers, answer them and review their changes, over MCP
///
/// An MCP server on standard input and output, for the project it is started in. Its client's model may answer what
/// workers ask; permissions, plans and secrets stay with you (in a dialog of the client, with `rapport answer`, or in
/// a channel of `rapport serve`). Workers live as long as the server; the next server resumes them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport mcp                         as the command of an MCP client
  rapport mcp --apply lead            its model may apply changes, too
  rapport mcp --questions person      you answer what workers ask")]
pub(super) struct Args {
    /// Who may apply what workers did: you alone ("person"), or the client's model as well ("lead")
    #[arg(long, value_name = "WHO", value_parser = DeciderName::parse)]
    apply: Option<DeciderName>,
    /// What the client's model may do with what workers ask: nothing ("ask", or "person"), draft ("assist"), answer
    /// with a ground ("auto"), answer on its own word ("trust", or "lead")
    #[arg(long, value_name = "POLICY", value_parser = PolicyName::parse)]
    questions: Option<PolicyName>,
    /// Connect the agent of a lead to its tools, at this socket of the process that runs it
    #[arg(long, value_name = "SOCKET", hide = true, requires = "lead")]
    relay: Option<String>,
    /// The lead whose agent is connected
    #[arg(long, value_name = "SESSION", hide = true, requires = "relay")]
    lead: Option<String>,
    #[command(flatten)]
    agent: AgentFlags,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    if let (Some(address), Some(lead)) = (&args.relay, &args.lead) {
        return relay(address, &SessionId::new(lead));
    }
    let place = Workspace::find(common)?;
    let sources = place.sources()?;
    let settings = place.settings_of(&sources, args.agent.layer())?;
    let said = sources.load::<McpLayer>()?;
    let setup = McpSetup {
        project: place.project.clone(),
        workers: place.worker_choice(&settings),
        apply: args.apply.or(said.apply).map_or(Decider::Person, Into::into),
        questions: args.questions.or(said.questions).map_or(Policy::Trust, |named| named.0),
        lead: None,
        // The person started the client, which shows them its dialogs.
        dialogs: said.dialogs.unwrap_or(true),
        person: socket::person_here(),
        projects: Arc::new(place.projects()),
        version: env!("CARGO_PKG_VERSION"),
        clock: Clock::system(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(WRITERS)
        .enable_all()
        .build()?;
    let outcome = runtime.block_on(serve(&place, &settings, setup));
    // A thread may still be reading standard input.
    runtime.shutdown_background();
    outcome
}

/// Connects the agent of a lead, at standard input and output, to the process that runs the lead. Does nothing else.
fn relay(address: &str, lead: &SessionId) -> Outcome {
    let runtime = runtime::small()?;
    let relayed =
        runtime.block_on(socket::relay_tools(address, lead, tokio::io::stdin(), tokio::io::stdout()));
    // A thread may still be reading standard input.
    runtime.shutdown_background();
    relayed.map_err(|error| {
        Failure::new(Code::Refused, format!("the tools of {lead} are not offered here: {error}")).hint(
            "An agent gets them from Rapport itself; to lead with another assistant, attach `rapport mcp`.",
        )
    })
}

async fn serve(place: &Workspace, settings: &Settings, setup: McpSetup) -> Outcome {
    let mut signal = StopSignal::listen()?;
    let run = place.home.join("run");
    let _leases = [ChannelLease::take(&run, CHANNEL).await?, ChannelLease::take(&run, claims::LEADS).await?];
    let host = host::start(place, settings).await?;
    let served = serve_stdio(setup, host.sessions(), signal.received()).await;
    host.stop().await;
    served.map_err(|error| match error {
        StdioError::Door(error) => error.into(),
        StdioError::Client(_) => Failure::new(Code::Usage, error.to_string())
            .hint("Start it from an MCP client; docs/mcp.md says how."),
    })
}
