//! `rapport undo` of a session whose agent changed files: undoes these changes, since its work began.

use rapport_core::{Act, Merged, Session, SessionId, UndoProblem, UndoneFiles, WorkUndo};

use super::session_choice::{self, Known};
use super::workflow::prompts;
use super::{Common, handover, sessions, undo};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;
use crate::workers::local::Directory;

/// Whether there is work that can be undone and has not been.
pub(super) fn is_due(known: &Known) -> bool {
    let session = &known.session;
    session.rests()
        && (!session.undoable_work().is_empty() || session.is_left_unnoted())
        && !matches!(session.work_undo(), WorkUndo::Done(_))
}

/// Undoes the work of this session, if the person agrees.
pub(super) fn execute(common: &Common, place: &Workspace, id: &SessionId, yes: bool) -> Outcome {
    let known = session_choice::known(place, id)?;
    if !known.session.rests() {
        return Err(Failure::new(Code::Refused, format!("{id} is not over, and its agent may continue"))
            .hint(format!("Nothing was undone. Cancel it first: rapport cancel {id}")));
    }
    handover::settle(place, id)?;
    let known = session_choice::known(place, id)?;
    let is_new = matches!(known.session.work_undo(), WorkUndo::Not | WorkUndo::Refused(_));
    let stretches = known.session.undoable_work();
    if is_new && !yes && !stretches.is_empty() {
        sessions::restore_states(place, &known)?;
        ask(common, id, &Directory::of_project(known.session.created()), &stretches)?;
    }
    match handover::see_through(place, id, &Act::UndoWork, outcome)? {
        Ok(files) => undo::tell(common, ("session", id.as_str()), &files),
        Err(problem) => Err(undo::failure(&problem)),
    }
}

/// The outcome, once there is one.
fn outcome(session: &Session) -> Option<Result<UndoneFiles, UndoProblem>> {
    match session.work_undo() {
        WorkUndo::Done(files) => Some(Ok(files.clone())),
        WorkUndo::Refused(problem) => Some(Err(problem.clone())),
        WorkUndo::Not | WorkUndo::UnderWay(_) => None,
    }
}

/// Shows the changes, and asks whether to undo them.
fn ask(common: &Common, id: &SessionId, project: &Directory, stretches: &[Merged]) -> Outcome {
    let to_see = format!("See what it changed: rapport diff {id}");
    prompts::require(common, "undo", Some(to_see), &format!("rapport undo {id}"))?;
    let mut files = Vec::new();
    for states in stretches.iter().rev() {
        let changed = project
            .files_between(&states.to, &states.from)
            .map_err(|error| Failure::new(Code::Trouble, error.to_string()).hint("Nothing was undone."))?;
        files.extend(changed.iter().map(|file| format!("{:<9} {}", file.status, file.path)));
    }
    let question = "Undo these changes? Files that were changed since stay as they are.";
    prompts::agree(&format!("{id} changed:"), files, question)
}
