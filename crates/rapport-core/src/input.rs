//! The inputs: everything that can happen to a session. The session decides each against its facts; nothing else changes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::aim::Asking;
use crate::answer::By;
use crate::elicitation::Field;
use crate::event::{Beside, Changes, FileChange, Usage};
use crate::id::{CallId, ConversationId, QuestionId, RoundId, TurnId};
use crate::permission::{Permission, Rule};
use crate::question::{Choice, Reply};
use crate::question_round::QuestionRound;
use crate::report::Overall;
use crate::turn::{
    ActionEnd, Chosen, FoundTurns, Interrupted, LaterChanges, TurnOrigin, UndoProblem, UndoneFiles,
};

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
    /// Take back what the work did to the project's files.
    UndoWork,
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
        /// Where the turn comes from.
        #[serde(default)]
        origin: Option<TurnOrigin>,
    },
    /// Have something else planned than what is being planned.
    LeaveDraft,
    /// Look at the plan of a turn: have it checked against the project as it is now.
    Review {
        /// The turn's directory.
        folder: String,
    },
    /// Have the plan of a turn carried out, as far as it is chosen.
    Approve {
        /// The turn's directory.
        folder: String,
        /// Which state of the plan was seen.
        revision: u32,
        /// What of it.
        chosen: Chosen,
    },
    /// Have nothing of a plan done.
    Skip {
        /// The turn's directory.
        folder: String,
        /// What to tell the agent instead.
        #[serde(default)]
        message: Option<String>,
    },
    /// Take the plan as its file has it, where that was changed.
    AcceptPlan {
        /// The turn's directory.
        folder: String,
        /// What was seen in the file.
        text: String,
    },
    /// Have the plan's file say again what was planned.
    RestorePlan {
        /// The turn's directory.
        folder: String,
    },
    /// Stop the batch that runs; it can go on later.
    Pause,
    /// Let a batch go on that pauses.
    GoOn {
        /// Which one.
        batch: String,
        /// What is done about a command that was interrupted.
        #[serde(default)]
        interrupted: Interrupted,
    },
    /// Take back what a batch did to files.
    Undo {
        /// Which one.
        batch: String,
        /// What is done about files that were changed since.
        #[serde(default)]
        later: LaterChanges,
    },
    /// Accept the files of complete turns as they are, although they were changed.
    AcceptChanges {
        /// For each turn's directory, a check sum for each of its files; none where it is gone.
        turns: BTreeMap<String, BTreeMap<String, String>>,
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
    /// Something is in its way, and it goes on: the model's API did not answer as it should and is tried again, or its own program
    /// refused a call without asking anybody.
    Delay {
        /// What happened, and when it is tried again, if it is.
        why: String,
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
    QuestionRound {
        /// Which round it was to make, from 1.
        round: u32,
        /// What it made; or why there is none, in words for a person.
        outcome: Result<QuestionRound, String>,
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
    /// A session has just been read from its log, and this is there of its turns. Whatever ran then runs no more.
    Found(FoundTurns),
    /// The plan of a turn was looked at.
    PlanChecked {
        /// The turn's directory.
        folder: String,
        /// Which state of the plan.
        revision: u32,
        /// Why it cannot be carried out.
        problems: Vec<String>,
        /// What its file says, where that is something else.
        differs: Option<String>,
    },
    /// A batch cannot begin, because its plan cannot be carried out in the project as it is now. Nothing was done.
    BatchInvalid {
        /// Which one.
        batch: String,
        /// Why.
        problems: Vec<String>,
    },
    /// A batch cannot begin, because its plan's file says something else. Nothing was done.
    BatchDiffers {
        /// Which one.
        batch: String,
        /// What the file says.
        text: String,
    },
    /// An action of the running batch asks a person something.
    ActionAsks {
        /// Which batch.
        batch: String,
        /// The action's place in the plan, from 0.
        action: usize,
        /// What it asks.
        message: String,
    },
    /// An action of the running batch came to its end.
    ActionEnded {
        /// Which batch.
        batch: String,
        /// Which action, and how.
        end: ActionEnd,
    },
    /// The running batch stopped before its end.
    BatchPaused {
        /// Which one.
        batch: String,
        /// Why, in words for a person.
        reason: String,
        /// The action that was interrupted and may have run.
        unsure: Option<usize>,
    },
    /// Nothing more is to be done in the running batch.
    BatchEnded {
        /// Which one.
        batch: String,
        /// What became of the plan in all.
        status: Overall,
        /// The report.
        report: String,
        /// Whether it did something to files.
        has_changes: bool,
    },
    /// The report of a turn is in its file, and what it remembers is remembered.
    ReportFiled {
        /// The turn's directory.
        folder: String,
        /// A check sum for each of its files.
        files: BTreeMap<String, String>,
    },
    /// A batch was undone, or not.
    Undone {
        /// Which one.
        batch: String,
        /// What that came to.
        outcome: Result<UndoneFiles, UndoProblem>,
    },
    /// The work was undone, or not.
    WorkUndone {
        /// What that came to.
        outcome: Result<UndoneFiles, UndoProblem>,
    },
    /// Something wanted could not be made true.
    Failed {
        /// Why, in words for a person.
        reason: String,
    },
}

/// Two states of the project's files: before the work is taken over, and after. Both by names that the worker finds again.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// As they are.
    pub from: String,
    /// As they will be.
    pub to: String,
    /// The files that both sides changed in different ways, with marks in them where the lines are the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
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
    /// The files that were changed all the same, and could not be put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub half_done: Vec<String>,
}
