//! `rapport digest`: what leads did while the person was away: what they answered and on which ground, what they
//! passed on, what it cost.

use jiff::{SignedDuration, Timestamp};
use rapport_core::routing::{Grounding, Hop, Recipient};
use rapport_core::{Answer, By, Entry, Event, Question, QuestionId, Session, SessionId, Usage};
use serde::Serialize;
use serde_json::json;

use super::Common;
use super::output::{say, say_json};
use crate::channels::terminal::safe;
use crate::clock::Clock;
use crate::config;
use crate::error::Outcome;
use crate::wiring::Workspace;

/// See what leads answered while you were away, on which ground, what they passed on, and what it cost
///
/// Each answer has a command that overrules it: a branch at that question, where you answer it another way.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport digest                  the last 24 hours
  rapport digest --since 168h     the last week")]
pub(super) struct Args {
    /// How far to look back
    #[arg(long, value_name = "TIME", value_parser = config::duration, default_value = "24h")]
    since: SignedDuration,
}

/// What a lead did with one question.
#[derive(Debug, Serialize)]
struct DigestLine {
    session: SessionId,
    question: QuestionId,
    text: String,
    at: Timestamp,
    #[serde(flatten)]
    what: LeadDid,
}

/// What a lead did.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case", tag = "what")]
enum LeadDid {
    Answered { answer: String, by: By, because: Option<Grounding> },
    Drafted { answer: String, by: By, because: Option<Grounding> },
    PassedOn { why: String },
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let store = place.store();
    let since = Clock::system().now().checked_sub(args.since).unwrap_or(Timestamp::UNIX_EPOCH);
    let (mut lines, mut usage) = (Vec::new(), Usage::default());
    for id in store.list()? {
        // A log that is not trusted, or cannot be read, is left out.
        let Ok(entries) = store.counted(&id, 0) else { continue };
        let Some(session) = Session::replay(&entries) else { continue };
        let recent = entries.iter().filter(|entry| entry.at >= since);
        if session.created().is_lead {
            recent.clone().flat_map(|entry| &entry.facts).for_each(|fact| add_cost(&mut usage, fact));
        }
        for entry in recent {
            lines.extend(of_entry(&id, &session, entry));
        }
    }
    lines.sort_by_key(|line| line.at);
    if common.json {
        return say_json(&json!({ "since": since, "lines": lines, "usage": usage }));
    }
    tell(&lines, &usage)
}

fn add_cost(usage: &mut Usage, fact: &Event) {
    if let Event::Spent { usage: spent, .. } = fact {
        *usage += *spent;
    }
}

/// The acts of leads in an entry of a session.
fn of_entry(id: &SessionId, session: &Session, entry: &Entry) -> Vec<DigestLine> {
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
        Event::Routed { question, to: Recipient::Person | Recipient::Others, why, .. }
            if is_passed_on(why) =>
        {
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

fn tell(lines: &[DigestLine], usage: &Usage) -> Outcome {
    if lines.is_empty() {
        say("No lead answered, drafted or passed on anything.")?;
    }
    for line in lines {
        let DigestLine { session, question, .. } = line;
        let (head, because) = match &line.what {
            LeadDid::Answered { answer, because, .. } => (format!("answered: {answer}"), because.as_ref()),
            LeadDid::Drafted { answer, because, .. } => (format!("drafted: {answer}"), because.as_ref()),
            LeadDid::PassedOn { why } => (format!("passed on, because {why}"), None),
        };
        say(format_args!("{session} {question}  {}", safe::line(&line.text)))?;
        say(format_args!("  {}", safe::line(&head)))?;
        if let Some(because) = because {
            say(format_args!("  because of {}: {}", because.ground, safe::line(&because.quote)))?;
        }
        match &line.what {
            LeadDid::Answered { .. } => {
                say(format_args!("  overrule it with: rapport branch {session} --at {question}"))?
            }
            LeadDid::Drafted { .. } => {
                say(format_args!(
                    "  if it is still open, send it with: rapport answer {session} -q {question} --draft"
                ))?;
            }
            LeadDid::PassedOn { .. } => {}
        }
    }
    say(format_args!("Leads cost ${:.2} in that time.", usage.cost_micros as f64 / 1e6))
}
