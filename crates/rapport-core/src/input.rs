//! The inputs: everything that can happen to a session. The session decides each against its facts; nothing else changes it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::aim::Asking;
use crate::answer::By;
use crate::check::Remark;
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
        /// Whoever did it.
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
    /// Something Rapport itself brought about, or found out.
    World(World),
}

/// What people, or those who answer for them, can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Answer a question; without a name, the only one that is open.
    Answer {
        /// The question.
        #[serde(default)]
        question: Option<QuestionId>,
        /// What the person chose or typed, or what the agent is told.
        reply: Reply,
    },
    /// Go back to the question before, in a round that is not complete.
    Back,
    /// Open an answered question again, to change the answer (edit).
    Reopen {
        /// The question.
        question: QuestionId,
    },
    /// Leave a reopened question with the answer it had.
    Keep {
        /// The question.
        question: QuestionId,
    },
    /// No longer allow what was allowed for this session.
    Revoke {
        /// The rule.
        rule: Rule,
    },
    /// Let the agent reach a host in this session, where its workplace keeps it from the network.
    AllowHost {
        /// The host; with its port where it is not one of the web's.
        host: String,
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
    },
    /// Discard work that was done in a workplace of its own. Ends the session, too.
    Discard,
    /// Undo what the work did to the project's files.
    UndoWork,
    /// Try again what failed, or resume an agent that was cut off while it waited.
    Restart,
    /// Say something to the agent: in the middle of its turn, or as its next one.
    Say {
        /// The words.
        text: String,
        /// The id of the message in its channel, for de-duplication.
        #[serde(default)]
        id: Option<String>,
    },
    /// Stop the agent's turn, and keep the conversation.
    Stop,
    /// Have a plan of actions made, from what is in this directory of the session.
    Draft {
        /// The turn's directory, from the session's.
        folder: String,
        /// The conversation to make it in.
        conversation: ConversationId,
        /// Whether the agent may ask.
        asking: Asking,
        /// Where the turn comes from.
        #[serde(default)]
        origin: Option<TurnOrigin>,
        /// The digest (SHA-256) of the file that says what the agent is shown.
        #[serde(default)]
        shown: Option<String>,
    },
    /// Give up the plan that is being made, to have something else planned.
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
        /// Which state of the plan was seen.
        revision: u32,
        /// Which items of the plan are taken.
        chosen: Chosen,
    },
    /// Skip a plan: nothing of it is done.
    Skip {
        /// The turn's directory, from the session's.
        folder: String,
        /// What to tell the agent instead.
        #[serde(default)]
        message: Option<String>,
    },
    /// Accept the plan as somebody changed it in its file.
    AcceptPlan {
        /// The turn's directory, from the session's.
        folder: String,
        /// What was seen in the file.
        text: String,
    },
    /// Write the plan to its file again, over what somebody changed there.
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
    /// Undo what a batch did to files.
    Undo {
        /// The name of the batch.
        batch: String,
        /// What to do about files that were changed after the batch.
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
    },
    /// Something is in its way, and it goes on: the model's API did not answer as it should and is tried again, or its own program
    /// refused a call without asking anybody.
    Delay {
        /// What happened, and when it is tried again, if it is.
        why: String,
    },
    /// It printed a line that is not part of its protocol.
    Babble {
        /// The beginning of the line.
        line: String,
    },
    /// It printed an event of its protocol that is not known here.
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
        /// Whether its process could end cleanly now and be asked again later.
        parkable: bool,
    },
    /// It tried to reach a host that its workplace keeps it from.
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
    /// It has read what was said to it in the middle of its turn.
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
    /// Its process used tokens and money.
    Spend {
        /// Tokens and money.
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

/// A question that has no id yet.
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

/// How the process of an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leave {
    /// It came to an end and has a result.
    Finished {
        /// Its last words.
        result: String,
    },
    /// It was parked: the call will be asked again.
    Deferred {
        /// The tool call.
        call: CallId,
    },
    /// It was stopped, because Rapport stops or nobody wants it to run.
    Stopped,
    /// Its program could not be started.
    NotStarted {
        /// Why, in words for a person.
        reason: String,
    },
    /// It failed or died.
    Failed {
        /// Why, in words for a person.
        reason: String,
    },
}

/// What the engine brings about or finds out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum World {
    /// The session was just replayed from its log: its processes are gone.
    Lost,
    /// Time has passed; `now` tells how much.
    Tick,
    /// The state of the files before a turn is noted.
    Baseline {
        /// The turn that comes next.
        turn: TurnId,
        /// The name of the state; `None` where the worker cannot name one.
        baseline: Option<String>,
    },
    /// The state of the files at a round is noted.
    Snapshot {
        /// The round.
        round: RoundId,
        /// The name of the state; `None` where the worker cannot name one.
        state: Option<String>,
    },
    /// The plan is in its file.
    PlanSaved {
        /// Which state of the plan.
        revision: u32,
        /// The path of the file, from the project's root.
        path: String,
    },
    /// It is known what the work changed.
    Report {
        /// The changes; `None` where they cannot be told.
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
    /// A rule for the project is kept in Rapport's home.
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
    /// A session of files was just replayed from its log, and these directories of turns were found. Its processes are gone.
    Found(FoundTurns),
    /// The plan of a turn was checked.
    PlanChecked {
        /// The turn's directory, from the session's.
        folder: String,
        /// Which state of the plan.
        revision: u32,
        /// Why it cannot be carried out, one line each.
        problems: Vec<String>,
        /// What to know about single actions.
        remarks: Vec<Remark>,
        /// The content of its file, where it differs from the plan.
        differs: Option<String>,
    },
    /// A batch cannot begin, because its plan cannot be carried out in the project as it is now. Nothing was done.
    BatchInvalid {
        /// The name of the batch.
        batch: String,
        /// What was in the way, one line each.
        problems: Vec<String>,
    },
    /// A batch cannot begin, because its plan's file differs from the plan. Nothing was done.
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
    /// An action of the running batch came to its end.
    ActionEnded {
        /// The name of the batch.
        batch: String,
        /// Which action, and how.
        end: ActionEnd,
    },
    /// The running batch stopped before its end.
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
    /// The report of a turn is in its file, and its memos are kept.
    ReportFiled {
        /// The turn's directory, from the session's.
        folder: String,
        /// A check sum for each of its files.
        files: BTreeMap<String, String>,
    },
    /// A batch was undone, or not.
    Undone {
        /// The name of the batch.
        batch: String,
        /// The files that were undone, or why nothing was.
        outcome: Result<UndoneFiles, UndoProblem>,
    },
    /// The state in which a cancelled agent left the project is noted.
    WorkLeft {
        /// The name of the state; `None` where the worker cannot name one.
        state: Option<String>,
    },
    /// The work was undone, or not.
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

/// Two states of the project's files, by names that the worker finds again: a step from the one to the other.
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
