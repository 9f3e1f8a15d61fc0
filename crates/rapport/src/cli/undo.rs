//! `rapport undo`: what a batch did to files is taken back.

use std::path::{Path, PathBuf};

use rapport_core::Act;
use serde_json::json;

use super::files::batches::{self, BatchDir, Undo};
use super::files::{self, asking, record, seals};
use super::output::say;
use super::{Common, sessions};
use crate::actions::undo::UndoError;
use crate::actions::{LaterChanges, undo};
use crate::channels::terminal::safe;
use crate::error::{Code, Failure, Outcome};
use crate::turns::Folder;
use crate::wiring::Place;

/// Take back what the last batch of a plan did to files
///
/// All files are as they were before the batch. What commands did cannot be taken back, and is listed. Files that somebody
/// changed since are not touched: nothing is undone then, unless you say so.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport undo                          the last batch in this project
  rapport undo --session add-auth       the last batch of a session
  rapport undo --batch 20260124-101500  this one; .rapport/batches has them
  rapport undo --force                  leave what was changed since")]
pub(super) struct Args {
    /// The last batch of this session
    #[arg(long, value_name = "SESSION", conflicts_with = "batch")]
    session: Option<String>,
    /// This batch
    #[arg(long, value_name = "BATCH")]
    batch: Option<String>,
    /// Leave files that were changed since as they are, and undo the rest
    #[arg(long)]
    force: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let batch = find(&place, &args)?;
    let later = if args.force { LaterChanges::Keep } else { LaterChanges::Refuse };
    undo_and_tell(common, &place, &batch, later)?;
    withdraw(&place, &batch)
}

/// Nobody waits any more for what a batch asked that is undone.
fn withdraw(place: &Place, batch: &Path) -> Outcome {
    for folder in Folder::all(&files::sessions_of(place))? {
        let Some(label) = batches::label(&folder, batch) else { continue };
        for question in record::waiting(&seals::entries(place, &folder)?, label) {
            sessions::act(place, &folder.id, &Act::Withdraw { question })?;
        }
    }
    Ok(())
}

fn find(place: &Place, args: &Args) -> Result<PathBuf, Failure> {
    let all = batches::all(place)?;
    if let Some(name) = &args.batch {
        let known = |path: &&PathBuf| path.file_name().is_some_and(|known| known.to_str() == Some(name));
        return all.iter().find(known).cloned().ok_or_else(|| none(&format!("there is no batch {name}")));
    }
    let of_session = match &args.session {
        Some(name) => Some(files::find(place, Some(name))?),
        None => None,
    };
    for path in all {
        let is_meant = of_session.as_ref().is_none_or(|folder| batches::label(folder, &path).is_some());
        // What was undone already is passed over; what was cut off while it was undone is not.
        if is_meant && !matches!(BatchDir::read(path.clone())?.undo(), Undo::Done { .. }) {
            return Ok(path);
        }
    }
    Err(none("there is nothing to undo"))
}

fn none(what: &str) -> Failure {
    Failure::new(Code::NotFound, what)
        .hint("A batch is what rapport resume or rapport execute did; see .rapport/batches.")
}

/// After a failure, all that was done to files can be taken back: now, if somebody says so, or later with the command.
pub(super) async fn offer(common: &Common, place: &Place, batch: &Path, command: &str) -> Outcome {
    let failure = Failure::new(Code::Trouble, "an action failed; what came after it was not done");
    if !BatchDir::read(batch.to_owned())?.has_changes() {
        return Err(failure);
    }
    if asking::is_possible(common) && asking::yes("Undo what was done to files?").await? {
        return undo_and_tell(common, place, batch, LaterChanges::Refuse);
    }
    Err(failure.hint(format!("Take back what was done to files with: {command}")))
}

/// Undoes a batch, and tells what that came to.
pub(super) fn undo_and_tell(common: &Common, place: &Place, batch: &Path, later: LaterChanges) -> Outcome {
    let mut undone = undo(&place.batch(batch), later).map_err(refused)?;
    if BatchDir::read(batch.to_owned())?.has_remembered() {
        undone.remaining.push("the changes to memos.yaml".to_owned());
    }
    let name = batch.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if common.json {
        return say(json!({
            "batch": name, "restored": undone.restored, "removed": undone.removed, "kept": undone.kept,
            "remaining": undone.remaining, "set_aside": undone.set_aside,
        }));
    }
    say(format_args!("Undone: {name}"))?;
    if [&undone.restored, &undone.removed, &undone.kept].iter().all(|files| files.is_empty()) {
        say("  No file had to be brought back.")?;
    }
    let parts = [
        ("restored", undone.restored.as_slice()),
        ("removed", undone.removed.as_slice()),
        ("left as it is, because it was changed since", undone.kept.as_slice()),
        ("cannot be undone", undone.remaining.as_slice()),
    ];
    for (how, what) in parts.into_iter().flat_map(|(how, all)| all.iter().map(move |what| (how, what))) {
        say(format_args!("  {how}: {}", safe::line(what)))?;
    }
    for (file, path) in &undone.set_aside {
        let path = path.display().to_string();
        say(format_args!(
            "  {} was changed while a command ran. As it was then: {}",
            safe::line(file),
            safe::line(&path)
        ))?;
    }
    Ok(())
}

fn refused(error: UndoError) -> Failure {
    let message = error.to_string();
    match error {
        UndoError::ChangedLater { .. } => Failure::new(Code::Refused, message)
            .hint("Nothing was undone. With --force those files stay as they are, and the rest is undone."),
        UndoError::Stuck { .. } => Failure::new(Code::Store, message)
            .hint("Make that possible, and say it again: rapport undo goes on from there."),
        UndoError::Action(error) => files::running::failed(&error),
    }
}
