//! What can come in. Each input is decided on against the facts so far; nothing else changes a session.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::aim::Asking;
use crate::answer::By;
use crate::batch::Batch;
use crate::elicitation::Field;
use crate::event::{Beside, Changes, FileChange, Usage};
use crate::id::{CallId, ConversationId, QuestionId, RoundId, TurnId};
use crate::permission::{Permission, Rule};
use crate::question::{Choice, Reply};

/// Something that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// Somebody did something. The door it came through has checked who.
    Person {
        /// Who.
        by: By,
        /// What.
        act: Act,
    },
    /// The agent of a turn did something.
    Agent {
        /// Which turn it runs.
        turn: TurnId,
        /// What it did.
        did: AgentDid,
    },
    /// Something Rapport itself brought about, or found out.
    World(World),
}

/// What people (or those who answer for them) can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Answer a question; without a name, the only one that is open.
    Answer {
        /// Which one.
        #[serde(default)]
        question: Option<QuestionId>,
        /// With what.
        reply: Reply,
    },
    /// Go back to the question before, in a round that is not complete.
    Back,
    /// Open an answered question again, to change the answer (edit).
    Reopen {
        /// Which one.
        question: QuestionId,
    },
    /// Leave a reopened question with the answer it had.
    Keep {
        /// Which one.
        question: QuestionId,
    },
    /// No longer allow what was allowed for this session.
    Revoke {
        /// Which rule.
        rule: Rule,
    },
    /// Start the work with the plan as it stands.
    Confirm,
    /// End the session.
    Cancel {
        /// Why.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Take the work over into the project, which it was done apart from.
    Apply {
        /// Whether also where it conflicts, with marks in the files.
        #[serde(default)]
        with_conflicts: bool,
    },
    /// Do away with the work that was done apart from the project; ends the session, too.
    Discard,
    /// Try again what failed, or let an agent go on that was cut off while it waited.
    Restart,
    /// Say something to the agent of a conversation.
    Say {
        /// What.
        text: String,
        /// What it is known by where it was said: the same is not heard twice.
        #[serde(default)]
        id: Option<String>,
    },
    /// Have a plan of actions made, from what is in this directory of the session.
    Draft {
        /// The turn's directory.
        folder: String,
        /// The conversation to make it in.
        conversation: ConversationId,
        /// Whether the agent may ask.
        asking: Asking,
    },
    /// Ask something in the session's name, where no agent does.
    Ask {
        /// What.
        question: Draft,
    },
    /// No longer ask what was asked in the session's name.
    Withdraw {
        /// Which question.
        question: QuestionId,
    },
    /// Note that a turn's directory is complete.
    Seal {
        /// The directory.
        folder: String,
        /// A check sum for each of its files.
        files: BTreeMap<String, String>,
    },
}

/// What an agent does, whatever program it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentDid {
    /// It is there, in this conversation.
    Connect {
        /// Which one.
        conversation: ConversationId,
        /// The model it runs.
        model: Option<String>,
    },
    /// It said something.
    Say {
        /// Its words.
        text: String,
    },
    /// It uses a tool.
    Use {
        /// The tool.
        tool: String,
        /// On what.
        what: String,
    },
    /// It printed what is not its protocol.
    Babble {
        /// The beginning of it.
        line: String,
    },
    /// It printed an event of its protocol that is not known here.
    Note {
        /// The beginning of it.
        line: String,
    },
    /// It asks, and the call waits.
    Ask {
        /// Where the answer has to arrive.
        call: CallId,
        /// What it wants.
        ask: Ask,
        /// Whether its process could end cleanly now and be asked again later.
        parkable: bool,
    },
    /// It no longer wants to know.
    Withdraw {
        /// Which call.
        call: CallId,
    },
    /// The answer is in its conversation.
    Take {
        /// Which call.
        call: CallId,
    },
    /// It cannot be parked yet, because the call does not wait alone.
    StayHot {
        /// Which call.
        call: CallId,
        /// What else is in flight.
        beside: Beside,
    },
    /// Its turn is over, and its process stays for the next one.
    Finish {
        /// Its last words.
        result: String,
    },
    /// It used this much.
    Spend {
        /// How much.
        usage: Usage,
    },
    /// Its process is gone.
    Leave(Leave),
}

/// What an agent can want from somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Answers to these questions.
    Questions(Vec<Draft>),
    /// To use a tool.
    Permission(Permission),
    /// To leave plan mode.
    LeavePlanMode {
        /// With this plan.
        plan: String,
    },
}

/// A question that has no name yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Draft {
    /// What is asked.
    pub text: String,
    /// A word or two to recognise it by.
    pub header: Option<String>,
    /// What can be chosen.
    pub options: Vec<Choice>,
    /// Whether several may be chosen.
    pub multi: bool,
    /// Whether own words are an answer.
    pub free_text: bool,
    /// What is to be filled in, where an MCP server asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Box<Field>>,
}

/// How an agent's process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It came to an end and has a result.
    Finished {
        /// Its last words.
        result: String,
    },
    /// It was parked: the call will be asked again.
    Deferred {
        /// Which call.
        call: CallId,
    },
    /// It was stopped, because Rapport stops or nobody wants it to run.
    Stopped,
    /// It failed or died.
    Failed {
        /// Why, in words for a person.
        reason: String,
    },
}

/// What Rapport itself brings about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum World {
    /// The session has just been read from its log: whatever ran then runs no more.
    Lost,
    /// Time has passed; `now` tells how much.
    Tick,
    /// The state before the turn is noted.
    Baseline {
        /// Before which turn.
        turn: TurnId,
        /// Its name, if there is one.
        baseline: Option<String>,
    },
    /// The state at a round is noted.
    Snapshot {
        /// Which round.
        round: RoundId,
        /// Its name, if there is one.
        state: Option<String>,
    },
    /// The plan is in its file.
    PlanSaved {
        /// Which state of the plan.
        revision: u32,
        /// Where.
        path: String,
    },
    /// The changes of the work are known.
    Report {
        /// They.
        changes: Option<Changes>,
    },
    /// The work and the project are merged, or cannot be.
    Merged {
        /// How it ended.
        outcome: Result<Merged, NotMerged>,
    },
    /// What was merged is in the project.
    Applied {
        /// What changed there.
        files: Vec<FileChange>,
    },
    /// The workplace is gone.
    Cleared {
        /// Why something of it is left, if it is.
        left: Option<String>,
    },
    /// A planner made a round of questions, or could not.
    Batch {
        /// Which round it was to make, from 1.
        round: u32,
        /// What it made; or why there is none, in words for a person.
        outcome: Result<Batch, String>,
    },
    /// What was allowed for the project is kept.
    Granted {
        /// The question it was the answer to.
        question: QuestionId,
    },
    /// The plan of actions is in its file.
    Filed {
        /// Which turn made it.
        turn: TurnId,
        /// Where it is, from the session's directory.
        path: String,
    },
    /// Something wanted could not be made true.
    Failed {
        /// Why, in words for a person.
        reason: String,
    },
}

/// Two states of the project's files: before the work is taken over, and after. Both by names that the worker finds again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// As they are.
    pub from: String,
    /// As they will be.
    pub to: String,
}

/// Why work is not taken over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotMerged {
    /// What failed, if that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The files that both sides changed in different ways.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
}
