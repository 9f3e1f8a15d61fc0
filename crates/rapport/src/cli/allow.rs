//! `rapport allow`: lets the sandboxed agent of a session reach a host.

use rapport_core::Act;
use serde_json::json;

use super::output::{say, say_json};
use super::{Common, session_choice, sessions};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;
use crate::workers::network::HostPattern;

/// Let the agent of a session in a sandbox reach a host, for this session
///
/// It takes effect at once and until the session is over, even after a resume. `rapport status SESSION` lists the
/// refused and allowed hosts; the setting `worker.allow` is for all sessions.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport allow add-auth crates.io
  rapport allow add-auth \"*.crates.io\"
  rapport allow add-auth localhost:8080")]
pub(super) struct Args {
    /// The session: its name, or a unique part of it
    session: String,
    /// The host, with its port unless that is 80 or 443; "*.example.com" means all its subdomains
    host: String,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let id = session_choice::by_name(&place, &args.session)?;
    session_choice::check_counts(&place, &id)?;
    let host = args.host.parse::<HostPattern>().map_err(|why| Failure::new(Code::Usage, why))?.to_string();
    sessions::act(&place, &id, &Act::AllowHost { host: host.clone() })?;
    if common.json {
        return say_json(&json!({ "session": id, "allowed": host }));
    }
    say(format_args!("The agent of {id} may reach {host}."))
}
