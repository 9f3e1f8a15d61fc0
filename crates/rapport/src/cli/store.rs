//! `rapport store`: looks after sessions that several machines share.

use std::sync::Arc;

use clap::Subcommand;
use rapport_core::SessionId;
use serde::Serialize;

use super::output::{say, say_json};
use super::{Common, store_migration};
use crate::channels::terminal::terminal_text;
use crate::error::{Code, Failure, Outcome};
use crate::stores::blocking::wait;
use crate::stores::{CopyState, Store};
use crate::wiring::{SessionKind, Workspace, refuse_agents};

/// Look after sessions that several machines share: compare copies, and fill the servers again
///
/// Every machine copies the logs that it writes or follows. See docs/many-machines.md.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport store verify     whether the servers have everything that this machine has
  rapport store restore    give them what they have lost
  rapport store migrate --from files    take the sessions of this machine to the servers that `store` names")]
pub(super) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Compare every log of this project with this machine's copy of it
    Verify,
    /// Store again what this machine's copies have and the servers have lost
    Restore,
    /// Take the sessions of another store into the one that the setting `store` names
    Migrate {
        /// The store in which they are: files, or nats://HOST,HOST,HOST
        #[arg(long, value_name = "STORE")]
        from: String,
    },
}

#[derive(Serialize)]
struct Row<'a> {
    session: &'a SessionId,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    match args.what {
        What::Verify => verify(common),
        What::Restore => restore(common),
        What::Migrate { from } => store_migration::migrate(common, &from),
    }
}

/// All logs, and how this machine's copies of them compare.
type Copies = Vec<(SessionId, CopyState)>;

/// The store of this project, and how this machine's copies compare with it.
fn compared(common: &Common) -> Result<(Arc<dyn Store>, Copies), Failure> {
    let store = Workspace::find(common)?.store_in(&SessionKind::Sessions);
    match wait(store.copies())? {
        Some(copies) => Ok((store, copies)),
        None => {
            let what =
                "the sessions of this project are stored on this machine alone, so there are no copies";
            Err(Failure::new(Code::Usage, what).hint(
                "To share them between machines, set store: nats://HOST,HOST,HOST (docs/many-machines.md)",
            ))
        }
    }
}

fn verify(common: &Common) -> Outcome {
    let (_, copies) = compared(common)?;
    let troubles = copies.iter().filter(|(_, state)| is_trouble(state)).count();
    if common.json {
        say_json(&copies.iter().map(row).collect::<Vec<_>>())?;
    } else {
        for (id, state) in copies.iter().filter(|(_, state)| is_trouble(state)) {
            say(format_args!("{}  {}", terminal_text::line(id.as_str()), words(state)))?;
        }
        let count = |wanted: fn(&CopyState) -> bool| copies.iter().filter(|(_, state)| wanted(state)).count();
        let same = count(|state| matches!(state, CopyState::Same));
        let behind = count(|state| matches!(state, CopyState::Behind { .. }));
        let none = count(|state| matches!(state, CopyState::NoCopy));
        say(format_args!("{same} copies are complete, {behind} are behind, {none} sessions have none here"))?;
    }
    if troubles == 0 {
        return Ok(());
    }
    let has_lost = copies.iter().any(|(_, state)| matches!(state, CopyState::Ahead { .. }));
    let failure = Failure::new(Code::Store, format!("{troubles} logs are not as they were written"));
    Err(if has_lost {
        failure.hint("Give the servers what they lost: rapport store restore")
    } else {
        failure
    })
}

fn restore(common: &Common) -> Outcome {
    refuse_agents()?;
    let (store, copies) = compared(common)?;
    let mut restored = Vec::new();
    for (id, _) in copies.iter().filter(|(_, state)| matches!(state, CopyState::Ahead { .. })) {
        let entries = wait(store.restore(id))?;
        restored.push(Row { session: id, state: "restored", entries: Some(entries), line: None });
    }
    if common.json {
        return say_json(&restored);
    }
    for Row { session, entries, .. } in &restored {
        let entries = entries.unwrap_or_default();
        say(format_args!("{}  {entries} entries restored", terminal_text::line(session.as_str())))?;
    }
    say(format_args!("{} logs restored from this machine's copies", restored.len()))
}

/// Whether the log and its copy are not both as they were written.
fn is_trouble(state: &CopyState) -> bool {
    match state {
        CopyState::Same | CopyState::NoCopy | CopyState::Behind { .. } => false,
        CopyState::Ahead { .. }
        | CopyState::Differs { .. }
        | CopyState::NotTrusted(_)
        | CopyState::Damaged { .. } => true,
    }
}

fn row((session, state): &(SessionId, CopyState)) -> Row<'_> {
    let (state, entries, line) = match state {
        CopyState::Same => ("same", None, None),
        CopyState::NoCopy => ("no_copy", None, None),
        CopyState::Behind { missing } => ("behind", Some(*missing), None),
        CopyState::Ahead { missing } => ("ahead", Some(*missing), None),
        CopyState::Differs { line } => ("differs", None, Some(*line)),
        CopyState::NotTrusted(_) => ("not_trusted", None, None),
        CopyState::Damaged { line, .. } => ("damaged", None, Some(*line)),
    };
    Row { session, state, entries, line }
}

fn words(state: &CopyState) -> String {
    match state {
        CopyState::Same => "is the same here".to_owned(),
        CopyState::NoCopy => "has no copy here".to_owned(),
        CopyState::Behind { missing } => format!("has {missing} entries more than the copy here"),
        CopyState::Ahead { missing } => format!("lacks {missing} entries that the copy here has"),
        CopyState::Differs { line } => format!("differs from the copy here from line {line} on"),
        CopyState::NotTrusted(seal) => format!("{seal}"),
        CopyState::Damaged { line, what } => {
            format!("is damaged at line {line}: {}", terminal_text::line(what))
        }
    }
}
