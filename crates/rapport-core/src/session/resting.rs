//! Sessions that go on from turn to turn: conversations, and turns in directories.

use std::collections::BTreeMap;

use super::people::not_ended;
use super::{Phase, Session};
use crate::aim::{Aim, Asking};
use crate::answer::{By, MAX_TEXT};
use crate::event::{Asker, Ending, Event, TurnKind};
use crate::id::{ConversationId, QuestionId, TurnId};
use crate::input::Draft;
use crate::refusal::Refusal;
use crate::want::Want;

/// What every plan of actions has, and an agent's closing remark has not.
const ACTION_PLAN: &str = "## Action Plan";

impl Session {
    /// Somebody says something. Where the agent is at work it is told afterwards; where it failed it is tried again.
    pub(super) fn say(&self, by: &By, text: &str, id: Option<&String>) -> Result<Vec<Event>, Refusal> {
        if id.is_some_and(|id| self.heard_lately.contains(id)) {
            return Ok(Vec::new());
        }
        if self.created.aim != Aim::Chat || self.phase.is_over() {
            return Err(self.not_now("saying something"));
        }
        if text.trim().is_empty() {
            return Err(Refusal::EmptyTask);
        }
        if text.len() > MAX_TEXT {
            return Err(Refusal::TooLong { what: "message".into(), bytes: text.len(), limit: MAX_TEXT });
        }
        let restarted = self.is_failed().then(|| Event::Restarted { by: by.clone() });
        let heard = Event::Heard { text: text.into(), by: by.clone(), id: id.cloned() };
        let rests = match &self.phase {
            Phase::Failed { was, .. } => **was == Phase::Resting,
            phase => *phase == Phase::Resting,
        };
        let turn = rests.then(|| self.chat_turn(text.into()));
        Ok(restarted.into_iter().chain([heard]).chain(turn).collect())
    }

    /// What was said while the agent was at work, as its next turn.
    pub(super) fn next_chat_turn(&self) -> Option<Event> {
        (!self.heard.is_empty()).then(|| self.chat_turn(self.heard.join("\n\n")))
    }

    fn chat_turn(&self, prompt: String) -> Event {
        Event::TurnStarted { turn: self.next_turn(), kind: TurnKind::Chat, prompt }
    }

    /// A turn in a directory begins. One that failed can be begun anew, with other words or in another directory; what it asked
    /// is asked no longer.
    pub(super) fn start_draft(
        &self,
        by: &By,
        folder: &str,
        conversation: &ConversationId,
        asking: Asking,
    ) -> Result<Vec<Event>, Refusal> {
        if self.created.aim != Aim::Files || self.phase != Phase::Resting && !self.is_failed() {
            return Err(self.not_now("planning"));
        }
        let (folder, conversation) = (folder.to_owned(), conversation.clone());
        let left = self.withdraw_open(|_| self.is_failed(), "another plan is made instead");
        let restarted = self.is_failed().then(|| Event::Restarted { by: by.clone() });
        let started = Event::DraftStarted { turn: self.next_turn(), folder, conversation, asking };
        Ok(left.into_iter().chain(restarted).chain([started]).collect())
    }

    /// The file that the last turn's plan is to be in, if it is not.
    pub(super) fn draft_to_file(&self) -> Option<Want> {
        let turn = self.turns.last().filter(|_| self.phase == Phase::Filing)?;
        let result = turn.result.as_deref().unwrap_or_default();
        // An agent may say its plan and then that it has.
        let said = turn.said.iter().rev().find(|said| said.contains(ACTION_PLAN));
        let content = if result.contains(ACTION_PLAN) { result } else { said.map_or(result, String::as_str) };
        let path = format!("{}/plan.md", turn.folder.as_ref()?);
        Some(Want::Filed { turn: turn.id, path, content: content.to_owned() })
    }

    pub(super) fn filed(&self, turn: TurnId, path: &str) -> Vec<Event> {
        let is_due = self.phase == Phase::Filing && self.turns.last().is_some_and(|last| last.id == turn);
        is_due.then(|| Event::Filed { turn, path: path.into() }).into_iter().collect()
    }

    /// Something is asked while nothing else goes on.
    pub(super) fn ask_aloud(&self, question: &Draft) -> Result<Vec<Event>, Refusal> {
        if self.phase != Phase::Resting {
            return Err(self.not_now("asking"));
        }
        let questions = self.named(std::slice::from_ref(question));
        if questions.is_empty() {
            return Err(Refusal::NotNow { what: "asking".into(), why: "there is no question in it".into() });
        }
        Ok(vec![Event::Asked { round: self.next_round(), asker: Asker::Rapport, questions }])
    }

    /// What was asked in the session's name is asked no longer.
    pub(super) fn take_back(&self, question: &QuestionId) -> Result<Vec<Event>, Refusal> {
        let (round, item) =
            self.item(question).ok_or_else(|| Refusal::UnknownQuestion { question: question.clone() })?;
        not_ended(round, question)?;
        let is_ours = round.asker == Asker::Rapport && round.is_clarifying();
        if !is_ours || item.given().is_some() {
            return Err(self.not_now("withdrawing this question"));
        }
        let how = Ending::Withdrawn("nobody waits for it any more".into());
        Ok(vec![Event::Closed { round: round.id, how }])
    }

    /// A turn's directory is complete. What is sealed stays as it was then; somebody who accepts what was changed since seals
    /// it as it is now.
    pub(super) fn seal(&self, folder: &str, files: &BTreeMap<String, String>) -> Result<Vec<Event>, Refusal> {
        if self.created.aim != Aim::Files {
            return Err(self.not_now("sealing a turn"));
        }
        if self.sealed.get(folder) == Some(files) {
            return Ok(Vec::new());
        }
        Ok(vec![Event::Sealed { folder: folder.into(), files: files.clone() }])
    }
}
