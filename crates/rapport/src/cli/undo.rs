//! `rapport undo`: undoes a batch's changes to files; `undo_work.rs` undoes a run's.

use std::path::{Path, PathBuf};

use rapport_core::{
    Act, Aim, FileBatch, LaterChanges, Session, SessionId, Status, UndoProblem, UndoState, UndoneFiles,
    WorkplaceState,
};
use serde_json::json;

use super::output::{say, say_json};
use super::session_choice::{self, Known, Verb, Which};
use super::workflow::open_session::{self, OpenSession};
use super::workflow::{self, prompts};
use super::{Common, screen, sessions, undo_work};
use crate::actions::{ActionError, JournalError, undo};
use crate::channels::terminal::terminal_text;
use crate::cli::runtime;
use crate::config::Layer;
use crate::engine::{Sessions as _, socket};
use crate::error::{Candidate, Code, Failure, Outcome};
use crate::stores::blocking::BlockingStore;
use crate::turns::Folder;
use crate::turns::batches::{self, BatchDir, ONLY_TURN};
use crate::wiring::{SessionKind, Workspace};

const BATCHES: &str = "A run can be undone once it is over, in a git repository. Batches of plans are in .rapport/batches; undo one with: \
     rapport undo --batch BATCH";

/// Undo a session's changes to files: the work of a run, or the last batch of a plan
///
/// The work of a run, of a conversation, or a progress file is undone file by file, if a file is as the work left it.
/// Files that were changed since stay as they are, and are listed. You are asked first.
///
/// After undoing a batch, all its files are as they were before it, including those that its commands changed, in a
/// git repository. Other effects of commands cannot be undone, and are listed. If a file was changed since, nothing
/// is undone, unless you use --force. At a terminal you are asked first.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport undo                          where only one session can be undone
  rapport undo add-auth                 a run, or the last batch of a session
  rapport undo add-auth --yes           without being asked, for scripts
  rapport undo --batch 20260124-101500  this one; .rapport/batches has them
  rapport undo --force                  leave what was changed since")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    #[arg(long, value_name = "BATCH", conflicts_with_all = ["session", "flag"])]
    batch: Option<String>,
    /// Leave files that were changed since as they are, and undo the rest of a batch
    #[arg(long)]
    force: bool,
    /// Undo it without being asked
    #[arg(long, short)]
    yes: bool,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let path = match find(&place, &args)? {
        Found::Batch(path) => path,
        Found::Work(id) => return undo_work::execute(common, &place, &id, args.yes),
    };
    let later = if args.force { LaterChanges::Keep } else { LaterChanges::Refuse };
    let owner = owner(&place, &path)?;
    if owner.as_ref().is_some_and(Owner::is_undone) {
        let what = format!("batch {} is already undone", batches::name(&path));
        return Err(Failure::new(Code::Refused, what).hint("Nothing was done."));
    }
    // A batch that cannot be read is reported when it is to be undone.
    let batch = BatchDir::read(path.clone()).ok();
    // Without a session, undoing it again changes nothing and says what was undone.
    let is_undone = owner.is_none() && batch.as_ref().is_some_and(BatchDir::is_undone);
    if !args.yes && !is_undone && prompts::is_possible(common) {
        let story = batch.map(|batch| batch.story()).unwrap_or_default();
        prompts::agree(&format!("{}:", batches::name(&path)), story, "Undo its changes to files?")?;
    }
    match owner {
        Some(owner) => in_its_session(common, &place, owner, later),
        None => directly(common, &place, &path, later),
    }
}

enum Found {
    Batch(PathBuf),
    /// The work of this session.
    Work(SessionId),
}

/// The session of a batch, and the batch's name there.
struct Owner {
    kind: SessionKind,
    folder: Folder,
    session: Session,
    batch: String,
}

impl Owner {
    fn is_undone(&self) -> bool {
        self.session.batch(&self.batch).is_some_and(|(_, batch)| matches!(batch.undo, UndoState::Done(_)))
    }
}

/// Undoes a batch as an act of its session: here, or in the process that holds it.
fn in_its_session(common: &Common, place: &Workspace, owner: Owner, later: LaterChanges) -> Outcome {
    let Owner { kind, folder, session, batch } = owner;
    let store = BlockingStore::from(place.store_in(&kind));
    if store.holder(&folder.id)?.is_none() {
        let settings = place.settings(Layer::default())?;
        let work = async |held: &OpenSession<'_>| in_session(held, &batch, later).await;
        return open_session::hold_in(common, place, &settings, (kind, folder), work);
    }
    if session.is_running() {
        let what = format!("another process is working on the batch {batch} of {}", folder.id);
        return Err(Failure::new(Code::Busy, what).hint("Nothing was done."));
    }
    let outcome = |session: &Session| {
        let (_, known) = session.batch(&batch)?;
        (!matches!(known.undo, UndoState::UnderWay(_))).then(|| known.clone())
    };
    let runtime = runtime::small()?;
    let ended = runtime.block_on(async {
        let door = place.sessions_in(&kind);
        let act = Act::Undo { batch: batch.clone(), later };
        // The holder undoes it.
        door.act(&folder.id, &socket::person_here(), &act).await?;
        sessions::until(&door, &folder.id, &outcome).await
    })?;
    print_result(common, (&kind, &folder.id), &ended.ok_or_else(|| sessions::gone(&folder.id))?)
}

/// Undoes a batch of a session that is held here, and reports the result.
pub(super) async fn in_session(held: &OpenSession<'_>, batch: &str, later: LaterChanges) -> Outcome {
    print_result(held.common, (&held.kind, &held.folder.id), &carry_out(held, batch, later).await?)
}

/// Undoes a batch of a session that is held here.
pub(super) async fn carry_out(
    held: &OpenSession<'_>,
    batch: &str,
    later: LaterChanges,
) -> Result<FileBatch, Failure> {
    let session = held.session().await?;
    let is_under_way = |(_, batch): (_, &FileBatch)| matches!(batch.undo, UndoState::UnderWay(_));
    if !session.batch(batch).is_some_and(is_under_way) {
        held.submit(Act::Undo { batch: batch.to_owned(), later }).await?;
    }
    let session = held.undone(batch).await?;
    let gone = || Failure::new(Code::NotFound, format!("there is no batch {batch}"));
    Ok(session.batch(batch).ok_or_else(gone)?.1.clone())
}

pub(super) fn print_result(
    common: &Common,
    (kind, id): (&SessionKind, &SessionId),
    batch: &FileBatch,
) -> Outcome {
    let name = name_of(kind, id, &batch.name);
    match (&batch.undo, &batch.undo_refused) {
        (UndoState::Done(files), _) => tell(common, ("batch", &name), files),
        (_, Some(problem)) => Err(failure(problem)),
        (_, None) => Err(Failure::new(Code::Trouble, format!("{name} was not undone"))),
    }
}

/// A batch's directory is named after its session and turn. A plan that was run without a session has its log and its
/// journal in one directory.
fn name_of(kind: &SessionKind, id: &SessionId, batch: &str) -> String {
    match kind {
        SessionKind::Plans(_) => id.to_string(),
        SessionKind::Sessions => format!("{id}-{batch}"),
    }
}

pub(super) fn failure(problem: &UndoProblem) -> Failure {
    let failure = Failure::new(
        if problem.changed.is_empty() { Code::Store } else { Code::Refused },
        problem.reason.clone(),
    );
    match (problem.changed.is_empty(), problem.is_partial) {
        (false, false) => failure
            .hint("Nothing was undone. With --force those files stay as they are, and the rest is undone."),
        (false, true) => failure
            .hint("A part is undone. With --force those files stay as they are, and the rest is undone."),
        (true, true) => failure.hint("Once that is fixed, the same command continues from there."),
        (true, false) => failure.hint("Nothing was undone."),
    }
}

fn find(place: &Workspace, args: &Args) -> Result<Found, Failure> {
    let all = batches::all(&place.project)?;
    let sessions: Vec<_> = place.folders()?.into_iter().map(|folder| folder.id).collect();
    let called = |name: &str| all.iter().find(|path| batches::name(path) == name).cloned();
    if let Some(name) = &args.batch {
        return called(name).map(Found::Batch).ok_or_else(|| none(&format!("there is no batch {name}")));
    }
    // A plan that was run without a session is known by the name of its batch.
    if let Some(batch) = args.which.name().and_then(called).filter(|path| batches::is_alone(path, &sessions))
    {
        return Ok(Found::Batch(batch));
    }
    // Batches that were undone are skipped; a half-undone one is not.
    let mut left = Vec::new();
    for path in &all {
        // A batch that cannot be read does not hide others; if it is named, the error is reported.
        let batch = BatchDir::read(path.clone());
        let batch = batch.unwrap_or_else(|_| BatchDir { path: path.clone(), facts: Vec::new() });
        if !batch.is_undone() {
            left.push(batch);
        }
    }
    let last_of = |id: &SessionId| left.iter().find(|batch| batches::turn_of(id, &batch.path).is_some());
    let alone = left.iter().find(|batch| batches::is_alone(&batch.path, &sessions));
    let fits = |known: &Known| last_of(&known.id).is_some() || undo_work::is_due(known);
    let verb = Verb::new("rapport undo SESSION", "with something to undo", &fits)
        .beside(alone.map(|batch| plan_run_alone(place, batch)))
        .else_try(BATCHES);
    let id = session_choice::choose(place, args.which.name(), &verb)?;
    let alone = alone.filter(|batch| batches::name(&batch.path) == id.as_str());
    if let Some(batch) = alone {
        return Ok(Found::Batch(batch.path.clone()));
    }
    let known = session_choice::known(place, &id)?;
    if is_applied(&known) {
        return Ok(Found::Work(id));
    }
    if let Some(batch) = last_of(&id) {
        return Ok(Found::Batch(batch.path.clone()));
    }
    match known.view.aim {
        Aim::Work | Aim::Progress(_) | Aim::Chat => Ok(Found::Work(id)),
        Aim::Files => Err(none(&format!("there is nothing to undo in {id}"))),
    }
}

/// Whether the work of a session was done in a separate workplace and then applied: it is undone as a whole.
fn is_applied(known: &Known) -> bool {
    known.view.workplace.as_ref().is_some_and(|workplace| workplace.state == WorkplaceState::Applied)
}

/// The last plan that was run without a session. An older version's has no log, only a journal.
fn plan_run_alone(place: &Workspace, batch: &BatchDir) -> Candidate {
    let id = SessionId::new(batches::name(&batch.path));
    let view = sessions::view(&place.store_in(&SessionKind::Plans(String::new())).into(), &id);
    // The result of a batch is not in its session's status, which is idle after the batch.
    let status = match view.map(|view| view.status) {
        Ok(Status::Idle) | Err(_) if batch.is_finished() => Status::Completed,
        Ok(status) => status,
        Err(_) => Status::Failed,
    };
    Candidate {
        id: id.to_string(),
        status: status.as_str(),
        word: if status == Status::NeedsInput { "needs input" } else { status.as_str() },
        task: "a plan, run outside of any session".into(),
        waits_for: None,
    }
}

fn none(what: &str) -> Failure {
    Failure::new(Code::NotFound, what).hint(BATCHES)
}

/// The session of a batch. `None` if the session was removed, or if an older version ran the plan without a session.
fn owner(place: &Workspace, path: &Path) -> Result<Option<Owner>, Failure> {
    let kind = SessionKind::Plans(String::new());
    let alone = BlockingStore::from(place.store_in(&kind));
    let id = SessionId::new(batches::name(path));
    if let Ok(entries) = alone.read(&id, 0) {
        let session = sessions::replay(&alone, &id, &entries)?;
        let folder = place.folder_in(&kind, &id);
        return Ok(Some(Owner { batch: ONLY_TURN.into(), kind, folder, session }));
    }
    let known = place.batches();
    for folder in place.folders()? {
        let Some(turn) = batches::turn_of(&folder.id, path) else { continue };
        let session = workflow::state(place, &folder)?;
        let batches =
            session.file_turn(&turn.to_string()).map(|turn| turn.batches.clone()).unwrap_or_default();
        for batch in batches {
            if known.find(&folder.id, &turn.to_string(), batch.approved_at)?.as_deref() == Some(path) {
                return Ok(Some(Owner { kind: SessionKind::Sessions, folder, session, batch: batch.name }));
            }
        }
    }
    Ok(None)
}

fn directly(common: &Common, place: &Workspace, path: &Path, later: LaterChanges) -> Outcome {
    let undone = undo(&place.batch(path), later).map_err(|error| match error {
        crate::actions::undo::UndoError::Action(ActionError::Journal(
            ref not_ours @ JournalError::NotOurs { ref path, .. },
        )) => {
            let name = screen::word(batches::name(path));
            let hint = format!("Nothing was done. See what it did, and trust it: rapport trust {name}");
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
    let name = batches::name(path);
    let set_aside = undone.set_aside.into_iter().map(|(file, path)| (file, path.display().to_string()));
    let files = UndoneFiles {
        restored: undone.restored,
        removed: undone.removed,
        kept: undone.kept,
        set_aside: set_aside.collect(),
        remaining: undone.remaining,
    };
    tell(common, ("batch", name), &files)
}

/// After a failure, offers to undo the changes to files: now, or later with the command.
pub(super) async fn offer(held: &OpenSession<'_>, batch: &FileBatch) -> Outcome {
    let failure = Failure::new(Code::Trouble, "an action failed; what came after it was not done");
    if !batch.has_changes {
        return Err(failure);
    }
    if prompts::is_possible(held.common) && prompts::yes("Undo the changes to files?").await? {
        return in_session(held, &batch.name, LaterChanges::Refuse).await;
    }
    let named = match &held.kind {
        SessionKind::Sessions => held.folder.id.to_string(),
        SessionKind::Plans(_) => format!("--batch {}", held.folder.id),
    };
    Err(failure.hint(format!("Undo the changes to files with: rapport undo {named}")))
}

/// Reports the result of an undo: of a batch or a session, with its name.
pub(super) fn tell(common: &Common, (kind, name): (&str, &str), undone: &UndoneFiles) -> Outcome {
    if common.json {
        return say_json(&json!({
            kind: name, "restored": undone.restored, "removed": undone.removed, "kept": undone.kept,
            "remaining": undone.remaining, "set_aside": undone.set_aside,
        }));
    }
    let is_none_undone = undone.restored.is_empty() && undone.removed.is_empty() && !undone.kept.is_empty();
    match is_none_undone {
        true => say(format_args!("Nothing of {name} was undone:"))?,
        false => say(format_args!("Undone: {name}"))?,
    }
    if [&undone.restored, &undone.removed, &undone.kept].iter().all(|files| files.is_empty()) {
        say("  No file had to be restored.")?;
    }
    let parts = [
        ("restored", undone.restored.as_slice()),
        ("removed", undone.removed.as_slice()),
        ("left as it is, because it was changed since", undone.kept.as_slice()),
        ("cannot be undone", undone.remaining.as_slice()),
    ];
    for (how, what) in parts.into_iter().flat_map(|(how, all)| all.iter().map(move |what| (how, what))) {
        say(format_args!("  {how}: {}", terminal_text::line(what)))?;
    }
    for (file, path) in &undone.set_aside {
        say(format_args!(
            "  {} was changed while a command ran. As it was then: {}",
            terminal_text::line(file),
            terminal_text::line(path)
        ))?;
    }
    Ok(())
}
