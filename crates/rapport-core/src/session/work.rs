//! The flow for a task: clarify, plan, confirm, work, report.
//!
//! Either the agent asks and makes the plan, or a planner asks before any agent runs (`planner.rs`). After the work,
//! a message can ask for more, and the agent continues in the same conversation: another stretch of work.

mod idle;
mod planner;
mod text_question;

use jiff::Timestamp;

use super::agent::decline;
use super::agent_turns::Turn;
use super::flow::{AskedCall, FlowRules, stray, unknown_act};
use super::messages::{SAYING, Saying};
use super::round::{Round, RoundItem};
use super::shared::{Life, Shared};
use crate::answer::{Answer, By};
use crate::created::{Clarifier, Created};
use crate::event::{Asker, Changes, Event, TurnKind};
use crate::id::{QuestionId, TurnId};
use crate::input::{Act, Ask, World};
use crate::plan::{self, Plan};
use crate::question::{CANCEL, CONFIRM, Choice, Purpose, Question, Reply};
use crate::refusal::Refusal;
use crate::view::PhaseView;
use crate::want::Want;
use crate::work_check::WorkCheck;
use crate::{prompt, slug};

/// The state of a session that works on a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkFlow {
    phase: WorkPhase,
    clarifier: Clarifier,
    plan: Option<Plan>,
    /// The plan's name, if a planner has given it.
    outline: Option<Outline>,
    /// Whether a plan was proposed in the last turn.
    is_proposed: bool,
    /// The result of the command that checks the work of the last turn.
    check: Option<WorkCheck>,
    changes: Option<Changes>,
}

/// The progress of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WorkPhase {
    /// The agent or a planner asks, and a plan is made.
    Clarifying,
    /// The plan waits for confirmation.
    Confirming,
    /// The agent works.
    Working,
    /// The work is done, and its changes are being listed.
    Reporting,
}

/// The name of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outline {
    goal: String,
    description: String,
}

impl WorkFlow {
    pub(super) fn new(created: &Created) -> Self {
        Self {
            phase: WorkPhase::Clarifying,
            clarifier: created.terms.clarifier,
            plan: None,
            outline: None,
            is_proposed: false,
            check: None,
            changes: None,
        }
    }

    /// Whether the plan was confirmed.
    pub(crate) fn is_begun(&self) -> bool {
        matches!(self.phase, WorkPhase::Working | WorkPhase::Reporting)
    }

    /// The result of checking the work, once it is known.
    pub(crate) fn check(&self) -> Option<&WorkCheck> {
        self.check.as_ref()
    }

    /// The turn whose work is being checked, and the command, if a check runs.
    pub(crate) fn being_checked<'a>(&self, shared: &'a Shared) -> Option<(TurnId, &'a str)> {
        let is_due = self.phase == WorkPhase::Reporting && self.check.is_none() && shared.is_going();
        let command = shared.created.terms.check.as_deref().filter(|_| is_due)?;
        shared.turns.last().map(|turn| (turn.id, command))
    }

    /// The folder and file name of the plan, if a planner has given them.
    pub(crate) fn outlined(&self) -> Option<(&str, &str)> {
        self.outline.as_ref().map(|outline| (outline.goal.as_str(), outline.description.as_str()))
    }

    fn confirm(&self, shared: &Shared, by: &By) -> Result<Vec<Event>, Refusal> {
        let waiting = shared.rounds.open().flat_map(|round| &round.items);
        let mut waiting = waiting.filter(|item| item.question.purpose == Purpose::Confirm);
        match waiting.find(|item| item.given().is_none()) {
            Some(item) => shared.confirm(self, &item.question.id, &Reply::Words(vec![CONFIRM.into()]), by),
            None => Err(self.not_now(shared, "confirming")),
        }
    }

    fn after_confirmation(&self, shared: &Shared, answer: &Answer, by: &By) -> Result<Vec<Event>, Refusal> {
        if answer.is(CANCEL) {
            return Ok(shared.end(|round| round.call().is_some(), by, None));
        }
        let being_changed = shared.rounds.open().find(|round| round.is_clarifying());
        if let Some(item) = being_changed.and_then(|round| round.items.iter().find(|i| i.given().is_none())) {
            let why = format!("{} is being changed, answer or keep it first", item.question.id);
            return Err(Refusal::NotNow { what: "confirming".into(), why });
        }
        Ok(vec![match &answer.text {
            Some(wish) => shared.turns.start(TurnKind::Plan, replan_prompt(shared, wish)),
            None => shared.turns.start(TurnKind::Work, self.work_prompt(shared)),
        }])
    }

    /// Decides a message: one during a turn, or one after the work, which starts the next turn.
    fn say(&self, shared: &Shared, saying: &Saying<'_>) -> Result<Vec<Event>, Refusal> {
        if shared.life == Life::Cancelled {
            return Err(self.not_now(shared, SAYING));
        }
        shared.rounds.refuse_beside_a_question()?;
        shared.handover.refuse_message()?;
        shared.record.refuse_while_undoing(SAYING)?;
        if let Some(turn) = shared.turns.current() {
            return Ok(shared.say_to_turn(turn, saying));
        }
        if self.phase != WorkPhase::Reporting {
            return Err(self.not_now(shared, SAYING));
        }
        let restarted = shared.is_failed().then(|| saying.restarted());
        let turn = shared.turns.start(TurnKind::Work, saying.text.into());
        Ok(restarted.into_iter().chain([saying.heard(None), turn]).collect())
    }

    /// The turn that tells the agent the messages that it did not read in the previous one.
    fn after_unread(&self, shared: &Shared, turn: &Turn) -> Option<Event> {
        let unread: Vec<_> = turn.unread().collect();
        let words = Some(unread.join("\n\n")).filter(|words| !words.is_empty())?;
        Some(match self.phase {
            WorkPhase::Clarifying | WorkPhase::Confirming => {
                shared.turns.start(TurnKind::Plan, prompt::replan(&words, shared.turns.len()))
            }
            WorkPhase::Working | WorkPhase::Reporting => shared.turns.start(TurnKind::Work, words),
        })
    }

    fn work_prompt(&self, shared: &Shared) -> String {
        let plan = self.plan.as_ref().map_or("", |plan| plan.text.as_str());
        prompt::work(&shared.created.task, shared.rounds.clarified(), plan)
    }

    fn propose(&self, shared: &Shared, text: &str) -> Event {
        let (goal, description) = match &self.plan {
            // A changed plan stays in the same file.
            Some(plan) => (plan.goal.clone(), plan.description.clone()),
            None => plan_names(&shared.created.task, text),
        };
        Event::PlanProposed { goal, description, text: text.trim().into() }
    }

    /// Records the state at a round of the work, while that round still waits. Once it is answered, the agent may
    /// have continued, and the state would be a different one.
    fn snapshot(&self, shared: &Shared, noted: &World) -> Vec<Event> {
        let World::Snapshot { round, state } = noted else { return Vec::new() };
        let is_working = self.phase == WorkPhase::Working && !shared.is_failed();
        let turn = shared.turns.current().filter(|_| is_working);
        let mut waiting = turn.into_iter().flat_map(|turn| shared.rounds.waited_for(turn));
        let found = waiting.find(|waiting| waiting.id == *round && !waiting.snapshotted);
        found.map(|_| Event::Snapshotted { round: *round, state: state.clone() }).into_iter().collect()
    }
}

impl FlowRules for WorkFlow {
    fn first_turn(&self, created: &Created) -> Option<(TurnKind, String)> {
        match self.clarifier {
            Clarifier::Agent => Some((TurnKind::Plan, prompt::plan(&created.task, created.terms.max_rounds))),
            Clarifier::Planner => None,
        }
    }

    fn phase(&self, _: &Shared) -> PhaseView {
        match self.phase {
            WorkPhase::Clarifying => PhaseView::Clarifying,
            WorkPhase::Confirming => PhaseView::Confirming,
            WorkPhase::Working => PhaseView::Working,
            WorkPhase::Reporting => PhaseView::Reporting,
        }
    }

    fn phase_name(&self) -> &'static str {
        match self.phase {
            WorkPhase::Clarifying => "the agent is still clarifying the task",
            WorkPhase::Confirming => "the plan waits for confirmation",
            WorkPhase::Working => "the agent is working",
            WorkPhase::Reporting => "the work is being reported",
        }
    }

    fn decide_act(&self, shared: &Shared, by: &By, act: &Act) -> Result<Vec<Event>, Refusal> {
        match act {
            Act::Confirm => self.confirm(shared, by),
            Act::Say { text, id } => {
                let Some(saying) = shared.saying(by, text, id.as_ref())? else { return Ok(Vec::new()) };
                self.say(shared, &saying)
            }
            act => unknown_act(self, shared, act),
        }
    }

    fn decide_world(&self, shared: &Shared, world: &World) -> Result<Vec<Event>, Refusal> {
        match world {
            World::Snapshot { .. } => Ok(self.snapshot(shared, world)),
            World::PlanSaved { revision, path } => Ok(plan::saved(self, shared, *revision, path)),
            World::Checked { turn, check } => {
                let is_awaited = self.being_checked(shared).is_some_and(|(awaited, _)| awaited == *turn);
                let fact = || Event::Checked { turn: *turn, check: check.clone() };
                Ok(is_awaited.then(fact).into_iter().collect())
            }
            World::Report { changes }
                if self.phase == WorkPhase::Reporting
                    && shared.is_going()
                    && self.being_checked(shared).is_none() =>
            {
                let changes = shared.record.joined_changes(self.changes.as_ref(), changes.clone());
                Ok(vec![Event::Reported { changes }])
            }
            World::QuestionRound { round, outcome } => self.take_round(shared, *round, outcome),
            world => stray(world),
        }
    }

    fn after_answer(
        &self,
        shared: &Shared,
        (round, item): (&Round, &RoundItem),
        answer: &Answer,
        by: &By,
    ) -> Result<Vec<Event>, Refusal> {
        match item.question.purpose {
            Purpose::Confirm => self.after_confirmation(shared, answer, by),
            Purpose::Idle => Ok(self.after_idle(shared, answer).into_iter().collect()),
            Purpose::Clarify => {
                let turn = self.after_answer_in_text(shared, (round, item), answer, by);
                Ok(turn.map_or_else(|| self.after_planned_answer(shared, round, item), |turn| vec![turn]))
            }
            Purpose::Permission(_)
            | Purpose::LeavePlanMode { .. }
            | Purpose::Elicit(_)
            | Purpose::Budget { .. } => Ok(Vec::new()),
        }
    }

    fn on_ask(&self, shared: &Shared, asked: &AskedCall<'_>) -> Option<Vec<Event>> {
        let AskedCall { turn, call, ask, questions } = asked;
        if self.phase != WorkPhase::Clarifying {
            return None;
        }
        if let Ask::LeavePlanMode { plan } = ask {
            let noted = decline(turn, call, prompt::PLAN_NOTED.into(), &[]);
            return Some(vec![self.propose(shared, plan), noted]);
        }
        let reason = shared.no_more_rounds(shared.rounds.count_asked()).filter(|_| asked.clarifies())?;
        Some(vec![decline(turn, call, reason, questions)])
    }

    fn after_turn(&self, shared: &Shared, turn: &Turn, result: &str, _: Timestamp) -> Vec<Event> {
        let unread = self.after_unread(shared, turn);
        if unread.is_none()
            && let Some(asked) = self.ask_in_text(shared, turn, result)
        {
            return vec![asked];
        }
        if self.phase != WorkPhase::Clarifying {
            let next = unread.or_else(|| self.ask_when_idle(shared, result));
            return next.into_iter().collect();
        }
        let proposed = (!self.is_proposed).then(|| self.propose(shared, result));
        let next = unread.unwrap_or_else(|| ask_for_confirmation(shared));
        proposed.into_iter().chain([next]).collect()
    }

    fn is_confirming(&self, shared: &Shared) -> bool {
        self.phase == WorkPhase::Confirming && shared.is_going()
    }

    fn apply(&mut self, shared: &mut Shared, fact: &Event, _: Timestamp) {
        let is_revisable = !self.is_begun();
        if let Some(plan) = &mut self.plan {
            plan.follow(shared, fact, is_revisable);
        }
        match fact {
            Event::TurnStarted { kind, .. } => {
                self.is_proposed = false;
                self.check = None;
                if shared.record.stretches.is_empty() {
                    // There was no work yet, or it was undone.
                    self.changes = None;
                }
                self.phase = if *kind == TurnKind::Work { WorkPhase::Working } else { WorkPhase::Clarifying };
            }
            Event::TurnEnded { .. } => {
                self.phase = if self.is_begun() { WorkPhase::Reporting } else { WorkPhase::Confirming };
            }
            // The turn that ended was not the last one.
            Event::Asked { questions, .. } if questions.iter().any(|q| q.purpose == Purpose::Idle) => {
                self.phase = WorkPhase::Working;
            }
            fact if Self::is_finished_by(shared, fact) => self.phase = WorkPhase::Reporting,
            Event::Asked { asker, questions, .. } if Self::are_in_text(asker, questions) => {
                self.phase = if self.is_begun() { WorkPhase::Working } else { WorkPhase::Clarifying };
            }
            Event::Outlined { goal, description } => {
                self.outline = Some(Outline { goal: goal.clone(), description: description.clone() });
            }
            Event::PlanProposed { goal, description, text } => {
                Plan::propose(&mut self.plan, goal, description, text);
                self.is_proposed = true;
                if shared.turns.is_empty() {
                    self.phase = WorkPhase::Confirming;
                }
            }
            Event::Checked { check, .. } => self.check = Some(check.clone()),
            Event::Reported { changes } => {
                self.changes = changes.clone();
                shared.life = Life::Completed;
            }
            _ => {}
        }
    }

    fn wants(&self, shared: &Shared) -> Vec<Want> {
        let plan = self.plan.as_ref().filter(|plan| plan.saved < plan.revision);
        let saved = plan.map(|plan| Want::PlanSaved(plan::file(shared, plan, self.is_begun())));
        let done = shared.turns.last().filter(|_| self.phase == WorkPhase::Reporting);
        let report = done.map(|turn| match self.being_checked(shared) {
            Some((turn, command)) => Want::Checked { turn, command: command.to_owned() },
            None => Want::Report {
                turn: turn.id,
                baseline: shared.record.stretches.reported_since().map(str::to_owned),
            },
        });
        saved.into_iter().chain(report).chain(self.round_wanted(shared)).collect()
    }

    /// The agent may not change anything before the plan is on disk and the state before it is recorded.
    fn prepare(&self, shared: &Shared, turn: &Turn, wants: &mut Vec<Want>) -> bool {
        if self.phase != WorkPhase::Working {
            return true;
        }
        if !wants.is_empty() {
            return false;
        }
        if !shared.record.stretches.is_under_way() {
            wants.push(Want::Baseline(turn.id));
            return false;
        }
        let unnoted = shared.rounds.waited_for(turn).filter(|round| !round.snapshotted);
        wants.extend(unnoted.map(|round| Want::Snapshot(round.id)));
        true
    }

    fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    fn changes(&self) -> Option<&Changes> {
        self.changes.as_ref()
    }

    fn result(&self, shared: &Shared) -> Option<String> {
        shared.turns.last().filter(|_| self.is_begun())?.result.clone()
    }
}

/// The prompt for another plan. An agent that has made no plan yet is told everything; any other already knows it.
fn replan_prompt(shared: &Shared, wish: &str) -> String {
    if shared.turns.is_empty() {
        return prompt::plan_with_wish(&shared.created.task, shared.rounds.clarified(), wish);
    }
    prompt::replan(wish, shared.turns.len())
}

fn ask_for_confirmation(shared: &Shared) -> Event {
    let confirms = |item: &&RoundItem| item.question.purpose == Purpose::Confirm;
    let id = match shared.rounds.iter().flat_map(|round| &round.items).filter(confirms).count() {
        0 => QuestionId::new("confirm"),
        earlier => QuestionId::new(format!("confirm-{}", earlier + 1)),
    };
    let question = Question {
        id,
        text: "Start the work with this plan?".into(),
        header: Some("Plan".into()),
        options: vec![
            Choice::described("Confirm & start", CONFIRM, "The agent works with exactly these answers"),
            Choice::described("Cancel", CANCEL, "Nothing is changed; the plan's file stays"),
        ],
        multi: false,
        free_text: true,
        purpose: Purpose::Confirm,
    };
    Event::Asked { round: shared.rounds.next_id(), asker: Asker::Rapport, questions: vec![question] }
}

/// The names of the plan's folder and file, derived from the agent's text and the task.
fn plan_names(task: &str, text: &str) -> (String, String) {
    let heading = text.lines().find_map(|line| line.trim().strip_prefix("# "));
    let heading =
        heading.map(|title| title.trim_start_matches("Plan:").trim()).filter(|title| !title.is_empty());
    let first_words = || task.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    let goal = heading.map_or_else(first_words, str::to_owned);
    (slug::part(&goal), slug::part(task))
}
