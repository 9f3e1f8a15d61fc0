//! `rapport undo`: what a batch did to files is taken back.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rapport_core::{Act, FileBatch, LaterChanges, Session, SessionId, UndoProblem, UndoState, UndoneFiles};
use serde_json::json;

use super::files::held::{self, Held};
use super::files::{self, asking};
use super::output::say;
use super::{Common, sessions};
use crate::actions::{ActionError, JournalError, undo};
use crate::channels::terminal::safe;
use crate::config::Layer;
use crate::error::{Code, Failure, Outcome};
use crate::turns::Folder;
use crate::turns::batches::{self, BatchDir, Batches, Naming};
use crate::wiring::{Place, Shelf};

/// How long apart the log of a session is looked at that another process holds.
const PAUSE: Duration = Duration::from_millis(50);

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
    let path = find(&place, &args)?;
    let later = if args.force { LaterChanges::Keep } else { LaterChanges::Refuse };
    match owner(&place, &path)? {
        Some(owner) => in_its_session(common, &place, owner, later),
        None => directly(common, &place, &path, later),
    }
}

/// The session that a batch belongs to, and what it is called there.
struct Owner {
    shelf: Shelf,
    folder: Folder,
    session: Session,
    batch: String,
}

/// Undoes a batch as an act of its session: here, or in the process that holds it.
fn in_its_session(common: &Common, place: &Place, owner: Owner, later: LaterChanges) -> Outcome {
    let Owner { shelf, folder, session, batch } = owner;
    let store = place.store_in(&shelf);
    if store.holder(&folder.id)?.is_none() {
        let settings = place.settings(Layer::default())?;
        let work = async |held: &Held<'_>| in_session(held, &batch, later).await;
        return held::hold_in(common, place, &settings, (shelf, folder), work);
    }
    if session.is_running() {
        let what = format!("another process is working on the batch {batch} of {}", folder.id);
        return Err(Failure::new(Code::Busy, what).hint("Nothing was done."));
    }
    sessions::act(place, &folder.id, &Act::Undo { batch: batch.clone(), later })?;
    // Whoever holds it does it now.
    loop {
        let session = sessions::replay(&*store, &folder.id, &store.read(&folder.id, 0)?)?;
        if let Some((_, known)) = session.batch(&batch)
            && !matches!(known.undo, UndoState::UnderWay(_))
        {
            return told(common, &folder, known);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Undoes a batch of a session that is held here, and tells what that came to.
pub(super) async fn in_session(held: &Held<'_>, batch: &str, later: LaterChanges) -> Outcome {
    let session = held.session().await?;
    let is_under_way = |(_, batch): (_, &FileBatch)| matches!(batch.undo, UndoState::UnderWay(_));
    if !session.batch(batch).is_some_and(is_under_way) {
        held.submit(Act::Undo { batch: batch.to_owned(), later }).await?;
    }
    held.settle().await?;
    let session = held.session().await?;
    let gone = || Failure::new(Code::NotFound, format!("there is no batch {batch}"));
    let (_, known) = session.batch(batch).ok_or_else(gone)?;
    told(held.common, &held.folder, known)
}

fn told(common: &Common, folder: &Folder, batch: &FileBatch) -> Outcome {
    let name = name_of(&folder.id, &batch.name);
    match (&batch.undo, &batch.undo_refused) {
        (UndoState::Done(files), _) => tell(common, &name, files),
        (_, Some(problem)) => Err(failure(problem)),
        (_, None) => Err(Failure::new(Code::Trouble, format!("{name} was not undone"))),
    }
}

/// A batch's directory is called after the session and its name there; where it belongs to none, after the session alone.
fn name_of(session: &SessionId, batch: &str) -> String {
    let is_alone = session.as_str().split('-').all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    if is_alone { session.to_string() } else { format!("{session}-{batch}") }
}

fn failure(problem: &UndoProblem) -> Failure {
    let failure = Failure::new(
        if problem.changed.is_empty() { Code::Store } else { Code::Refused },
        problem.reason.clone(),
    );
    match (problem.changed.is_empty(), problem.is_partial) {
        (false, false) => failure
            .hint("Nothing was undone. With --force those files stay as they are, and the rest is undone."),
        (false, true) => failure
            .hint("A part is undone. With --force those files stay as they are, and the rest is undone."),
        (true, true) => {
            failure.hint("Make that possible, and say it again: rapport undo goes on from there.")
        }
        (true, false) => failure.hint("Nothing was undone."),
    }
}

fn find(place: &Place, args: &Args) -> Result<PathBuf, Failure> {
    let all = batches::all(&place.project)?;
    if let Some(name) = &args.batch {
        let known = |path: &&PathBuf| path.file_name().is_some_and(|known| known.to_str() == Some(name));
        return all.iter().find(known).cloned().ok_or_else(|| none(&format!("there is no batch {name}")));
    }
    let of_session = match &args.session {
        Some(name) => Some(files::find(place, Some(name))?),
        None => None,
    };
    for path in all {
        let is_meant = of_session.as_ref().is_none_or(|folder| batches::turn_of(&folder.id, &path).is_some());
        // What was undone already is passed over; what was cut off while it was undone is not.
        if is_meant && !BatchDir::read(path.clone())?.is_undone() {
            return Ok(path);
        }
    }
    Err(none("there is nothing to undo"))
}

fn none(what: &str) -> Failure {
    Failure::new(Code::NotFound, what)
        .hint("A batch is what rapport resume or rapport execute did; see .rapport/batches.")
}

/// The session a batch is of. One whose session is gone has none, and neither has a plan that an older version ran alone.
fn owner(place: &Place, path: &Path) -> Result<Option<Owner>, Failure> {
    let shelf = Shelf::Plans(String::new());
    let alone = place.store_in(&shelf);
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let id = SessionId::new(name);
    if let Ok(entries) = alone.read(&id, 0) {
        let session = sessions::replay(&*alone, &id, &entries)?;
        let folder = Folder::new(&shelf.root(&place.project), &id);
        return Ok(Some(Owner { batch: "01".into(), shelf, folder, session }));
    }
    let known = Batches::of(&place.project, Naming::ByTurn);
    for folder in Folder::all(&files::sessions_of(place))? {
        let Some(turn) = batches::turn_of(&folder.id, path) else { continue };
        let session = files::state(place, &folder)?;
        let batches =
            session.file_turn(&turn.to_string()).map(|turn| turn.batches.clone()).unwrap_or_default();
        for batch in batches {
            if known.find(&folder.id, &turn.to_string(), batch.approved_at)?.as_deref() == Some(path) {
                return Ok(Some(Owner { shelf: Shelf::Sessions, folder, session, batch: batch.name }));
            }
        }
    }
    Ok(None)
}

/// Undoes a batch that belongs to no session.
fn directly(common: &Common, place: &Place, path: &Path, later: LaterChanges) -> Outcome {
    let undone = undo(&place.batch(path), later).map_err(|error| match error {
        crate::actions::undo::UndoError::Action(ActionError::Journal(
            ref not_ours @ JournalError::NotOurs { ref path, .. },
        )) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let hint = format!("Nothing was done. See what it did, and let it count: rapport trust {name}");
            Failure::new(Code::Untrusted, not_ours.to_string()).hint(hint)
        }
        crate::actions::undo::UndoError::Action(ActionError::Journal(error @ JournalError::Busy { .. })) => {
            Failure::new(Code::Busy, error.to_string()).hint("Nothing was done.")
        }
        crate::actions::undo::UndoError::ChangedLater { ref files, is_begun } => {
            failure(&UndoProblem { reason: error.to_string(), changed: files.clone(), is_partial: is_begun })
        }
        error => failure(&UndoProblem { reason: error.to_string(), changed: Vec::new(), is_partial: false }),
    })?;
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let set_aside = undone.set_aside.into_iter().map(|(file, path)| (file, path.display().to_string()));
    let files = UndoneFiles {
        restored: undone.restored,
        removed: undone.removed,
        kept: undone.kept,
        set_aside: set_aside.collect(),
        remaining: undone.remaining,
    };
    tell(common, name, &files)
}

/// After a failure, all that was done to files can be taken back: now, if somebody says so, or later with the command.
pub(super) async fn offer(held: &Held<'_>, batch: &FileBatch) -> Outcome {
    let failure = Failure::new(Code::Trouble, "an action failed; what came after it was not done");
    if !batch.has_changes {
        return Err(failure);
    }
    if asking::is_possible(held.common) && asking::yes("Undo what was done to files?").await? {
        return in_session(held, &batch.name, LaterChanges::Refuse).await;
    }
    let of_session = held.folder.path.join(crate::turns::SESSION_CONTEXT).exists();
    let command = if of_session {
        format!("rapport undo --session {}", held.folder.id)
    } else {
        "rapport undo".to_owned()
    };
    Err(failure.hint(format!("Take back what was done to files with: {command}")))
}

fn tell(common: &Common, name: &str, undone: &UndoneFiles) -> Outcome {
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
        say(format_args!(
            "  {} was changed while a command ran. As it was then: {}",
            safe::line(file),
            safe::line(path)
        ))?;
    }
    Ok(())
}
