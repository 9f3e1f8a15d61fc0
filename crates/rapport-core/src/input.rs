//! The inputs: everything that can happen to a session. The session decides on each from its facts; nothing else
//! changes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::activity::ToolUse;
use crate::aim::Asking;
use crate::answer::By;
use crate::check::PlanRemark;
use crate::created::TermsChange;
use crate::elicitation::Field;
use crate::event::{Beside, Changes, FileChange, Usage};
use crate::id::{CallId, ConversationId, QuestionId, RoundId, TurnId};
use crate::permission::{Permission, Rule};
use crate::question::{Choice, Reply};
use crate::question_round::QuestionRound;
use crate::report::Overall;
use crate::routing::{Class, Ground, Grounding};
use crate::turn::{
    ActionEnd, Chosen, FoundTurns, Interrupted, LaterChanges, TurnOrigin, UndoProblem, UndoneFiles,
};
use crate::work_check::WorkCheck;

/// Something that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A person, or an author who answers for a person, acted. The door has checked who.
    Person {
        /// Who did this.
        by: By,
        /// What they did.
        act: Act,
    },
    /// The agent of a turn did something.
    Agent {
        /// The turn that it runs.
        turn: TurnId,
        /// What it did.
        did: AgentDid,
    },
    /// The engine did or found something.
    World(World),
}

/// What people, or those who answer for them, can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Answer a question. Without an id: the only open one.
    Answer {
        /// The question.
        #[serde(default)]
        question: Option<QuestionId>,
        /// What the person chose or typed, or what the agent is told.
        reply: Reply,
    },
    /// Answer a question as a lead, on a ground. Where the lead may only draft, the answer is a draft for a person.
    Respond {
        /// The question.
        question: QuestionId,
        /// What is answered.
        reply: Reply,
        /// The ground, as the lead names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ground: Option<Ground>,
        /// The ground, as the engine found it. Only the engine sets it.
        #[serde(skip)]
        because: Option<Box<Grounding>>,
    },
    /// Send the answer that a lead drafted, as one's own.
    SendDraft {
        /// The question.
        question: QuestionId,
    },
    /// Give the answer that was given to the same question before, as one's own.
    TakeOffer {
        /// The question.
        question: QuestionId,
    },
    /// Have the answer to a question given to the same question always, in this project.
    AlwaysAnswer {
        /// The question.
        question: QuestionId,
    },
    /// Have a person asked instead of the lead: the lead does not know the answer, or the person wants to give it.
    PassOn {
        /// The question.
        question: QuestionId,
        /// The question's class, if more is at stake than was known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        class: Option<Class>,
        /// Why, in words for a person.
        reason: String,
    },
    /// Get more time for a question, because the lead asks its own person about it.
    AskPerson {
        /// The question.
        question: QuestionId,
    },
    /// Withdraw a message that the agent has not been told yet, by its id.
    Unsay {
        /// The id of the message in its channel.
        id: String,
    },
    /// Go back to the question before, in a round that is not complete.
    Back,
    /// Open an answered question again, to change the answer (edit).
    Reopen {
        /// The question.
        question: QuestionId,
    },
    /// Change the answer to a question, in one step: reopened and answered, or neither.
    Change {
        /// The question.
        question: QuestionId,
        /// What the person chose or typed instead.
        reply: Reply,
    },
    /// Leave a reopened question with the answer it had.
    Keep {
        /// The question.
        question: QuestionId,
    },
    /// Revoke a permission of this session.
    Revoke {
        /// The rule.
        rule: Rule,
    },
    /// Let the agent reach a host in this session, where its workplace restricts the network.
    AllowHost {
        /// The host, with its port unless that is 80 or 443.
        host: String,
    },
    /// Change the terms for the rest of the session.
    ChangeTerms {
        /// What changes.
        change: TermsChange,
    },
    /// Start the work with the plan as it stands.
    Confirm,
    /// End the session.
    Cancel {
        /// The reason, in words for a person.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Apply work that was done in a workplace of its own to the project.
    Apply {
        /// Whether to apply it with conflict markers where it conflicts.
        #[serde(default)]
        with_conflicts: bool,
        /// The end of the work that was seen, from 1. Work that continued after it is not applied.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<u32>,
        /// Where to apply it.
        #[serde(default, skip_serializing_if = "ApplyTo::is_files")]
        to: ApplyTo,
    },
    /// Discard work that was done in a workplace of its own. This also ends the session.
    Discard {
        /// The reason, in words for a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// The end of the work that was seen, from 1. Work that continued after it is not discarded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        end: Option<u32>,
    },
    /// Undo the work's changes to the project's files.
    UndoWork,
    /// Retry what failed, or resume an agent that was cut off while it waited.
    Restart,
    /// Send the agent a message: during its turn, or as its next turn.
    Say {
        /// The words.
        text: String,
        /// The id of the message in its channel, for de-duplication.
        #[serde(default)]
        id: Option<String>,
    },
    /// Stop the agent's turn, and keep the conversation.
    Stop,
    /// Have a plan of actions made from the content of this directory of the session.
    #[serde(rename = "draft")]
    PlanTurn {
        /// The turn's directory, from the session's.
        folder: String,
        /// The conversation to make it in.
        conversation: ConversationId,
        /// Whether the agent may ask.
        asking: Asking,
        /// Where the turn comes from.
        #[serde(default)]
        origin: Option<TurnOrigin>,
        /// SHA-256 digest of the file that lists what the agent is shown.
        #[serde(default)]
        shown: Option<String>,
    },
    /// Abandon the plan that is being made, to have something else planned.
    LeaveDraft,
    /// Review the plan of a turn: it is checked against the project as it is now.
    Review {
        /// The turn's directory, from the session's.
        folder: String,
    },
    /// Approve the chosen items of a plan, and have them carried out.
    Approve {
        /// The turn's directory, from the session's.
        folder: String,
        /// The revision that was seen.
        revision: u32,
        /// Which items of the plan are taken.
        chosen: Chosen,
    },
    /// Answer the agent's reply in words: it plans again, in the next turn, and is told the answer.
    AnswerReply {
        /// The directory of the turn that was replied to in words, from the session's.
        folder: String,
        /// The answer.
        text: String,
        /// Whether the agent may ask then; `None` means as in that turn.
        #[serde(default)]
        asking: Option<Asking>,
        /// Whether the person agreed to send more than the settings allow.
        #[serde(default)]
        is_size_agreed: bool,
    },
    /// Skip a plan: none of it is carried out. Skip a reply in words: it is not answered.
    Skip {
        /// The turn's directory, from the session's.
        folder: String,
        /// What to tell the agent instead.
        #[serde(default)]
        message: Option<String>,
    },
    /// Accept the plan as it was changed in its file.
    AcceptPlan {
        /// The turn's directory, from the session's.
        folder: String,
        /// The file's content as the person saw it.
        text: String,
    },
    /// Write the plan to its file again, over the changes made there.
    RestorePlan {
        /// The turn's directory, from the session's.
        folder: String,
    },
    /// Pause the running batch.
    Pause,
    /// Resume a paused batch.
    GoOn {
        /// The name of the batch.
        batch: String,
        /// What to do about a command that was interrupted and may have run.
        #[serde(default)]
        interrupted: Interrupted,
    },
    /// Undo a batch's changes to files.
    Undo {
        /// The name of the batch.
        batch: String,
        /// What to do about files that were changed after the batch.
        #[serde(default)]
        later: LaterChanges,
    },
    /// Accept the files of complete turns as they are, although they were changed.
    AcceptChanges {
        /// For each turn's directory, a check sum for each of its files; empty if the directory was removed.
        turns: BTreeMap<String, BTreeMap<String, String>>,
    },
}

/// What an agent does, independent of its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentDid {
    /// Its process runs and has named its conversation.
    Connect {
        /// The id by which the agent can be resumed.
        conversation: ConversationId,
        /// The model it runs.
        model: Option<String>,
    },
    /// It said something.
    Say {
        /// What it said.
        text: String,
    },
    /// It uses a tool.
    Use {
        /// The name of the tool.
        tool: String,
        /// The path, the command, or whatever else it is used on.
        what: String,
        /// What the tool does.
        kind: ToolUse,
    },
    /// It is delayed, and continues: the model's API failed and the call is retried, or its own program refused a
    /// call without asking.
    Delay {
        /// What happened, and when it is retried, if it is.
        why: String,
    },
    /// It has ended, and no copy of its conversation and work could be stored with the session.
    Unkept {
        /// The reason.
        why: String,
    },
    /// It printed a line that is not part of its protocol.
    Babble {
        /// The beginning of the line.
        line: String,
    },
    /// It printed a protocol event of an unknown kind.
    Note {
        /// The beginning of the line.
        line: String,
    },
    /// It asks, and the call waits.
    Ask {
        /// The tool call that waits for the answer.
        call: CallId,
        /// What it asks for.
        ask: Ask,
        /// Whether its process could be parked now, and the call asked again later.
        parkable: bool,
    },
    /// It tried to reach a host that its workplace does not allow.
    MissHost {
        /// The host, with its port.
        host: String,
    },
    /// It withdrew its question.
    Withdraw {
        /// The tool call.
        call: CallId,
    },
    /// Its transcript holds the answer.
    Take {
        /// The tool call.
        call: CallId,
    },
    /// It has read a message that was sent during its turn.
    Read {
        /// Which message of the turn, from 1.
        message: u32,
    },
    /// It cannot be parked yet, because the call does not wait alone.
    StayHot {
        /// The tool call.
        call: CallId,
        /// What else the process has in flight.
        beside: Beside,
    },
    /// Its turn is over, and its process stays for the next one.
    Finish {
        /// Its last words.
        result: String,
    },
    /// The approximate cost so far of the response that it is writing.
    SpendSoFar {
        /// Millionths of a US dollar.
        cost_micros: u64,
        /// The budget of the day for all sessions together, if there is one.
        today: Option<DayBudget>,
    },
    /// Its process used tokens and money.
    Spend {
        /// Tokens and money.
        usage: Usage,
    },
    /// Its process ended.
    Leave(Leave),
}

/// The daily budget, for all sessions together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayBudget {
    /// The day, such as `2026-01-24`.
    pub day: String,
    /// The cost of all sessions on that day so far, in millionths of a US dollar.
    pub spent_micros: u64,
    /// The cost at which a person is asked.
    pub limit_micros: u64,
}

/// What an agent can ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// Answers to these questions.
    Questions(Vec<NewQuestion>),
    /// To use a tool.
    Permission(Permission),
    /// To leave plan mode.
    LeavePlanMode {
        /// The plan it proposes.
        plan: String,
    },
}

/// A question that has no id yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewQuestion {
    /// What is asked.
    pub text: String,
    /// A word or two that identify it.
    pub header: Option<String>,
    /// What can be chosen.
    pub options: Vec<Choice>,
    /// Whether several may be chosen.
    pub multi: bool,
    /// Whether free text is accepted.
    pub free_text: bool,
    /// The form field to fill in, if an MCP server asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Box<Field>>,
}

/// How the process of an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It ended normally, with a result.
    Finished {
        /// Its last words.
        result: String,
    },
    /// It was parked: the call will be asked again.
    Deferred {
        /// The tool call.
        call: CallId,
    },
    /// It was stopped, because Rapport is stopping or because no want needs it.
    Stopped,
    /// Its program could not be started.
    NotStarted {
        /// Why, in words for a person.
        reason: String,
    },
    /// The workplace in which it ran died under it, such as a container that was killed.
    Lost {
        /// Why, in words for a person.
        reason: String,
    },
    /// It failed or died.
    Failed {
        /// Why, in words for a person.
        reason: String,
    },
}

/// What the engine does or finds out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum World {
    /// The session was just replayed from its log: its processes have ended.
    Lost,
    /// Time has passed; `now` tells how much.
    Tick,
    /// The worker recorded the state of the files before a turn.
    Baseline {
        /// The turn that comes next.
        turn: TurnId,
        /// The name of the state; `None` where the worker cannot name one.
        baseline: Option<String>,
    },
    /// The worker recorded the state of the files at a round.
    Snapshot {
        /// The round.
        round: RoundId,
        /// The name of the state; `None` where the worker cannot name one.
        state: Option<String>,
    },
    /// The plan is in its file.
    PlanSaved {
        /// The revision of the plan.
        revision: u32,
        /// The path of the file, from the project's root.
        path: String,
    },
    /// The agent of a turn cannot start yet, because the maximum number of agents is running.
    Queued {
        /// The turn of the agent.
        turn: TurnId,
    },
    /// The check of finished work has run, or could not.
    Checked {
        /// The turn whose work was checked.
        turn: TurnId,
        /// How it ended.
        check: WorkCheck,
    },
    /// The changes of the work are known.
    Report {
        /// The changes; `None` if they are unknown.
        changes: Option<Changes>,
    },
    /// The work and the project were merged, or could not be.
    Merged {
        /// How it ended.
        outcome: Result<Merged, NotMerged>,
    },
    /// The merged files are in the project.
    Applied {
        /// What changed there.
        files: Vec<FileChange>,
    },
    /// The workplace was removed.
    Cleared {
        /// Why part of it is left, if any is.
        left: Option<String>,
    },
    /// A planner made a round of questions, or could not.
    QuestionRound {
        /// Which round it was to make, from 1.
        round: u32,
        /// The round, or why there is none, in words for a person.
        outcome: Result<QuestionRound, String>,
    },
    /// A rule for the project was saved in Rapport's home.
    Granted {
        /// The question whose answer granted it.
        question: QuestionId,
    },
    /// The answer to a question was stored as a rule of the project, in Rapport's home.
    AnswerRuled {
        /// The question.
        question: QuestionId,
    },
    /// The lead was told of a question, or could not be.
    LeadTold {
        /// The question.
        question: QuestionId,
        /// Nothing, or why it could not be told, in words for a person.
        outcome: Result<(), String>,
    },
    /// The lead that began the session was told that its work ended, or could not be.
    LeadInformed {
        /// Which end of the work, from 1.
        end: u32,
        /// Nothing, or why it could not be told, in words for a person.
        outcome: Result<(), String>,
    },
    /// The lead asks its own person about a question.
    LeadAsks {
        /// The question.
        question: QuestionId,
    },
    /// The lead no longer waits to be told of a question.
    LeadReleased {
        /// The question.
        question: QuestionId,
    },
    /// The plan of actions is in its file.
    Filed {
        /// Which turn made it.
        turn: TurnId,
        /// Where it is, from the session's directory.
        path: String,
    },
    /// A session of turns was just replayed from its log, and these turn directories were found. Its processes have
    /// ended.
    Found(FoundTurns),
    /// Everything that the agent will be shown is in the directory of the next turn.
    TurnPrepared {
        /// The turn before, whose reply in words was answered.
        after: String,
        /// The turn's directory, from the session's.
        folder: String,
        /// The conversation to make its plan in.
        conversation: ConversationId,
        /// Where the turn comes from.
        origin: TurnOrigin,
        /// SHA-256 digest of the file that lists what the agent is shown.
        shown: Option<String>,
    },
    /// The plan of a turn was checked.
    PlanChecked {
        /// The turn's directory, from the session's.
        folder: String,
        /// The revision of the plan.
        revision: u32,
        /// Why it cannot be carried out, one line each.
        problems: Vec<String>,
        /// Notes about single actions.
        remarks: Vec<PlanRemark>,
        /// The content of its file, where it differs from the plan.
        differs: Option<String>,
    },
    /// A batch cannot begin, because its plan no longer fits the project. Nothing was carried out.
    BatchInvalid {
        /// The name of the batch.
        batch: String,
        /// What was in the way, one line each.
        problems: Vec<String>,
    },
    /// A batch cannot begin, because its plan's file differs from the plan. Nothing was carried out.
    BatchDiffers {
        /// The name of the batch.
        batch: String,
        /// The content of the file.
        text: String,
    },
    /// An action of the running batch asks a person something.
    ActionAsks {
        /// The name of the batch.
        batch: String,
        /// The action's place in the plan, from 0.
        action: usize,
        /// The question, in Markdown.
        message: String,
    },
    /// An action of the running batch ended.
    ActionEnded {
        /// The name of the batch.
        batch: String,
        /// Which action, and how.
        end: ActionEnd,
    },
    /// The running batch stopped early.
    BatchPaused {
        /// The name of the batch.
        batch: String,
        /// Why, in words for a person.
        reason: String,
        /// The action that was interrupted and may have run.
        unsure: Option<usize>,
    },
    /// The running batch is over.
    BatchEnded {
        /// The name of the batch.
        batch: String,
        /// The overall result.
        status: Overall,
        /// The report, as Markdown.
        report: String,
        /// Whether it changed files, or may have.
        has_changes: bool,
    },
    /// The report of a turn is in its file, and its memos are stored.
    ReportFiled {
        /// The turn's directory, from the session's.
        folder: String,
        /// A check sum for each of its files.
        files: BTreeMap<String, String>,
    },
    /// A batch was undone, or could not be.
    Undone {
        /// The name of the batch.
        batch: String,
        /// The files that were undone, or why nothing was.
        outcome: Result<UndoneFiles, UndoProblem>,
    },
    /// The worker recorded the state in which a cancelled agent left the project.
    WorkLeft {
        /// The name of the state; `None` where the worker cannot name one.
        state: Option<String>,
    },
    /// The work was undone, or could not be.
    WorkUndone {
        /// The files that were undone, or why nothing was.
        outcome: Result<UndoneFiles, UndoProblem>,
    },
    /// The engine could not make a want true.
    Failed {
        /// Why, in words for a person.
        reason: String,
    },
}

/// Where work of a separate workplace is applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApplyTo {
    /// The files of the project.
    #[default]
    Files,
    /// The same, and a commit of it on the project's current branch.
    Commit,
    /// A commit on a new branch of this name. No file of the project changes.
    Branch(String),
}

impl ApplyTo {
    /// Whether nothing is committed.
    pub fn is_files(&self) -> bool {
        *self == Self::Files
    }
}

/// Two states of the project's files, by the worker's names for them, and the step from one to the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Merged {
    /// The state before the step.
    pub from: String,
    /// The state after the step.
    pub to: String,
    /// The files that both sides changed differently. Where their lines overlap they contain conflict markers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The files with the version of the work of those whose lines cannot be merged, such as binary files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
}

/// Why work was not applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotMerged {
    /// What failed, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The files that both sides changed differently.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The files that were changed anyway and could not be restored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub half_done: Vec<String>,
}
