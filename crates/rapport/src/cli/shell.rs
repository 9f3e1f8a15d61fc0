//! `rapport shell`: a shell in the workplace of a session.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;

use super::{Common, session_choice};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::{self, Workspace};
use crate::workers::Worker as _;

/// Look into the workplace of a session, with a shell or another command
///
/// In a container it runs inside, as the agent does; in a worktree or a sandbox it runs on this machine, in the
/// session's directory. It changes nothing by itself, and the session continues meanwhile.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport shell add-auth
  rapport shell add-auth -- git status")]
pub(super) struct Args {
    /// The session: its name, or a unique part of it
    session: String,
    /// The command, and its arguments; a shell if there is none
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    // An agent could use it to reach another agent's workplace.
    wiring::refuse_agents()?;
    let place = Workspace::find(common)?;
    let id = session_choice::by_name(&place, &args.session)?;
    session_choice::check_counts(&place, &id)?;
    let created = session_choice::known(&place, &id)?.session.created().clone();
    let failed = |why: &dyn std::fmt::Display| {
        Failure::new(Code::Trouble, format!("cannot look into the workplace of {id}: {why}"))
    };
    let found = place.workers().find(&id, &created).map_err(|error| failed(&error))?;
    let workplace = found.ok_or_else(|| failed(&"it has none yet, or it was removed"))?;
    let mut command = workplace.way_in(&args.command).map_err(|error| failed(&error))?;
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| failed(&format!("cannot run {program}: {error}")))?;
    match status.code().or_else(|| status.signal().map(|signal| 128 + signal)) {
        Some(0) => Ok(()),
        code => {
            Err(Failure::new(Code::Trouble, format!("it ended with the exit code {}", code.unwrap_or(1))))
        }
    }
}
