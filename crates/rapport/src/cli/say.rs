//! `rapport say`: words for the agent of a session, wherever it runs.

use std::ffi::OsString;

use rapport_core::{Act, Aim};
use serde_json::json;

use super::choose::{self, Known};
use super::output::{say, say_json};
use super::{Common, resume, sessions, text, typed};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Place;

/// Say something to the agent of a session: the next message of a conversation, or what the next turn is about
///
/// In a conversation, an agent that is at work is told once its turn is over. Where no process runs the session, it goes on
/// here, as with `rapport resume -m`. A task of `rapport run` takes words with its answers and its plan only: see
/// `rapport answer` and `rapport revise`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport say greet \"now the tests\"
  rapport say greet - < message.md")]
pub(super) struct Args {
    /// The session: its name, or a part of it that no other has
    session: String,
    /// What to say; "-" reads it from standard input
    #[arg(required = true)]
    text: Vec<OsString>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let known = choose::known(&place, &choose::by_name(&place, &args.session)?)?;
    refuse_if_asked(&known)?;
    say_to(common, &place, &known, &words(&args.text)?)
}

/// What is said, on the command line or from standard input.
pub(super) fn words(given: &[OsString]) -> Result<String, Failure> {
    let words = text(given, "this message")?;
    let words =
        if words == ["-"] { typed::piped("the message from standard input")? } else { words.join(" ") };
    if words.trim().is_empty() {
        return Err(Failure::new(Code::Usage, "there is nothing in this message"));
    }
    Ok(words)
}

/// Words beside an answer would not be heard before it is given.
pub(super) fn refuse_if_asked(known: &Known) -> Outcome {
    let Known { id, view, .. } = known;
    let Some(question) = view.questions.first() else { return Ok(()) };
    let what = format!("{id} waits for an answer to {}, and takes no other message until then", question.id);
    Err(Failure::new(Code::Refused, what)
        .hint(format!("Answer it with: rapport answer {id} --question {} VALUE", question.id)))
}

/// Says it in the process that runs the session; where none does, goes on with the session here.
pub(super) fn say_to(common: &Common, place: &Place, known: &Known, words: &str) -> Outcome {
    if !known.is_held() || known.view.aim != Aim::Chat {
        return resume::with_message(common, place, known, words);
    }
    sessions::act(place, &known.id, &Act::Say { text: words.to_owned(), id: None })?;
    if common.json {
        return say_json(&json!({ "session": known.id, "said": words }));
    }
    say("Said. The agent is told once its turn is over.")
}
