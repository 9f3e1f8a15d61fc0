//! What should be true of the world now. Wants are states, not commands: making one true twice does no harm.

use jiff::SignedDuration;
use serde_json::{Map, Value};

use crate::answer::By;
use crate::batch::Brief;
use crate::elicitation::Consent;
use crate::event::TurnKind;
use crate::id::{CallId, ConversationId, QuestionId, RoundId, TurnId};
use crate::input::Merged;
use crate::permission::Rule;
use crate::plan::PlanFile;

/// Something that should be true.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// The state of the project before this turn is noted.
    Baseline(TurnId),
    /// The state of the project at this round is noted, if it still waits. Nothing else waits for that.
    Snapshot(RoundId),
    /// This turn's agent runs. No other turn's agent does.
    AgentRunning(Order),
    /// The waiting call has its reply.
    Replied {
        /// In which turn.
        turn: TurnId,
        /// Which call.
        call: CallId,
        /// With what.
        reply: CallReply,
    },
    /// The agent's process has ended cleanly, with this call to be asked again.
    AgentParked {
        /// In which turn.
        turn: TurnId,
        /// Which call.
        call: CallId,
    },
    /// What somebody allowed for the whole project is kept in Rapport's home.
    Granted {
        /// The question it is the answer to.
        question: QuestionId,
        /// What is allowed.
        rule: Rule,
        /// Who allowed it.
        by: By,
    },
    /// The plan is in its file.
    PlanSaved(PlanFile),
    /// The next round of questions is made.
    Batch(Brief),
    /// The work that was done apart and the project are merged. Changes nothing.
    Merged {
        /// Whether conflicts are merged as well, with marks.
        with_conflicts: bool,
    },
    /// What was merged is in the project.
    Applied {
        /// What it was and what it becomes.
        merged: Merged,
        /// The plan's file, which belongs there too.
        plan: Option<String>,
    },
    /// The workplace is gone.
    Cleared,
    /// What a turn said is in its directory.
    Filed {
        /// Which turn.
        turn: TurnId,
        /// The file, from the session's directory.
        path: String,
        /// What is in it.
        content: String,
    },
    /// The changes since the baseline of this turn are known.
    Report {
        /// Which turn.
        turn: TurnId,
        /// Its baseline.
        baseline: Option<String>,
    },
}

/// What an agent has to be started with. Whether it starts afresh or is resumed, and which of this its conversation
/// already knows, the driver finds out from the conversation itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// Which turn.
    pub turn: TurnId,
    /// What for.
    pub kind: TurnKind,
    /// In which conversation.
    pub conversation: ConversationId,
    /// What the turn is about.
    pub prompt: String,
    /// How often the conversation was told the very same before, in earlier turns.
    pub told_before: usize,
    /// What it is told beside that, as part of its system prompt.
    pub system: Option<String>,
    /// The directory of the turn, from the session's, if what it is told is there.
    pub folder: Option<String>,
    /// How long its process stays when the turn is over, in case there is another.
    pub linger: Option<SignedDuration>,
    /// What was answered, and may not have arrived or may be lost.
    pub replies: Vec<(CallId, CallReply)>,
}

/// What a waiting call gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallReply {
    /// Answers, question by question.
    Answers(Vec<Told>),
    /// The tool may be used.
    Allow {
        /// What was asked, in words.
        asked: String,
    },
    /// What an MCP server is told.
    Elicited {
        /// Its questions with their answers, in words.
        told: Vec<Told>,
        /// Whether it gets them.
        action: Consent,
        /// The fields, filled in.
        content: Map<String, Value>,
    },
    /// No. Or an honest "there is no answer".
    Deny {
        /// What was asked, in words.
        asked: String,
        /// What the agent is told.
        message: String,
    },
}

/// One question with its answer, as the agent is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The question's text.
    pub question: String,
    /// The answer in words.
    pub answer: String,
    /// Who gave it.
    pub by: By,
}

impl Told {
    /// The answer as the agent reads it. Who answered is said wherever it is not a person at the terminal, which is
    /// what an agent takes an answer to be.
    pub fn attributed(&self) -> String {
        match &self.by {
            by if by.is_at_terminal() => self.answer.clone(),
            By::Person { channel, .. } => format!("{} (answered by a person in {channel})", self.answer),
            by @ (By::Lead { .. } | By::Model { .. } | By::Rule { .. }) => {
                format!("{} (answered by {by})", self.answer)
            }
        }
    }
}
