//! What should be true of the world now. Wants are states, not commands: making one true is idempotent.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::action_plan::Change;
use crate::answer::By;
use crate::elicitation::Consent;
use crate::event::TurnKind;
use crate::id::{CallId, ConversationId, QuestionId, RoundId, TurnId};
use crate::input::Merged;
use crate::permission::Rule;
use crate::plan::PlanFile;
use crate::question_round::Brief;
use crate::turn::{Chosen, Interrupted, LaterChanges};

/// A state that should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// The state of the project before this turn is noted.
    Baseline(TurnId),
    /// The state of the project at this round is noted, if it still waits. Nothing else waits for that.
    Snapshot(RoundId),
    /// This turn's agent runs. No other turn's agent does.
    AgentRunning(Order),
    /// The driver was given the reply to a waiting call.
    Replied {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The tool call.
        call: CallId,
        /// What the person chose or typed, or what the agent is told.
        reply: CallReply,
    },
    /// The agent's process has ended cleanly, with this call to be asked again.
    AgentParked {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The tool call.
        call: CallId,
    },
    /// The agent can reach these hosts, where its workplace keeps it from the network.
    HostsAllowed(Vec<String>),
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
        merged: Merged,
        /// The plan's file, which belongs there too.
        plan: Option<String>,
    },
    /// The project's files are as they were before the work, where they are as the work left them. The stretches of the work, the
    /// latest first.
    WorkUndone(Vec<Merged>),
    /// The state in which a cancelled agent left the project is noted. Not before its process is gone.
    WorkLeft,
    /// The workplace is gone.
    Cleared,
    /// The plan of a turn is in its file.
    Filed {
        /// The turn of the agent.
        turn: TurnId,
        /// The file, from the session's directory.
        path: String,
        /// The content of the file.
        content: String,
        /// The model that made the plan.
        model: Option<String>,
        /// What making it cost, in millionths of a dollar.
        cost_micros: u64,
    },
    /// It is known whether the plan can be carried out.
    PlanChecked {
        /// The turn's directory, from the session's.
        folder: String,
        /// Which state of the plan.
        revision: u32,
        /// The plan, as Markdown.
        plan: String,
        /// Whether to write the plan to its file first.
        restore: bool,
    },
    /// This batch runs, and no other batch does.
    BatchRunning(BatchOrder),
    /// An action that asked has its answer.
    ActionReplied {
        /// The name of the batch.
        batch: String,
        /// The action's place in the plan, from 0.
        action: usize,
        /// What was answered.
        reply: ActionReply,
    },
    /// The report of a turn is in its file, and its approved memos are kept.
    ReportFiled {
        /// The turn's directory, from the session's.
        folder: String,
        /// The report, as Markdown.
        report: String,
        /// The memos to keep or to forget.
        memos: Vec<Change>,
    },
    /// A batch is undone.
    Undone {
        /// The name of the batch.
        batch: String,
        /// The directory of its turn.
        folder: String,
        /// When it was approved. Journals are told apart by this.
        approved_at: Timestamp,
        /// What to do about files that were changed after the batch.
        later: LaterChanges,
        /// Whether it changed memos, which stay.
        has_remembered: bool,
        /// Whether it is known to have run.
        has_run: bool,
    },
    /// It is known what changed since the baseline.
    Report {
        /// The turn of the agent.
        turn: TurnId,
        /// The state before the work, by name.
        baseline: Option<String>,
    },
}

/// What to start an agent with. The driver reads from the conversation whether to start afresh or to resume, and what the
/// agent knows already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Order {
    /// The turn of the agent.
    pub turn: TurnId,
    /// What the turn is for.
    pub kind: TurnKind,
    /// The conversation to begin or to resume.
    pub conversation: ConversationId,
    /// What the agent is told.
    pub prompt: String,
    /// How often earlier turns told the conversation the same prompt.
    pub told_before: usize,
    /// An addition to its system prompt.
    pub system: Option<String>,
    /// The directory of the turn, from the session's, where the prompt is in a file there.
    pub folder: Option<String>,
    /// How long its process waits for another turn after this one.
    pub linger: Option<SignedDuration>,
    /// Answers that may not have reached the conversation.
    pub replies: Vec<(CallId, CallReply)>,
    /// What was said to it in the middle of this turn, in order. The conversation may hold it already.
    pub said: Vec<Said>,
}

/// Something that was said to an agent in the middle of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The turn.
    pub turn: TurnId,
    /// Which message of that turn, from 1.
    pub number: u32,
    /// The words.
    pub text: String,
}

/// What to run a batch with. A batch that was begun resumes from its journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchOrder {
    /// Its name in the session.
    pub batch: String,
    /// The directory of its turn.
    pub folder: String,
    /// When the turn's directory was made.
    pub created: Option<Timestamp>,
    /// The plan, as Markdown.
    pub plan: String,
    /// What was approved of it.
    pub chosen: Chosen,
    /// When it was approved.
    pub approved_at: Timestamp,
    /// What is done about a command that was interrupted.
    pub interrupted: Interrupted,
}

/// The reply to an action that asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionReply {
    /// The answer, in words.
    Words(String),
    /// The question ended without an answer, for this reason.
    Ended(String),
}

/// The reply to a waiting call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallReply {
    /// Answers, question by question.
    Answers(Vec<Told>),
    /// The tool may be used.
    Allow {
        /// What was asked, in words.
        asked: String,
    },
    /// The reply to an MCP server.
    Elicited {
        /// Its questions with their answers, in words.
        told: Vec<Told>,
        /// Whether the person agreed.
        action: Consent,
        /// The fields, filled in.
        content: Map<String, Value>,
    },
    /// The tool may not be used, or there is no answer.
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
