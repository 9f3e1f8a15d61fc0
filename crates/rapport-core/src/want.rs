//! What should be true of the world now. Wants are states, not commands: making one true is idempotent.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use crate::action_plan::Change;
use crate::aim::Asking;
use crate::answer::{Answer, By};
use crate::elicitation::Consent;
use crate::event::TurnKind;
use crate::id::{CallId, ConversationId, QuestionId, RoundId, SessionId, TurnId};
use crate::input::{ApplyTo, Merged};
use crate::permission::Rule;
use crate::plan::PlanFile;
use crate::question_round::Brief;
use crate::routing::Grounding;
use crate::turn::{Chosen, Interrupted, LaterChanges};

/// A state that should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// The state of the project before this turn is recorded.
    Baseline(TurnId),
    /// The state of the project at this round is recorded, if the round still waits. Nothing else waits for that.
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
    /// The agent's process has ended cleanly; this call will be asked again.
    AgentParked {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The tool call.
        call: CallId,
    },
    /// The agent can reach these hosts, where its workplace restricts the network.
    HostsAllowed(Vec<String>),
    /// A permission for the whole project is saved in Rapport's home.
    Granted {
        /// The question it is the answer to.
        question: QuestionId,
        /// The rule that allows it.
        rule: Rule,
        /// Who allowed it.
        by: By,
    },
    /// The answer to a question is stored as a rule of the project, in Rapport's home.
    AnswerRuled {
        /// The question.
        question: QuestionId,
        /// Its text.
        text: String,
        /// The answer.
        answer: Answer,
        /// Who said that it is given always.
        by: By,
    },
    /// The lead of the session was told of a question.
    LeadTold {
        /// The lead.
        lead: SessionId,
        /// The question.
        question: QuestionId,
    },
    /// The lead that began the session was told that its work ended.
    LeadInformed {
        /// The lead.
        lead: SessionId,
        /// Which end of the work, from 1.
        end: u32,
    },
    /// The message that asks the lead a closed question is withdrawn.
    LeadReleased {
        /// The lead.
        lead: SessionId,
        /// The question.
        question: QuestionId,
    },
    /// The plan is in its file.
    PlanSaved(PlanFile),
    /// The planner has made the next round of questions.
    QuestionRound(Brief),
    /// The work of a separate workplace and the project are merged. This changes no file.
    Merged {
        /// Whether conflicts are merged too, with conflict markers.
        with_conflicts: bool,
    },
    /// The merged files are in the project.
    Applied {
        /// The states before and after.
        merged: Merged,
        /// The plan's file, which is copied to the project too.
        plan: Option<String>,
        /// Where they are applied.
        to: ApplyTo,
    },
    /// Files that are still as the work left them are restored to their state before the work. Holds the stretches of
    /// the work, the latest first.
    WorkUndone(Vec<Merged>),
    /// The state in which a cancelled agent left the project is recorded, once its process has ended.
    WorkLeft,
    /// The workplace is removed.
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
    /// Everything that the agent will be shown in the next turn is in the turn's directory.
    TurnPrepared(NextTurn),
    /// The plan has been checked.
    PlanChecked {
        /// The turn's directory, from the session's.
        folder: String,
        /// The revision of the plan.
        revision: u32,
        /// The plan, as Markdown.
        plan: String,
        /// Whether to rewrite the plan's file first.
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
    /// The report of a turn is in its file, and its approved memos are stored.
    ReportFiled {
        /// The turn's directory, from the session's.
        folder: String,
        /// The report, as Markdown.
        report: String,
        /// The memos to add or to remove.
        memos: Vec<Change>,
    },
    /// A batch is undone.
    Undone {
        /// The name of the batch.
        batch: String,
        /// The directory of its turn.
        folder: String,
        /// When it was approved. This identifies its journal.
        approved_at: Timestamp,
        /// What to do about files that were changed after the batch.
        later: LaterChanges,
        /// Whether it changed memos. Undoing does not change those back.
        has_remembered: bool,
        /// Whether it is known to have run.
        has_run: bool,
    },
    /// The command that checks finished work has run in the workplace.
    Checked {
        /// The turn of the agent.
        turn: TurnId,
        /// The command, for a shell.
        command: String,
    },
    /// The changes since the baseline are known.
    Report {
        /// The turn of the agent.
        turn: TurnId,
        /// The state before the work, by name.
        baseline: Option<String>,
    },
}

/// What an agent is started with. The driver finds out from the conversation whether to start or to resume, and what
/// the agent knows already.
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
    /// How many earlier turns sent the conversation this same prompt.
    pub sent_before: usize,
    /// An addition to its system prompt.
    pub system: Option<String>,
    /// The directory of the turn, from the session's, where the prompt is in a file there.
    pub folder: Option<String>,
    /// Whether it gets Rapport's own tools, as a lead does.
    pub tools: bool,
    /// How long its process waits for another turn after this one.
    pub linger: Option<SignedDuration>,
    /// Answers that may not have reached the conversation.
    pub replies: Vec<(CallId, CallReply)>,
    /// Messages that were sent during this turn, in order. The conversation may hold them already.
    pub messages: Vec<SentMessage>,
}

/// A message that was sent to an agent during a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    /// The turn.
    pub turn: TurnId,
    /// The number of the message in that turn, from 1.
    pub number: u32,
    /// The words.
    pub text: String,
}

/// What the turn after a reply in words is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextTurn {
    /// The directory of the turn that was replied to in words.
    pub after: String,
    /// The reply.
    pub words: String,
    /// A person's answer to it.
    pub answer: String,
    /// Whether the agent may ask.
    pub asking: Asking,
    /// Whether the person agreed to send more than the settings allow.
    pub is_size_agreed: bool,
}

/// What a batch is run with. A batch that has begun resumes from its journal.
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
    /// The items that were approved.
    pub chosen: Chosen,
    /// When it was approved.
    pub approved_at: Timestamp,
    /// What to do about a command that was interrupted.
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
    Answers(Vec<AnsweredQuestion>),
    /// The tool may be used.
    Allow {
        /// What was asked, in words.
        asked: String,
    },
    /// The reply to an MCP server.
    Elicited {
        /// Its questions with their answers, in words.
        questions: Vec<AnsweredQuestion>,
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

/// One question with its answer, as the agent reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsweredQuestion {
    /// The question's text.
    pub question: String,
    /// The answer in words.
    pub answer: String,
    /// Who gave it.
    pub by: By,
    /// The ground of the answer, if a lead gave it.
    pub because: Option<Grounding>,
}

impl AnsweredQuestion {
    /// The answer as the agent reads it. It names its author, unless that is a person at the terminal, whom agents
    /// assume anyway.
    pub fn attributed(&self) -> String {
        match &self.by {
            by if by.is_at_terminal() => self.answer.clone(),
            By::Person { channel, .. } => format!("{} (answered by a person in {channel})", self.answer),
            by @ (By::Lead { .. } | By::Model { .. } | By::Rule { .. }) => {
                let because = self.because.as_ref().map(|because| {
                    let quote = crate::display_text::line(&because.quote);
                    format!(", because of {}: \"{quote}\"", because.ground)
                });
                format!("{} (answered by {by}{})", self.answer, because.unwrap_or_default())
            }
        }
    }
}
