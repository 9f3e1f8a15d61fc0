//! Folds each fact into the state. Nothing here can fail or refuse: a fact has happened.

use jiff::Timestamp;

use super::{Declined, Given, Item, Outline, Phase, Process, Round, Session, State, Turn};
use crate::aim::{Aim, Asking};
use crate::event::{Asker, Ending, Event, TurnKind};
use crate::id::{CallId, QuestionId, RoundId, TurnId};
use crate::plan::Plan;
use crate::question::{FOR_SESSION, Purpose, Question};

/// So many turns get room one by one.
const FEW_TURNS: usize = 4;

/// How many messages are remembered by what they are known by.
const HEARD_LATELY: usize = 100;

impl Session {
    pub(super) fn apply(&mut self, fact: &Event, at: Timestamp) {
        match fact {
            Event::Created(_)
            | Event::Unchecked { .. }
            | Event::Unreadable { .. }
            | Event::Noted { .. }
            | Event::Unknown(_) => {}
            Event::TurnStarted { turn, kind, prompt, mends } => {
                self.start_turn(*turn, *kind, prompt);
                self.with_turn(*turn, |turn| turn.mends = *mends);
            }
            Event::DraftStarted { turn, folder, conversation, asking, origin } => {
                self.start_turn(*turn, TurnKind::Draft, "");
                self.with_turn(*turn, |turn| turn.asking = *asking);
                self.draft_started(*turn, folder, conversation, origin.as_ref());
            }
            Event::Sealed { folder, files, .. } => {
                self.sealed.insert(folder.clone(), files.clone());
                self.apply_to_turns(fact, at);
            }
            Event::DraftLeft { .. }
            | Event::Filed { .. }
            | Event::TurnFound(_)
            | Event::TurnGone { .. }
            | Event::ReviewStarted { .. }
            | Event::PlanChecked { .. }
            | Event::PlanDiffers { .. }
            | Event::PlanAccepted { .. }
            | Event::PlanRestored { .. }
            | Event::Approved { .. }
            | Event::Skipped { .. }
            | Event::ActionAsked { .. }
            | Event::ActionEnded { .. }
            | Event::BatchPaused { .. }
            | Event::BatchResumed { .. }
            | Event::BatchEnded { .. }
            | Event::UndoStarted { .. }
            | Event::UndoRefused { .. }
            | Event::Undone { .. } => self.apply_to_turns(fact, at),
            Event::Heard { text, id, .. } => {
                self.heard.push(text.clone());
                self.heard_lately.extend(id.clone());
                if self.heard_lately.len() > HEARD_LATELY {
                    self.heard_lately.pop_front();
                }
            }
            Event::Outlined { goal, description } => {
                self.outline = Some(Outline { goal: goal.clone(), description: description.clone() });
            }
            Event::Baselined { turn, baseline } => {
                self.with_turn(*turn, |t| t.baseline = Some(baseline.clone()))
            }
            Event::Connected { turn, conversation, model } => {
                self.conversation = conversation.clone();
                self.model = model.clone().or(self.model.take());
                self.alive(*turn);
                self.with_turn(*turn, |t| t.connected = true);
                let model = model.clone();
                self.with_planned_by(*turn, |turn| turn.model = model.or(turn.model.take()));
            }
            Event::Said { turn, text } => {
                self.doing(*turn, first_line(text));
                let becomes_a_file = matches!(self.created.aim, Aim::Progress(_) | Aim::Files);
                if becomes_a_file {
                    self.with_turn(*turn, |turn| turn.said.push(text.clone()));
                }
            }
            Event::Delayed { turn, why } => self.doing(*turn, why.clone()),
            Event::Used { turn, tool, what } => self.doing(*turn, format!("{tool} {}", first_line(what))),
            Event::Asked { round, asker, questions } => self.open_round(*round, asker, questions, at),
            Event::Snapshotted { round, state } => {
                self.last_state = state.clone().or(self.last_state.take());
                self.rounds.with(*round, |round| round.snapshotted = true);
            }
            Event::AskedAgain { round, call, parkable } => self.reopen_round(*round, call, *parkable, at),
            Event::Declined { turn, call, reason, asked } => {
                let declined = Declined { call: call.clone(), reason: reason.clone(), asked: asked.clone() };
                self.with_turn(*turn, |t| {
                    t.refused += u32::from(!declined.asked.is_empty());
                    t.declined.push(declined);
                });
                self.unasked.extend(asked.iter().cloned());
            }
            Event::Answered { question, answer, by } => {
                let given = Given { answer: answer.clone(), by: by.clone(), at };
                self.answered(question, given);
            }
            Event::Granted { question } => self.granted.push(question.clone()),
            Event::Revoked { rule, .. } => self.rules.retain(|known| known != rule),
            Event::Reopened { question, .. } => self.with_item(question, |item| {
                if let State::Answered(given) = &item.state {
                    item.state = State::Open { previous: Some(given.clone()) };
                }
            }),
            Event::Kept { question, .. } => self.with_item(question, |item| {
                if let State::Open { previous: Some(given) } = &item.state {
                    item.state = State::Answered(given.clone());
                }
            }),
            Event::Taken { call } => self.taken(call),
            Event::Closed { round, how } => self.close(*round, how),
            Event::Cooled { turn, call } => self.process(*turn, Process::Cooling(call.clone())),
            Event::StayedHot { turn, beside, .. } => {
                self.with_turn(*turn, |turn| turn.kept_by = Some(*beside));
            }
            Event::Parked { turn, call } => self.gone(*turn, Process::Parked(call.clone())),
            Event::CutOff { turn, .. } => self.gone(*turn, Process::CutOff),
            Event::Spent { turn, usage } => {
                self.usage += *usage;
                self.with_planned_by(*turn, |turn| turn.cost_micros += usage.cost_micros);
            }
            Event::PlanProposed { goal, description, text } => self.propose_plan(goal, description, text),
            Event::PlanSaved { revision, path } => {
                if let Some(plan) = &mut self.plan {
                    plan.saved = *revision;
                    plan.path = Some(path.clone());
                }
            }
            Event::TurnEnded { turn, result } => self.end_turn(*turn, result),
            Event::Failed { reason } => {
                self.agent_never_came |= !self.turns.iter().any(|turn| turn.connected);
                let was = Box::new(std::mem::replace(&mut self.phase, Phase::Completed));
                self.phase = Phase::Failed { reason: reason.clone(), was };
            }
            Event::Restarted { .. } => self.restart_turn(),
            Event::Reported { changes } => {
                let result = changes.as_ref().and_then(|changes| changes.result.clone());
                self.last_state = result.or(self.last_state.take());
                self.changes = changes.clone();
                self.phase = Phase::Completed;
            }
            Event::Applying { .. }
            | Event::Merged(_)
            | Event::NotApplied(_)
            | Event::Applied { .. }
            | Event::Discarded { .. }
            | Event::Cleared { .. } => self.apply_handover(fact),
            Event::WorkUndoStarted { .. } | Event::WorkUndoRefused { .. } | Event::WorkUndone { .. } => {
                self.apply_work_undo(fact);
            }
            Event::Cancelled { .. } => {
                self.phase = Phase::Cancelled;
                if let Some(turn) = self.turns.last_mut() {
                    turn.process = Process::Over;
                }
            }
        }
    }

    fn start_turn(&mut self, id: TurnId, kind: TurnKind, prompt: &str) {
        self.phase = match kind {
            TurnKind::Plan | TurnKind::Draft => Phase::Clarifying,
            TurnKind::Work | TurnKind::Chat => Phase::Working,
        };
        if kind == TurnKind::Chat {
            self.heard.clear();
            // A conversation goes on for months; only its last reply is ever shown again.
            self.turns.iter_mut().for_each(|turn| turn.result = None);
        }
        // Thousands of waiting sessions are held at once, and most have one turn or two.
        if self.turns.len() < FEW_TURNS {
            self.turns.reserve_exact(1);
        }
        self.turns.push(Turn {
            id,
            kind,
            prompt: prompt.to_owned(),
            folder: None,
            asking: Asking::default(),
            process: Process::Running,
            connected: false,
            baseline: None,
            declined: Vec::new(),
            refused: 0,
            said: Vec::new(),
            proposed: false,
            mends: false,
            doing: None,
            kept_by: None,
            result: None,
        });
    }

    fn end_turn(&mut self, id: TurnId, result: &str) {
        self.with_turn(id, |turn| {
            turn.process = Process::Over;
            turn.doing = None;
            turn.result = Some(result.to_owned());
        });
        let kind = self.turns.iter().find(|turn| turn.id == id).map(|turn| turn.kind);
        self.phase = match kind {
            Some(TurnKind::Work) => Phase::Reporting,
            Some(TurnKind::Chat) => Phase::Resting,
            Some(TurnKind::Draft) => Phase::Filing,
            // A progress file needs no confirmation: it is written, and that is all.
            Some(TurnKind::Plan) | None if !self.created.aim.is_work() => Phase::Reporting,
            Some(TurnKind::Plan) | None => Phase::Confirming,
        };
    }

    fn restart_turn(&mut self) {
        if let Phase::Failed { was, .. } = &self.phase {
            self.phase = (**was).clone();
        }
        if let Some(turn) = self.turns.last_mut().filter(|turn| turn.process == Process::CutOff) {
            turn.refused = 0;
            turn.process = Process::Running;
        }
    }

    fn open_round(&mut self, id: RoundId, asker: &Asker, questions: &[Question], at: Timestamp) {
        if let Asker::Agent { turn, .. } = asker {
            self.alive(*turn);
            // It does nothing but wait.
            self.with_turn(*turn, |turn| turn.doing = None);
        }
        let item = |question: &Question| Item { question: question.clone(), state: State::open() };
        self.rounds.push(Round {
            id,
            asker: asker.clone(),
            asked_at: at,
            hot_since: at,
            items: questions.iter().map(item).collect(),
            taken: false,
            orphaned: false,
            doubtful: false,
            spent: false,
            closed: None,
            snapshotted: false,
        });
    }

    fn reopen_round(&mut self, id: RoundId, call: &CallId, parkable: bool, at: Timestamp) {
        let turn = self.rounds.with(id, |round| {
            round.hot_since = at;
            round.orphaned = false;
            round.doubtful = false;
            round.taken = false;
            let Asker::Agent { turn, call: waiting, parkable: can_park } = &mut round.asker else {
                return None;
            };
            *waiting = call.clone();
            *can_park = parkable;
            Some(*turn)
        });
        if let Some(turn) = turn.flatten() {
            self.alive(turn);
        }
    }

    fn answered(&mut self, question: &QuestionId, given: Given) {
        let for_session = given.answer.is(FOR_SESSION);
        self.with_item(question, |item| item.state = State::Answered(given));
        match self.item(question).map(|(_, item)| &item.question.purpose) {
            Some(Purpose::Clarify) => {
                if let Some(plan) = &mut self.plan {
                    plan.is_behind = true;
                }
                self.revise_plan();
            }
            Some(Purpose::Confirm) => self.revise_plan(),
            Some(Purpose::Permission(asked)) if for_session => {
                let rule = asked.rule.clone().filter(|rule| !self.rules.contains(rule));
                self.rules.extend(rule);
            }
            Some(Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } | Purpose::Elicit(_)) | None => {}
        }
    }

    fn close(&mut self, id: RoundId, how: &Ending) {
        let closed = self.rounds.with(id, |round| {
            let loses_answer =
                round.items.iter().any(|item| item.given().is_none() && round.standing(item).is_some());
            round.closed = Some(how.clone());
            (loses_answer, round.call().cloned())
        });
        let Some((loses_answer, call)) = closed else { return };
        if let Some(call) = call {
            self.warm(&call);
        }
        if loses_answer {
            self.revise_plan();
        }
    }

    /// Until work begins, a plan is another plan when an answer it is made of changes.
    fn revise_plan(&mut self) {
        let planning = self.turns.last().is_none_or(|turn| turn.kind == TurnKind::Plan);
        if let Some(plan) = self.plan.as_mut().filter(|_| planning) {
            plan.revision += 1;
        }
    }

    fn propose_plan(&mut self, goal: &str, description: &str, text: &str) {
        let (revision, saved) = self.plan.as_ref().map_or((0, 0), |plan| (plan.revision, plan.saved));
        self.plan = Some(Plan {
            goal: goal.to_owned(),
            description: description.to_owned(),
            text: text.to_owned(),
            is_behind: false,
            revision: revision + 1,
            saved,
            path: None,
        });
        if self.turns.is_empty() {
            self.phase = Phase::Confirming;
        }
        if let Some(turn) = self.turns.last_mut() {
            turn.proposed = true;
        }
    }

    fn taken(&mut self, call: &CallId) {
        self.rounds.with_call(call, |round| round.taken = true);
        if let Some(turn) = self.turns.last_mut() {
            turn.declined.retain(|declined| declined.call != *call);
        }
        self.warm(call);
    }

    /// A process that was to be put away with this call has no reason to go any more.
    fn warm(&mut self, call: &CallId) {
        if let Some(turn) =
            self.turns.last_mut().filter(|turn| turn.process == Process::Cooling(call.clone()))
        {
            turn.process = Process::Running;
            turn.kept_by = None;
        }
    }

    fn doing(&mut self, turn: TurnId, what: String) {
        self.alive(turn);
        self.with_turn(turn, |turn| turn.doing = Some(what));
    }

    /// Whatever the agent does shows that its process is there. One that is cooling stays so until it left.
    fn alive(&mut self, turn: TurnId) {
        self.with_turn(turn, |turn| {
            if matches!(turn.process, Process::Parked(_) | Process::CutOff) {
                turn.process = Process::Running;
            }
        });
    }

    fn gone(&mut self, turn: TurnId, process: Process) {
        let cut_off = process == Process::CutOff;
        let put_away = if let Process::Parked(call) = &process { Some(call.clone()) } else { None };
        self.process(turn, process);
        self.with_turn(turn, |turn| {
            turn.doing = None;
            turn.kept_by = None;
        });
        self.rounds.lose_process(turn, cut_off, put_away.as_ref());
    }

    fn process(&mut self, turn: TurnId, process: Process) {
        self.with_turn(turn, |turn| turn.process = process);
    }

    pub(super) fn with_turn(&mut self, id: TurnId, change: impl FnOnce(&mut Turn)) {
        if let Some(turn) = self.turns.iter_mut().find(|turn| turn.id == id) {
            change(turn);
        }
    }

    fn with_item(&mut self, id: &QuestionId, change: impl FnOnce(&mut Item)) {
        self.rounds.with_item(id, change);
    }
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().to_owned()
}
