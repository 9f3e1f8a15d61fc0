//! What a device can be woken for, from what waits and what has ended.

use jiff::Timestamp;
use rapport_core::{QuestionId, SessionId, Status};
use rapport_durable::digest;

use super::Wake;
use crate::board::{Board, InboxOrder};
use crate::fields::encoded;
use crate::summary::{Summary, WORK, WaitingKind};

/// The length of an id. It only has to tell apart what waits at the same time.
const ID: usize = 24;
/// The name of the end of a session, among the names of what waits in it.
const ENDED: &str = "ended";

/// Something that a device can be woken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Alert {
    session: SessionId,
    /// What it is in the session. The questions of a round are one thing, because a person answers them together.
    name: String,
    /// The card that it is about, if there is one.
    question: Option<QuestionId>,
    pub(crate) wake: Wake,
    /// Since when it waits, or when it ended.
    pub(crate) at: Timestamp,
}

impl Alert {
    /// Its id for a device. It says nothing to others: the names of sessions contain words of their tasks.
    pub(crate) fn id(&self, device: &str) -> String {
        id(device, &self.session, &self.name)
    }

    /// The page that shows it.
    fn address(&self) -> String {
        let session = encoded(self.session.as_str());
        match &self.question {
            Some(question) => format!("/?s={session}&q={}", encoded(question.as_str())),
            None => format!("/s/{session}"),
        }
    }

    #[cfg(test)]
    pub(super) fn example(name: &str, wake: Wake, at: Timestamp) -> Self {
        Self { session: SessionId::new("s"), name: name.to_owned(), question: None, wake, at }
    }
}

fn id(device: &str, session: &SessionId, name: &str) -> String {
    digest(format!("{device}/{session}/{name}").as_bytes())[..ID].to_owned()
}

/// Everything that waits for a person, and the sessions that ended after this time.
pub(crate) fn alerts(board: &Board, ended_after: Timestamp) -> Vec<Alert> {
    let waiting = board.waiting(InboxOrder::Oldest).into_iter().filter_map(|item| {
        let waiting = item.waiting;
        // A lead considers it, and may answer it; or another user is asked first.
        if waiting.is_for_leads || waiting.withheld_until.is_some() {
            return None;
        }
        let name =
            waiting.round.map_or_else(|| waiting.question.to_string(), |round| format!("round {round}"));
        let (question, at) = (Some(waiting.question), waiting.at);
        Some(Alert { session: item.session, name, question, wake: wake(waiting.kind)?, at })
    });
    let ended = board.summaries(|one| has_ended(one).is_some_and(|at| at > ended_after));
    waiting.chain(ended.iter().filter_map(|one| of_end(one))).collect()
}

/// The page about what had this id for a device, if that still waits, or is the end of a session.
pub(crate) fn find(board: &Board, device: &str, wanted: &str) -> Option<String> {
    let is_it = |one: &Alert| one.id(device) == wanted;
    if let Some(found) = alerts(board, Timestamp::MAX).iter().find(|one| is_it(one)) {
        return Some(found.address());
    }
    let ended = board.summaries(|one| has_ended(one).is_some() && id(device, &one.id, ENDED) == wanted);
    ended.first().and_then(|one| of_end(one)).map(|found| found.address())
}

/// When a session was completed.
fn has_ended(summary: &Summary) -> Option<Timestamp> {
    summary.ended_at.filter(|_| summary.status == Status::Completed)
}

fn of_end(summary: &Summary) -> Option<Alert> {
    // Changes that wait to be applied have a card.
    let card = summary.waiting.iter().find(|waiting| waiting.kind == WaitingKind::Work);
    Some(Alert {
        session: summary.id.clone(),
        name: ENDED.to_owned(),
        question: card.map(|_| QuestionId::new(WORK)),
        wake: Wake::Finished,
        at: has_ended(summary)?,
    })
}

/// For what an item wakes a device; `None` if the end of its session does.
fn wake(kind: WaitingKind) -> Option<Wake> {
    Some(match kind {
        WaitingKind::Question | WaitingKind::Reply | WaitingKind::Form => Wake::Questions,
        WaitingKind::Permission | WaitingKind::Money => Wake::Permissions,
        WaitingKind::Plan | WaitingKind::Review => Wake::Plans,
        WaitingKind::Failed | WaitingKind::Paused => Wake::Failed,
        WaitingKind::Work => return None,
    })
}
