//! What a channel shows of a session of turns besides its questions: a plan to review, a paused batch, a reply in words, a
//! result. Each has an id like a question's, so that channels show and close it in the same way.

use crate::answer::By;
use crate::id::QuestionId;
use crate::session::Session;
use crate::turn::{FileBatch, FileTurn, TurnStage, UndoState};

/// The purpose of a card about a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnCardKind {
    /// Its plan waits for review.
    Review,
    /// Its plan's file was changed.
    Differs,
    /// Its batch is paused.
    Paused,
    /// The agent replied in words instead of a plan, and waits for an answer.
    Reply,
    /// Its result is shown and can be undone.
    Result,
}

/// A card about a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnCard {
    /// The turn's directory, from the session's.
    pub folder: String,
    /// Its purpose.
    pub kind: TurnCardKind,
    /// The state that it shows. Another state gets another card.
    pub state: String,
}

impl TurnCard {
    /// The card that is in front of the person, if any.
    pub fn in_front(session: &Session) -> Option<Self> {
        if session.is_over() {
            return None;
        }
        let card = |turn: &FileTurn, kind, state: String| Self { folder: turn.folder.clone(), kind, state };
        if let Some(turn) = session.review() {
            let revision = turn.plan.as_ref().map_or(0, |plan| plan.revision).to_string();
            return Some(match (turn.stage, turn.batch()) {
                (TurnStage::Paused, Some(batch)) => {
                    let unsure = batch.unsure.map_or_else(String::new, |action| format!("-{action}"));
                    card(turn, TurnCardKind::Paused, format!("{}{unsure}{}", batch.name, refused(batch)))
                }
                _ if turn.differs.is_some() => card(turn, TurnCardKind::Differs, revision),
                _ => card(turn, TurnCardKind::Review, revision),
            });
        }
        if let Some(turn) = session.reply() {
            return Some(card(turn, TurnCardKind::Reply, "words".to_owned()));
        }
        // A result of what was approved at a terminal is reported there.
        let turn = session.latest_turn().filter(|turn| turn.stage == TurnStage::Complete)?;
        let batch = turn.batch().filter(|batch| batch.is_ended)?;
        if let UndoState::UnderWay(_) = batch.undo {
            return None;
        }
        let by = batch.undo_by.as_ref().or(batch.by.as_ref());
        let is_elsewhere = matches!(by, Some(by @ By::Person { .. }) if !by.is_at_terminal());
        is_elsewhere.then(|| card(turn, TurnCardKind::Result, format!("{}{}", batch.name, refused(batch))))
    }

    /// Its id, in the namespace of question ids.
    pub fn id(&self) -> QuestionId {
        let kind = match self.kind {
            TurnCardKind::Review => "review",
            TurnCardKind::Differs => "differs",
            TurnCardKind::Paused => "paused",
            TurnCardKind::Reply => "reply",
            TurnCardKind::Result => "result",
        };
        QuestionId::new(format!("turn/{}/{kind}/{}", self.folder, self.state))
    }

    /// Parses an id; `None` if it is not a card's.
    pub fn read(id: &QuestionId) -> Option<Self> {
        let mut parts = id.as_str().strip_prefix("turn/")?.split('/');
        let folder = parts.next()?.to_owned();
        let kind = match parts.next()? {
            "review" => TurnCardKind::Review,
            "differs" => TurnCardKind::Differs,
            "paused" => TurnCardKind::Paused,
            "reply" => TurnCardKind::Reply,
            "result" => TurnCardKind::Result,
            _ => return None,
        };
        Some(Self { folder, kind, state: parts.next()?.to_owned() })
    }
}

/// A suffix that distinguishes the card of a batch after an undo, or a refused one, from the card before.
fn refused(batch: &FileBatch) -> &'static str {
    match (&batch.undo, &batch.undo_refused) {
        (UndoState::Done(_), _) => "-undone",
        (_, Some(_)) => "-refused",
        (_, None) => "",
    }
}
