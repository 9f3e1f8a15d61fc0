//! `rapport plan -m`: plans the next turn of a session.

use rapport_core::{Act, Asking};

use super::agent_flags::AgentFlags;
use super::workflow::context;
use super::workflow::open_session::{self, OpenSession};
use super::workflow::plan::{self, Consent, Request};
use super::workflow::seals::{self, Changed};
use super::workflow::{self, Where};
use super::{Common, message, sessions, trust};
use crate::cli::runtime;
use crate::error::{Code, Failure, Outcome};
use crate::stores::StoreError;
use crate::stores::blocking::wait;
use crate::turns::{Folder, preparation};
use crate::wiring::Workspace;

pub(super) struct Planning<'a> {
    pub(super) message: &'a str,
    pub(super) asking: Asking,
    pub(super) consent: Consent,
    pub(super) changed: Changed,
    pub(super) under_way: UnderWay,
    pub(super) at: &'a Where,
    pub(super) agent: &'a AgentFlags,
}

/// What to do about a turn that is being planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnderWay {
    GoOn,
    /// Plan it again, with the new message.
    Leave,
}

/// The usage with a session name.
const PLAN_IN: &str = "rapport plan --session SESSION -m MESSAGE";

/// Plans the next turn.
pub(super) fn execute(common: &Common, planning: &Planning<'_>) -> Outcome {
    let place = Workspace::find(common)?;
    trust::ask_once(common, &place)?;
    let settings = place.settings(planning.agent.layer())?;
    let folder = workflow::find(&place, planning.at.session.as_deref(), PLAN_IN)?;
    if planning.message.is_empty() {
        refuse_if_one_waits(&place, &folder, planning.at.turn.as_deref())?;
    }
    let runtime = runtime::small()?;
    let mut request = runtime.block_on(request(common, planning))?;
    let session = workflow::state(&place, &folder)?;
    request.terms = planning.agent.change(&place, session.created(), &settings);
    // Before the session is held, because holding it resumes its agent.
    let under_way = match planning.under_way {
        UnderWay::GoOn => under_way(&place, &folder, &request.message)?,
        UnderWay::Leave => {
            leave(&place, &folder)?;
            None
        }
    };
    open_session::hold(common, &place, &settings, folder, async |held| {
        plan::begin_with(held, planning.changed).await?;
        match &under_way {
            Some(turn) => plan::go_on(held, turn, &request).await,
            None => next(held, planning, &request).await,
        }
    })
}

/// Abandons the plan that is being made, if no process works on it.
fn leave(place: &Workspace, folder: &Folder) -> Outcome {
    let store = place.store();
    if workflow::state(place, folder)?.drafting().is_none() {
        return Ok(());
    }
    if let Some(holder) = store.holder(&folder.id)? {
        return Err(StoreError::Busy { id: folder.id.clone(), holder }.into());
    }
    sessions::act(place, &folder.id, &Act::LeaveDraft).map(drop)
}

/// Shows what the next turn would be shown, and does nothing.
pub(super) fn dry_run(common: &Common, planning: &Planning<'_>) -> Outcome {
    let place = Workspace::find(common)?;
    let settings = place.settings(planning.agent.layer())?;
    let folder = workflow::find(&place, planning.at.session.as_deref(), PLAN_IN)?;
    seals::warn(&seals::broken_in(&place, &folder)?);
    let runtime = runtime::small()?;
    let request = runtime.block_on(request(common, planning))?;
    let session = workflow::state(&place, &folder)?;
    let turn = workflow::turn(&session, &folder, planning.at.turn.as_deref())?;
    let directory = turn.map(|turn| wait(folder.turn(&turn.folder))).transpose()?;
    let preparation = wait(workflow::preparation(&place, &settings, &folder, &session))?;
    let (base, name) = match (turn, &directory) {
        (Some(turn), Some(directory)) if turn.is_unplanned() => {
            (wait(preparation.base_of(&session, directory))?, turn.folder.clone())
        }
        (_, directory) => {
            let number = directory.as_ref().map_or(1, |turn| turn.name.number + 1);
            (wait(preparation.base_after(&session, directory.as_ref()))?, format!("{number:02}"))
        }
    };
    let payload = wait(context::payload(&preparation, &base, &request))?;
    if common.json {
        let files: Vec<_> = payload
            .files
            .iter()
            .map(|file| {
                let not_shown = file.unshown.as_ref().map(ToString::to_string);
                serde_json::json!({ "path": file.path, "tokens": file.tokens, "not_shown": not_shown })
            })
            .collect();
        let shown = serde_json::json!({ "session": folder.id, "turn": name, "tokens": payload.tokens(), "files": files });
        return super::output::say_json(&shown);
    }
    context::estimate(&payload, &name)?;
    super::output::say("Nothing was sent.")
}

async fn next(held: &OpenSession<'_>, planning: &Planning<'_>, request: &Request) -> Outcome {
    let session = held.session().await?;
    let turn = workflow::turn(&session, &held.folder, planning.at.turn.as_deref())?;
    // A failed or abandoned turn is planned again, in the same directory, with the new message.
    match session.drafting() {
        Some(under_way) => plan::plan(held, Some(under_way), request).await,
        None => plan::plan(held, turn, request).await,
    }
}

async fn request(common: &Common, planning: &Planning<'_>) -> Result<Request, Failure> {
    let message = message::given(common, planning.message).await?;
    Ok(Request { message, asking: planning.asking, consent: planning.consent, terms: None })
}

/// Refuses before the person writes a message in an editor, because that would be lost.
fn refuse_if_one_waits(place: &Workspace, folder: &Folder, named: Option<&str>) -> Outcome {
    let session = workflow::state(place, folder)?;
    let turn = workflow::turn(&session, folder, named)?.filter(|turn| turn.is_waiting());
    match turn.filter(|_| session.drafting().is_none()) {
        Some(waiting) => Err(plan::waits(folder, &waiting.folder)),
        None => Ok(()),
    }
}

/// The turn that the agent is planning, which is resumed if the message is the same; a different message is refused.
fn under_way(place: &Workspace, folder: &Folder, message: &str) -> Result<Option<String>, Failure> {
    let session = workflow::state(place, folder)?;
    // A failed or cancelled turn is not being planned.
    let Some(turn) = session.drafting().filter(|_| !session.is_failed() && !session.is_over()) else {
        return Ok(None);
    };
    let turn = wait(folder.turn(&turn.folder))?;
    if wait(preparation::message_to(&turn))?.is_some_and(|told| told.trim_end() == message.trim_end()) {
        return Ok(Some(turn.name.to_string()));
    }
    let what = format!("turn {} of {} is being planned already, with another message", turn.name, folder.id);
    Err(Failure::new(Code::Refused, what)
        .hint(format!("Go on with that first: rapport resume {}", folder.id))
        .hint(format!(
            "Or abandon it with its questions, and plan this instead: rapport plan --session {} --instead -m MESSAGE",
            folder.id
        )))
}
