//! `rapport digest`: what leads did while the person was away: what they answered and on which ground, what they
//! passed on, what it cost. The person overrules what they answered, line by line.

use jiff::{SignedDuration, Timestamp};
use rapport_core::{Act, By, Digest, DigestLine, LeadDid, LearningKind, Reply};
use rapport_door::{ContextUpdate, Projects as _};
use serde_json::json;

use super::output::{say, say_json};
use super::{Common, branch, project, sessions};
use crate::branches;
use crate::channels::terminal::terminal_text;
use crate::clock::Clock;
use crate::config;
use crate::error::{Code, Failure, Outcome};
use crate::wiring::{self, Workspace};

/// See what leads answered while you were away, on which ground, what they passed on, and what it cost
///
/// An answer is overruled by the number of its line: that begins a branch at its question, where you answer it another
/// way, and proposes to keep in mind that this was not the answer (`rapport project learn`), so that it is not given
/// again. What was done with the answer stays in the original session.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport digest                  the last 24 hours
  rapport digest --since 168h     the last week
  rapport digest --overrule 2     another answer than that of line 2
  rapport digest --overrule 2 --instead Passkeys")]
pub(super) struct Args {
    /// How far to look back
    #[arg(long, value_name = "TIME", value_parser = config::duration, default_value = "24h")]
    since: SignedDuration,
    /// Overrule the answer in the line of this number
    #[arg(long, value_name = "NUMBER")]
    overrule: Option<usize>,
    /// The answer to give instead
    #[arg(long, value_name = "VALUE", requires = "overrule")]
    instead: Option<String>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let store = place.store();
    let since = Clock::system().now().checked_sub(args.since).unwrap_or(Timestamp::UNIX_EPOCH);
    let mut digest = Digest::new(since);
    for id in store.list()? {
        // A log that is not trusted, or cannot be read, is left out.
        if let Ok(entries) = store.counted(&id, 0) {
            digest.add(&id, &entries);
        }
    }
    if let Some(number) = args.overrule {
        return overrule(common, &place, &digest, (number, args.instead.as_deref()));
    }
    if common.json {
        return say_json(&digest);
    }
    tell(args.since, &digest)
}

/// Overrules an answer: proposes a learning, and opens the question again in a branch, with the other answer if one is
/// given. The learning comes first: after a kill in between, doing it again proposes nothing twice.
fn overrule(
    common: &Common,
    place: &Workspace,
    digest: &Digest,
    (number, instead): (usize, Option<&str>),
) -> Outcome {
    let line = number.checked_sub(1).and_then(|place| digest.lines.get(place));
    let Some(DigestLine { session, question, text, what: LeadDid::Answered { answer, .. }, .. }) = line
    else {
        return Err(Failure::new(Code::NotFound, format!("line {number} is not an answer of a lead"))
            .hint("See the lines with: rapport digest"));
    };
    let known = place.projects();
    let project = project::named(place, None)?;
    let rather = instead.map_or("ask instead".to_owned(), |instead| format!("rather {instead}"));
    let learning = format!("{} Not {answer}: {rather}", text.trim());
    let update = ContextUpdate {
        learnings: vec![(LearningKind::Preference, learning.clone())],
        from: Some(format!("{session}/{question}")),
    };
    // A rule only proposes; the person decides about it with `project learn`.
    let by = By::written_rule("an answer of the lead was overruled");
    project::done(known.update(&project, &by, &update))?;
    wiring::refuse_agents()?;
    let made = branches::open_again(place, session, question)?;
    if let Some(instead) = instead {
        let reply = Reply::Words(vec![instead.to_owned()]);
        sessions::act(place, &made.session, &Act::Answer { question: Some(question.clone()), reply })?;
    }
    if common.json {
        return say_json(&json!({ "session": made.session, "overruled": session, "question": question,
            "proposed": learning }));
    }
    branch::tell(&made)?;
    say(format_args!("Proposed to keep in mind: {}", terminal_text::line(&learning)))?;
    say("Decide about it with: rapport project learn")
}

fn tell(since: SignedDuration, Digest { lines, usage, .. }: &Digest) -> Outcome {
    if lines.is_empty() {
        say(format_args!("No lead answered, drafted or passed on anything in the last {since:#}."))?;
    }
    for (number, line) in (1..).zip(lines) {
        let DigestLine { session, question, .. } = line;
        let (head, because) = match &line.what {
            LeadDid::Answered { answer, because, .. } => (format!("answered: {answer}"), because.as_ref()),
            LeadDid::Drafted { answer, because, .. } => (format!("drafted: {answer}"), because.as_ref()),
            LeadDid::PassedOn { why } => (format!("passed on, because {why}"), None),
        };
        say(format_args!("{number}. {session} {question}  {}", terminal_text::line(&line.text)))?;
        say(format_args!("  {}", terminal_text::line(&head)))?;
        if let Some(because) = because {
            say(format_args!("  because of {}: {}", because.ground, terminal_text::line(&because.quote)))?;
        }
        match &line.what {
            LeadDid::Answered { .. } => {
                say(format_args!("  overrule it with: rapport digest --overrule {number}"))?
            }
            LeadDid::Drafted { .. } => {
                say(format_args!(
                    "  if it is still open, send it with: rapport answer {session} -q {question} --draft"
                ))?;
            }
            LeadDid::PassedOn { .. } => {}
        }
    }
    say(format_args!("Leads cost ${:.2} in the last {since:#}.", usage.cost_micros as f64 / 1e6))
}
