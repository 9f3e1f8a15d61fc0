//! The facts. A session is the list of its facts: they are stored, and everything else is derived from them.
//! Facts are past tense, are never edited, and say nothing that follows from the facts before.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Not;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::activity::ToolUse;
use crate::aim::Asking;
use crate::answer::{Answer, By};
use crate::check::PlanRemark;
use crate::created::{Created, TermsChange};
use crate::earlier_answer::EarlierAnswer;
use crate::id::{CallId, ConversationId, QuestionId, RoundId, TurnId};
use crate::input::{ApplyTo, Merged, NotMerged};
use crate::permission::Rule;
use crate::question::{Purpose, Question};
use crate::report::Overall;
use crate::routing::{Class, Grounding, Hop, Recipient};
use crate::turn::{
    ActionEnd, ActionResult, Chosen, FoundTurn, Interrupted, LaterChanges, TurnOrigin, UndoProblem,
    UndoneFiles,
};
use crate::work_check::WorkCheck;

/// The log format that this program writes. Newer formats are refused, so that an old program does not damage them.
pub const FORMAT: u32 = 1;

/// One step of a log: the facts that one input led to, stored together or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place in the log, from 1. Followers keep it as their cursor.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// The facts.
    pub facts: Vec<Event>,
}

impl Entry {
    /// Reads an entry in one pass. Only where that fails is it read again, fact by fact, so that a fact of an unknown
    /// kind is kept; a fact of a known kind that cannot be read is an error.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json).or_else(|error| Self::from_json_with_unknown(json, error))
    }

    fn from_json_with_unknown(json: &str, error: serde_json::Error) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Raw {
            seq: u64,
            at: Timestamp,
            facts: Vec<Value>,
        }
        let Ok(raw) = serde_json::from_str::<Raw>(json) else {
            return Err(error);
        };
        let facts = raw.facts.into_iter().map(Event::from_value).collect::<Result<_, _>>()?;
        Ok(Self { seq: raw.seq, at: raw.at, facts })
    }
}

/// A fact: something that became true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[expect(clippy::large_enum_variant, reason = "a log has one creation, and facts are not kept")]
pub enum Event {
    /// The session was begun. Always the first fact, and only the first.
    Created(Created),
    /// A turn of the agent is to run.
    TurnStarted {
        /// The turn of the agent.
        turn: TurnId,
        /// What the turn is for.
        kind: TurnKind,
        /// What the agent is told.
        prompt: String,
        /// Whether this turn repairs a mistake of the previous one. It is the last attempt until the session is
        /// restarted.
        #[serde(default, skip_serializing_if = "Not::not")]
        mends: bool,
    },
    /// A turn is to run that makes a plan of actions, in a directory of its own and a conversation of its own. What the
    /// agent is told is in that directory.
    #[serde(rename = "draft_started")]
    PlanStarted {
        /// The turn of the agent.
        turn: TurnId,
        /// The turn's directory, from the session's.
        folder: String,
        /// The conversation it is made in.
        conversation: ConversationId,
        /// Whether the agent may ask.
        #[serde(default)]
        asking: Asking,
        /// Where the turn comes from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<TurnOrigin>,
        /// SHA-256 digest of the file that lists what the agent is shown. Older entries lack it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
    },
    /// The plan that was being made was abandoned.
    #[serde(rename = "draft_left")]
    PlanLeft {
        /// The turn's directory. The turn has no plan again.
        folder: String,
        /// Who did this.
        by: By,
    },
    /// The plan of actions is in its turn's directory.
    Filed {
        /// Which turn made it.
        turn: TurnId,
        /// Its file, from the session's directory.
        path: String,
    },
    /// A turn's directory is complete, and is never changed again.
    Sealed {
        /// The turn's directory, from the session's.
        folder: String,
        /// A check sum for each of its files.
        files: BTreeMap<String, String>,
        /// Who accepted the files as they are, where they had been changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<By>,
    },
    /// The engine found a turn's directory that no fact mentions: an older version or a person made it. Its content
    /// has not been accepted.
    TurnFound(FoundTurn),
    /// A turn's directory disappeared before the turn was complete.
    TurnGone {
        /// The turn's directory, from the session's.
        folder: String,
    },
    /// A person answered the agent's reply in words. The agent plans again, in the next turn, and is told the answer.
    ReplyAnswered {
        /// The directory of the turn that was replied to in words, from the session's.
        folder: String,
        /// The answer.
        text: String,
        /// Whether the agent may ask then.
        #[serde(default)]
        asking: Asking,
        /// Whether the person agreed to send more than the settings allow.
        #[serde(default, skip_serializing_if = "Not::not")]
        is_size_agreed: bool,
        /// Who did this.
        by: By,
    },
    /// A person left the agent's reply in words without an answer.
    ReplySkipped {
        /// The directory of the turn that was replied to in words, from the session's.
        folder: String,
        /// Who did this.
        by: By,
    },
    /// The review of a turn's plan began. The plan is checked against the project as it is now.
    ReviewStarted {
        /// The turn's directory, from the session's.
        folder: String,
        /// Who did this.
        by: By,
    },
    /// The plan of a turn was checked against the project.
    PlanChecked {
        /// The turn's directory, from the session's.
        folder: String,
        /// The revision of the plan.
        revision: u32,
        /// Why it cannot be carried out; empty where it can.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<String>,
        /// What to know about single actions.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remarks: Vec<PlanRemark>,
    },
    /// The plan's file was changed. The change takes effect once a person accepts it.
    PlanDiffers {
        /// The turn's directory, from the session's.
        folder: String,
        /// The content of the file.
        text: String,
    },
    /// A person accepted the plan as it is in its file.
    PlanAccepted {
        /// The turn's directory, from the session's.
        folder: String,
        /// Who did this.
        by: By,
    },
    /// The changes made in the plan's file were discarded.
    PlanRestored {
        /// The turn's directory, from the session's.
        folder: String,
        /// Who did this.
        by: By,
    },
    /// A plan was approved, wholly or in part.
    Approved {
        /// The turn's directory, from the session's.
        folder: String,
        /// The batch that carries it out.
        batch: String,
        /// The revision of the plan.
        revision: u32,
        /// Which items of the plan are taken.
        chosen: Chosen,
        /// Who did this.
        by: By,
    },
    /// A plan was skipped: none of it is carried out.
    Skipped {
        /// The turn's directory, from the session's.
        folder: String,
        /// What the agent is told instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Who did this.
        by: By,
    },
    /// An action of a batch asks a person something. The question is asked in the same entry.
    ActionAsked {
        /// The name of the batch.
        batch: String,
        /// The action's place in the plan, from 0.
        action: usize,
        /// The id of the question.
        question: QuestionId,
    },
    /// An action of a batch ended.
    ActionEnded {
        /// The name of the batch.
        batch: String,
        /// Which action, and how it ended.
        #[serde(flatten)]
        end: ActionEnd,
    },
    /// A batch stopped early. A person decides how it continues.
    BatchPaused {
        /// The name of the batch.
        batch: String,
        /// Why, in words for a person.
        reason: String,
        /// The action that was interrupted and may have run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unsure: Option<usize>,
    },
    /// A batch was resumed.
    BatchResumed {
        /// The name of the batch.
        batch: String,
        /// What to do about a command that was interrupted and may have run.
        #[serde(default)]
        interrupted: Interrupted,
        /// Who did this.
        by: By,
    },
    /// A batch is over.
    BatchEnded {
        /// The name of the batch.
        batch: String,
        /// The overall result.
        status: Overall,
        /// The report, as Markdown.
        report: String,
        /// Whether it changed files, or may have.
        #[serde(default)]
        has_changes: bool,
    },
    /// Undoing a batch was requested.
    UndoStarted {
        /// The name of the batch.
        batch: String,
        /// What to do about files that were changed after the batch.
        #[serde(default)]
        later: LaterChanges,
        /// Who did this.
        by: By,
    },
    /// A batch was not undone.
    UndoRefused {
        /// The name of the batch.
        batch: String,
        /// What was in the way.
        problem: UndoProblem,
    },
    /// A batch was undone.
    Undone {
        /// The name of the batch.
        batch: String,
        /// The result.
        files: UndoneFiles,
    },
    /// A message was sent to the agent.
    Heard {
        /// The turn that was running at that time, if the agent is told during that turn; otherwise the agent is told
        /// with its next turn.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<TurnId>,
        /// The message.
        text: String,
        /// Who did this.
        by: By,
        /// The id of the message in its channel, for de-duplication.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// A message was withdrawn before the agent read it. A process that was given it already may still read it.
    Unsaid {
        /// The id of the message in its channel.
        id: String,
    },
    /// The oldest message that waited for the agent was dropped, because too many waited.
    Dropped {
        /// Whether the agent reads the beginning of that message.
        #[serde(default, skip_serializing_if = "Not::not")]
        is_summarized: bool,
    },
    /// The agent has read a message that was sent during a turn.
    Read {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// Which message of that turn, from 1.
        message: u32,
    },
    /// A turn was stopped. The conversation is kept; nothing continues until a message comes or the turn is
    /// restarted.
    Stopped {
        /// The turn of the agent.
        turn: TurnId,
        /// Who did this.
        by: By,
    },
    /// A turn was interrupted for a message. It continues with the message as soon as its process has ended.
    Interrupted {
        /// The turn of the agent.
        turn: TurnId,
        /// Who sent the message.
        by: By,
    },
    /// A planner has named what the plan is about.
    Outlined {
        /// The folder of the plan's file.
        goal: String,
        /// The name of the plan's file.
        description: String,
    },
    /// A planner failed to make another round. The plan is made from the answers so far.
    Unchecked {
        /// Why, in words for a person.
        reason: String,
    },
    /// The worker recorded the state of the project's files before a turn.
    Baselined {
        /// The turn that comes next.
        turn: TurnId,
        /// A name by which the worker finds that state again, if it can.
        baseline: Option<String>,
    },
    /// The agent of a turn waits until fewer agents run at the same time.
    Queued {
        /// The turn of the agent.
        turn: TurnId,
    },
    /// The agent's process runs and has named its conversation.
    Connected {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The conversation to resume.
        conversation: ConversationId,
        /// The model it runs.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The agent said something.
    Said {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// What it said.
        text: String,
    },
    /// The agent used a tool.
    Used {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The name of the tool.
        tool: String,
        /// What it was used on, such as a path or a command.
        what: String,
        /// What the tool does. Logs of older versions do not say it.
        #[serde(default, skip_serializing_if = "ToolUse::is_other")]
        kind: ToolUse,
    },
    /// The agent printed a line that is not part of its protocol. It is kept for inspection.
    Unreadable {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The beginning of the line.
        line: String,
    },
    /// The agent printed an event of an unknown kind. It is kept for inspection.
    Noted {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The beginning of that line.
        line: String,
    },
    /// A round of questions is open.
    Asked {
        /// The round.
        round: RoundId,
        /// Who wants to know, and where the answer has to arrive.
        asker: Asker,
        /// The questions, in order.
        questions: Vec<Question>,
    },
    /// The worker recorded the state of the project's files at a round in the middle of the work. Nothing waits for
    /// this.
    Snapshotted {
        /// The round.
        round: RoundId,
        /// A name by which the worker finds that state again, if it can.
        state: Option<String>,
    },
    /// The agent asked the same questions again after it was parked or cut off. No person is asked twice.
    AskedAgain {
        /// The round it is about.
        round: RoundId,
        /// The call that waits now.
        call: CallId,
        /// Whether that call can be parked.
        parkable: bool,
    },
    /// The agent was told that it gets no answer to this call.
    Declined {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The tool call.
        call: CallId,
        /// What it was told.
        reason: String,
        /// The questions it wanted to ask, if the call was a question.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asked: Vec<String>,
    },
    /// A question was answered.
    Answered {
        /// The id of the question.
        question: QuestionId,
        /// The answer.
        answer: Answer,
        /// Who did this.
        by: By,
    },
    /// A question of a session with a lead was routed to this recipient, because it is new, or because the previous
    /// recipient did not answer it.
    Routed {
        /// The id of the question.
        question: QuestionId,
        /// Who is asked.
        to: Recipient,
        /// What is at stake in it.
        class: Class,
        /// Why it was routed there.
        why: Hop,
    },
    /// The lead was told of a question.
    LeadTold {
        /// The id of the question.
        question: QuestionId,
    },
    /// The lead asks its own person about a question, so it has more time for it.
    LeadAsks {
        /// The id of the question.
        question: QuestionId,
    },
    /// The message that asks the lead a question was withdrawn, because the question is closed or was routed to another
    /// recipient. If the lead has read it already, that changes nothing.
    LeadReleased {
        /// The id of the question.
        question: QuestionId,
    },
    /// The lead that began the session was told that its work ended, or could not be.
    LeadInformed {
        /// Which end of the work, from 1.
        end: u32,
        /// Why it could not be told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    /// A lead proposes an answer, which a person may send.
    Drafted {
        /// The id of the question.
        question: QuestionId,
        /// The answer.
        answer: Answer,
        /// The lead.
        by: By,
        /// The ground of the answer, if it was found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        because: Option<Grounding>,
    },
    /// A person answered the same question before, and that answer is offered. It answers nothing.
    Offered {
        /// The id of the question.
        question: QuestionId,
        /// The earlier answer.
        earlier: Box<EarlierAnswer>,
    },
    /// A person wants the same question always answered so in this project.
    AnswerRuled {
        /// The id of the question.
        question: QuestionId,
        /// Who did this.
        by: By,
    },
    /// The rule to answer a question always so was saved in Rapport's home.
    AnswerRuleKept {
        /// The id of the question.
        question: QuestionId,
    },
    /// The ground of a lead's answer, which is in the same entry.
    Grounded {
        /// The id of the question.
        question: QuestionId,
        /// The ground, and the text found there.
        because: Grounding,
    },
    /// A permission for the whole project was saved in Rapport's home.
    Granted {
        /// The question whose answer granted it.
        question: QuestionId,
    },
    /// A rule of this session was revoked.
    Revoked {
        /// The rule.
        rule: Rule,
        /// Who revoked it.
        by: By,
    },
    /// The agent tried to reach a host that its workplace does not allow.
    HostRefused {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The host, with its port.
        host: String,
    },
    /// The agent was allowed to reach a host in this session.
    HostAllowed {
        /// The host, with its port unless that is 80 or 443.
        host: String,
        /// Who allowed it.
        by: By,
    },
    /// The terms were changed for the rest of the session.
    TermsChanged {
        /// What changed.
        change: TermsChange,
        /// Who changed it.
        by: By,
    },
    /// A question was reopened, to answer it anew (back, or edit).
    Reopened {
        /// The id of the question.
        question: QuestionId,
        /// Who did this.
        by: By,
    },
    /// A reopened question keeps the answer it had.
    Kept {
        /// The id of the question.
        question: QuestionId,
        /// Who did this.
        by: By,
    },
    /// The agent has the answer to this call: its transcript holds it.
    Taken {
        /// The tool call.
        call: CallId,
    },
    /// A round ended without all its answers, for a stated reason.
    Closed {
        /// The round.
        round: RoundId,
        /// How it ended.
        how: Ending,
    },
    /// The agent was delayed, and continues: the model's API failed and the call is retried, or the agent's own
    /// program refused a call without asking.
    Delayed {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// What happened, and when it is retried, if it is.
        why: String,
        /// Whether the delay was that no copy of its conversation and work could be stored with the session.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_unkept: bool,
    },
    /// The hot time is over: the process is to be parked; the question stays open.
    Cooled {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The call that waits.
        call: CallId,
    },
    /// The process cannot be parked, because something else is in flight beside the call. It is parked once the call
    /// waits alone.
    StayedHot {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The call that waits.
        call: CallId,
        /// What else is in flight.
        beside: Beside,
    },
    /// The agent's process ended cleanly; this call will be asked again.
    Parked {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The call that waits.
        call: CallId,
    },
    /// The agent's process ended in the middle of something.
    CutOff {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// Why, in words for a person.
        reason: String,
        /// Whether no process ever ran, because the agent's program could not be started.
        #[serde(default, skip_serializing_if = "Not::not")]
        is_not_started: bool,
        /// Whether the workplace in which it ran died under it: then it is started again, once.
        #[serde(default, skip_serializing_if = "Not::not")]
        is_lost: bool,
    },
    /// A process reported its usage.
    Spent {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// Tokens and money.
        usage: Usage,
    },
    /// The agent proposed a plan.
    PlanProposed {
        /// The folder of the plan's file.
        goal: String,
        /// The name of the plan's file.
        description: String,
        /// The agent's own words.
        text: String,
    },
    /// The plan is in its file.
    PlanSaved {
        /// The revision of the plan.
        revision: u32,
        /// Its path, from the project's root.
        path: String,
    },
    /// A turn ended.
    TurnEnded {
        /// The turn of the agent.
        turn: TurnId,
        /// The agent's last words.
        result: String,
    },
    /// The session stopped on a failure. It can be restarted.
    Failed {
        /// Why, in words for a person.
        reason: String,
    },
    /// The session was restarted.
    Restarted {
        /// Who did this.
        by: By,
    },
    /// The command that checks finished work has run, or could not.
    Checked {
        /// The turn whose work was checked.
        turn: TurnId,
        /// How it ended.
        check: WorkCheck,
    },
    /// The work is done, and these are its changes. The session is complete until more is asked for.
    Reported {
        /// The changes, if they are known.
        changes: Option<Changes>,
    },
    /// A lead, or another author who may not decide it, asked a person to apply the work of a separate workplace to
    /// the project.
    ApplyRequested {
        /// Who asks for it.
        by: By,
        /// Whether to apply it with conflict markers where it conflicts with the project.
        #[serde(default)]
        with_conflicts: bool,
    },
    /// Applying the work of a separate workplace to the project was requested.
    Applying {
        /// Who did this.
        by: By,
        /// Whether to apply it with conflict markers where it conflicts with the project.
        #[serde(default)]
        with_conflicts: bool,
        /// Where it is applied.
        #[serde(default, skip_serializing_if = "ApplyTo::is_files")]
        to: ApplyTo,
    },
    /// The work and the project are merged in the store of the worker. No file has changed yet.
    Merged(Merged),
    /// The work was not applied. No file has changed except those listed as half done.
    NotApplied(NotMerged),
    /// The work was applied: files of the project were changed.
    Applied {
        /// Who requested it.
        by: By,
        /// What changed in the project.
        files: Vec<FileChange>,
    },
    /// The work was discarded, or clearing the rest of its workplace was requested.
    Discarded {
        /// Who did this.
        by: By,
        /// The reason, in words for a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// The workplace was cleared.
    Cleared {
        /// Why a part of it is left, if one is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<String>,
    },
    /// Undoing the work's changes to the project's files was requested.
    WorkUndoStarted {
        /// The state the work left, and the state before it.
        states: Merged,
        /// The same for earlier stretches of work, the latest first: the files were changed otherwise between them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        earlier: Vec<Merged>,
        /// Who did this.
        by: By,
    },
    /// The work was not undone. No file has changed, unless the problem says that some have.
    WorkUndoRefused {
        /// What was in the way.
        problem: UndoProblem,
    },
    /// The work is undone.
    WorkUndone {
        /// The result.
        files: UndoneFiles,
    },
    /// The session was ended.
    Cancelled {
        /// Who did this.
        by: By,
        /// Why, if a reason was given.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether the agent may have changed files since their state was last recorded. If so, `WorkLeft` follows.
        #[serde(default, skip_serializing_if = "Not::not")]
        is_unnoted: bool,
    },
    /// The state of the project's files after the agent of a cancelled session ended. An undo starts from it.
    WorkLeft {
        /// A name by which the worker finds that state again, if it can.
        state: Option<String>,
    },
    /// A fact of a kind that this version does not know. It is kept as it was read, and changes nothing.
    #[serde(skip_deserializing)]
    Unknown(Value),
}

/// What a fact is to somebody who reads the story of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactTone {
    /// Somebody said or decided something.
    Person,
    /// The agent said or asked something, or proposes it.
    Agent,
    /// One step of the work.
    Step,
    /// Something went wrong, or may have.
    Care,
    /// A part of the session is over.
    Ended,
    /// Something that few want to know.
    Quiet,
    /// Something that only developers need.
    Internal,
}

impl Event {
    /// What happened, in one line for people. Text of others in it is not yet safe to show.
    pub fn words(&self) -> String {
        self.words_naming(&|_, _| None)
    }

    /// The same, with the actions of batches in words: `named` gets a batch and the index of an action in its plan.
    pub fn words_naming(&self, named: &dyn Fn(&str, usize) -> Option<String>) -> String {
        let action = |batch: &str, action: usize| match named(batch, action) {
            Some(name) => format!("action {} ({name})", action + 1),
            None => format!("action {} of batch {batch}", action + 1),
        };
        match self {
            Self::Created(created) => match &created.branched_from {
                Some(origin) => format!("{} wants, as a branch of {origin}: {}", created.by, created.task),
                None => format!("{} wants: {}", created.by, created.task),
            },
            Self::TurnStarted { turn, kind, .. } => format!("turn {turn} begins: {}", kind.word()),
            Self::PlanStarted { folder, .. } => format!("the agent begins the plan of turn {folder}"),
            Self::Filed { path, .. } => format!("the plan is in {path}"),
            Self::Sealed { folder, by: Some(by), .. } => format!("{by} accepts turn {folder} as it is now"),
            Self::Sealed { folder, .. } => format!("turn {folder} is complete"),
            Self::PlanLeft { folder, by } => format!("{by} wants something else planned than {folder}"),
            Self::TurnFound(found) => format!("the directory of turn {} is found", found.folder),
            Self::TurnGone { folder } => format!("the directory of turn {folder} is gone"),
            Self::ReplyAnswered { folder, text, by, .. } => {
                format!("{by} answers the reply in words to turn {folder}: {text}")
            }
            Self::ReplySkipped { folder, by } => {
                format!("{by} leaves the reply in words to turn {folder} without an answer")
            }
            Self::ReviewStarted { folder, by } => format!("{by} looks at the plan of turn {folder}"),
            Self::PlanChecked { folder, problems, .. } if problems.is_empty() => {
                format!("the plan of turn {folder} can be carried out")
            }
            Self::PlanChecked { folder, problems, .. } => {
                format!("the plan of turn {folder} cannot be carried out: {}", problems.join("; "))
            }
            Self::PlanDiffers { folder, .. } => format!("{folder}/plan.md differs from the plan"),
            Self::PlanAccepted { folder, by } => format!("{by} accepts {folder}/plan.md as it is"),
            Self::PlanRestored { folder, by } => format!("{by} restores {folder}/plan.md"),
            Self::Approved { folder, batch, chosen, by, .. } => {
                let taken = chosen.actions.iter().filter(|left| left.is_none()).count();
                let all = chosen.actions.len();
                format!("{by} approves {taken} of {all} actions of turn {folder}, as batch {batch}")
            }
            Self::Skipped { folder, message, by } => match message {
                Some(message) => format!("{by} skips the plan of turn {folder}: {message}"),
                None => format!("{by} skips the plan of turn {folder}"),
            },
            Self::ActionAsked { batch, action: index, question } => {
                format!("{} asks {question}", action(batch, *index))
            }
            Self::ActionEnded { batch, end } => {
                let how = match end.result {
                    ActionResult::Done => "is done",
                    ActionResult::Failed => "failed",
                    ActionResult::Skipped => "is left out",
                };
                let why = end.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                let left = end.left_words().map(|left| format!("; {left}")).unwrap_or_default();
                format!("{} {how}{why}{left}", action(batch, end.action))
            }
            Self::BatchPaused { batch, reason, .. } => format!("batch {batch} pauses: {reason}"),
            Self::BatchResumed { batch, by, .. } => format!("{by} resumes batch {batch}"),
            Self::BatchEnded { batch, status, .. } => format!("batch {batch} is over: {status}"),
            Self::UndoStarted { batch, by, .. } => format!("{by} wants batch {batch} undone"),
            Self::UndoRefused { batch, problem } => {
                format!("batch {batch} is not undone: {}", problem.reason)
            }
            Self::Undone { batch, files } => {
                format!(
                    "batch {batch} is undone: {} restored",
                    count(files.restored.len() + files.removed.len())
                )
            }
            Self::Heard { text, by, .. } => format!("{by} says: {text}"),
            Self::Unsaid { .. } => "a message is taken back before the agent was told".into(),
            Self::Read { .. } => "the agent has read the message".into(),
            Self::Stopped { by, .. } => format!("{by} stops the agent"),
            Self::LeadInformed { failure: None, .. } => "the lead is told that the work ended".into(),
            Self::LeadInformed { failure: Some(why), .. } => {
                format!("the lead cannot be told that the work ended: {why}")
            }
            Self::Interrupted { by, .. } => format!("{by} interrupts the agent with a message"),
            Self::Dropped { is_summarized: false } => {
                "the oldest message that waited for the agent is dropped, because too many waited".into()
            }
            Self::Dropped { is_summarized: true } => {
                "the oldest message that waited for the agent is dropped, \
                 because too many waited; the agent reads its beginning"
                    .into()
            }
            Self::Offered { question, earlier } => {
                format!("{question} was answered before, in {} {}", earlier.session, earlier.question)
            }
            Self::AnswerRuled { question, by } => {
                format!("{by} wants the question of {question} always answered so in this project")
            }
            Self::AnswerRuleKept { question } => {
                format!("the question of {question} is always answered so in this project")
            }
            Self::Outlined { goal, description } => format!("the plan is to be called {goal}/{description}"),
            Self::Unchecked { reason } => format!("it is unknown whether more has to be asked: {reason}"),
            Self::Baselined { .. } => "the state of the files before the work is recorded".into(),
            Self::Snapshotted { round, .. } => format!("the state of the files at round {round} is recorded"),
            Self::Queued { .. } => "the agent waits for a free place, as many run as may run at once".into(),
            Self::Connected { .. } => "the agent is connected".into(),
            Self::Said { text, .. } => format!("the agent says: {text}"),
            Self::Used { tool, what, .. } => format!("the agent uses {tool}: {what}"),
            Self::Noted { line, .. } => {
                format!("the agent sent a message of an unknown kind: {}", kind_of(line))
            }
            Self::Unreadable { line, .. } => {
                format!("the agent sent a line outside of its protocol: {line}")
            }
            Self::Asked { asker, questions, .. } => {
                let who = match asker {
                    Asker::Rapport => "Rapport",
                    Asker::Planner => "the planner",
                    Asker::Agent { .. } => "the agent",
                };
                let asked = questions.iter().map(|q| match &q.purpose {
                    Purpose::Permission(asked) => format!("{} May it use {} for this?", q.id, asked.tool),
                    _ => format!("{} {}", q.id, q.text),
                });
                format!("{who} asks: {}", asked.collect::<Vec<_>>().join(" / "))
            }
            Self::AskedAgain { round, .. } => format!("the resumed agent asks round {round} again"),
            Self::Declined { reason, .. } => format!("the agent is told: {reason}"),
            Self::Answered { question, answer, by } => {
                let words = answer.values.iter().chain(&answer.text).cloned().collect::<Vec<_>>();
                format!("{question} is answered by {by}: {}", words.join(", "))
            }
            Self::Routed { question, to, why, .. } => {
                let who = match to {
                    Recipient::Lead => "the lead is asked",
                    Recipient::Person => "a person is asked",
                    Recipient::Others => "others are asked as well",
                };
                format!("{question}: {who}, because {}", why.in_words())
            }
            Self::LeadTold { question } => format!("the lead is told of {question}"),
            Self::LeadAsks { question } => format!("the lead asks its person about {question}"),
            Self::LeadReleased { question } => format!("the lead is no longer asked {question}"),
            Self::Drafted { question, answer, by, because } => {
                let words = answer.values.iter().chain(&answer.text).cloned().collect::<Vec<_>>();
                let because = because.as_ref().map(|because| format!(", because of {}", because.ground));
                format!("{by} drafts for {question}{}: {}", because.unwrap_or_default(), words.join(", "))
            }
            Self::Grounded { question, because } => {
                format!("the answer to {question} rests on {}: {}", because.ground, because.quote)
            }
            Self::Granted { question } => {
                format!("what {question} allowed for the project is kept in Rapport's home")
            }
            Self::HostRefused { host, .. } => format!("{host} cannot be reached from the workplace"),
            Self::HostAllowed { host, by } => format!("{by} lets the agent reach {host}"),
            Self::TermsChanged { change, by } => format!("{by} changes the terms: {change}"),
            Self::Revoked { rule, by } => format!("{by} revokes {rule}"),
            Self::Reopened { question, by } => format!("{by} opens {question} again"),
            Self::Kept { question, by } => format!("{by} leaves {question} as it was"),
            Self::Taken { .. } => "the agent has the answer".into(),
            Self::Closed { round, how } => format!("round {round} is closed: {how}"),
            Self::Delayed { why, .. } => why.clone(),
            Self::StayedHot { beside, .. } => format!("the agent is kept running: {beside}"),
            Self::Cooled { .. } => "the agent has waited for long; its process is to end".into(),
            Self::Parked { .. } => "the agent is parked; waiting costs nothing".into(),
            Self::CutOff { reason, .. } => format!("the agent was cut off: {reason}"),
            Self::Spent { usage, .. } => {
                let dollars = usage.cost_micros as f64 / 1e6;
                format!("{} tokens in, {} out, ${dollars:.4}", usage.input, usage.output)
            }
            Self::PlanProposed { goal, description, .. } => {
                format!("a plan is proposed: {goal}/{description}")
            }
            Self::PlanSaved { path, .. } => format!("the plan is saved to {path}"),
            // The text of a plan is long, and is in its own file.
            Self::TurnEnded { turn, result } => {
                let result = result.trim();
                let first = result.lines().next().unwrap_or_default();
                let more = if first.len() < result.len() { " …" } else { "" };
                format!("turn {turn} ends: {first}{more}")
            }
            Self::Failed { reason } => format!("failed: {reason}"),
            Self::Restarted { by } => format!("restarted by {by}"),
            Self::Checked { check, .. } => check.words(),
            Self::Reported { changes: Some(Changes { unknown: Some(why), .. }) } => {
                format!("completed; not all changes are known: {why}")
            }
            Self::Reported { changes: Some(changes) } => {
                format!("completed; {} changed", count(changes.files.len()))
            }
            Self::Reported { changes: None } => "completed".into(),
            Self::ApplyRequested { by, .. } => format!("{by} asks a person to apply the work to the project"),
            Self::Applying { by, to: ApplyTo::Files, .. } => {
                format!("{by} wants the work applied to the project")
            }
            Self::Applying { by, to: ApplyTo::Commit, .. } => {
                format!("{by} wants the work applied to the project and committed")
            }
            Self::Applying { by, to: ApplyTo::Branch(name), .. } => {
                format!("{by} wants the work committed on the branch {name}")
            }
            Self::Merged(merged) if !merged.conflicts.is_empty() => {
                let versions = match &merged.versions[..] {
                    [] => String::new(),
                    versions => format!("; the agent's version is in {}", versions.join(", ")),
                };
                format!(
                    "merged with the project, with conflicts in {}{versions}",
                    merged.conflicts.join(", ")
                )
            }
            Self::Merged(_) => "merged with the project; nothing is changed yet".into(),
            Self::NotApplied(NotMerged { reason: Some(reason), .. }) => format!("not applied: {reason}"),
            Self::NotApplied(NotMerged { conflicts, .. }) => {
                format!("not applied: conflicts in {}", conflicts.join(", "))
            }
            Self::Applied { by, files } => format!("applied by {by}: {}", count(files.len())),
            Self::Discarded { by, reason: None } => format!("discarded by {by}"),
            Self::Discarded { by, reason: Some(reason) } => format!("discarded by {by}: {reason}"),
            Self::Cleared { left: None } => "the workplace was removed".into(),
            Self::Cleared { left: Some(why) } => format!("the workplace was only partly removed: {why}"),
            Self::WorkUndoStarted { by, .. } => format!("{by} wants the work undone"),
            Self::WorkUndoRefused { problem } => format!("the work is not undone: {}", problem.reason),
            Self::WorkUndone { files } => format!(
                "the work is undone: {} restored, {} removed, {} left as they are",
                files.restored.len(),
                files.removed.len(),
                files.kept.len()
            ),
            Self::WorkLeft { .. } => "the state in which the agent left the files is recorded".into(),
            Self::Cancelled { by, reason, .. } => match reason {
                Some(reason) => format!("cancelled by {by}: {reason}"),
                None => format!("cancelled by {by}"),
            },
            Self::Unknown(fact) => format!("a fact of a newer kind: {fact}"),
        }
    }

    /// How this fact is drawn beside others, where a channel has no way of its own for it.
    pub fn tone(&self) -> FactTone {
        match self {
            Self::Created(_)
            | Self::Heard { .. }
            | Self::Answered { .. }
            | Self::Stopped { .. }
            | Self::Interrupted { .. }
            | Self::AnswerRuled { .. }
            | Self::Restarted { .. }
            | Self::Approved { .. }
            | Self::Skipped { .. }
            | Self::Reopened { .. }
            | Self::Kept { .. }
            | Self::Revoked { .. }
            | Self::HostAllowed { .. }
            | Self::TermsChanged { .. }
            | Self::Applying { .. }
            | Self::ApplyRequested { .. }
            | Self::UndoStarted { .. }
            | Self::WorkUndoStarted { .. }
            | Self::PlanAccepted { .. }
            | Self::PlanRestored { .. }
            | Self::BatchResumed { .. }
            | Self::ReplyAnswered { .. }
            | Self::ReplySkipped { .. }
            | Self::PlanLeft { .. } => FactTone::Person,
            Self::Said { .. }
            | Self::Asked { .. }
            | Self::PlanProposed { .. }
            | Self::Drafted { .. }
            | Self::TurnEnded { .. } => FactTone::Agent,
            Self::Used { .. } | Self::ActionEnded { .. } => FactTone::Step,
            Self::Failed { .. }
            | Self::CutOff { .. }
            | Self::Delayed { .. }
            | Self::Dropped { .. }
            | Self::HostRefused { .. }
            | Self::NotApplied(_)
            | Self::UndoRefused { .. }
            | Self::WorkUndoRefused { .. }
            | Self::BatchPaused { .. }
            | Self::Checked { .. } => FactTone::Care,
            Self::BatchEnded { .. }
            | Self::Reported { .. }
            | Self::Applied { .. }
            | Self::Undone { .. }
            | Self::WorkUndone { .. }
            | Self::Discarded { .. }
            | Self::Cancelled { .. } => FactTone::Ended,
            Self::TurnStarted { .. }
            | Self::PlanStarted { .. }
            | Self::PlanSaved { .. }
            | Self::Closed { .. }
            | Self::Declined { .. }
            | Self::Queued { .. }
            | Self::Parked { .. }
            | Self::PlanChecked { .. }
            | Self::PlanDiffers { .. }
            | Self::Unchecked { .. }
            | Self::Filed { .. }
            | Self::Sealed { .. }
            | Self::TurnFound(_)
            | Self::TurnGone { .. }
            | Self::Cleared { .. }
            | Self::Unknown(_)
            | Self::Granted { .. }
            | Self::Unsaid { .. }
            | Self::AnswerRuleKept { .. }
            | Self::LeadAsks { .. }
            | Self::LeadReleased { .. } => FactTone::Quiet,
            Self::ReviewStarted { .. }
            | Self::ActionAsked { .. }
            | Self::Read { .. }
            | Self::Outlined { .. }
            | Self::Baselined { .. }
            | Self::Connected { .. }
            | Self::Unreadable { .. }
            | Self::Noted { .. }
            | Self::Snapshotted { .. }
            | Self::AskedAgain { .. }
            | Self::Taken { .. }
            | Self::Cooled { .. }
            | Self::StayedHot { .. }
            | Self::Spent { .. }
            | Self::Merged(_)
            | Self::WorkLeft { .. }
            | Self::Routed { .. }
            | Self::LeadTold { .. }
            | Self::LeadInformed { .. }
            | Self::Offered { .. }
            | Self::Grounded { .. } => FactTone::Internal,
        }
    }

    pub(crate) fn cut_off(turn: TurnId, reason: impl Into<String>) -> Self {
        Event::CutOff { turn, reason: reason.into(), is_not_started: false, is_lost: false }
    }

    fn from_value(fact: Value) -> Result<Self, serde_json::Error> {
        let kind = match &fact {
            Value::String(kind) => Some(kind),
            Value::Object(object) if object.len() == 1 => object.keys().next(),
            _ => None,
        };
        match kind {
            Some(kind) if !Self::kinds().contains(&kind.as_str()) => Ok(Event::Unknown(fact)),
            Some(_) | None => serde_json::from_value(fact),
        }
    }

    /// Every kind of fact that this program can read, by its name in a log.
    fn kinds() -> &'static [&'static str] {
        let mut kinds: &'static [&'static str] = &[];
        let _ = Event::deserialize(KindsOf(&mut kinds));
        kinds
    }
}

/// Extracts the names of an enum's variants from its serde implementation, without reading any input.
struct KindsOf<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for KindsOf<'_> {
    type Error = de::value::Error;

    fn deserialize_any<V: de::Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("not an enum"))
    }

    fn deserialize_enum<V: de::Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = variants;
        self.deserialize_any(visitor)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

// `remote = "Self"` makes serde derive inherent functions of the same names; these impls call them.
impl Serialize for Event {
    /// An unknown fact is written as it was read.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Event::Unknown(fact) => fact.serialize(serializer),
            known => Event::serialize(known, serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Event::deserialize(deserializer)
    }
}

/// What a turn is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnKind {
    /// Ask, and make a plan; change nothing.
    Plan,
    /// Carry out the plan.
    Work,
    /// Reply to a message.
    Chat,
    /// Make a plan of actions, for a person to review; change nothing.
    #[serde(rename = "draft")]
    TurnPlan,
}

impl TurnKind {
    fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Work => "work",
            Self::Chat => "chat",
            Self::TurnPlan => "draft",
        }
    }
}

/// Who asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Asker {
    /// Rapport itself: it asks to confirm a plan, or an action asks a person.
    Rapport,
    /// A planner, before the plan.
    Planner,
    /// The agent asks.
    Agent {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The tool call that waits for the answer.
        call: CallId,
        /// Whether the process can end cleanly while it waits.
        parkable: bool,
    },
}

/// What else an agent's process has in flight while a call waits. If the process were parked now, it would continue
/// with that and never see the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// Another call without a result, or a message that the model has not finished.
    Call,
    /// A sub-agent, or its result that the agent has not read.
    Agent,
    /// A command in the background, or its end that the agent has not read.
    Command,
    /// A message that the agent has not read.
    Message,
    /// An MCP server's question, which cannot be asked again.
    Server,
    /// Nothing: the agent cannot give up its process while it waits.
    Nothing,
}

impl std::fmt::Display for Beside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Beside::Call => "another call is in flight",
            Beside::Agent => "a sub-agent is in flight",
            Beside::Command => "a command is in flight",
            Beside::Message => "a message is still to be read",
            Beside::Server => "an MCP server waits for the answer",
            Beside::Nothing => "this agent cannot be parked while it waits",
        })
    }
}

/// How a round ended without all its answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The agent withdrew it, or what asked it has ended.
    Withdrawn(String),
    /// Another round asks instead.
    Superseded(RoundId),
    /// It expired. The agent is told so.
    Expired,
}

impl std::fmt::Display for Ending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ending::Withdrawn(why) => write!(f, "it was withdrawn: {why}"),
            Ending::Superseded(round) => write!(f, "round {round} asks instead"),
            Ending::Expired => f.write_str("its time ran out"),
        }
    }
}

/// Tokens and money.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read.
    pub input: u64,
    /// Tokens written.
    pub output: u64,
    /// Tokens put into the cache.
    pub cache_write: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Millionths of a US dollar.
    pub cost_micros: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}

/// What a turn changed in the project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The changed files.
    pub files: Vec<FileChange>,
    /// The state after the turn, by the worker's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why changed files are missing in the list, or all of them, if listing them failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// What happened to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path, from the project's root.
    pub path: String,
    /// The way in which it changed.
    pub status: ChangeStatus,
    /// The number of added lines; `None` for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// The number of removed lines; `None` for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}

/// The way in which a file changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeStatus {
    /// It did not exist before.
    Added,
    /// Its content or its mode changed.
    Modified,
    /// It no longer exists.
    Deleted,
    /// A status that another version of Rapport wrote.
    #[serde(untagged)]
    Other(String),
}

impl ChangeStatus {
    /// Its word in the log and on screens.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Added => "added",
            Self::Modified => "modified",
            Self::Deleted => "deleted",
            Self::Other(word) => word,
        }
    }
}

impl fmt::Display for ChangeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The kind of an agent's message, as the agent names it; the log has the whole message.
fn kind_of(line: &str) -> String {
    let message: Value = serde_json::from_str(line).unwrap_or_default();
    let words: Vec<_> = ["type", "subtype"].iter().filter_map(|key| message[key].as_str()).collect();
    if words.is_empty() { line.to_owned() } else { words.join(" ") }
}

/// A number of files: `1 file`, `3 files`.
fn count(files: usize) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}
