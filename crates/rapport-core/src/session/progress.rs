//! The flow for a progress file: the agent's reply becomes the file, or is sent back with its mistakes.

use jiff::Timestamp;

use super::agent::{decline, refuse_questions};
use super::agent_turns::Turn;
use super::flow::{AskedCall, FlowRules, stray, unknown_act};
use super::messages::{SAYING, Saying};
use super::shared::{Life, Shared};
use crate::aim::{Asking, Existing, ProgressAim};
use crate::answer::By;
use crate::created::Created;
use crate::event::{ChangeStatus, Changes, Event, FileChange, TurnKind};
use crate::id::TurnId;
use crate::input::{Act, Ask, World};
use crate::plan::{self, Plan, PlanFile};
use crate::progress::{self, ProgressFile, ProgressProblem};
use crate::refusal::Refusal;
use crate::view::PhaseView;
use crate::want::Want;
use crate::{prompt, slug};

/// The state of a session that makes a progress file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProgressFlow {
    aim: ProgressAim,
    phase: ProgressPhase,
    /// The file to write.
    plan: Option<Plan>,
    /// The agent's texts of the last turn, one of which may contain the file.
    said: Vec<String>,
    /// Whether the agent left plan mode with a valid file in the last turn.
    is_proposed: bool,
    /// Whether the last turn repairs a mistake of the previous one.
    mends: bool,
    changes: Option<Changes>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProgressPhase {
    /// The agent asks, and makes the file.
    Planning,
    /// The agent's turn is over, and the file is being written.
    Writing,
}

impl ProgressFlow {
    pub(super) fn new(aim: &ProgressAim) -> Self {
        Self {
            aim: aim.clone(),
            phase: ProgressPhase::Planning,
            plan: None,
            said: Vec::new(),
            is_proposed: false,
            mends: false,
            changes: None,
        }
    }

    /// The fact that completes the session, with the file as the change. The state after it is known if the engine
    /// could record it.
    fn report(&self, recorded: Option<&Changes>) -> Option<Event> {
        let lines = self.plan.as_ref()?.text.lines().count();
        let status = match self.aim.existing {
            Existing::Refuse => ChangeStatus::Added,
            Existing::Replace | Existing::KeepSections => ChangeStatus::Modified,
        };
        let added = Some(lines as u64).filter(|_| self.aim.existing == Existing::Refuse);
        let file = FileChange { path: self.aim.path.clone(), status, added, removed: None };
        let result = recorded.and_then(|recorded| recorded.result.clone());
        Some(Event::Reported { changes: Some(Changes { files: vec![file], result, ..Changes::default() }) })
    }

    /// Decides a message: one during a turn, or one about the file, which is then made again.
    fn say(&self, shared: &Shared, saying: &Saying<'_>) -> Result<Vec<Event>, Refusal> {
        if shared.life == Life::Cancelled {
            return Err(self.not_now(shared, SAYING));
        }
        shared.rounds.refuse_beside_a_question()?;
        shared.handover.refuse_message()?;
        if let Some(turn) = shared.turns.current() {
            return Ok(shared.say_to_turn(turn, saying));
        }
        let restarted = shared.is_failed().then(|| saying.restarted());
        let turn = again(shared, saying.text);
        Ok(restarted.into_iter().chain([saying.heard(None), turn]).collect())
    }

    fn take_file(&self, file: &ProgressFile) -> Vec<Event> {
        let is_known = self.plan.as_ref().is_some_and(|plan| plan.text == file.to_string().trim());
        if is_known { Vec::new() } else { vec![propose(file)] }
    }

    /// Whether the file is on disk, so that only its change has yet to be recorded.
    fn is_written(&self) -> bool {
        let is_saved = self.plan.as_ref().is_some_and(|plan| plan.saved == plan.revision);
        self.phase == ProgressPhase::Writing && is_saved
    }

    /// Why the agent may not ask, if it may not.
    fn may_not_ask(&self, shared: &Shared) -> Option<String> {
        match self.aim.asking {
            Asking::Assume => Some(prompt::progress::DO_ASSUME.into()),
            Asking::Adaptive => shared.no_more_rounds(shared.rounds.count_asked()),
        }
    }
}

impl FlowRules for ProgressFlow {
    fn first_turn(&self, created: &Created) -> Option<(TurnKind, String)> {
        let prompt = prompt::progress::first(&self.aim, &created.task, created.terms.max_rounds);
        Some((TurnKind::Plan, prompt))
    }

    fn phase(&self, _: &Shared) -> PhaseView {
        match self.phase {
            ProgressPhase::Planning => PhaseView::Clarifying,
            ProgressPhase::Writing => PhaseView::Reporting,
        }
    }

    fn phase_name(&self) -> &'static str {
        match self.phase {
            ProgressPhase::Planning => "the agent is still clarifying the task",
            ProgressPhase::Writing => "the progress file is being written",
        }
    }

    fn decide_act(&self, shared: &Shared, by: &By, act: &Act) -> Result<Vec<Event>, Refusal> {
        match act {
            Act::Say { text, id } => {
                let Some(saying) = shared.saying(by, text, id.as_ref())? else { return Ok(Vec::new()) };
                self.say(shared, &saying)
            }
            act => unknown_act(self, shared, act),
        }
    }

    fn decide_world(&self, shared: &Shared, world: &World) -> Result<Vec<Event>, Refusal> {
        match world {
            World::PlanSaved { revision, path } => Ok(plan::saved(self, shared, *revision, path)),
            World::Report { changes } if self.is_written() && shared.is_going() => {
                Ok(self.report(changes.as_ref()).into_iter().collect())
            }
            world => stray(world),
        }
    }

    /// Handles a question, or leaving plan mode with a plan that may be the file.
    fn on_ask(&self, shared: &Shared, asked: &AskedCall<'_>) -> Option<Vec<Event>> {
        if let Ask::LeavePlanMode { plan } = asked.ask {
            let told = |message: String| decline(asked.turn, asked.call, message, &[]);
            return Some(match file_in(plan, &[]) {
                Ok(file) => vec![propose(&file), told(prompt::progress::FILE_NOTED.into())],
                Err(problems) => vec![told(prompt::progress::mend(asked.turn.id.0, &problems))],
            });
        }
        let reason = self.may_not_ask(shared).filter(|_| asked.clarifies())?;
        Some(refuse_questions(asked, reason))
    }

    /// Accepts the file, asks the agent once more, or fails.
    fn after_turn(&self, shared: &Shared, turn: &Turn, result: &str, _: Timestamp) -> Vec<Event> {
        let unread: Vec<_> = turn.unread().collect();
        if !unread.is_empty() {
            return vec![again(shared, &unread.join("\n\n"))];
        }
        let problems = match file_in(result, &self.said) {
            Ok(file) => return self.take_file(&file),
            // The file with which the agent left plan mode was valid.
            Err(_) if self.is_proposed => return Vec::new(),
            Err(problems) => problems,
        };
        if self.mends {
            let reason = format!(
                "the agent's reply is no valid progress file, not even when told what is wrong ({}); its words are in \
                 the log",
                in_one_line(&problems)
            );
            return vec![Event::Failed { reason }];
        }
        vec![try_again(shared, &problems, true)]
    }

    /// Another turn, if the session failed because of the file.
    fn after_restart(&self, shared: &Shared) -> Option<Event> {
        let failed_there = shared.is_failed() && self.phase == ProgressPhase::Writing;
        let turn = shared.turns.last().filter(|_| failed_there && self.plan.is_none())?;
        let result = turn.result.as_deref().unwrap_or_default();
        Some(try_again(shared, &file_in(result, &self.said).err().unwrap_or_default(), false))
    }

    fn apply(&mut self, shared: &mut Shared, fact: &Event, _: Timestamp) {
        if let Some(plan) = &mut self.plan {
            plan.follow(shared, fact, true);
        }
        match fact {
            Event::TurnStarted { mends, .. } => {
                self.phase = ProgressPhase::Planning;
                self.said = Vec::new();
                self.is_proposed = false;
                self.mends = *mends;
            }
            Event::Said { text, .. } => self.said.push(text.clone()),
            Event::PlanProposed { goal, description, text } => {
                Plan::propose(&mut self.plan, goal, description, text);
                self.is_proposed = true;
            }
            Event::TurnEnded { .. } => self.phase = ProgressPhase::Writing,
            Event::Reported { changes } => {
                self.changes = changes.clone();
                shared.life = Life::Completed;
            }
            _ => {}
        }
    }

    /// The file is written once, after its turn, so a file that exists before that is not this session's. The state
    /// of the files is recorded before and after that.
    fn wants(&self, shared: &Shared) -> Vec<Want> {
        let (Some(plan), Some(turn)) = (&self.plan, shared.turns.last()) else { return Vec::new() };
        if self.phase != ProgressPhase::Writing {
            return Vec::new();
        }
        let stretches = &shared.record.stretches;
        vec![if plan.saved == plan.revision {
            Want::Report { turn: turn.id, baseline: stretches.reported_since().map(str::to_owned) }
        } else if stretches.is_under_way() {
            Want::PlanSaved(PlanFile {
                revision: plan.revision,
                path: self.aim.path.clone(),
                content: format!("{}\n", plan.text),
                existing: self.aim.existing,
                own_paths: plan.own_paths.clone(),
            })
        } else {
            Want::Baseline(turn.id)
        }]
    }

    /// The state before the file is recorded after the turn that made it.
    fn needs_baseline(&self, shared: &Shared, turn: TurnId) -> bool {
        let Some(last) = shared.turns.last().filter(|last| last.id == turn) else { return false };
        match self.phase {
            ProgressPhase::Planning => last.baseline.is_none(),
            ProgressPhase::Writing => {
                self.plan.is_some() && shared.is_going() && !shared.record.stretches.is_under_way()
            }
        }
    }

    fn plan(&self) -> Option<&Plan> {
        self.plan.as_ref()
    }

    fn changes(&self) -> Option<&Changes> {
        self.changes.as_ref()
    }

    fn result(&self, _: &Shared) -> Option<String> {
        let file = ProgressFile::parse(&self.plan.as_ref()?.text).ok()?;
        Some(file.summary())
    }
}

/// Another turn, in which the file is made again according to a message about it.
fn again(shared: &Shared, words: &str) -> Event {
    shared.turns.start(TurnKind::Plan, prompt::progress::again(shared.turns.len() as u32, words))
}

/// Another turn. A repair turn is the last one; a turn that a person asked for may be followed by a repair.
fn try_again(shared: &Shared, problems: &[ProgressProblem], mends: bool) -> Event {
    let prompt = prompt::progress::mend(shared.turns.len() as u32, problems);
    Event::TurnStarted { turn: shared.turns.next_id(), kind: TurnKind::Plan, prompt, mends }
}

fn propose(file: &ProgressFile) -> Event {
    Event::PlanProposed {
        goal: slug::part(file.name().unwrap_or_default()),
        description: "progress".into(),
        text: file.to_string().trim().into(),
    }
}

/// The file in an agent's texts: in its last one, else in an earlier one, else in all of them together.
fn file_in(result: &str, said: &[String]) -> Result<ProgressFile, Vec<ProgressProblem>> {
    let all = said.join("\n");
    let mut wrong = None;
    for words in [result].into_iter().chain(said.iter().rev().map(String::as_str)).chain([all.as_str()]) {
        let Some(Ok(file)) = progress::cut_out(words).map(|text| ProgressFile::parse(&text)) else {
            continue;
        };
        let problems = file.problems();
        if problems.is_empty() {
            return Ok(file);
        }
        wrong.get_or_insert(problems);
    }
    Err(wrong.unwrap_or_else(|| {
        vec![ProgressProblem { line: 1, what: "there is no heading `# Progress: Name` to begin with".into() }]
    }))
}

fn in_one_line(problems: &[ProgressProblem]) -> String {
    problems.iter().map(ProgressProblem::to_string).collect::<Vec<_>>().join("; ")
}
