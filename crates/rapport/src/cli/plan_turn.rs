//! `rapport plan -m`: the next turn of a session of files.

use rapport_core::{Asking, Status};

use super::agent_flags::AgentFlags;
use super::files::drafting::{self, Consent, Request};
use super::files::held::{self, Held};
use super::files::seals::{self, Changed};
use super::files::told::{self, Base};
use super::files::{self, Where, record};
use super::{Common, message, sessions, trust};
use crate::error::{Code, Failure, Outcome};
use crate::stores::Store as _;
use crate::turns::{Folder, Standing, Turn};
use crate::wiring::Place;

/// What is to be planned, and how.
pub(super) struct Planning<'a> {
    pub(super) message: &'a str,
    pub(super) asking: Asking,
    pub(super) consent: Consent,
    pub(super) changed: Changed,
    pub(super) under_way: UnderWay,
    pub(super) at: &'a Where,
    pub(super) agent: &'a AgentFlags,
}

/// What becomes of a turn that is being planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnderWay {
    /// It is gone on with.
    GoOn,
    /// It is planned anew, with what is said now.
    Leave,
}

/// Plans the next turn.
pub(super) fn execute(common: &Common, planning: &Planning<'_>) -> Outcome {
    let place = Place::find(common)?;
    trust::ask_once(common, &place)?;
    let settings = place.settings(planning.agent.layer())?;
    let folder = files::find(&place, planning.at.session.as_deref())?;
    if planning.message.is_empty() {
        refuse_if_one_waits(&place, &folder, planning.at.turn.as_deref())?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let request = runtime.block_on(request(common, planning))?;
    // Before it is held: holding it lets its agent go on.
    let under_way = match planning.under_way {
        UnderWay::GoOn => under_way(&place, &folder, &request.message)?,
        UnderWay::Leave => {
            held::leave(&place, &folder)?;
            None
        }
    };
    held::hold(common, &place, &settings, folder, async |held| match &under_way {
        Some(turn) => {
            drafting::begin_with(held, planning.changed).await?;
            drafting::go_on(held, turn, &request).await
        }
        None => next(held, planning, &request).await,
    })
}

/// Shows what the next turn would be shown, and does nothing.
pub(super) fn dry_run(common: &Common, planning: &Planning<'_>) -> Outcome {
    let place = Place::find(common)?;
    let settings = place.settings(planning.agent.layer())?;
    let folder = files::find(&place, planning.at.session.as_deref())?;
    seals::warn(&seals::broken_in(&place, &folder)?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let request = runtime.block_on(request(common, planning))?;
    let turn = files::turn(&folder, planning.at.turn.as_deref())?;
    let (base, name) = match &turn {
        Some(turn) if turn.standing() == Standing::Unplanned => {
            (Base::of(&place, &settings, &folder, turn)?, turn.name.to_string())
        }
        turn => {
            let number = turn.as_ref().map_or(1, |turn| turn.name.number + 1);
            (Base::after(&place, &settings, &folder, turn.as_ref())?, format!("{number:02}"))
        }
    };
    let payload = told::payload(&place, &settings, &folder, &base, &request)?;
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
    told::estimate(&payload, &name)?;
    super::output::say("Nothing was sent.")
}

async fn next(held: &Held<'_>, planning: &Planning<'_>, request: &Request) -> Outcome {
    drafting::begin_with(held, planning.changed).await?;
    let turn = files::turn(&held.folder, planning.at.turn.as_deref())?;
    let under_way = record::drafting(&held.entries()?);
    if let Some(waiting) =
        turn.as_ref().filter(|turn| turn.standing() == Standing::Pending && under_way.is_none())
    {
        return Err(drafting::waits(&held.folder, waiting));
    }
    let Some(turn_under_way) = under_way.and_then(|under_way| held.folder.turn(&under_way.folder).ok())
    else {
        return drafting::plan(held, turn.as_ref(), request).await;
    };
    // What failed, or was left, is begun anew, in the same turn, with what is said now.
    drafting::plan(held, Some(&turn_under_way), request).await
}

async fn request(common: &Common, planning: &Planning<'_>) -> Result<Request, Failure> {
    let message = message::given(common, planning.message).await?;
    Ok(Request { message, asking: planning.asking, consent: planning.consent })
}

/// Told before somebody writes a message in an editor, which would be refused then, and lost.
fn refuse_if_one_waits(place: &Place, folder: &Folder, named: Option<&str>) -> Outcome {
    let turn = files::turn(folder, named)?.filter(|turn| turn.standing() == Standing::Pending);
    let entries = seals::entries(place, folder)?;
    match turn.filter(|_| record::drafting(&entries).is_none()) {
        Some(waiting) => Err(drafting::waits(folder, &waiting)),
        None => Ok(()),
    }
}

/// The turn that the agent is at, which is gone on with; another message is for another turn.
fn under_way(place: &Place, folder: &Folder, message: &str) -> Result<Option<Turn>, Failure> {
    let store = place.store();
    // One without a log was never planned by us; what else is wrong with it is told when it is held.
    let Ok(entries) = store.read(&folder.id, 0) else { return Ok(None) };
    // What failed or was cancelled is not being planned.
    let is_ended = matches!(sessions::view(&*store, &folder.id)?.status, Status::Failed | Status::Cancelled);
    let Some(under_way) = record::drafting(&entries).filter(|_| !is_ended) else { return Ok(None) };
    // Where its directory is gone, there is nothing to go on with.
    let Ok(turn) = folder.turn(&under_way.folder) else { return Ok(None) };
    if told::message_to(&turn)?.is_some_and(|told| told.trim_end() == message.trim_end()) {
        return Ok(Some(turn));
    }
    let what = format!("turn {} of {} is being planned already, with another message", turn.name, folder.id);
    Err(Failure::new(Code::Refused, what)
        .hint(format!("Go on with that first: rapport resume --session {}", folder.id))
        .hint("Or leave it, with what it asked, and have this planned: rapport plan --instead -m MESSAGE"))
}
