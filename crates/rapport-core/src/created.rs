//! What a session starts from: its task, where and by whom it was begun, and its terms.

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serialize};

use crate::aim::Aim;
use crate::answer::By;
use crate::id::{ConversationId, QuestionId, SessionId, TurnId};
use crate::message_queue::{QueueChange, QueueTerms};
use crate::routing::{Policy, RoutingTerms};

/// What a session starts from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Created {
    /// The task, in the words of the person who wants it done.
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
    /// The terms that were agreed on before it began.
    #[serde(default)]
    pub terms: Terms,
    /// The kind of worker: where the agent works.
    #[serde(default = "local", skip_serializing_if = "is_local")]
    pub worker: String,
    /// Whether the agent works apart from the project's directory. Logs of older programs lack it: there, every
    /// worker except `local` does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<bool>,
    /// The agent that does the work. Sessions of older programs lack it and use the current settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentCommand>,
    /// The session and the question or turn it branched off at, if it is a branch. Everything before such a question is
    /// a copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branched_from: Option<BranchPoint>,
    /// Where the session was begun, for the channel that has to find that place again.
    #[serde(default, alias = "room", skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The turn of a conversation that this session grew from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grown_from: Option<Seed>,
    /// Limits for its workplace, stricter than those of the settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<WorkplaceLimits>,
    /// What the lead said about it when it began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Assignment>,
    /// Its lead, if it has one: the conversation that is asked first when its agent asks. Sessions and their leads
    /// form a tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<SessionId>,
    /// Whether it is a lead: its agent has Rapport's own tools, and is asked first in the sessions that it leads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lead: bool,
    /// Whether another user of a channel began it, and not the person whose machine this is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_of_other_user: bool,
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
            apart: None,
            agent: None,
            branched_from: None,
            origin: None,
            grown_from: None,
            limits: None,
            assignment: None,
            lead: None,
            is_lead: false,
            is_of_other_user: false,
            request: None,
        }
    }
}

impl Created {
    /// The task as the person gave it, without what was added to it. The session is named after it.
    pub fn original_task(&self) -> &str {
        let original = self.assignment.as_ref().and_then(|said| said.original_task.as_deref());
        original.unwrap_or(&self.task)
    }

    /// Whether its questions are routed: a lead is asked before the person, or others are asked after.
    pub(crate) fn is_routed(&self) -> bool {
        self.lead.is_some() || self.terms.routing.person_time.is_some()
    }

    /// Whether the agent works apart from the project's directory, so that its work has to be applied or discarded.
    pub fn works_apart(&self) -> bool {
        self.apart.unwrap_or_else(|| !is_local(&self.worker))
    }
}

/// The name of the worker that runs in the project's directory itself.
fn local() -> String {
    "local".to_owned()
}

fn is_local(worker: &str) -> bool {
    worker == "local"
}

/// An agent's name and the command that starts it, stored so that resuming the session needs neither.
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

/// Limits for a workplace, stricter than those of the settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkplaceLimits {
    /// Bytes of memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
    /// The number of processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<u32>,
    /// How long it keeps running while it is not used, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_ms: Option<u64>,
}

/// What a lead said about a session that it began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// The session whose work it is a part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// What the task is about, in a few words for lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether the lead wants a short result.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_short: bool,
    /// The template that the task was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// The task before anything was added to it, if something was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_task: Option<String>,
    /// What was known when it began, in short lines, for people and leads who answer its questions later.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<String>,
    /// The requirements of the work, including answers of a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
}

/// Where a branch comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchPoint {
    /// The session that was branched from.
    pub session: SessionId,
    /// Where it branched there.
    #[serde(flatten)]
    pub at: BranchedAt,
}

/// Where in a session a branch begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchedAt {
    /// At this question, which is open again.
    Question(QuestionId),
    /// Before the turn of this directory, which is planned again.
    Turn(String),
}

impl BranchPoint {
    /// A branch at a question.
    pub fn at_question(session: SessionId, question: QuestionId) -> Self {
        Self { session, at: BranchedAt::Question(question) }
    }

    /// The question that is open again, if it branched at one.
    pub fn question(&self) -> Option<&QuestionId> {
        match &self.at {
            BranchedAt::Question(question) => Some(question),
            BranchedAt::Turn(_) => None,
        }
    }
}

impl std::fmt::Display for BranchPoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.session, self.at)
    }
}

impl std::fmt::Display for BranchedAt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            BranchedAt::Question(question) => question.fmt(f),
            BranchedAt::Turn(turn) => write!(f, "turn {turn}"),
        }
    }
}

/// The terms of a session, decided when it begins. A person may change some of them later ([`TermsChange`]).
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
    /// The cost at which a person is asked, in millionths of a US dollar; `None` for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget_micros: Option<u64>,
    /// The command that checks finished work before it is reviewed, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// The git branch the project was on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Who may apply the work of a separate workplace to the project.
    #[serde(skip_serializing_if = "Decider::is_person")]
    pub apply: Decider,
    /// Whether a short reply with a question mark is a question (WORK-6).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub questions_in_text: bool,
    /// What a lead may do with the agent's own questions. Older logs say `person` or `lead`, or nothing for the latter.
    #[serde(skip_serializing_if = "Policy::is_trust")]
    pub questions: Policy,
    /// The times and limits of asking a lead.
    #[serde(skip_serializing_if = "RoutingTerms::is_default")]
    pub routing: RoutingTerms,
    /// How messages reach the agent of a conversation while it works.
    #[serde(skip_serializing_if = "QueueTerms::is_default")]
    pub queue: QueueTerms,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            max_rounds: 5,
            hot: SignedDuration::from_mins(5),
            expire: None,
            clarifier: Clarifier::Agent,
            budget_micros: None,
            check: None,
            branch: None,
            apply: Decider::Person,
            questions_in_text: false,
            questions: Policy::Trust,
            routing: RoutingTerms::default(),
            queue: QueueTerms::default(),
        }
    }
}

impl Terms {
    /// These terms with a change.
    pub(crate) fn changed(&self, change: &TermsChange) -> Self {
        Self {
            hot: change.hot.unwrap_or(self.hot),
            budget_micros: change.budget_micros.or(self.budget_micros),
            max_rounds: change.max_rounds.unwrap_or(self.max_rounds),
            questions: change.questions.unwrap_or(self.questions),
            queue: change.queue.map_or(self.queue, |change| self.queue.changed(&change)),
            ..self.clone()
        }
    }
}

/// A change of a session's terms. `None` means no change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsChange {
    /// How long a waiting agent's process is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hot: Option<SignedDuration>,
    /// The cost at which a person is asked, in millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_micros: Option<u64>,
    /// How many rounds of questions the agent may ask before it has to make a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
    /// What a lead may do with the agent's own questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub questions: Option<Policy>,
    /// How messages reach the agent of a conversation while it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueChange>,
    /// The agent that plans the turns of a session of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentCommand>,
}

impl std::fmt::Display for TermsChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let hot = self.hot.map(|hot| format!("a waiting agent is kept for {hot:#}"));
        let budget = self.budget_micros.map(|micros| format!("the budget is ${:.2}", micros as f64 / 1e6));
        let rounds = self.max_rounds.map(|most| format!("at most {most} rounds of questions"));
        let policy = self.questions.map(|policy| format!("the policy for questions is {}", policy.word()));
        let queue = self.queue.map(|queue| format!("{queue}"));
        let agent = self.agent.as_ref().map(|agent| format!("the agent is {}", agent.command.join(" ")));
        let parts: Vec<_> = [hot, budget, rounds, policy, queue, agent].into_iter().flatten().collect();
        f.write_str(&parts.join(", "))
    }
}

/// Who may decide a matter that a person can leave to a lead. It is fixed when the session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// Only a person.
    Person,
    /// A lead as well.
    Lead,
}

impl Decider {
    fn is_person(&self) -> bool {
        matches!(self, Decider::Person)
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
