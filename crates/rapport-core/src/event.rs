//! The facts. A session is the list of its facts: they are stored, and everything else is derived from them.
//! Facts are past tense, are never edited, and say nothing that follows from the facts before.

use std::collections::BTreeMap;
use std::ops::Not;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

use crate::aim::{Aim, Asking};
use crate::answer::{Answer, By};
use crate::id::{CallId, ConversationId, QuestionId, RoundId, SessionId, TurnId};
use crate::input::{Merged, NotMerged};
use crate::permission::Rule;
use crate::question::Question;
use crate::report::Overall;
use crate::turn::{
    ActionEnd, Chosen, FoundTurn, Interrupted, LaterChanges, TurnOrigin, UndoProblem, UndoneFiles,
};

/// The format this program writes. What is newer is refused, not mangled.
pub const FORMAT: u32 = 1;

/// One step of a log: the facts that one input led to, stored together or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place in the log, from 1. Followers keep it as their cursor.
    pub seq: u64,
    /// When it was decided.
    pub at: Timestamp,
    /// What became true.
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

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", remote = "Self")]
#[expect(clippy::large_enum_variant, reason = "a log has one creation, and facts are not kept")]
pub enum Event {
    /// Somebody wants something done. Always the first fact, and only the first.
    Created(Created),
    /// A turn of the agent is to run.
    TurnStarted {
        /// Which one.
        turn: TurnId,
        /// What for.
        kind: TurnKind,
        /// What the agent is told.
        prompt: String,
        /// Whether it mends what the turn before it got wrong: it is the last try, until somebody restarts the session.
        #[serde(default, skip_serializing_if = "Not::not")]
        mends: bool,
    },
    /// A turn is to run that makes a plan of actions, in a directory of its own and a conversation of its own. What the
    /// agent is told is in that directory.
    DraftStarted {
        /// Which one.
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
    },
    /// Somebody wants something else planned than what is being planned.
    DraftLeft {
        /// The turn's directory. The turn has no plan again.
        folder: String,
        /// Who.
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
        /// The turn's directory.
        folder: String,
        /// A check sum for each of its files.
        files: BTreeMap<String, String>,
        /// Who accepted the files as they are, where they had been changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<By>,
    },
    /// A turn's directory was found that no other fact tells of: an older program made it, or a person. Nobody said what is
    /// in it.
    TurnFound(FoundTurn),
    /// A turn's directory is gone before the turn was complete.
    TurnGone {
        /// The directory.
        folder: String,
    },
    /// Somebody looks at the plan of a turn. It is checked against the project as it is now.
    ReviewStarted {
        /// The turn's directory.
        folder: String,
        /// Who.
        by: By,
    },
    /// Whether the plan of a turn can be carried out in the project as it is now.
    PlanChecked {
        /// The turn's directory.
        folder: String,
        /// Which state of the plan.
        revision: u32,
        /// Why it cannot; nothing where it can.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        problems: Vec<String>,
    },
    /// The plan's file says something else than the plan. It counts once somebody accepts it.
    PlanDiffers {
        /// The turn's directory.
        folder: String,
        /// What the file says.
        text: String,
    },
    /// Somebody accepted the plan as its file has it.
    PlanAccepted {
        /// The turn's directory.
        folder: String,
        /// Who.
        by: By,
    },
    /// Somebody wants the plan's file to say again what was planned.
    PlanRestored {
        /// The turn's directory.
        folder: String,
        /// Who.
        by: By,
    },
    /// Somebody approved a plan, wholly or in part.
    Approved {
        /// The turn's directory.
        folder: String,
        /// The batch that carries it out.
        batch: String,
        /// Which state of the plan.
        revision: u32,
        /// What of it.
        chosen: Chosen,
        /// Who.
        by: By,
    },
    /// Somebody wants nothing of a plan done.
    Skipped {
        /// The turn's directory.
        folder: String,
        /// What they said instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
        /// Who.
        by: By,
    },
    /// An action of a batch asks a person something. The question is asked in the same entry.
    ActionAsked {
        /// Which batch.
        batch: String,
        /// The action's place in the plan, from 0.
        action: usize,
        /// What it asks.
        question: QuestionId,
    },
    /// An action of a batch came to its end.
    ActionEnded {
        /// Which batch.
        batch: String,
        /// Which action, and how it ended.
        #[serde(flatten)]
        end: ActionEnd,
    },
    /// A batch does nothing for now. A person says how it goes on.
    BatchPaused {
        /// Which one.
        batch: String,
        /// Why, in words for a person.
        reason: String,
        /// The action that was interrupted and may have run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unsure: Option<usize>,
    },
    /// Somebody wants a batch to go on.
    BatchResumed {
        /// Which one.
        batch: String,
        /// What is done about a command that was interrupted.
        #[serde(default)]
        interrupted: Interrupted,
        /// Who.
        by: By,
    },
    /// Nothing more is to be done in a batch.
    BatchEnded {
        /// Which one.
        batch: String,
        /// What became of the plan in all.
        status: Overall,
        /// The report.
        report: String,
        /// Whether it did something to files.
        #[serde(default)]
        has_changes: bool,
    },
    /// Somebody wants a batch undone.
    UndoStarted {
        /// Which one.
        batch: String,
        /// What is done about files that were changed since.
        #[serde(default)]
        later: LaterChanges,
        /// Who.
        by: By,
    },
    /// A batch was not undone.
    UndoRefused {
        /// Which one.
        batch: String,
        /// Why.
        problem: UndoProblem,
    },
    /// A batch was undone.
    Undone {
        /// Which one.
        batch: String,
        /// What that came to.
        files: UndoneFiles,
    },
    /// Somebody said something to the agent. It is told when its turn comes.
    Heard {
        /// Their words.
        text: String,
        /// Who.
        by: By,
        /// What it is known by where it was said.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
    },
    /// A planner has named what the plan is about.
    Outlined {
        /// The folder of the plan's file.
        goal: String,
        /// The name of the plan's file.
        description: String,
    },
    /// A planner could not say whether more has to be asked. The plan is made of what is known.
    Unchecked {
        /// Why, in words for a person.
        reason: String,
    },
    /// What the project looked like before the turn changed it.
    Baselined {
        /// Before which turn.
        turn: TurnId,
        /// A name by which the worker finds that state again, if it can.
        baseline: Option<String>,
    },
    /// The agent's process is there and has said which conversation it is.
    Connected {
        /// In which turn.
        turn: TurnId,
        /// The conversation to resume.
        conversation: ConversationId,
        /// The model it runs.
        #[serde(skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The agent said something.
    Said {
        /// In which turn.
        turn: TurnId,
        /// Its words.
        text: String,
    },
    /// The agent used a tool.
    Used {
        /// In which turn.
        turn: TurnId,
        /// The tool.
        tool: String,
        /// On what: a path, a command.
        what: String,
    },
    /// The agent printed a line that is not its protocol. Kept, so that it can be looked at.
    Unreadable {
        /// In which turn.
        turn: TurnId,
        /// The beginning of the line.
        line: String,
    },
    /// The agent printed an event of a kind that is not known here. Kept, so that it can be looked at.
    Noted {
        /// In which turn.
        turn: TurnId,
        /// The beginning of it.
        line: String,
    },
    /// A round of questions is open.
    Asked {
        /// Which one.
        round: RoundId,
        /// Who wants to know, and where the answer has to arrive.
        asker: Asker,
        /// The questions.
        questions: Vec<Question>,
    },
    /// What the project looked like when this round was asked in the middle of work. Nothing waits for it.
    Snapshotted {
        /// Which round.
        round: RoundId,
        /// A name by which the worker finds that state again, if it can.
        state: Option<String>,
    },
    /// The agent asks the same again, after it was parked or cut off. Nobody else is asked twice.
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
        /// In which turn.
        turn: TurnId,
        /// Which call.
        call: CallId,
        /// What it was told.
        reason: String,
        /// The questions it wanted to ask, if it was that.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        asked: Vec<String>,
    },
    /// Somebody answered.
    Answered {
        /// Which question.
        question: QuestionId,
        /// What.
        answer: Answer,
        /// Who.
        by: By,
    },
    /// What was allowed for the whole project is kept in Rapport's home.
    Granted {
        /// The question it was the answer to.
        question: QuestionId,
    },
    /// What was allowed for this session is no longer.
    Revoked {
        /// Which rule.
        rule: Rule,
        /// Who took it back.
        by: By,
    },
    /// Somebody wants to answer this question anew (back, or edit).
    Reopened {
        /// Which question.
        question: QuestionId,
        /// Who.
        by: By,
    },
    /// Somebody left a reopened question with the answer it had.
    Kept {
        /// Which question.
        question: QuestionId,
        /// Who.
        by: By,
    },
    /// The agent has what this call was waiting for: it is in its conversation.
    Taken {
        /// Which call.
        call: CallId,
    },
    /// A round ended without all its answers, for a reason that everybody can read.
    Closed {
        /// Which round.
        round: RoundId,
        /// How.
        how: Ending,
    },
    /// Something was in the agent's way, and it went on: the model's API did not answer as it should and was tried again, or the
    /// agent's own program refused a call without asking anybody.
    Delayed {
        /// In which turn.
        turn: TurnId,
        /// What happened, and when it is tried again, if it is.
        why: String,
    },
    /// The hot time is over: the process is to go, the question stays.
    Cooled {
        /// In which turn.
        turn: TurnId,
        /// The call that waits.
        call: CallId,
    },
    /// The process could not go, because the call does not wait alone in it. It goes as soon as the call does.
    StayedHot {
        /// In which turn.
        turn: TurnId,
        /// The call that waits.
        call: CallId,
        /// What else is in flight.
        beside: Beside,
    },
    /// The agent's process ended cleanly, with this call to be asked again.
    Parked {
        /// In which turn.
        turn: TurnId,
        /// The call that waits.
        call: CallId,
    },
    /// The agent's process is gone in the middle of something.
    CutOff {
        /// In which turn.
        turn: TurnId,
        /// Why.
        reason: String,
    },
    /// What a process used.
    Spent {
        /// In which turn.
        turn: TurnId,
        /// How much.
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
        /// Which state of the plan.
        revision: u32,
        /// Where, from the project's root.
        path: String,
    },
    /// A turn came to its end.
    TurnEnded {
        /// Which one.
        turn: TurnId,
        /// The agent's last words.
        result: String,
    },
    /// It cannot go on by itself. It can be restarted.
    Failed {
        /// Why, in words for a person.
        reason: String,
    },
    /// Somebody wants it tried again.
    Restarted {
        /// Who.
        by: By,
    },
    /// The work is done, and this is what it changed. Always the last fact of a completed session.
    Reported {
        /// What changed, if that can be told.
        changes: Option<Changes>,
    },
    /// Somebody wants the work taken over into the project, which it was done apart from.
    Applying {
        /// Who.
        by: By,
        /// Whether also where it conflicts with what the project has by now, with marks in the files.
        #[serde(default)]
        with_conflicts: bool,
    },
    /// The work and the project are merged. Nothing is changed yet.
    Merged(Merged),
    /// It was not taken over. Nothing is changed but what it names as half done.
    NotApplied(NotMerged),
    /// It is taken over: the files of the project are changed.
    Applied {
        /// Who wanted that.
        by: By,
        /// What changed in the project.
        files: Vec<FileChange>,
    },
    /// Somebody wants nothing of it; or no longer what is left of its workplace.
    Discarded {
        /// Who.
        by: By,
    },
    /// The workplace is gone, with everything that belonged to it.
    Cleared {
        /// Why something of it is left, if it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        left: Option<String>,
    },
    /// Somebody wants what the work did to the project's files undone.
    WorkUndoStarted {
        /// As the work left the files, and as they were before.
        states: Merged,
        /// Who.
        by: By,
    },
    /// The work was not undone. Nothing is changed, unless the problem says that a part is.
    WorkUndoRefused {
        /// Why.
        problem: UndoProblem,
    },
    /// The work is undone.
    WorkUndone {
        /// What that came to.
        files: UndoneFiles,
    },
    /// Somebody ended the session.
    Cancelled {
        /// Who.
        by: By,
        /// Why, if they said so.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A fact of a kind this program does not know. It is kept as it is and means nothing here.
    #[serde(skip_deserializing)]
    Unknown(Value),
}

impl Event {
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

/// Takes the names of an enum's variants from what serde derived for it, and reads nothing.
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

// `remote = "Self"` puts what is derived beside the traits, as functions of the same names.
impl Serialize for Event {
    /// What is not known here is known elsewhere: it is written as it was read.
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
    /// The kind of place it is worked on in.
    #[serde(default = "local", skip_serializing_if = "is_local")]
    pub worker: String,
    /// The agent that does the work. Sessions of older programs do not say; the settings of the day decide for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentCommand>,
    /// The session and question it branched off at, if it did. What comes before that question is a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branched_from: Option<BranchPoint>,
    /// Where it was asked for, if a channel has to find that place again.
    #[serde(default, alias = "room", skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The turn of a conversation that turned into it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown_from: Option<Seed>,
    /// What it is known by where it was asked for: the same is not begun twice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

impl Created {
    /// A task that began at a terminal, to be worked on as usual.
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
    /// Whether it is worked on apart from the project, so that somebody has to take the work over.
    pub fn works_apart(&self) -> bool {
        !is_local(&self.worker)
    }
}

/// The project's directory itself.
pub(crate) fn local() -> String {
    "local".to_owned()
}

fn is_local(worker: &str) -> bool {
    worker == "local"
}

/// An agent by name, and the command it is run with. Whoever resumes the session later needs to name neither.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct AgentCommand {
    /// Which kind of agent: the driver that knows how to talk to it.
    pub name: String,
    /// The program, and what goes before its other arguments.
    pub command: Vec<String>,
}

/// Where a session was asked for: a channel, and what that channel finds the place by, such as a chat.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Origin {
    /// The channel.
    pub channel: String,
    /// The place in it. It means something to that channel only.
    pub key: String,
}

impl<'de> Deserialize<'de> for Origin {
    /// Logs of before say the number of a chat in Telegram, and of a topic in it.
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

/// The turn of a conversation that turned into a session of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seed {
    /// The conversation's session.
    pub session: SessionId,
    /// Which turn of it.
    pub turn: TurnId,
}

/// Where a branch comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchPoint {
    /// The session.
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
    /// How long a question stays open; forever where nothing is said.
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
    /// Do it.
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
    /// Rapport itself (the confirmation of the plan, a message of a plan's to a person).
    Rapport,
    /// A planner, before the plan.
    Planner,
    /// The agent.
    Agent {
        /// In which turn.
        turn: TurnId,
        /// The tool call that waits for the answer.
        call: CallId,
        /// Whether the process can end cleanly while it waits.
        parkable: bool,
    },
}

/// What is in flight in an agent's process beside a call that waits. A process that is parked then goes on with it, and
/// without the answer.
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
    /// The server that asks: its question cannot be asked again.
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
    /// The agent no longer wants to know, or nobody works on it any more.
    Withdrawn(String),
    /// Another round asks instead.
    Superseded(RoundId),
    /// Its time ran out. The agent is told so.
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
    /// File by file.
    pub files: Vec<FileChange>,
    /// The state after, by a name the worker finds again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why the files cannot be told, where finding out failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// What happened to one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChange {
    /// From the project's root.
    pub path: String,
    /// `added`, `modified`, `deleted` or `renamed`.
    pub status: String,
    /// Lines that are new; none for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<u64>,
    /// Lines that are gone; none for a binary file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u64>,
}
