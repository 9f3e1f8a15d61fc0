//! A session as screens, chats and JSON show it. This is a public contract: fields are only ever added.

use std::ops::Not;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::action_plan::ActionPlan;
use crate::activity::Activity;
use crate::aim::Aim;
use crate::answer::By;
use crate::created::{BranchPoint, Origin};
use crate::earlier_answer::EarlierAnswer;
use crate::event::{Asker, Beside, Changes, Usage};
use crate::id::{QuestionId, RoundId, SessionId};
use crate::permission::Rule;
use crate::question::{Choice, Purpose, Question};
use crate::routing::{Class, Grounding, Hop, Recipient, RoutingTerms};
use crate::session::{Given, Life, Process, Round, RoundItem, Route, Session, Shared, State, WorkUndo};
use crate::turn::{FileTurn, TurnPlan, TurnStage, UndoneFiles};
use crate::viewpoint::SeenFrom;
use crate::work_check::WorkCheck;

/// A session as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Its id.
    pub id: SessionId,
    /// Its status.
    pub status: Status,
    /// Its phase.
    pub phase: PhaseView,
    /// The task, in the person's words.
    pub task: String,
    /// The project's directory.
    pub project: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Aim::is_work")]
    pub aim: Aim,
    /// The session and the question or turn from which it branched, if it is a branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branched_from: Option<BranchPoint>,
    /// Who began it.
    pub by: By,
    /// Its lead, if it has one: the conversation that is asked first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<SessionId>,
    /// Whether it is a lead: a conversation that is asked first when other agents ask.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_lead: bool,
    /// Where it was begun, for the channel that has to find that place again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// The number of rounds, and their maximum.
    #[serde(default)]
    pub rounds: Rounds,
    /// When it began.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// The number of log entries that this view reflects.
    pub seq: u64,
    /// The open questions, oldest first.
    pub questions: Vec<OpenQuestion>,
    /// The answers so far, oldest first.
    pub answers: Vec<Clarified>,
    /// Questions that the agent was told to do without, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unasked: Vec<String>,
    /// The rules that allow calls without asking.
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
    /// The command that checks the finished work at the moment, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checking: Option<String>,
    /// The result of checking the work, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<WorkCheck>,
    /// What the work changed, once that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// The result of undoing the work, if it was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<UndoneFiles>,
    /// Its workplace, if it works outside the project's directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workplace: Option<WorkplaceView>,
    /// The agent's last words about the work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
    /// Answers that are stored, but could not be delivered, because the agent could not be started. Then `failure`
    /// says why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undelivered: Vec<Clarified>,
    /// Why it failed, or why answers could not be delivered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

impl View {
    /// Whether it stopped on a failure, and continues only when it is restarted.
    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether it waits for a person's message: no question is open, and no agent works. In a session of turns a
    /// batch may run, which has its own display.
    pub fn is_at_rest(&self) -> bool {
        let rests = match self.aim {
            Aim::Files => {
                matches!(self.phase, PhaseView::Resting | PhaseView::Reviewing | PhaseView::Working)
            }
            Aim::Work | Aim::Progress(_) | Aim::Chat => self.phase == PhaseView::Resting,
        };
        rests && self.questions.is_empty()
    }

    /// Whether nothing changes until a person or a lead acts.
    pub fn is_settled(&self) -> bool {
        !matches!(self.status, Status::Started | Status::Running)
    }
}

/// A workplace outside the project's directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkplaceView {
    /// The kind of worker.
    pub worker: String,
    /// What happens to the work there.
    pub state: WorkplaceState,
    /// Whether it is completely removed.
    pub cleared: bool,
    /// The files whose conflicts prevented applying the work; or, if it was applied anyway, those that have to be
    /// merged by hand.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<String>,
    /// The files with the version of the work of those whose lines could not be merged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<String>,
    /// The files that a failed attempt to apply it changed and could not restore.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub half_done: Vec<String>,
    /// Any other reason why it was not applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The hosts that the agent tried to reach from there and could not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_hosts: Vec<String>,
    /// The hosts that it may reach in this session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_hosts: Vec<String>,
    /// Who asked a person to apply the work, if that is still undecided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_by: Option<By>,
    /// Why part of it is left after it was applied or discarded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

/// What happens to work that was done outside the project's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkplaceState {
    /// The session continues there.
    Open,
    /// It has to be applied or discarded.
    Waiting,
    /// It is being applied to the project.
    Applying,
    /// It was applied to the project.
    Applied,
    /// It was discarded.
    Discarded,
}

impl WorkplaceState {
    /// Its name in JSON.
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

/// The number of rounds that an agent asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rounds {
    /// How many rounds of questions it asked.
    pub asked: u32,
    /// The maximum number before its plan.
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
    /// A question has to be answered, or an agent that could not take an answer restarted.
    NeedsInput,
    /// Nothing is in progress. Another turn can be begun.
    Idle,
    /// The work is done.
    Completed,
    /// It stopped on a failure, and can be restarted.
    Failed,
    /// It was ended.
    Cancelled,
}

impl Status {
    /// The word for it in JSON.
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
    /// Its changes are being listed.
    Reporting,
    /// A plan of actions waits for review, or its batch for a decision.
    Reviewing,
    /// Nothing is in progress. Another turn can be begun.
    Resting,
    /// It is over.
    Ended,
}

/// An open question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// Its id.
    pub id: QuestionId,
    /// The round it belongs to.
    pub round: RoundId,
    /// Its number in the round, from 1.
    pub number: usize,
    /// The number of questions in the round.
    pub of: usize,
    /// The text of the question.
    pub text: String,
    /// A word or two that identify it.
    pub header: Option<String>,
    /// The options to choose from.
    pub options: Vec<Choice>,
    /// Whether several may be chosen.
    pub multi: bool,
    /// Whether free text is accepted.
    pub free_text: bool,
    /// What the answer is for.
    pub purpose: Purpose,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// The answer it had before it was reopened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub previous: Option<String>,
    /// Its route, if the session has a lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<WayView>,
    /// The lead's draft of an answer, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<DraftView>,
    /// The answer that a person gave to the same question before, if there is one. It is only offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<OfferView>,
}

/// An answer that a person gave to the same question before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OfferView {
    /// The answer in words.
    pub answer: String,
    /// Who gave it.
    pub by: By,
    /// The session in which it was given.
    pub session: SessionId,
    /// The question there.
    pub question: QuestionId,
    /// When it was given.
    pub at: Timestamp,
}

impl EarlierAnswer {
    /// The answer as it is offered for a question.
    fn view(&self, question: &Question) -> OfferView {
        OfferView {
            answer: question.words(&self.answer),
            by: self.by.clone(),
            session: self.session.clone(),
            question: self.question.clone(),
            at: self.at,
        }
    }
}

/// The route of a question: who is asked now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WayView {
    /// Who is asked.
    pub to: Recipient,
    /// What is at stake in it.
    pub class: Class,
    /// Since when they are asked.
    pub since: Timestamp,
    /// When the next recipient is asked, unless an answer comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Until when others than the person of the session are not asked; `None` if they are. When that time is over they
    /// are asked, even if no process runs the session and has stored that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld_until: Option<Timestamp>,
    /// Why they are asked.
    pub why: Hop,
    /// Whether the lead asks its own person about it.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub lead_asks: bool,
}

/// An answer that a lead proposes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DraftView {
    /// The answer in words.
    pub answer: String,
    /// The lead.
    pub by: By,
    /// The ground, if it was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Grounding>,
    /// When it was proposed.
    pub at: Timestamp,
}

impl OpenQuestion {
    /// The question, for matching replies.
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
    /// The question's id.
    pub id: QuestionId,
    /// The text of the question.
    pub text: String,
    /// The answer in words.
    pub answer: String,
    /// Who gave it.
    pub by: By,
    /// When it was given.
    pub at: Timestamp,
    /// The ground of the answer, if a lead gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<Grounding>,
}

/// The plan that a person confirms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanView {
    /// The plan in the agent's words.
    pub text: String,
    /// Its file, from the project's root, once it is saved.
    pub path: Option<String>,
    /// Whether the file contains what is shown here.
    pub saved: bool,
    /// Whether an answer came after it was proposed, so that it may be outdated.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub behind: bool,
}

/// A plan of actions that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewView {
    /// The turn's directory, from the session's.
    pub turn: String,
    /// The revision of the plan. An approval has to name it.
    pub revision: u32,
    /// Its title.
    pub title: String,
    /// Short descriptions of its actions.
    pub actions: Vec<String>,
    /// Whether its file differs and the difference is not accepted yet.
    pub differs: bool,
    /// Its batch, if that is paused and a person has to decide how to continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    /// Why it is paused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<String>,
    /// The action that was interrupted and may have run, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsure: Option<usize>,
}

/// The agent and its process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentView {
    /// The kind of agent, if the session names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The state of its process.
    pub state: AgentState,
    /// The tool it uses, or its last words.
    pub doing: Option<String>,
    /// What else is in flight and keeps its process, although the hot time is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<Beside>,
    /// Why no copy of its conversation and work could be stored with the session when its last process ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unkept: Option<String>,
    /// The model that it runs.
    pub model: Option<String>,
    /// Whether its process waits until fewer agents run at the same time.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_queued: bool,
    /// Whether the last attempt to start its program failed.
    #[serde(default, skip_serializing_if = "Not::not")]
    pub is_not_started: bool,
}

/// The state of an agent's process. Only developers need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// It works on its turn.
    Working,
    /// It waits, with its process kept.
    Hot,
    /// It waits, without a process.
    Parked,
    /// Its process has ended. It is resumed once a process holds the session and everything asked is answered.
    CutOff,
    /// No turn is in progress.
    Idle,
}

/// The agent's current activity. It is shown and never stored: facts follow once something is finished.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The tool it uses, or what it says.
    pub doing: Option<Activity>,
    /// The tokens and money that this process has used so far.
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
            lead: created.lead.clone(),
            is_lead: created.is_lead,
            origin: created.origin.clone(),
            rounds: Rounds { asked: shared.rounds.count_asked(), max: created.terms.max_rounds },
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
            agent: shared.agent_view(&self.seen_from(id)),
            usage: shared.spending.usage,
            checking: self.being_checked().map(str::to_owned),
            check: self.flow.work().and_then(|work| work.check()).cloned(),
            changes: flow.changes().cloned(),
            undone: match self.work_undo() {
                WorkUndo::Done(files) => Some(files.clone()),
                WorkUndo::Not | WorkUndo::UnderWay(_) | WorkUndo::Refused(_) => None,
            },
            workplace: shared.workplace_view(flow),
            result: flow.result(shared),
            undelivered: self
                .undelivered_rounds()
                .flat_map(|round| &round.items)
                .filter_map(clarified)
                .collect(),
            failure: self.failure().map(str::to_owned),
        }
    }

    /// The route of a question, if the session has a lead, or others are asked after the person.
    pub fn way(&self, question: &QuestionId) -> Option<WayView> {
        self.shared.routes.of(question).map(|route| route.view(&self.shared.created.terms.routing))
    }

    /// The answer that a person gave to the same question before, for an open question.
    pub fn offer(&self, question: &QuestionId) -> Option<OfferView> {
        let (_, item) = self.shared.rounds.item(question)?;
        self.shared.offers.of(question).map(|earlier| earlier.view(&item.question))
    }

    /// The lead's draft for an open question.
    pub fn draft(&self, question: &QuestionId) -> Option<DraftView> {
        let (_, item) = self.shared.rounds.item(question).filter(|(_, item)| item.given().is_none())?;
        self.shared.routes.of(question)?.draft_view(&item.question)
    }

    /// Its status.
    pub fn status(&self) -> Status {
        match self.shared.life {
            Life::Completed => Status::Completed,
            Life::Cancelled => Status::Cancelled,
            // WORK-20: the answer is given, and waits with the question.
            Life::Failed { .. } if self.undelivered_rounds().next().is_some() => Status::NeedsInput,
            Life::Failed { .. } => Status::Failed,
            Life::Going if self.shared.rounds.open().next().is_some() => Status::NeedsInput,
            Life::Going if self.shared.is_stopped() => Status::Idle,
            Life::Going => {
                let by_agent = if self.was_connected() { Status::Running } else { Status::Started };
                self.flow.rules().status(&self.shared).unwrap_or(by_agent)
            }
        }
    }
}

impl Route {
    fn draft_view(&self, question: &Question) -> Option<DraftView> {
        let draft = self.draft.as_ref()?;
        Some(DraftView {
            answer: question.words(&draft.answer),
            by: draft.by.clone(),
            because: draft.because.clone(),
            at: draft.at,
        })
    }

    fn view(&self, terms: &RoutingTerms) -> WayView {
        WayView {
            to: self.to,
            class: self.class,
            since: self.since,
            until: self.until(terms),
            withheld_until: self.withheld_until(terms),
            why: self.why.clone(),
            lead_asks: self.to == Recipient::Lead && self.asks_since.is_some(),
        }
    }
}

impl Shared {
    fn open_questions(&self) -> Vec<OpenQuestion> {
        // The confirmation comes after the question whose answer is being changed.
        let (confirm, others): (Vec<_>, Vec<_>) =
            self.rounds.open().partition(|round| matches!(round.asker, Asker::Rapport));
        others.into_iter().chain(confirm).flat_map(|round| self.open_in(round)).collect()
    }

    fn open_in<'a>(&'a self, round: &'a Round) -> impl Iterator<Item = OpenQuestion> + 'a {
        let open = |(index, item): (usize, &RoundItem)| {
            let State::Open { .. } = item.state else { return None };
            let question = &item.question;
            let route = self.routes.of(&question.id);
            Some(OpenQuestion {
                id: question.id.clone(),
                round: round.id,
                number: index + 1,
                of: round.items.len(),
                text: question.text.clone(),
                header: question.header.clone(),
                options: question.options.clone(),
                multi: question.multi,
                free_text: question.free_text,
                purpose: question.purpose.clone(),
                asked_at: round.asked_at,
                previous: item.last_words(),
                way: route.map(|route| route.view(&self.created.terms.routing)),
                draft: route.and_then(|route| route.draft_view(question)),
                offer: self.offers.of(&question.id).map(|earlier| earlier.view(question)),
            })
        };
        round.items.iter().enumerate().filter_map(open)
    }

    fn answers(&self) -> Vec<Clarified> {
        self.rounds.clarified().map(|(question, given)| answered(question, given)).collect()
    }

    fn agent_view(&self, seen_from: &SeenFrom<'_>) -> AgentView {
        let turn = self.turns.current().filter(|_| !self.is_over());
        let waits = turn.is_some_and(|turn| self.rounds.open().any(|round| round.is_of(turn.id)));
        let state = match turn.map(|turn| &turn.process) {
            Some(Process::Running | Process::Cooling(_)) if waits => AgentState::Hot,
            Some(Process::Running | Process::Cooling(_)) => AgentState::Working,
            Some(Process::Parked(_)) => AgentState::Parked,
            Some(Process::CutOff) => AgentState::CutOff,
            Some(Process::Over) | None => AgentState::Idle,
        };
        let kept_by = turn.filter(|_| state == AgentState::Hot).and_then(|turn| self.rounds.kept_by(turn));
        let is_queued = turn.is_some_and(|turn| turn.is_queued);
        let waits = is_queued.then(|| "waits for a free place".to_owned());
        let doing = waits.or_else(|| Some(seen_from.activity(turn?.doing.as_ref()?)));
        let is_not_started = turn.is_some_and(|turn| turn.is_not_started);
        let name = self.created.agent.as_ref().map(|agent| agent.name.clone());
        let unkept = self.turns.last().and_then(|turn| turn.unkept.clone());
        AgentView {
            name,
            state,
            doing,
            kept_by,
            unkept,
            model: self.turns.model.clone(),
            is_queued,
            is_not_started,
        }
    }
}

fn clarified(item: &RoundItem) -> Option<Clarified> {
    item.given().map(|given| answered(&item.question, given))
}

fn answered(question: &Question, given: &Given) -> Clarified {
    Clarified {
        id: question.id.clone(),
        text: question.text.clone(),
        answer: question.words(&given.answer),
        by: given.by.clone(),
        at: given.at,
        because: given.because.clone(),
    }
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
