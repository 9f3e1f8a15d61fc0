//! What should be true of the world now. Wants are states, not commands: making one true is idempotent.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::action_plan::Change;
use crate::answer::By;
use crate::elicitation::Consent;
use crate::event::TurnKind;
use crate::id::{CallId, ConversationId, QuestionId, RoundId, TurnId};
use crate::input::StatePair;
use crate::permission::Rule;
use crate::plan::PlanFile;
use crate::question_round::Brief;
use crate::turn::{Chosen, Interrupted, LaterChanges};

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
    QuestionRound(Brief),
    /// The work that was done apart and the project are merged. Changes nothing.
    Merged {
        /// Whether conflicts are merged as well, with marks.
        with_conflicts: bool,
    },
    /// What was merged is in the project.
    Applied {
        /// What it was and what it becomes.
        merged: StatePair,
        /// The plan's file, which belongs there too.
        plan: Option<String>,
    },
    /// The project's files are as they were before the work, where they are as the work left them.
    WorkUndone(StatePair),
    /// The state in which a cancelled agent left the project is noted. Not before its process is gone.
    WorkLeft,
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
        /// The model that said it.
        model: Option<String>,
        /// What that cost, in millionths of a dollar.
        cost_micros: u64,
    },
    /// It is known whether the plan of a turn can be carried out.
    PlanChecked {
        /// The turn's directory.
        folder: String,
        /// Which state of the plan.
        revision: u32,
        /// What it says.
        plan: String,
        /// Whether its file is to say so again, whatever it says.
        restore: bool,
    },
    /// This batch runs, and no other.
    BatchRunning(BatchOrder),
    /// An action that asked has its answer.
    ActionReplied {
        /// Which batch.
        batch: String,
        /// The action's place in the plan, from 0.
        action: usize,
        /// What was answered.
        reply: ActionReply,
    },
    /// The report of a turn is in its file, and what was approved to be remembered is.
    ReportFiled {
        /// The turn's directory.
        folder: String,
        /// The report.
        report: String,
        /// What is to be remembered, or no longer.
        memos: Vec<Change>,
    },
    /// A batch is undone.
    Undone {
        /// Which one.
        batch: String,
        /// The directory of its turn.
        folder: String,
        /// When it was approved, which tells it from others of its name.
        approved_at: Timestamp,
        /// What is done about files that were changed since.
        later: LaterChanges,
        /// Whether it changed memos, which stay.
        has_remembered: bool,
        /// Whether it is known to have run.
        has_run: bool,
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

/// What a batch is run with. Where its journal says that it was begun, it goes on from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOrder {
    /// Its name in the session.
    pub batch: String,
    /// The directory of its turn.
    pub folder: String,
    /// When the turn's directory was made.
    pub created: Option<Timestamp>,
    /// The plan.
    pub plan: String,
    /// What was approved of it.
    pub chosen: Chosen,
    /// When.
    pub approved_at: Timestamp,
    /// What is done about a command that was interrupted.
    pub interrupted: Interrupted,
}

/// What an action that asked gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionReply {
    /// Somebody's words.
    Words(String),
    /// Nobody answers it any more, for this reason.
    Ended(String),
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
