//! The facts. A session is the list of its facts: they are stored, and everything else is derived from them.
//! Facts are past tense, are never edited, and say nothing that follows from the facts before.

use std::collections::BTreeMap;
use std::ops::Not;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::aim::{Aim, Asking};
use crate::answer::{Answer, By};
use crate::check::Remark;
use crate::id::{CallId, ConversationId, QuestionId, RoundId, SessionId, TurnId};
use crate::input::{Merged, NotMerged};
use crate::permission::Rule;
use crate::question::Question;
use crate::report::Overall;
use crate::turn::{
    ActionEnd, Chosen, FoundTurn, Interrupted, LaterChanges, TurnOrigin, UndoProblem, UndoneFiles,
};

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
    /// Somebody began the session. Always the first fact, and only the first.
    Created(Created),
    /// A turn of the agent is to run.
    TurnStarted {
        /// The turn of the agent.
        turn: TurnId,
        /// What the turn is for.
        kind: TurnKind,
        /// What the agent is told.
        prompt: String,
        /// Whether this turn repairs a mistake of the previous one. It is the last attempt until somebody restarts the
        /// session.
        #[serde(default, skip_serializing_if = "Not::not")]
        mends: bool,
    },
    /// A turn is to run that makes a plan of actions, in a directory of its own and a conversation of its own. What the
    /// agent is told is in that directory.
    DraftStarted {
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
    /// Somebody abandoned the plan that was being made.
    DraftLeft {
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
    /// The engine found a turn's directory that no fact mentions: an older version or a person made it. Nobody has
    /// accepted its content.
    TurnFound(FoundTurn),
    /// A turn's directory disappeared before the turn was complete.
    TurnGone {
        /// The turn's directory, from the session's.
        folder: String,
    },
    /// Somebody began to review the plan of a turn. It is checked against the project as it is now.
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
        remarks: Vec<Remark>,
    },
    /// Somebody changed the plan's file. The change takes effect once a person accepts it.
    PlanDiffers {
        /// The turn's directory, from the session's.
        folder: String,
        /// The content of the file.
        text: String,
    },
    /// Somebody accepted the plan as it is in its file.
    PlanAccepted {
        /// The turn's directory, from the session's.
        folder: String,
        /// Who did this.
        by: By,
    },
    /// Somebody discarded the changes made in the plan's file.
    PlanRestored {
        /// The turn's directory, from the session's.
        folder: String,
        /// Who did this.
        by: By,
    },
    /// Somebody approved a plan, wholly or in part.
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
    /// Somebody skipped a plan: nothing of it is done.
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
    /// Somebody resumed a batch.
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
    /// Somebody wants a batch undone.
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
    /// Somebody said something to the agent.
    Heard {
        /// The turn that was running when it was said, if the agent is told during that turn; otherwise the agent is
        /// told with its next turn.
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
    /// The agent has read a message that was sent during a turn.
    Read {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// Which message of that turn, from 1.
        message: u32,
    },
    /// Somebody stopped a turn. The conversation is kept; nothing continues until somebody sends a message or restarts
    /// the turn.
    Stopped {
        /// The turn of the agent.
        turn: TurnId,
        /// Who did this.
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
    /// Somebody answered a question.
    Answered {
        /// The id of the question.
        question: QuestionId,
        /// The answer.
        answer: Answer,
        /// Who did this.
        by: By,
    },
    /// A permission for the whole project was saved in Rapport's home.
    Granted {
        /// The question whose answer granted it.
        question: QuestionId,
    },
    /// Somebody revoked a rule of this session.
    Revoked {
        /// The rule.
        rule: Rule,
        /// Who took it back.
        by: By,
    },
    /// The agent tried to reach a host that its workplace does not allow.
    HostRefused {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// The host, with its port.
        host: String,
    },
    /// Somebody lets the agent reach a host in this session.
    HostAllowed {
        /// The host, with its port unless that is 80 or 443.
        host: String,
        /// Who allowed it.
        by: By,
    },
    /// Somebody wants to answer this question anew (back, or edit).
    Reopened {
        /// The id of the question.
        question: QuestionId,
        /// Who did this.
        by: By,
    },
    /// Somebody left a reopened question with the answer it had.
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
    /// A round ended without all its answers, for a reason that everybody can read.
    Closed {
        /// The round.
        round: RoundId,
        /// How it ended.
        how: Ending,
    },
    /// Something delayed the agent, and it continues: the model's API failed and the call is retried, or the agent's
    /// own program refused a call without asking anybody.
    Delayed {
        /// The turn of the agent in which it happened.
        turn: TurnId,
        /// What happened, and when it is retried, if it is.
        why: String,
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
    /// Somebody restarted the session.
    Restarted {
        /// Who did this.
        by: By,
    },
    /// The work is done, and these are its changes. The session is complete until somebody asks for more.
    Reported {
        /// The changes, if they are known.
        changes: Option<Changes>,
    },
    /// Somebody wants work that was done in a workplace of its own applied to the project.
    Applying {
        /// Who did this.
        by: By,
        /// Whether to apply it with conflict markers where it conflicts with the project.
        #[serde(default)]
        with_conflicts: bool,
    },
    /// The work and the project are merged in the store of the worker. No file has changed yet.
    Merged(Merged),
    /// The work was not applied. No file has changed except those listed as half done.
    NotApplied(NotMerged),
    /// The work was applied: files of the project were changed.
    Applied {
        /// Whoever wanted it applied.
        by: By,
        /// What changed in the project.
        files: Vec<FileChange>,
    },
    /// Somebody discarded the work, or wants what is left of its workplace cleared.
    Discarded {
        /// Who did this.
        by: By,
    },
    /// The workplace was cleared.
    Cleared {
        /// Why a part of it is left, if one is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<String>,
    },
    /// Somebody wants the work's changes to the project's files undone.
    WorkUndoStarted {
        /// The state the work left, and the state before it.
        states: Merged,
        /// The same for earlier stretches of work, the latest first: somebody else changed files between them.
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
    /// Somebody ended the session.
    Cancelled {
        /// Who did this.
        by: By,
        /// Why, if they said so.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether the agent may have changed files since their state was last recorded. If so, `WorkLeft` follows.
        #[serde(default, skip_serializing_if = "Not::not")]
        is_unnoted: bool,
    },
    /// The state of the project's files once the agent of a cancelled session was gone. An undo starts from it.
    WorkLeft {
        /// A name by which the worker finds that state again, if it can.
        state: Option<String>,
    },
    /// A fact of a kind that this version does not know. It is kept as it was read, and changes nothing.
    #[serde(skip_deserializing)]
    Unknown(Value),
}

impl Event {
    pub(crate) fn cut_off(turn: TurnId, reason: impl Into<String>) -> Self {
        Event::CutOff { turn, reason: reason.into(), is_not_started: false }
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

/// What a session starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// What somebody wants done, in their words.
    pub task: String,
    /// The project's directory.
    pub project: String,
    /// The conversation the agent is to use.
    pub conversation: ConversationId,
    /// Who wants it.
    pub by: By,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Aim::is_work")]
    pub aim: Aim,
    /// What was agreed on before it began.
    #[serde(default)]
    pub terms: Terms,
    /// The kind of place that the agent works in.
    #[serde(default = "local", skip_serializing_if = "is_local")]
    pub worker: String,
    /// The agent that does the work. Sessions of older programs lack it and use the current settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentCommand>,
    /// The session and question it branched off at, if it did. What comes before that question is a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branched_from: Option<BranchPoint>,
    /// Where the session was begun, for a channel that has to find that place again.
    #[serde(default, alias = "room", skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The turn of a conversation that this session grew from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown_from: Option<Seed>,
    /// The id of the request in its channel: repeating a request does not begin a second session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

impl Created {
    /// A new work session, begun at a terminal with default terms.
    pub fn new(task: String, project: String, conversation: ConversationId, by: By) -> Self {
        Self {
            task,
            project,
            conversation,
            by,
            aim: Aim::Work,
            terms: Terms::default(),
            worker: local(),
            agent: None,
            branched_from: None,
            origin: None,
            grown_from: None,
            request: None,
        }
    }
}

impl Created {
    /// Whether the agent works outside the project's directory, so that its work has to be applied or discarded.
    pub fn works_apart(&self) -> bool {
        !is_local(&self.worker)
    }
}

/// The name of the worker that runs in the project's directory itself.
pub(crate) fn local() -> String {
    "local".to_owned()
}

fn is_local(worker: &str) -> bool {
    worker == "local"
}

/// An agent's name and the command that starts it. Resuming the session needs neither again.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AgentCommand {
    /// The kind of agent, which selects its driver.
    pub name: String,
    /// The program and its leading arguments.
    pub command: Vec<String>,
}

/// Where a session was begun: a channel, and the key by which that channel finds the place, such as a chat.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Origin {
    /// The name of the channel.
    pub channel: String,
    /// The place in that channel. Only the channel can interpret it.
    pub key: String,
}

impl<'de> Deserialize<'de> for Origin {
    /// Also reads older logs, which have the number of a Telegram chat and of a topic in it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Origin { channel: String, key: String },
            Chat { chat: i64, topic: Option<i64> },
        }
        Ok(match Stored::deserialize(deserializer)? {
            Stored::Origin { channel, key } => Self { channel, key },
            Stored::Chat { chat, topic } => {
                let topic = topic.map(|topic| format!("/{topic}")).unwrap_or_default();
                Self { channel: "telegram".into(), key: format!("{chat}{topic}") }
            }
        })
    }
}

/// The turn of a conversation that a session grew from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed {
    /// The conversation's session.
    pub session: SessionId,
    /// The turn, within that session.
    pub turn: TurnId,
}

/// Where a branch comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchPoint {
    /// The session that was branched from.
    pub session: SessionId,
    /// The question that is open again.
    pub question: QuestionId,
}

impl std::fmt::Display for BranchPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.session, self.question)
    }
}

/// What holds for a whole session, decided when it begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Terms {
    /// How many rounds of questions the agent may ask before it has to make a plan.
    pub max_rounds: u32,
    /// How long a waiting agent's process is kept.
    pub hot: SignedDuration,
    /// How long a question stays open; `None` means forever.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expire: Option<SignedDuration>,
    /// Who makes the rounds of questions before the plan.
    #[serde(default, skip_serializing_if = "Clarifier::is_agent")]
    pub clarifier: Clarifier,
    /// The git branch the project was on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            max_rounds: 5,
            hot: SignedDuration::from_mins(5),
            expire: None,
            clarifier: Clarifier::Agent,
            branch: None,
        }
    }
}

/// Who makes the rounds of questions before the plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clarifier {
    /// The agent, which then makes the plan.
    #[default]
    Agent,
    /// A planner. No agent runs before the plan is confirmed; the plan is the questions with their answers.
    Planner,
}

impl Clarifier {
    fn is_agent(&self) -> bool {
        matches!(self, Clarifier::Agent)
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
    /// Reply to what somebody said.
    Chat,
    /// Make a plan of actions, for a person to review; change nothing.
    Draft,
}

/// Who wants to know.
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
}

impl std::fmt::Display for Beside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Beside::Call => "another call is in flight",
            Beside::Agent => "a sub-agent is in flight",
            Beside::Command => "a command is in flight",
            Beside::Message => "a message is still to be read",
            Beside::Server => "an MCP server waits for the answer",
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
    /// Why the changed files are unknown, if listing them failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// What happened to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path, from the project's root.
    pub path: String,
    /// `added`, `modified`, `deleted` or `renamed`.
    pub status: String,
    /// The number of added lines; `None` for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// The number of removed lines; `None` for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}
