//! A session for scripts: each entry as a line of JSON, and at the end the session's state.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt as _;
use rapport_core::{Act, By, QuestionId, Session, SessionId, View};

use super::Common;
use super::output::say_json;
use super::screen::{self, Answering, StopSignal};
use crate::engine::{Sessions, Update};
use crate::error::{Code, Failure, Outcome};

/// Prints a session from after this entry until it ends or is left.
pub(super) async fn as_json(
    common: &Common,
    sessions: &Arc<dyn Sessions>,
    id: &SessionId,
    answering: &Answering,
    after: u64,
    mut stop: StopSignal,
) -> Outcome {
    let (mut updates, past) = (sessions.follow(id, 0).await?, sessions.view(id).await?.seq);
    let (mut session, mut tried) = (None::<Session>, BTreeSet::new());
    loop {
        let update = tokio::select! {
            update = updates.next() => update,
            () = stop.received() => return Err(screen::stopped(common, id)),
        };
        let Some(update) = update else { break };
        let entry = match update {
            Update::Entry(entry) => entry,
            Update::Lost(why) => return Err(Failure::new(Code::Store, why)),
            Update::Progress(_) | Update::Action(_) => continue,
        };
        if entry.seq > after {
            say_json(&entry)?;
        }
        match &mut session {
            Some(session) => session.apply_entry(&entry),
            None => session = Session::open(&entry),
        }
        // Past entries have had their effects, and a session may be long: its state is checked once it is up to date.
        let Some(session) = session.as_ref().filter(|_| entry.seq >= past) else { continue };
        let view = session.view(id);
        if screen::is_over(&view) {
            // The session may have continued meanwhile, and the process that runs it knows more than its log.
            let view = sessions.view(id).await?;
            if view.seq == entry.seq && screen::is_over(&view) {
                say_json(&view)?;
                return screen::ended(&view);
            }
        }
        answer(sessions, &view, answering, &mut tried).await?;
    }
    // A session that can no longer be stored is no longer followed; asking for it reports why.
    sessions.view(id).await?;
    Err(Failure::new(Code::Interrupted, "stopped"))
}

/// Lets a rule answer the open questions, each once.
async fn answer(
    sessions: &Arc<dyn Sessions>,
    view: &View,
    answering: &Answering,
    tried: &mut BTreeSet<QuestionId>,
) -> Outcome {
    let Answering::Rule { name, pick } = answering else { return Ok(()) };
    for question in &view.questions {
        if tried.insert(question.id.clone()) {
            let act = Act::Answer { question: Some(question.id.clone()), reply: pick(question) };
            sessions.act(&view.id, &By::written_rule(*name), &act).await?;
        }
    }
    Ok(())
}
