//! The routes of questions in a session with a lead: who is asked now, what the lead drafted, and how many answers
//! the lead has given. Every step is a fact; silence only leads to the next step.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};

use super::round::{Round, RoundItem, State};
use super::rounds::AskedRounds;
use super::shared::Shared;
use crate::answer::{Answer, By};
use crate::created::Created;
use crate::event::Event;
use crate::id::{QuestionId, SessionId};
use crate::question::{Purpose, Question};
use crate::refusal::Refusal;
use crate::routing::{
    ASKING_TIME, Class, Earlier, Grounding, Hop, Limit, MOST_IN_A_ROW, Policy, Recipient, RoutingTerms, chain,
};
use crate::want::Want;

/// The maximum length of the reason for which a lead passes a question on, in characters.
const LONGEST_REASON: usize = 400;

/// The routes of a session's questions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Routes {
    by_question: BTreeMap<QuestionId, Route>,
    /// Questions that the lead was told of, and was not released from yet.
    with_lead: BTreeSet<QuestionId>,
    /// The number of answers that leads gave since a person last acted.
    in_a_row: u32,
    /// The times of leads' answers, as far as the hourly limit needs them.
    answered_at: VecDeque<Timestamp>,
    /// The same for leads' messages to the agent.
    said_at: VecDeque<Timestamp>,
    /// The last end of the work that the lead was told of.
    pub(super) informed: u32,
    /// The number of ends that the lead was told of since a person last acted.
    informed_in_a_row: u32,
    /// Whether the lead ended the work itself, so that it knows.
    is_ended_by_lead: bool,
}

/// The route of one question so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) class: Class,
    pub(crate) to: Recipient,
    pub(crate) since: Timestamp,
    pub(crate) why: Hop,
    pub(crate) is_told: bool,
    /// Since when the lead asks its own person about it.
    pub(crate) asks_since: Option<Timestamp>,
    pub(crate) draft: Option<LeadDraft>,
}

impl Route {
    /// Until when a question stays with its current recipient; `None` if it stays until it is answered.
    pub(crate) fn until(&self, terms: &RoutingTerms) -> Option<Timestamp> {
        let (since, time) = match (self.to, self.asks_since) {
            (Recipient::Lead, Some(since)) => (since, ASKING_TIME),
            (Recipient::Lead, None) => (self.since, terms.lead_time),
            (Recipient::Person, _) => (self.since, terms.person_time?),
            (Recipient::Others, _) => return None,
        };
        since.checked_add(time).ok()
    }

    /// Until when others are not asked; `None` if they are.
    pub(crate) fn withheld_until(&self, terms: &RoutingTerms) -> Option<Timestamp> {
        let persons_time = terms.person_time?;
        match self.to {
            Recipient::Lead => self.until(terms)?.checked_add(persons_time).ok(),
            Recipient::Person => self.until(terms),
            Recipient::Others => None,
        }
    }
}

/// An answer that a lead proposes, and a person may send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeadDraft {
    pub(crate) answer: Answer,
    pub(crate) by: By,
    pub(crate) because: Option<Grounding>,
    pub(crate) at: Timestamp,
}

/// Everything that was answered in a session.
impl Earlier for AskedRounds {
    fn answered(&self) -> impl Iterator<Item = (&Question, &Answer, &By)> {
        let items = self.iter().flat_map(|round| &round.items);
        items.filter_map(|item| item.given().map(|given| (&item.question, &given.answer, &given.by)))
    }
}

impl Shared {
    /// The first stop of each question that these facts ask.
    pub(super) fn first_stops(&self, facts: &[Event], now: Timestamp) -> Vec<Event> {
        if !self.created.is_routed() {
            return Vec::new();
        }
        let is_answered = |id: &QuestionId| {
            facts.iter().any(|fact| matches!(fact, Event::Answered { question, .. } if question == id))
        };
        let asked = facts.iter().filter_map(|fact| match fact {
            Event::Asked { questions, .. } => Some(questions),
            _ => None,
        });
        let open = asked.flatten().filter(|question| !is_answered(&question.id));
        open.map(|question| self.first_stop(question, now)).collect()
    }

    fn first_stop(&self, question: &Question, now: Timestamp) -> Event {
        let (class, terms) = (Class::of(question, &self.rounds), &self.created.terms);
        let policy = if self.created.lead.is_some() { terms.questions } else { Policy::Ask };
        let first = chain(class, policy, &terms.routing).first().map(|stop| stop.who);
        let limit = self
            .routes
            .limit_reached(&self.created.terms.routing, now)
            .filter(|_| terms.questions.has_limits());
        let (to, why) = match (first, limit) {
            (Some(Recipient::Lead), Some(limit)) => (Recipient::Person, Hop::LimitReached(limit)),
            (Some(Recipient::Lead), None) => (Recipient::Lead, Hop::First),
            _ if class.is_for_people() => (Recipient::Person, Hop::ForPeople),
            _ => (Recipient::Person, Hop::First),
        };
        Event::Routed { question: question.id.clone(), to, class, why }
    }

    /// Refuses a lead's answer to a question that only people may decide.
    pub(super) fn check_class(&self, question: &Question, by: &By) -> Result<(), Refusal> {
        let class = self.routes.class_now(question, &self.rounds);
        if !class.is_for_people() {
            return Ok(());
        }
        let (what, by, question) = (class.in_words().into(), by.clone(), Some(question.id.clone()));
        Err(Refusal::NeedsPerson { what, by, question })
    }

    /// Decides a lead's response to a question that it may answer: an answer where it may give one, otherwise a
    /// draft, otherwise nothing.
    pub(super) fn respond(
        &self,
        item: &RoundItem,
        answer: Answer,
        because: Option<&Grounding>,
        by: &By,
        now: Timestamp,
    ) -> Result<Responded, Refusal> {
        let id = &item.question.id;
        if self.rounds.is_being_changed(id) {
            let (what, by, question) = ("changing an answer".into(), by.clone(), Some(id.clone()));
            return Err(Refusal::NeedsPerson { what, by, question });
        }
        let route = self.routes.of(id);
        if route.is_some_and(|route| route.draft.is_some()) {
            let why = format!("a draft for {id} waits for a person");
            return Err(Refusal::NotNow { what: "another draft".into(), why });
        }
        let limit = self.routes.limit_reached(&self.created.terms.routing, now);
        let is_with_lead = route.is_some_and(|route| route.to == Recipient::Lead);
        let policy = self.created.terms.questions;
        // No ground can decide whether an agent that stopped goes on.
        let is_grounded = because.is_some() || item.question.purpose == Purpose::Idle;
        let may_answer = match policy {
            Policy::Trust => true,
            Policy::Auto => is_with_lead && is_grounded,
            Policy::Ask | Policy::Assist => false,
        };
        if may_answer && limit.is_none() {
            return Ok(Responded::Answer(answer, because.cloned()));
        }
        let (question, by, because) = (id.clone(), by.clone(), because.cloned());
        let drafted = Event::Drafted { question, answer, by, because };
        let why = limit.filter(|_| policy.has_limits()).map_or(Hop::Drafted, Hop::LimitReached);
        Ok(Responded::Draft([drafted].into_iter().chain(self.routes.hop(id, why)).collect()))
    }

    /// Decides that a question goes to a person: a lead passes it on, and may raise its class; or a person answers it
    /// themselves.
    pub(super) fn pass_on(
        &self,
        question: &QuestionId,
        class: Option<Class>,
        reason: &str,
    ) -> Result<Vec<Event>, Refusal> {
        let route = self.routes.of(question).filter(|_| self.is_unanswered(question));
        let Some(route) = route else {
            return Err(Refusal::UnknownQuestion { question: question.clone() });
        };
        let raised = class.map_or(route.class, |class| route.class.raised_to(class));
        if route.to != Recipient::Lead && raised == route.class {
            return Ok(Vec::new());
        }
        let to = if route.to == Recipient::Lead { Recipient::Person } else { route.to };
        let why = Hop::PassedOn { reason: reason.trim().chars().take(LONGEST_REASON).collect() };
        Ok(vec![Event::Routed { question: question.clone(), to, class: raised, why }])
    }

    /// The lead was told of a question, or could not be.
    pub(super) fn lead_told(&self, question: &QuestionId, outcome: &Result<(), String>) -> Vec<Event> {
        let is_news =
            self.routes.of(question).is_some_and(|route| route.to == Recipient::Lead && !route.is_told);
        let fact = match outcome {
            _ if !is_news || !self.is_unanswered(question) => None,
            Ok(()) => Some(Event::LeadTold { question: question.clone() }),
            Err(reason) => self.routes.hop(question, Hop::LeadGone { reason: reason.clone() }),
        };
        fact.into_iter().collect()
    }

    /// Decides that the lead asks its own person about a question, so that it gets more time, once.
    pub(super) fn lead_asks(&self, question: &QuestionId) -> Vec<Event> {
        let route = self.routes.of(question).filter(|_| self.is_unanswered(question));
        let is_news = route.is_some_and(|route| route.to == Recipient::Lead && route.asks_since.is_none());
        is_news.then(|| Event::LeadAsks { question: question.clone() }).into_iter().collect()
    }

    /// The steps that are due because time has passed.
    pub(super) fn overdue(&self, now: Timestamp) -> Vec<Event> {
        let due = |route: &Route| route.until(&self.created.terms.routing).is_some_and(|until| until <= now);
        let routes = self.open_routes().filter(|(_, route)| due(route));
        let step = |(question, route): (&QuestionId, &Route)| {
            let to = if route.to == Recipient::Lead { Recipient::Person } else { Recipient::Others };
            Event::Routed { question: question.clone(), to, class: route.class, why: Hop::TimeOver }
        };
        routes.map(step).collect()
    }

    /// When the next question moves on by itself.
    pub(super) fn next_step(&self) -> Option<Timestamp> {
        self.open_routes().filter_map(|(_, route)| route.until(&self.created.terms.routing)).min()
    }

    /// The wants about what the lead is told.
    pub(super) fn lead_wants(&self) -> impl Iterator<Item = Want> {
        let lead = self.created.lead.clone();
        let untold = self.open_routes().filter(|_| self.is_going());
        let untold = untold.filter(|(_, route)| route.to == Recipient::Lead && !route.is_told);
        let is_over = |id: &&QuestionId| {
            !self.is_unanswered(id) || self.routes.of(id).is_some_and(|route| route.to != Recipient::Lead)
        };
        let over = self.routes.with_lead.iter().filter(is_over);
        let told = untold.map(|(id, _)| (id.clone(), true)).chain(over.map(|id| (id.clone(), false)));
        let informed = self.end_to_tell().and_then(|end| {
            let lead = self.created.lead.clone()?;
            Some(Want::LeadInformed { lead, end })
        });
        let told = told.filter_map(move |(question, is_new)| {
            let lead = lead.clone()?;
            Some(if is_new {
                Want::LeadTold { lead, question }
            } else {
                Want::LeadReleased { lead, question }
            })
        });
        told.chain(informed)
    }

    /// The end of the work that the lead has to be told of: only where the lead began the session, and did not end it
    /// itself (LEAD-16). A lead that has the agent go on after every end would do so for ever, so after some ends in a
    /// row only people are told.
    fn end_to_tell(&self) -> Option<u32> {
        let began = |lead: &SessionId| matches!(&self.created.by, By::Lead { name } if name == lead.as_str());
        let is_its_own = self.created.lead.as_ref().is_some_and(began);
        let has_ended = !self.is_going() && !self.routes.is_ended_by_lead;
        let is_loop = self.routes.informed_in_a_row >= MOST_IN_A_ROW;
        (is_its_own && has_ended && !is_loop && self.ends > self.routes.informed).then_some(self.ends)
    }

    /// The open questions that the lead was told of and that are still with it.
    pub(super) fn with_lead(&self) -> Vec<QuestionId> {
        let told = self.open_routes().filter(|(_, route)| route.to == Recipient::Lead && route.is_told);
        told.map(|(question, _)| question.clone()).collect()
    }

    fn open_routes(&self) -> impl Iterator<Item = (&QuestionId, &Route)> {
        let is_routed = self.created.is_routed();
        let items = self.rounds.open().filter(move |_| is_routed).flat_map(|round| &round.items);
        let open = items.filter(|item| item.given().is_none());
        open.filter_map(|item| self.routes.by_question.get_key_value(&item.question.id))
    }

    fn is_unanswered(&self, question: &QuestionId) -> bool {
        let is_open = |(round, item): (&Round, &RoundItem)| {
            round.closed.is_none() && matches!(item.state, State::Open { .. })
        };
        self.is_going() && self.rounds.item(question).is_some_and(is_open)
    }
}

impl Routes {
    /// The current class of a question. A class that was raised stays raised.
    pub(crate) fn class_now(&self, question: &Question, earlier: &impl Earlier) -> Class {
        let found = Class::of(question, earlier);
        self.of(&question.id).map_or(found, |route| route.class.raised_to(found))
    }

    pub(super) fn limit_reached(&self, terms: &RoutingTerms, now: Timestamp) -> Option<Limit> {
        if self.in_a_row >= MOST_IN_A_ROW {
            return Some(Limit::InARow);
        }
        is_hour_full(&self.answered_at, terms, now).then_some(Limit::PerHour)
    }

    /// Refuses a message of the session's lead that has sent as many as it may in an hour.
    pub(super) fn check_message(&self, created: &Created, by: &By, now: Timestamp) -> Result<(), Refusal> {
        let is_lead = |lead: &SessionId| matches!(by, By::Lead { name } if name == lead.as_str());
        let is_its_own = created.lead.as_ref().is_some_and(is_lead);
        if !is_its_own || !is_hour_full(&self.said_at, &created.terms.routing, now) {
            return Ok(());
        }
        let why = "the lead sent as many messages as it may in an hour; a person can send more".into();
        Err(Refusal::NotNow { what: "sending the agent a message".into(), why })
    }

    /// Applies a fact to the routes.
    pub(super) fn apply(&mut self, fact: &Event, at: Timestamp, terms: &RoutingTerms) {
        match fact {
            Event::Routed { question, to, class, why } => {
                let route = self.by_question.entry(question.clone()).or_insert_with(|| Route {
                    class: *class,
                    to: *to,
                    since: at,
                    why: why.clone(),
                    is_told: false,
                    asks_since: None,
                    draft: None,
                });
                route.since = if route.to == *to { route.since } else { at };
                (route.class, route.to, route.why) = (*class, *to, why.clone());
            }
            Event::LeadTold { question } => {
                self.with_lead.insert(question.clone());
                self.with(question, |route| route.is_told = true);
            }
            Event::LeadInformed { end, .. } => {
                self.informed = *end;
                self.informed_in_a_row += 1;
            }
            Event::Reported { .. } | Event::Failed { .. } => self.is_ended_by_lead = false,
            Event::Cancelled { by, .. } => self.is_ended_by_lead = matches!(by, By::Lead { .. }),
            Event::LeadAsks { question } => self.with(question, |route| route.asks_since = Some(at)),
            Event::LeadReleased { question } => {
                self.with_lead.remove(question);
            }
            Event::Drafted { question, answer, by, because } => {
                self.with_lead.remove(question);
                let (answer, by, because) = (answer.clone(), by.clone(), because.clone());
                // Questions have no route in a session without a lead; the assistant that began it may still draft.
                let route = self.by_question.entry(question.clone()).or_insert(Route {
                    class: Class::Clarification,
                    to: Recipient::Person,
                    since: at,
                    why: Hop::Drafted,
                    is_told: false,
                    asks_since: None,
                    draft: None,
                });
                route.draft = Some(LeadDraft { answer, by, because, at });
            }
            Event::Answered { question, by: By::Lead { .. }, .. } => {
                self.with_lead.remove(question);
                self.in_a_row += 1;
                note_time(&mut self.answered_at, at, terms);
            }
            Event::Heard { by: By::Lead { .. }, .. } => note_time(&mut self.said_at, at, terms),
            Event::Answered { by: By::Person { .. }, .. } | Event::Heard { by: By::Person { .. }, .. } => {
                (self.in_a_row, self.informed_in_a_row) = (0, 0);
            }
            // The draft was for the question as it was then, and a person now changes the answer, so the lead is no
            // longer asked.
            Event::Reopened { question, .. } => self.with(question, |route| {
                route.draft = None;
                if route.to == Recipient::Lead {
                    (route.to, route.since) = (Recipient::Person, at);
                }
            }),
            _ => {}
        }
    }

    /// The way of a question, if it was routed or has a draft.
    pub(crate) fn of(&self, question: &QuestionId) -> Option<&Route> {
        self.by_question.get(question)
    }

    /// The step from the lead to the person, if the question is with the lead.
    pub(super) fn hop(&self, question: &QuestionId, why: Hop) -> Option<Event> {
        let route = self.of(question).filter(|route| route.to == Recipient::Lead)?;
        Some(Event::Routed { question: question.clone(), to: Recipient::Person, class: route.class, why })
    }

    /// The draft for a question, for a person who wants to send it.
    pub(super) fn draft_of(&self, question: &QuestionId) -> Result<&LeadDraft, Refusal> {
        let draft = self.of(question).and_then(|route| route.draft.as_ref());
        draft.ok_or_else(|| {
            let why = format!("{question} has no draft");
            Refusal::NotNow { what: "sending a draft".into(), why }
        })
    }

    /// The lead was told that a question is over.
    pub(super) fn lead_released(&self, question: &QuestionId) -> Vec<Event> {
        let is_news = self.with_lead.contains(question);
        is_news.then(|| Event::LeadReleased { question: question.clone() }).into_iter().collect()
    }
}

impl Routes {
    fn with(&mut self, question: &QuestionId, change: impl FnOnce(&mut Route)) {
        if let Some(route) = self.by_question.get_mut(question) {
            change(route);
        }
    }
}

/// Whether so many times are in the last hour as the terms allow.
fn is_hour_full(times: &VecDeque<Timestamp>, terms: &RoutingTerms, now: Timestamp) -> bool {
    const HOUR: SignedDuration = SignedDuration::from_hours(1);
    let since = now.checked_sub(HOUR).unwrap_or(Timestamp::MIN);
    let lately = times.iter().filter(|at| **at > since).count();
    lately as u64 >= u64::from(terms.per_hour)
}

/// Keeps a time, as far as the hourly limit needs it.
fn note_time(times: &mut VecDeque<Timestamp>, at: Timestamp, terms: &RoutingTerms) {
    times.push_back(at);
    while times.len() > (terms.per_hour as usize).max(1) {
        times.pop_front();
    }
}

/// What follows from a lead's response.
pub(super) enum Responded {
    /// The answer counts.
    Answer(Answer, Option<Grounding>),
    /// The response is only a draft, with these facts.
    Draft(Vec<Event>),
}
