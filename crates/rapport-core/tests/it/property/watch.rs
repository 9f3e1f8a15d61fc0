//! An observer that knows only the inputs and the facts that followed, and reports what is wrong.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use rapport_core::{
    Act, AgentDid, Answer, AnsweredQuestion, Asker, By, CallId, CallReply, Ending, Entry, Event, Input,
    Order, Purpose, Question, QuestionId, Refusal, RoundId, Status, TurnKind, View, Want, World,
};

use crate::support::Play;

pub(super) struct Watch {
    rounds: Vec<Seen>,
    given: BTreeMap<QuestionId, (Answer, By)>,
    turn: u32,
    kind: TurnKind,
    agent: Agent,
    connected: bool,
    declined: Vec<CallId>,
    /// Calls that the process which runs now has asked and not got rid of, and those it took.
    waiting: BTreeSet<CallId>,
    taken_here: BTreeSet<CallId>,
    confirmed: bool,
    baselined: bool,
    left_unnoted: bool,
    /// The plan's files by revision, and the newest that was saved.
    files: BTreeMap<u32, (String, String)>,
    saved: u32,
    over: bool,
    cancelled: bool,
    failed: bool,
    /// What was said in this turn, and whether it was read.
    said: Vec<(String, bool)>,
    stopped: bool,
    reached: BTreeSet<&'static str>,
    /// Whether a lead began the session.
    led: bool,
}

/// A round as it was seen.
struct Seen {
    id: RoundId,
    turn: Option<u32>,
    kind: TurnKind,
    call: Option<CallId>,
    questions: Vec<Question>,
    closed: Option<Ending>,
    taken: bool,
    /// It was taken by a process that was cut off later.
    doubtful: bool,
    /// The process that asked is gone.
    orphaned: bool,
    /// It allowed something to a process that is gone.
    spent: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Agent {
    There,
    Parked,
    CutOff,
    Over,
}

macro_rules! hold {
    ($holds:expr, $($wrong:tt)*) => {
        if !$holds {
            return Err(format!($($wrong)*));
        }
    };
}

impl Watch {
    pub(super) fn new(play: &Play) -> Self {
        let mut watch = Self {
            rounds: Vec::new(),
            given: BTreeMap::new(),
            turn: 0,
            kind: TurnKind::Plan,
            agent: Agent::There,
            connected: false,
            declined: Vec::new(),
            waiting: BTreeSet::new(),
            taken_here: BTreeSet::new(),
            confirmed: false,
            baselined: false,
            left_unnoted: false,
            files: BTreeMap::new(),
            saved: 0,
            over: false,
            cancelled: false,
            failed: false,
            said: Vec::new(),
            stopped: false,
            reached: BTreeSet::new(),
            led: matches!(play.session.created().by, By::Lead { .. }),
        };
        for fact in &play.log[0].facts {
            watch.note(fact, false);
        }
        watch
    }

    pub(super) fn turn(&self) -> u32 {
        self.turn
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connected
    }

    pub(super) fn waiting(&self, which: u8) -> Option<CallId> {
        self.waiting.iter().nth(usize::from(which) % self.waiting.len().max(1)).cloned()
    }

    pub(super) fn questions(&self) -> Vec<QuestionId> {
        self.rounds.iter().flat_map(|round| &round.questions).map(|question| question.id.clone()).collect()
    }

    pub(super) fn reached(&self) -> BTreeSet<&'static str> {
        self.reached.clone()
    }

    pub(super) fn crashed(&mut self) {
        self.reached.insert("a crash");
        self.process_gone();
    }

    /// What an input led to.
    pub(super) fn after(
        &mut self,
        play: &Play,
        input: &Input,
        outcome: &Result<Vec<Event>, Refusal>,
    ) -> Result<(), String> {
        let Ok(facts) = outcome else {
            return self.refusal_is_honest(input, outcome.as_ref().unwrap_err());
        };
        let is_last = |fact: &Event| matches!(fact, Event::WorkLeft { .. });
        let is_said = matches!(input, Input::Person { act: Act::Say { .. }, .. }) && !self.cancelled;
        hold!(
            !self.over || is_said || facts.iter().all(|fact| self.left_unnoted && is_last(fact)),
            "something happened after the end: {facts:?}"
        );
        self.words_are_kept(facts)?;
        if !facts.is_empty() {
            let entry = play.log.last().unwrap();
            let json = serde_json::to_string(entry).unwrap();
            let read = Entry::from_json(&json).map_err(|error| format!("{json} cannot be read: {error}"))?;
            hold!(read == *entry, "{json} is read as {read:?}");
        }
        for fact in facts {
            self.fact_is_allowed(input, fact)?;
            self.note(fact, true);
        }
        self.note_calls(input);
        Ok(())
    }

    /// What the agent has not read when its turn ends, it is told in the next.
    fn words_are_kept(&self, facts: &[Event]) -> Result<(), String> {
        let ends = facts.iter().any(|fact| matches!(fact, Event::TurnEnded { .. }));
        let next = facts.iter().find_map(|fact| match fact {
            Event::TurnStarted { prompt, .. } => Some(prompt.as_str()),
            _ => None,
        });
        let unread = self.said.iter().filter(|(_, is_read)| !is_read);
        for (text, _) in unread.filter(|_| ends) {
            hold!(
                next.is_some_and(|prompt| prompt.contains(text)),
                "{text:?} was said and is lost: {facts:?}"
            );
        }
        Ok(())
    }

    /// First answer wins, and the second is told who was first and with what.
    fn refusal_is_honest(&self, input: &Input, refusal: &Refusal) -> Result<(), String> {
        let Input::Person { act: Act::Answer { question: Some(id), .. }, .. } = input else {
            return Ok(());
        };
        let Some((_, question)) = self.find(id) else {
            hold!(matches!(refusal, Refusal::UnknownQuestion { .. }), "{id} was never asked, but: {refusal}");
            return Ok(());
        };
        if let Some((answer, by)) = self.given.get(id) {
            let (question, answer, by) = (id.clone(), words(question, answer), by.clone());
            let expected = Refusal::AlreadyAnswered { question, answer, by };
            hold!(*refusal == expected, "{expected}, but it is refused with: {refusal}");
        }
        Ok(())
    }

    fn fact_is_allowed(&self, input: &Input, fact: &Event) -> Result<(), String> {
        let person = match input {
            Input::Person { by, .. } => Some(by),
            Input::Agent { .. } | Input::World(_) => None,
        };
        match fact {
            Event::Answered { question, by, .. } => {
                let (round, _) =
                    self.find(question).ok_or(format!("{question} was answered but never asked"))?;
                hold!(person == Some(by), "{by} answered {question}, but this came from {input:?}");
                hold!(round.closed.is_none(), "{question} was answered after its end");
                hold!(!self.given.contains_key(question), "{question} was answered twice");
                let purpose = &self.find(question).unwrap().1.purpose;
                let is_allowed = match by {
                    By::Person { .. } => true,
                    By::Lead { .. } => self.led && *purpose == Purpose::Clarify,
                    By::Model { .. } => *purpose == Purpose::Clarify,
                    By::Rule { .. } => !matches!(purpose, Purpose::Elicit(_)),
                };
                hold!(is_allowed, "{by} answered {question}, which is for a person");
            }
            Event::Reopened { question, by } => {
                hold!(matches!(by, By::Person { .. }), "{by} reopened {question}, which is for a person");
                let (round, _) =
                    self.find(question).ok_or(format!("{question} was reopened but never asked"))?;
                hold!(person == Some(by), "{by} reopened {question}, but this came from {input:?}");
                hold!(self.given.contains_key(question), "{question} was reopened without an answer");
                hold!(round.closed.is_none(), "{question} was reopened after its end");
                let works_with_it = round.taken && round.kind == TurnKind::Work;
                hold!(!works_with_it, "{question} was reopened while the agent already works with it");
            }
            Event::Kept { question, by } => {
                let (round, _) = self.find(question).ok_or(format!("{question} was kept but never asked"))?;
                hold!(person == Some(by), "{by} kept {question}, but this came from {input:?}");
                hold!(round.closed.is_none(), "{question} was kept after its end");
                hold!(!self.given.contains_key(question), "{question} was kept but not reopened");
            }
            Event::Heard { by, .. } => {
                hold!(person == Some(by), "{fact:?} came from {input:?}");
                hold!(self.open().next().is_none(), "words were taken beside an open question");
            }
            Event::Read { message, .. } => {
                let said = self.said.get(*message as usize - 1);
                hold!(
                    said.is_some_and(|(_, is_read)| !is_read),
                    "message {message} was read twice, or never said"
                );
            }
            Event::Stopped { by, .. } => {
                hold!(person.is_none_or(|person| person == by), "{fact:?} came from {input:?}");
            }
            Event::Cancelled { by, .. } | Event::Restarted { by } => {
                hold!(person == Some(by), "{fact:?} came from {input:?}");
            }
            Event::Asked { asker: Asker::Agent { .. }, .. } if self.stopped => {
                return Err("somebody is asked by an agent that was stopped".into());
            }
            Event::Asked { round, questions, .. } => {
                hold!(self.rounds.iter().all(|seen| seen.id != *round), "round {round} was asked twice");
                hold!(!questions.is_empty(), "round {round} has no questions");
                for question in questions {
                    hold!(self.find(&question.id).is_none(), "{} names two questions", question.id);
                }
            }
            Event::AskedAgain { round, .. } => {
                let seen = self.rounds.iter().find(|seen| seen.id == *round);
                hold!(seen.is_some(), "round {round} was asked again but never before");
            }
            Event::Closed { round, .. } => {
                let seen = self.rounds.iter().find(|seen| seen.id == *round);
                let seen = seen.ok_or(format!("round {round} was closed but never asked"))?;
                hold!(seen.closed.is_none(), "round {round} was closed twice");
                let in_hand = !seen.taken || self.is_open(seen);
                hold!(in_hand, "round {round} was closed after its answers were taken");
                let confirms = seen.call.is_none();
                hold!(!confirms || self.is_open(seen), "the confirmation was closed after it was answered");
            }
            Event::Taken { call } => {
                let answered = self.called(call).is_some_and(|round| !self.is_open(round));
                hold!(
                    answered || self.declined.contains(call),
                    "{call} was taken but there was nothing to take"
                );
            }
            Event::TurnStarted { kind: TurnKind::Work, .. } => {
                let is_unread = self.kind == TurnKind::Work && self.said.iter().any(|(_, is_read)| !is_read);
                hold!(person.is_some() || is_unread, "work was started by {input:?}");
            }
            _ => {}
        }
        Ok(())
    }

    fn note(&mut self, fact: &Event, counts: bool) {
        if counts {
            self.note_reached(fact);
        }
        match fact {
            Event::TurnStarted { turn, kind, .. } => {
                // What is done between two reports is one stretch of work.
                self.baselined &= self.kind == TurnKind::Work && *kind == TurnKind::Work;
                (self.turn, self.kind) = (turn.0, *kind);
                self.agent = Agent::There;
                (self.over, self.stopped) = (false, false);
                self.said.clear();
                self.declined.clear();
                self.process_gone();
                if self.failed {
                    self.failed = false;
                }
            }
            Event::Baselined { .. } => self.baselined = true,
            Event::Connected { .. } => {
                self.connected = true;
                self.alive();
            }
            Event::Said { .. } | Event::Used { .. } => self.alive(),
            Event::Asked { round, asker, questions } => {
                let (turn, call) = match asker {
                    Asker::Rapport | Asker::Planner => (None, None),
                    Asker::Agent { turn, call, .. } => {
                        self.alive();
                        (Some(turn.0), Some(call.clone()))
                    }
                };
                let (id, questions, kind) = (*round, questions.clone(), self.kind);
                let (taken, doubtful, orphaned, spent) = (false, false, false, false);
                let seen =
                    Seen { id, turn, kind, call, questions, closed: None, taken, doubtful, orphaned, spent };
                self.rounds.push(seen);
            }
            Event::AskedAgain { round, call, .. } => {
                self.alive();
                let seen = self.rounds.iter_mut().find(|seen| seen.id == *round).unwrap();
                seen.call = Some(call.clone());
                (seen.taken, seen.doubtful, seen.orphaned) = (false, false, false);
            }
            Event::Declined { call, .. } => self.declined.push(call.clone()),
            Event::Answered { question, answer, by } => {
                let confirms = self.find(question).unwrap().1.purpose == Purpose::Confirm;
                self.confirmed |= confirms && answer.values == ["confirm"];
                self.given.insert(question.clone(), (answer.clone(), by.clone()));
            }
            Event::Reopened { question, .. } => {
                let old = self.given.remove(question).unwrap();
                // Found again by its name if it is kept.
                self.given.insert(was(question), old);
            }
            Event::Kept { question, .. } => {
                let old = self.given.remove(&was(question)).unwrap();
                self.given.insert(question.clone(), old);
            }
            Event::Taken { call } => {
                self.declined.retain(|declined| declined != call);
                let called = |seen: &&mut Seen| seen.call.as_ref() == Some(call) && has_reply(seen);
                if let Some(seen) = self.rounds.iter_mut().rev().find(called) {
                    seen.taken = true;
                }
            }
            Event::Closed { round, how } => {
                let seen = self.rounds.iter_mut().find(|seen| seen.id == *round).unwrap();
                seen.closed = Some(how.clone());
            }
            Event::Parked { turn, call } => {
                self.use_up(turn.0, Some(call));
                self.gone(Agent::Parked);
            }
            Event::CutOff { turn, .. } => {
                self.use_up(turn.0, None);
                for seen in self.rounds.iter_mut().filter(|seen| seen.turn == Some(turn.0)) {
                    seen.doubtful |= seen.taken;
                }
                self.gone(Agent::CutOff);
            }
            Event::Heard { turn, text, .. } => self.said.extend(turn.map(|_| (text.clone(), false))),
            Event::Read { message, .. } => self.said[*message as usize - 1].1 = true,
            Event::Stopped { .. } => self.stopped = true,
            Event::PlanSaved { revision, .. } => self.saved = *revision,
            Event::TurnEnded { .. } => self.gone(Agent::Over),
            Event::Failed { .. } => self.failed = true,
            Event::Restarted { .. } => {
                (self.failed, self.stopped) = (false, false);
                if self.agent == Agent::CutOff {
                    self.agent = Agent::There;
                }
            }
            Event::WorkLeft { .. } => self.left_unnoted = false,
            Event::Reported { .. } | Event::Cancelled { .. } => {
                self.left_unnoted = matches!(fact, Event::Cancelled { is_unnoted: true, .. });
                self.cancelled = matches!(fact, Event::Cancelled { .. });
                self.baselined = false;
                self.over = true;
                self.gone(Agent::Over);
            }
            // The rest changes nothing that is watched.
            _ => {}
        }
    }

    /// What was allowed to a process counts no more when that is gone, but for the call that it put away.
    fn use_up(&mut self, turn: u32, put_away: Option<&CallId>) {
        for seen in self.rounds.iter_mut().filter(|seen| seen.turn == Some(turn)) {
            let is_permission = matches!(seen.questions[0].purpose, Purpose::Permission { .. });
            let given = self.given.get(&seen.questions[0].id);
            let allowed = is_permission && given.is_some_and(|(answer, _)| answer.values == ["allow"]);
            let was_told = put_away.is_none() || seen.call.as_ref() != put_away;
            seen.spent |= allowed && was_told && !seen.taken && !seen.orphaned;
            seen.orphaned = true;
        }
    }

    fn note_reached(&mut self, fact: &Event) {
        let open_calls = self.rounds.iter().any(|seen| seen.turn == Some(self.turn) && self.is_open(seen));
        let place = match fact {
            Event::TurnStarted { kind: TurnKind::Work, .. } => "work",
            Event::TurnStarted { kind: TurnKind::Plan, .. } => "another plan",
            Event::Asked { asker: Asker::Rapport, .. } => "a confirmation",
            Event::Asked { questions, .. } if questions[0].purpose != Purpose::Clarify => "permission",
            Event::Asked { .. } if self.kind == TurnKind::Work => "a question while working",
            Event::AskedAgain { round, call, .. } => {
                let same =
                    self.rounds.iter().any(|seen| seen.id == *round && seen.call.as_ref() == Some(call));
                if same { "asked again by the same call" } else { "asked again by another call" }
            }
            Event::Declined { .. } => "declined",
            Event::Answered { question, .. } => {
                if self.given.contains_key(&was(question)) && self.agent == Agent::Over {
                    self.reached.insert("edited");
                }
                "an answer"
            }
            Event::Reopened { .. } if self.agent != Agent::Over => "back",
            Event::Kept { .. } => "kept",
            Event::Closed { how: Ending::Superseded(_), .. } => "superseded",
            Event::Closed { how: Ending::Expired, .. } => "expired",
            Event::Closed { how: Ending::Withdrawn(_), .. } => "withdrawn",
            Event::Cooled { .. } => "cooled",
            Event::StayedHot { .. } => "stayed hot",
            Event::Parked { .. } if open_calls => {
                self.reached.insert("parked with an open question");
                "parked"
            }
            Event::Parked { .. } => "parked",
            Event::CutOff { .. } if open_calls => "cut off with an open question",
            Event::Failed { .. } => "failed",
            Event::Restarted { .. } => "restarted",
            Event::Heard { turn: Some(_), .. } => "said in the middle",
            Event::Heard { .. } => "said at the end",
            Event::Read { .. } => "read",
            Event::Stopped { .. } => "stopped",
            Event::Reported { .. } => "completed",
            Event::Cancelled { .. } => "cancelled",
            _ => return,
        };
        self.reached.insert(place);
    }

    /// Which calls wait inside the process that runs now.
    fn note_calls(&mut self, input: &Input) {
        let Input::Agent { turn, did } = input else { return };
        if turn.0 != self.turn || self.agent != Agent::There {
            return;
        }
        match did {
            AgentDid::Ask { call, .. } if !self.taken_here.contains(call) => {
                self.waiting.insert(call.clone());
            }
            AgentDid::Withdraw { call } => {
                self.waiting.remove(call);
            }
            AgentDid::Take { call } => {
                self.waiting.remove(call);
                self.taken_here.insert(call.clone());
            }
            _ => {}
        }
    }

    fn alive(&mut self) {
        if matches!(self.agent, Agent::Parked | Agent::CutOff) {
            self.agent = Agent::There;
        }
    }

    fn gone(&mut self, how: Agent) {
        self.agent = how;
        self.process_gone();
    }

    fn process_gone(&mut self) {
        self.connected = false;
        self.waiting.clear();
        self.taken_here.clear();
    }

    /// What must hold after every move.
    pub(super) fn look(&mut self, play: &Play) -> Result<(), String> {
        let view = play.view();
        self.view_is_true(play, &view)?;
        self.time_is_true(play)?;
        let wants = play.session.wants();
        hold!(wants == play.session.wants(), "the same session wants something else when asked again");
        if self.over || self.failed {
            let left: &[Want] = if self.left_unnoted { &[Want::WorkLeft] } else { &[] };
            hold!(wants == left, "something is wanted though nothing goes on: {wants:?}");
            return Ok(());
        }
        let rests = self.stopped && view.status == Status::Idle;
        hold!(
            rests || !wants.is_empty() || !view.questions.is_empty(),
            "nothing is wanted and nothing is asked"
        );
        self.wants_are_true(&wants)
    }

    fn view_is_true(&mut self, play: &Play, view: &View) -> Result<(), String> {
        let open: BTreeSet<_> = self.open().map(|(_, question)| &question.id).collect();
        let shown: BTreeSet<_> = view.questions.iter().map(|question| &question.id).collect();
        hold!(shown == open && view.questions.len() == open.len(), "open are {open:?}, shown are {shown:?}");
        let answered = self.rounds.iter().flat_map(|seen| &seen.questions).filter_map(|question| {
            let (answer, by) = self.given.get(&question.id)?;
            (question.purpose == Purpose::Clarify).then(|| (&question.id, words(question, answer), by))
        });
        let shown = view.answers.iter().map(|shown| (&shown.id, shown.answer.clone(), &shown.by));
        hold!(answered.eq(shown), "other answers are shown than were given");
        hold!(play.session.is_over() == self.over, "it is over, or it is not");
        hold!(play.session.is_failed() == (self.failed && !self.over), "it has failed, or it has not");
        // WORK-20: an answer that did not reach the agent keeps a failed session waiting.
        let waits = if self.failed { self.has_undelivered() } else { !open.is_empty() };
        let needs_input = waits && !self.over;
        hold!(
            needs_input == (view.status == Status::NeedsInput),
            "open are {open:?}, but it is {:?}",
            view.status
        );
        let calls: BTreeSet<_> = self.open().filter_map(|(round, _)| round.call.as_ref()).collect();
        if calls.len() > 1 {
            self.reached.insert("two open calls");
        }
        Ok(())
    }

    /// Whether a round of this turn has all its answers and the agent took none of them.
    fn has_undelivered(&self) -> bool {
        let is_given = |question: &Question| self.given.contains_key(&question.id);
        self.rounds
            .iter()
            .filter(|seen| seen.turn == Some(self.turn) && !seen.taken && has_reply(seen))
            .any(|seen| seen.questions.iter().all(is_given))
    }

    /// A tick does something when it is due and never before: else the engine would spin, or sleep too long.
    fn time_is_true(&self, play: &Play) -> Result<(), String> {
        let tick = |at: Timestamp| play.session.decide(&Input::World(World::Tick), at).unwrap();
        let Some(deadline) = play.session.deadline() else {
            let late = tick(play.now.checked_add(SignedDuration::from_hours(10_000)).unwrap());
            hold!(late.is_empty(), "nothing is due, ever, but later: {late:?}");
            return Ok(());
        };
        hold!(!tick(deadline).is_empty(), "something is due at {deadline}, but nothing happens");
        let early = tick(deadline.checked_sub(SignedDuration::from_nanos(1)).unwrap());
        hold!(early.is_empty(), "before {deadline} nothing is due, but: {early:?}");
        Ok(())
    }

    fn wants_are_true(&mut self, wants: &[Want]) -> Result<(), String> {
        let orders: Vec<_> = wants
            .iter()
            .filter_map(|want| if let Want::AgentRunning(order) = want { Some(order) } else { None })
            .collect();
        hold!(orders.len() <= 1, "two agents are to run");
        for want in wants {
            match want {
                Want::Baseline(turn) => {
                    hold!(turn.0 == self.turn && !self.baselined, "a second baseline is wanted")
                }
                Want::Snapshot(round) => {
                    let seen = self.rounds.iter().find(|seen| seen.id == *round);
                    let waits = seen.is_some_and(|seen| seen.turn == Some(self.turn) && self.is_open(seen));
                    hold!(waits && self.kind == TurnKind::Work, "round {round} is to be noted in vain");
                }
                Want::AgentRunning(order) => self.order_is_true(wants, order)?,
                Want::HostsAllowed(_) => hold!(false, "nobody allowed a host"),
                Want::Replied { call, reply, .. } => {
                    let taken = self.called(call).is_some_and(|seen| seen.taken);
                    hold!(
                        !taken || self.declined.contains(call),
                        "{call} is replied to, and no longer waits"
                    );
                    let ordered =
                        orders.iter().any(|order| order.replies.contains(&(call.clone(), reply.clone())));
                    hold!(ordered, "{call} gets another reply than was ordered");
                }
                Want::AgentParked { call, .. } => {
                    let untaken = |seen: &&Seen| {
                        let is_waited_for = self.is_open(seen) || !seen.orphaned;
                        seen.turn == Some(self.turn) && !seen.taken && has_reply(seen) && is_waited_for
                    };
                    let untaken: Vec<_> = self.rounds.iter().filter(untaken).collect();
                    let only = untaken.len() == 1 && self.declined.is_empty();
                    hold!(only, "to be parked at {call} with other calls beside it");
                    let waits = untaken[0].call.as_ref() == Some(call) && self.is_open(untaken[0]);
                    hold!(waits, "to be parked at {call}, which does not wait");
                }
                // An agent that works before it is wanted may ask; then that is in no plan yet.
                Want::PlanSaved(_) if self.kind == TurnKind::Work => {}
                Want::PlanSaved(file) => {
                    let content = (file.path.clone(), file.content.clone());
                    let same = self.files.entry(file.revision).or_insert_with(|| content.clone());
                    hold!(
                        *same == content,
                        "revision {} has two contents:\n{}\n---\n{}",
                        file.revision,
                        same.1,
                        content.1
                    );
                }
                Want::Checked { turn, .. } => hold!(turn.0 == self.turn, "another turn is to be checked"),
                Want::Report { turn, .. } => hold!(turn.0 == self.turn, "another turn is to be reported"),
                Want::Granted { .. } => hold!(false, "nothing was allowed for the project"),
                Want::AnswerRuled { .. } => hold!(false, "nobody wants an answer given always"),
                Want::LeadTold { .. } | Want::LeadInformed { .. } | Want::LeadReleased { .. } => {
                    hold!(false, "it has no lead")
                }
                Want::QuestionRound(_)
                | Want::Filed { .. }
                | Want::TurnPrepared(_)
                | Want::PlanChecked { .. }
                | Want::BatchRunning(_)
                | Want::ActionReplied { .. }
                | Want::ReportFiled { .. }
                | Want::Undone { .. } => hold!(false, "an agent makes the rounds and the plan"),
                Want::WorkLeft => hold!(false, "the agent has left nothing yet"),
                Want::WorkUndone(_) => hold!(false, "nobody wants the work undone"),
                Want::Merged { .. } | Want::Applied { .. } | Want::Cleared => {
                    hold!(false, "it is worked on in the project itself")
                }
            }
        }
        Ok(())
    }

    fn order_is_true(&self, wants: &[Want], order: &Order) -> Result<(), String> {
        hold!(order.turn.0 == self.turn && order.kind == self.kind, "another turn is to run");
        hold!(!self.stopped, "an agent is to run that was stopped");
        let said = order.messages.iter().map(|said| &said.text);
        hold!(said.eq(self.said.iter().map(|(text, _)| text)), "other words are told than were said");
        let open = self.rounds.iter().any(|seen| seen.turn == Some(self.turn) && self.is_open(seen));
        let gone = matches!(self.agent, Agent::Parked | Agent::CutOff);
        hold!(!(gone && open), "an agent is to run that waits for an answer");
        hold!(self.agent != Agent::Over, "an agent is to run whose turn is over");
        if self.kind == TurnKind::Work {
            hold!(self.confirmed, "work is wanted that nobody confirmed");
            hold!(self.baselined, "work is wanted before its baseline");
            let unsaved = wants.iter().any(|want| matches!(want, Want::PlanSaved(_)));
            hold!(!unsaved && self.saved > 0, "work is wanted before its plan is saved");
        }
        let calls: BTreeSet<_> = order.replies.iter().map(|(call, _)| call).collect();
        hold!(calls.len() == order.replies.len(), "a call gets two replies: {:?}", order.replies);
        for (call, reply) in &order.replies {
            if self.declined.contains(call) {
                hold!(matches!(reply, CallReply::Deny { .. }), "{call} was declined, but gets {reply:?}");
                continue;
            }
            let expected = self.reply_to(call)?;
            let honest = match (&expected, reply) {
                (Expected::Exactly(expected), reply) => expected == reply,
                (Expected::Nobody(said), CallReply::Deny { message, .. }) => {
                    message.contains("Nobody answered in time")
                        && said.iter().all(|words| message.contains(words))
                }
                (Expected::No, reply) => matches!(reply, CallReply::Deny { .. }),
                (Expected::Nobody(_), _) => false,
            };
            hold!(honest, "{call} gets {reply:?}, expected was {expected:?}");
        }
        for seen in
            self.rounds.iter().filter(|seen| seen.turn == Some(self.turn) && !seen.taken && has_reply(seen))
        {
            let replied = calls.contains(seen.call.as_ref().unwrap());
            if !replied && self.waits_for_baseline(seen, wants) {
                continue;
            }
            hold!(replied != self.is_open(seen), "round {} is open and replied, or neither", seen.id);
        }
        for call in &self.waiting {
            let open = self.open().any(|(round, _)| round.call.as_ref() == Some(call));
            let held_back = self.called(call).is_some_and(|seen| self.waits_for_baseline(seen, wants));
            hold!(
                open || held_back || calls.contains(call),
                "{call} waits, nobody is asked, and it gets no reply"
            );
        }
        Ok(())
    }

    /// Whether something was allowed while planning that is not told before the state of the project is noted.
    fn waits_for_baseline(&self, seen: &Seen, wants: &[Want]) -> bool {
        let is_wanted = wants.iter().any(|want| matches!(want, Want::Baseline(_)));
        let is_permission = matches!(seen.questions[0].purpose, Purpose::Permission { .. });
        let given = self.given.get(&seen.questions[0].id);
        let allowed = is_permission && given.is_some_and(|(answer, _)| answer.values == ["allow"]);
        allowed && is_wanted && self.kind == TurnKind::Plan
    }

    /// The reply a call must get, from what was asked and answered.
    fn reply_to(&self, call: &CallId) -> Result<Expected, String> {
        let seen = self.called(call).ok_or(format!("{call} gets a reply but never asked"))?;
        hold!(!seen.taken || seen.doubtful, "{call} gets a reply it no longer waits for");
        let told = seen.questions.iter().filter_map(|question| {
            let (answer, by) = self.given.get(&question.id)?;
            Some(AnsweredQuestion {
                question: question.text.clone(),
                answer: words(question, answer),
                by: by.clone(),
                because: None,
            })
        });
        let told: Vec<_> = told.collect();
        if seen.closed == Some(Ending::Expired) {
            return Ok(Expected::Nobody(told.into_iter().map(|told| told.answer).collect()));
        }
        let question = &seen.questions[0];
        if question.purpose == Purpose::Clarify {
            return Ok(Expected::Exactly(CallReply::Answers(told)));
        }
        let (answer, _) = &self.given[&question.id];
        Ok(match answer.values.as_slice() {
            [value] if value == "allow" => {
                Expected::Exactly(CallReply::Allow { asked: question.text.clone() })
            }
            _ => Expected::No,
        })
    }

    fn open(&self) -> impl Iterator<Item = (&Seen, &Question)> {
        let rounds = self.rounds.iter().filter(|seen| seen.closed.is_none());
        let all = rounds.flat_map(|seen| seen.questions.iter().map(move |question| (seen, question)));
        all.filter(|(_, question)| !self.given.contains_key(&question.id))
    }

    /// The round this call gets the reply of.
    fn called(&self, call: &CallId) -> Option<&Seen> {
        self.rounds.iter().rev().find(|seen| seen.call.as_ref() == Some(call) && has_reply(seen))
    }

    fn is_open(&self, seen: &Seen) -> bool {
        seen.closed.is_none() && seen.questions.iter().any(|question| !self.given.contains_key(&question.id))
    }

    fn find(&self, id: &QuestionId) -> Option<(&Seen, &Question)> {
        let all =
            self.rounds.iter().flat_map(|seen| seen.questions.iter().map(move |question| (seen, question)));
        all.into_iter().find(|(_, question)| question.id == *id)
    }
}

#[derive(Debug)]
enum Expected {
    Exactly(CallReply),
    /// A denial, in whatever words.
    No,
    /// That its time ran out, and what was answered until then.
    Nobody(Vec<String>),
}

/// Whether what this round asked still has to arrive somewhere.
fn has_reply(seen: &Seen) -> bool {
    !seen.spent && !matches!(seen.closed, Some(Ending::Withdrawn(_) | Ending::Superseded(_)))
}

fn was(question: &QuestionId) -> QuestionId {
    QuestionId::new(format!("what {question} was"))
}

fn words(question: &Question, answer: &Answer) -> String {
    let label = |value: &String| {
        let option = question.options.iter().find(|option| option.value == *value);
        option.map_or(value.clone(), |option| option.label.clone())
    };
    answer.values.iter().map(label).chain(answer.text.clone()).collect::<Vec<_>>().join(", ")
}

pub(super) fn view_survives_json(play: &Play) -> Result<(), String> {
    let view = play.view();
    let json = serde_json::to_string(&view).unwrap();
    let read: View =
        serde_json::from_str(&json).map_err(|error| format!("{json} cannot be read: {error}"))?;
    hold!(read == view, "{json} is read as {read:?}");
    Ok(())
}
