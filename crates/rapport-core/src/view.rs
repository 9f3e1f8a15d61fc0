//! A session as screens, chats and JSON show it. This is a public contract: fields are only ever added.

use std::ops::Not;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::action_plan::ActionPlan;
use crate::aim::Aim;
use crate::answer::By;
use crate::event::{Asker, Beside, BranchPoint, Changes, Origin, Usage};
use crate::id::{QuestionId, RoundId, SessionId};
use crate::permission::Rule;
use crate::question::{Choice, Purpose, Question};
use crate::session::{Item, Life, Process, Round, Session, Shared, State, Turn, WorkUndo};
use crate::turn::{FileTurn, TurnPlan, TurnStage, UndoneFiles};

/// A session as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Its id.
    pub id: SessionId,
    /// Its status.
    pub status: Status,
    /// Its phase.
    pub phase: PhaseView,
    /// What somebody wants done.
    pub task: String,
    /// The project's directory.
    pub project: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Aim::is_work")]
    pub aim: Aim,
    /// The session and question it branched off at, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branched_from: Option<BranchPoint>,
    /// Who wanted it.
    pub by: By,
    /// Where it was asked for, if a channel has to find that place again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// How often the agent asked.
    #[serde(default)]
    pub rounds: Rounds,
    /// When it began.
    pub created_at: Timestamp,
    /// When something last happened.
    pub updated_at: Timestamp,
    /// How many entries of the log this shows.
    pub seq: u64,
    /// What waits for an answer, oldest first.
    pub questions: Vec<OpenQuestion>,
    /// What was clarified so far, oldest first.
    pub answers: Vec<Clarified>,
    /// What the agent wanted to ask and was told to do without, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unasked: Vec<String>,
    /// What is allowed in it without asking.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// The plan, once there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<PlanView>,
    /// The plan of actions that waits for a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<ReviewView>,
    /// The agent and its process.
    pub agent: AgentView,
    /// Tokens and money so far.
    pub usage: Usage,
    /// What the work changed, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// What undoing the work came to, once somebody had it undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<UndoneFiles>,
    /// Where it is worked on apart from the project, and what becomes of the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workplace: Option<WorkplaceView>,
    /// The agent's last words about the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl View {
    /// Whether it has nothing more to show of itself before somebody says something: no question waits, and no agent is at work. In
    /// a session of files a batch may run, which is shown in its own way.
    pub fn is_at_rest(&self) -> bool {
        let rests = match self.aim {
            Aim::Files => {
                matches!(self.phase, PhaseView::Resting | PhaseView::Reviewing | PhaseView::Working)
            }
            Aim::Work | Aim::Progress(_) | Aim::Chat => self.phase == PhaseView::Resting,
        };
        rests && self.questions.is_empty()
    }

    /// Whether nothing changes any more before somebody does something.
    pub fn is_settled(&self) -> bool {
        !matches!(self.status, Status::Started | Status::Running)
    }
}

/// A workplace apart from the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkplaceView {
    /// Which kind it is.
    pub worker: String,
    /// What becomes of the work there.
    pub state: WorkplaceState,
    /// Whether nothing is left of it.
    pub cleared: bool,
    /// The files that kept it from being applied; or, where it was applied all the same, those that have to be merged by hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The files that a failed attempt to apply it changed, and could not put back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub half_done: Vec<String>,
    /// What else did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The hosts that the agent tried to reach from there and could not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_hosts: Vec<String>,
    /// The hosts that somebody lets it reach in this session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
    /// Why something of it is left after it was applied or discarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

/// What becomes of work that was done apart from the project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkplaceState {
    /// The session goes on there.
    Open,
    /// Somebody has to decide.
    Waiting,
    /// The project is taking the work over.
    Applying,
    /// The project has it.
    Applied,
    /// It was thrown away.
    Discarded,
}

impl WorkplaceState {
    /// The word for it, as in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Waiting => "waiting",
            Self::Applying => "applying",
            Self::Applied => "applied",
            Self::Discarded => "discarded",
        }
    }
}

/// How often an agent asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// How many rounds of questions it asked.
    pub asked: u32,
    /// How many it may ask before its plan.
    pub max: u32,
}

/// The status of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The agent has not connected yet.
    Started,
    /// The agent works, or a batch runs.
    Running,
    /// Somebody has to answer.
    NeedsInput,
    /// Nothing goes on. Somebody can begin another turn.
    Idle,
    /// The work is done.
    Completed,
    /// It stopped on a failure, and can be restarted.
    Failed,
    /// Somebody ended it.
    Cancelled,
}

impl Status {
    /// The word that JSON has for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Started => "started",
            Status::Running => "running",
            Status::NeedsInput => "needs_input",
            Status::Idle => "idle",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::Cancelled => "cancelled",
        }
    }
}

/// The phase of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseView {
    /// The agent asks and plans.
    Clarifying,
    /// The plan waits for confirmation.
    Confirming,
    /// The agent works.
    Working,
    /// What it changed is being found out.
    Reporting,
    /// A plan of actions waits for review, or its batch for a decision.
    Reviewing,
    /// Nothing goes on. Somebody can begin another turn.
    Resting,
    /// It is over, one way or another.
    Ended,
}

/// A question that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// Its id.
    pub id: QuestionId,
    /// The round it belongs to.
    pub round: RoundId,
    /// Its place in the round, from 1.
    pub number: usize,
    /// How many the round has.
    pub of: usize,
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
    /// What the answer decides.
    pub purpose: Purpose,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// The answer it had before it was opened again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
}

impl OpenQuestion {
    /// The question itself, to match replies against.
    pub fn question(&self) -> Question {
        Question {
            id: self.id.clone(),
            text: self.text.clone(),
            header: self.header.clone(),
            options: self.options.clone(),
            multi: self.multi,
            free_text: self.free_text,
            purpose: self.purpose.clone(),
        }
    }
}

/// A question with its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clarified {
    /// The question's name.
    pub id: QuestionId,
    /// What was asked.
    pub text: String,
    /// The answer in words.
    pub answer: String,
    /// Who gave it.
    pub by: By,
    /// When it was given.
    pub at: Timestamp,
}

/// The plan that a person confirms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanView {
    /// What the agent proposed.
    pub text: String,
    /// Its file, from the project's root, once it is saved.
    pub path: Option<String>,
    /// Whether the file has what is shown here.
    pub saved: bool,
    /// Whether an answer came after it was proposed, so that it may not fit.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub behind: bool,
}

/// A plan of actions that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewView {
    /// The turn's directory, from the session's.
    pub turn: String,
    /// Which state of the plan: who approves it says so.
    pub revision: u32,
    /// What it is called.
    pub title: String,
    /// Its actions, in a few words each.
    pub actions: Vec<String>,
    /// Whether its file says something else, which nobody accepted yet.
    pub differs: bool,
    /// Its batch, where that pauses and somebody has to say how it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// Why it pauses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// The action that was interrupted and may have run, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsure: Option<usize>,
}

/// The agent and its process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    /// Which kind of agent it is, where the session says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The state of its process.
    pub state: AgentState,
    /// The tool it uses or the words it said last.
    pub doing: Option<String>,
    /// Why its process is kept although it waits, where something else than the hot time keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<Beside>,
    /// The model that it runs.
    pub model: Option<String>,
    /// Whether its program could not be started the last time.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_not_started: bool,
}

/// The state of an agent's process. It matters to developers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// It works on its turn.
    Working,
    /// It waits, with its process kept.
    Hot,
    /// It waits, without a process.
    Parked,
    /// Its process is gone. It is resumed once a process holds the session and everything asked is answered.
    CutOff,
    /// No turn is going on.
    Idle,
}

/// What an agent is doing at the moment. It is shown and never stored: facts follow once something is finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The tool it uses or the words it says.
    pub doing: Option<String>,
    /// What this process used so far.
    pub usage: Usage,
}

impl Session {
    /// The view of this session.
    pub fn view(&self, id: &SessionId) -> View {
        let (shared, flow) = (&self.shared, self.flow.rules());
        let created = &shared.created;
        View {
            id: id.clone(),
            status: self.status(),
            phase: self.phase(),
            task: created.task.clone(),
            project: created.project.clone(),
            aim: created.aim.clone(),
            branched_from: created.branched_from.clone(),
            by: created.by.clone(),
            origin: created.origin.clone(),
            rounds: Rounds { asked: shared.rounds_asked(), max: created.terms.max_rounds },
            created_at: shared.created_at,
            updated_at: shared.updated_at,
            seq: shared.seq,
            questions: shared.open_questions(),
            answers: shared.answers(),
            unasked: shared.unasked.clone(),
            rules: shared.rules.clone(),
            plan: flow.plan().map(|plan| PlanView {
                text: plan.text.clone(),
                path: plan.path.clone(),
                saved: plan.saved == plan.revision,
                behind: plan.is_behind,
            }),
            review: self.review().map(review),
            agent: shared.agent_view(),
            usage: shared.usage,
            changes: flow.changes().cloned(),
            undone: match self.work_undo() {
                WorkUndo::Done(files) => Some(files.clone()),
                WorkUndo::Not | WorkUndo::UnderWay(_) | WorkUndo::Refused(_) => None,
            },
            workplace: shared.workplace_view(),
            result: flow.result(shared),
            failure: self.failure().map(str::to_owned),
        }
    }

    /// Its status.
    pub fn status(&self) -> Status {
        match self.shared.life {
            Life::Completed => Status::Completed,
            Life::Cancelled => Status::Cancelled,
            Life::Failed { .. } => Status::Failed,
            Life::Going if self.shared.open_rounds().next().is_some() => Status::NeedsInput,
            Life::Going if self.shared.is_stopped() => Status::Idle,
            Life::Going => {
                let by_agent = if self.was_connected() { Status::Running } else { Status::Started };
                self.flow.rules().status(&self.shared).unwrap_or(by_agent)
            }
        }
    }
}

impl Shared {
    fn open_questions(&self) -> Vec<OpenQuestion> {
        // The confirmation comes after what is being changed.
        let (confirm, others): (Vec<_>, Vec<_>) =
            self.open_rounds().partition(|round| matches!(round.asker, Asker::Rapport));
        others.into_iter().chain(confirm).flat_map(open_in).collect()
    }

    fn answers(&self) -> Vec<Clarified> {
        let clarified = self.clarified().map(|(question, given)| Clarified {
            id: question.id.clone(),
            text: question.text.clone(),
            answer: question.words(&given.answer),
            by: given.by.clone(),
            at: given.at,
        });
        clarified.collect()
    }

    fn agent_view(&self) -> AgentView {
        let turn = self.turn().filter(|_| !self.is_over());
        let waits = turn.is_some_and(|turn| self.open_rounds().any(|round| round.is_of(turn.id)));
        let state = match turn.map(|turn| &turn.process) {
            Some(Process::Running | Process::Cooling(_)) if waits => AgentState::Hot,
            Some(Process::Running | Process::Cooling(_)) => AgentState::Working,
            Some(Process::Parked(_)) => AgentState::Parked,
            Some(Process::CutOff) => AgentState::CutOff,
            Some(Process::Over) | None => AgentState::Idle,
        };
        let kept_by = turn.filter(|_| state == AgentState::Hot).and_then(|turn| self.kept_by(turn));
        let doing = turn.and_then(|turn| turn.doing.clone());
        let is_not_started = turn.is_some_and(|turn| turn.is_not_started);
        let name = self.created.agent.as_ref().map(|agent| agent.name.clone());
        AgentView { name, state, doing, kept_by, model: self.model.clone(), is_not_started }
    }

    fn kept_by(&self, turn: &Turn) -> Option<Beside> {
        let mut waiting = self.open_rounds().filter(|round| round.is_of(turn.id));
        let server =
            waiting.any(|round| round.items.iter().any(|item| item.question.purpose.field().is_some()));
        let otherwise = || self.only_waiting(turn).is_none().then_some(Beside::Call);
        turn.kept_by.or(server.then_some(Beside::Server)).or_else(otherwise)
    }
}

fn open_in(round: &Round) -> impl Iterator<Item = OpenQuestion> + '_ {
    let open = |(place, item): (usize, &Item)| {
        let State::Open { .. } = item.state else { return None };
        let question = &item.question;
        let previous = item.last_words();
        Some(OpenQuestion {
            id: question.id.clone(),
            round: round.id,
            number: place + 1,
            of: round.items.len(),
            text: question.text.clone(),
            header: question.header.clone(),
            options: question.options.clone(),
            multi: question.multi,
            free_text: question.free_text,
            purpose: question.purpose.clone(),
            asked_at: round.asked_at,
            previous,
        })
    };
    round.items.iter().enumerate().filter_map(open)
}

fn review(turn: &FileTurn) -> ReviewView {
    let plan = turn.plan.as_ref().map_or_else(|| ActionPlan::unread(""), TurnPlan::shown);
    let batch = turn.batch().filter(|_| turn.stage == TurnStage::Paused);
    ReviewView {
        turn: turn.folder.clone(),
        revision: turn.plan.as_ref().map_or(0, |plan| plan.revision),
        title: plan.title,
        actions: plan.actions.iter().map(|action| action.kind.in_brief()).collect(),
        differs: turn.differs.is_some(),
        batch: batch.map(|batch| batch.name.clone()),
        paused: batch.and_then(|batch| batch.paused.clone()),
        unsure: batch.and_then(|batch| batch.unsure),
    }
}
