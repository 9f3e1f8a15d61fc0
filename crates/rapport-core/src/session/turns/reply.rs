//! A reply of the agent in words instead of a plan: a person answers it or leaves it, and the next turn is planned with the
//! answer.

use crate::aim::Asking;
use crate::answer::{By, MAX_TEXT};
use crate::event::Event;
use crate::id::TurnId;
use crate::input::{Act, World};
use crate::refusal::Refusal;
use crate::turn::FileTurn;
use crate::want::NextTurn;

/// How answering it is called in a refusal.
pub(super) const ANSWERING: &str = "answering the reply";

/// Decides that a waiting reply is answered. `before` is whether the agent was allowed to ask in its turn.
pub(super) fn answered(act: &Act, before: Asking, by: &By) -> Result<Vec<Event>, Refusal> {
    let Act::AnswerReply { folder, text, asking, is_size_agreed } = act else { return Ok(Vec::new()) };
    if text.trim().is_empty() {
        return Err(refused("the answer is empty".into()));
    }
    if text.len() > MAX_TEXT {
        return Err(Refusal::TooLong { what: "answer".into(), bytes: text.len(), limit: MAX_TEXT });
    }
    Ok(vec![Event::ReplyAnswered {
        folder: folder.clone(),
        text: text.clone(),
        asking: asking.unwrap_or(before),
        is_size_agreed: *is_size_agreed,
        by: by.clone(),
    }])
}

/// The refusal if no reply waits.
pub(super) fn none_waits(folder: &str) -> Refusal {
    refused(format!("no reply in words to turn {folder} waits for an answer"))
}

/// Decides that the agent begins the turn that was prepared for it. `turn` is the id of its next turn.
pub(super) fn prepared(next: &NextTurn, turn: TurnId, world: &World) -> Vec<Event> {
    let World::TurnPrepared { after, folder, conversation, origin, shown } = world else { return Vec::new() };
    let is_due = next.after == *after;
    let started = || Event::PlanStarted {
        turn,
        folder: folder.clone(),
        conversation: conversation.clone(),
        asking: next.asking,
        origin: Some(origin.clone()),
        shown: shown.clone(),
    };
    is_due.then(started).into_iter().collect()
}

/// Records that the reply to this turn no longer waits; returns its words.
pub(super) fn settle(turns: &mut [FileTurn], folder: &str) -> Option<String> {
    let turn = turns.iter_mut().find(|turn| turn.folder == folder)?;
    turn.is_reply_settled = true;
    turn.words.clone()
}

fn refused(why: String) -> Refusal {
    Refusal::NotNow { what: ANSWERING.into(), why }
}
