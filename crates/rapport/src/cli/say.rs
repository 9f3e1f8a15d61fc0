//! `rapport say`: a message to the agent of a session, wherever it runs.

use std::ffi::OsString;
use std::time::Duration;

use rapport_core::{Act, Aim, Entry, Event, Purpose, Status, WorkplaceState};
use serde_json::json;

use super::output::{say, say_json};
use super::run::{self, Start};
use super::session_choice::{self, Known};
use super::{Common, resume, sessions, text, typed_lines};
use crate::cli::runtime;
use crate::config::Layer;
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;

/// How long to wait until the process that has a session starts its agent with a message. A process that ends does so
/// much sooner.
const CARRYING_ON: Duration = Duration::from_secs(10);

/// Send a message to the agent of a session: during its work, or as what to do next
///
/// A working or planning agent reads it at its next step; in a conversation, as its queue says (`rapport queue`). One
/// that was stopped or has failed resumes with it. After the work is done the agent continues in the same conversation and the same place.
/// If no process runs the session, it is resumed here, as with `rapport resume -m`. It does not answer an open
/// question: see `rapport answer`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport say greet \"mind the tests\"      while it works
  rapport say greet \"now in German too\"   when it is done
  rapport say greet - < message.md")]
pub(super) struct Args {
    /// The session: its name, or a unique part of it
    session: String,
    /// What to say; "-" reads it from standard input
    #[arg(required = true)]
    text: Vec<OsString>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let known = session_choice::known(&place, &session_choice::by_name(&place, &args.session)?)?;
    known.check_counts()?;
    refuse_if_asked(&known)?;
    say_to(common, &place, &known, &words(&args.text)?)
}

/// The message, from the command line or from standard input.
pub(super) fn words(given: &[OsString]) -> Result<String, Failure> {
    let words = text(given, "this message")?;
    let words =
        if words == ["-"] { typed_lines::piped("the message from standard input")? } else { words.join(" ") };
    if words.trim().is_empty() {
        return Err(Failure::new(Code::Usage, "the message is empty"));
    }
    Ok(words)
}

/// Refuses a message while a question is open, because the agent would not read it before the answer.
pub(super) fn refuse_if_asked(known: &Known) -> Outcome {
    let Known { id, view, .. } = known;
    let Some(question) = view.questions.first() else { return Ok(()) };
    let what = format!("{id} waits for an answer to {}, and takes no other message until then", question.id);
    let failure = Failure::new(Code::Refused, what)
        .hint(format!("Answer it with: rapport answer {id} --question {} VALUE", question.id));
    Err(match question.purpose {
        Purpose::Confirm => {
            failure.hint(format!("Or have the plan made again: rapport revise {id} FEEDBACK"))
        }
        _ => failure,
    })
}

/// Sends it to the process that runs the session; if there is none, resumes the session here.
pub(super) fn say_to(common: &Common, place: &Workspace, known: &Known, words: &str) -> Outcome {
    if !known.is_held() || known.has_turns() {
        return resume::with_message(common, place, known, words);
    }
    said(common, place, known, words.to_owned())
}

/// Sends it to the process that runs the session.
pub(super) fn said(common: &Common, place: &Workspace, known: &Known, text: String) -> Outcome {
    refuse_message(place, known)?;
    let is_at_work = matches!(known.view.status, Status::Started | Status::Running);
    sessions::act(place, &known.id, &Act::Say { text: text.clone(), id: None })?;
    if !is_at_work && !is_carried_on(place, known)? {
        // The process that had the session ended just then, as after `rapport stop`. The message is in the log.
        let settings = place.settings(Layer::default())?;
        return run::host(common, place, &settings, Start::Resume { id: known.id.clone(), said: None });
    }
    if common.json {
        return say_json(&json!({ "session": known.id, "said": text }));
    }
    say(match (&known.view.aim, known.view.status) {
        (Aim::Chat, Status::Started | Status::Running) => {
            "Sent. The agent is at work; `rapport queue` says when it reads it."
        }
        (_, Status::Started | Status::Running) => "Sent. The agent reads it at its next step.",
        _ => "Sent. The agent continues with it.",
    })
}

/// Whether the process that has the session carries on with the message, and is not about to end.
fn is_carried_on(place: &Workspace, known: &Known) -> Result<bool, Failure> {
    let is_begun = |fact: &Event| match fact {
        Event::Connected { .. } | Event::Delayed { .. } | Event::Failed { .. } => true,
        // An agent that is already there needs not connect again.
        Event::Read { .. } | Event::Said { .. } | Event::Used { .. } | Event::TurnEnded { .. } => true,
        _ => false,
    };
    let look = |entries: &[Entry]| entries.iter().flat_map(|entry| &entry.facts).any(is_begun).then_some(());
    let sessions = place.sessions();
    runtime::small()?.block_on(async {
        let seen = sessions::until_seen(&sessions, &known.id, known.view.seq, look);
        match tokio::time::timeout(CARRYING_ON, seen).await {
            Ok(seen) => Ok(seen?.is_some()),
            // It still has the session, so it is starting the agent.
            Err(_) => Ok(true),
        }
    })
}

/// Refuses if no message is possible, and says what to do instead.
pub(super) fn refuse_message(place: &Workspace, known: &Known) -> Outcome {
    let Known { id, view, .. } = known;
    const ANOTHER: &str = "Begin another session: rapport run \"what you want done\"";
    if view.status == Status::Cancelled {
        let failure = Failure::new(Code::Refused, format!("{id} was cancelled, and takes no message"));
        let question = resume::branches(&place.store().read(id, 0)?);
        let branch = question
            .map(|question| format!("Try another way from there: rapport branch {id} --at {question}"));
        return Err(branch.into_iter().fold(failure, Failure::hint).hint(ANOTHER));
    }
    let handed_over = view.workplace.as_ref().and_then(|workplace| match workplace.state {
        WorkplaceState::Applying => Some("is being applied"),
        WorkplaceState::Applied => Some("was applied"),
        WorkplaceState::Discarded => Some("was discarded"),
        WorkplaceState::Open | WorkplaceState::Waiting => None,
    });
    match handed_over {
        Some(how) => {
            let what = format!("the work of {id} {how}, and its workplace was removed");
            Err(Failure::new(Code::Refused, what).hint(ANOTHER))
        }
        None => Ok(()),
    }
}
