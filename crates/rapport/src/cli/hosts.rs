//! `rapport hosts`: the machines that share the sessions, and what they run.

use rapport_core::SessionId;
use serde::Serialize;

use super::Common;
use super::output::{say, say_json};
use crate::channels::terminal::terminal_text;
use crate::error::{Code, Failure, Outcome};
use crate::stores::HostProcess;
use crate::stores::blocking::wait;
use crate::wiring::{SessionKind, Workspace};

/// See which machines share the sessions of this project, what they run, their load, and since when they are there
///
/// A machine is listed while a process there holds sessions. The store has to be one that machines share: see
/// docs/many-machines.md.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport hosts          the machines, and their sessions of this project
  rapport hosts --json   the same for scripts")]
pub(super) struct Args {}

#[derive(Serialize)]
struct Row<'a> {
    host: &'a str,
    id: &'a str,
    pid: u32,
    here: bool,
    since: String,
    load: Option<f64>,
    held: usize,
    sessions: &'a [SessionId],
}

pub(super) fn execute(common: &Common, _args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let Some(hosts) = wait(place.store_in(&SessionKind::Sessions).hosts())? else {
        let what = "the sessions of this project are stored on this machine alone";
        return Err(Failure::new(Code::Usage, what).hint(
            "To share them between machines, set store: nats://HOST,HOST,HOST (docs/many-machines.md)",
        ));
    };
    if common.json {
        return say_json(&hosts.iter().map(row).collect::<Vec<_>>());
    }
    if hosts.is_empty() {
        return say("No process holds a session at the moment.");
    }
    for host in &hosts {
        say(line(host))?;
        for session in &host.sessions {
            say(format_args!("  {}", terminal_text::line(session.as_str())))?;
        }
    }
    Ok(())
}

fn row(host: &HostProcess) -> Row<'_> {
    Row {
        host: &host.host,
        id: &host.host_id,
        pid: host.pid,
        here: host.is_here,
        since: host.since.to_string(),
        load: host.load.map(|load| f64::from(load) / 100.0),
        held: host.held,
        sessions: &host.sessions,
    }
}

fn line(host: &HostProcess) -> String {
    let here = if host.is_here { " (this machine)" } else { "" };
    let load = host.load.map_or_else(String::new, |load| format!(", load {:.2}", f64::from(load) / 100.0));
    let sessions = match host.held {
        1 => "1 session".to_owned(),
        held => format!("{held} sessions"),
    };
    let since = host.since.strftime("%Y-%m-%d %H:%M UTC");
    format!(
        "{}{here}  process {}, {sessions}{load}, since {since}",
        terminal_text::line(&host.host),
        host.pid
    )
}
