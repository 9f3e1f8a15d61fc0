//! What leads did while their people were away: what they answered and on which ground, what they drafted, what they
//! passed on, what it cost. Every channel shows the same digest.

use jiff::Timestamp;
use serde::Serialize;

use crate::answer::{Answer, By};
use crate::event::{Entry, Event, Usage};
use crate::id::{QuestionId, SessionId};
use crate::question::Question;
use crate::routing::{Grounding, Hop, Recipient};
use crate::session::Session;

/// What leads did since a point in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Digest {
    /// The time from which on it counts.
    pub since: Timestamp,
    /// What leads did, in the order of time.
    pub lines: Vec<DigestLine>,
    /// What the leads themselves used in that time.
    pub usage: Usage,
}

/// What a lead did with one question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DigestLine {
    /// The session that asked.
    pub session: SessionId,
    /// The question.
    pub question: QuestionId,
    /// The text of the question.
    pub text: String,
    /// When the lead did it.
    pub at: Timestamp,
    /// What the lead did.
    #[serde(flatten)]
    pub what: LeadDid,
}

/// What a lead did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
pub enum LeadDid {
    /// It answered.
    Answered {
        /// The answer, in words.
        answer: String,
        /// The lead.
        by: By,
        /// The ground of the answer, if the lead had to name one.
        because: Option<Grounding>,
    },
    /// It drafted an answer, for a person to send.
    Drafted {
        /// The draft, in words.
        answer: String,
        /// The lead.
        by: By,
        /// The ground of the draft, if it has one.
        because: Option<Grounding>,
    },
    /// The question went on to a person without an answer of the lead.
    PassedOn {
        /// Why, after "because".
        why: String,
    },
}

impl Digest {
    /// A digest without any session.
    pub fn new(since: Timestamp) -> Self {
        Self { since, lines: Vec::new(), usage: Usage::default() }
    }

    /// Adds what leads did in a session, and what it used if it is a lead itself.
    pub fn add(&mut self, id: &SessionId, entries: &[Entry]) {
        let Some(session) = Session::replay(entries) else { return };
        for entry in entries.iter().filter(|entry| entry.at >= self.since) {
            if session.created().is_lead {
                entry.facts.iter().for_each(|fact| add_cost(&mut self.usage, fact));
            }
            self.lines.extend(lines(id, &session, entry));
        }
        self.lines.sort_by_key(|line| line.at);
    }
}

fn add_cost(usage: &mut Usage, fact: &Event) {
    if let Event::Spent { usage: spent, .. } = fact {
        *usage += *spent;
    }
}

/// The acts of leads in an entry of a session.
fn lines(id: &SessionId, session: &Session, entry: &Entry) -> Vec<DigestLine> {
    let did = entry.facts.iter().filter_map(|fact| did(session, entry, fact));
    let line = |(question, what): (QuestionId, LeadDid)| {
        let text = asked(session, &question)?.text.clone();
        Some(DigestLine { session: id.clone(), question, text, at: entry.at, what })
    };
    did.filter_map(line).collect()
}

/// The act of a lead in a fact, and its question.
fn did(session: &Session, entry: &Entry, fact: &Event) -> Option<(QuestionId, LeadDid)> {
    let words = |question: &QuestionId, answer: &Answer| {
        asked(session, question).map(|question| question.words(answer)).unwrap_or_default()
    };
    match fact {
        Event::Answered { question, answer, by: by @ By::Lead { .. } } => {
            let because = entry.facts.iter().find_map(|fact| match fact {
                Event::Grounded { question: grounded, because } if grounded == question => {
                    Some(because.clone())
                }
                _ => None,
            });
            let answer = words(question, answer);
            Some((question.clone(), LeadDid::Answered { answer, by: by.clone(), because }))
        }
        Event::Drafted { question, answer, by, because } => {
            let (answer, by, because) = (words(question, answer), by.clone(), because.clone());
            Some((question.clone(), LeadDid::Drafted { answer, by, because }))
        }
        Event::Routed { question, to: Recipient::Person, why, .. } if is_passed_on(why) => {
            Some((question.clone(), LeadDid::PassedOn { why: why.in_words() }))
        }
        _ => None,
    }
}

/// A question of a session.
fn asked<'a>(session: &'a Session, question: &QuestionId) -> Option<&'a Question> {
    let items = session.rounds().flat_map(|round| round.items);
    items.map(|item| item.question).find(|asked| asked.id == *question)
}

/// Whether a question was passed on by a lead, and not only drafted.
fn is_passed_on(why: &Hop) -> bool {
    match why {
        Hop::TimeOver | Hop::PassedOn { .. } | Hop::LimitReached(_) | Hop::LeadGone { .. } => true,
        Hop::First | Hop::ForPeople | Hop::Drafted => false,
    }
}
