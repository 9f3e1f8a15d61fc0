//! `rapport mcp`: a server for another assistant, over standard input and output.

use rapport_core::Decider;
use rapport_mcp::{CHANNEL, DeciderName, McpLayer, McpSetup, StdioError, serve_stdio};
use rapport_settings::Setting as _;

use super::agent_flags::AgentFlags;
use super::screen::StopSignal;
use super::{Common, host};
use crate::config::Settings;
use crate::engine::{ChannelLease, claims, socket};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Place;

/// The maximum number of concurrent writes. More only cost memory: the disk is not faster for it.
const WRITERS: usize = 64;

/// Let another assistant start workers, answer them and review their changes, over MCP
///
/// An MCP server on standard input and output, for the project it is started in. Its client's model may answer what workers
/// ask; permissions, plans and secrets stay with you (in a dialog of the client, with `rapport answer`, or in a channel of `rapport
/// serve`). Workers live as long as the server; the next one goes on with them.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport mcp                         as the command of an MCP client
  rapport mcp --apply lead            its model may apply changes, too
  rapport mcp --questions person      you answer what workers ask")]
pub(super) struct Args {
    /// Who may apply what workers did: you alone ("person"), or the client's model as well ("lead")
    #[arg(long, value_name = "WHO", value_parser = DeciderName::parse)]
    apply: Option<DeciderName>,
    /// Who may answer what workers ask: you alone ("person"), or the client's model as well ("lead")
    #[arg(long, value_name = "WHO", value_parser = DeciderName::parse)]
    questions: Option<DeciderName>,
    #[command(flatten)]
    agent: AgentFlags,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let sources = place.sources()?;
    let settings = place.settings_of(&sources, args.agent.layer())?;
    let said = sources.load::<McpLayer>()?;
    let setup = McpSetup {
        project: place.project.clone(),
        workers: place.worker_choice(&settings),
        apply: args.apply.or(said.apply).map_or(Decider::Person, Into::into),
        questions: args.questions.or(said.questions).map_or(Decider::Lead, Into::into),
        // The person started the client, which shows them its dialogs.
        dialogs: said.dialogs.unwrap_or(true),
        person: socket::person_here(),
        version: env!("CARGO_PKG_VERSION"),
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

async fn serve(place: &Place, settings: &Settings, setup: McpSetup) -> Outcome {
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
