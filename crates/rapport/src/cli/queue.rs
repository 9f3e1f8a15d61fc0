//! `rapport queue`: how messages reach the agent of a conversation while it works.

use rapport_core::message_queue::QueueChange;
use rapport_core::{Act, Aim, Session, TermsChange};
use serde_json::json;

use super::output::{say, say_json};
use super::session_choice::{self, Known, Verb};
use super::{Common, sessions};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;

/// Show or set how messages reach a lead, or another conversation, while its agent works
///
/// steer: it reads them at its next step. followup: each is a later turn. collect: all that wait are one turn.
/// steer-backlog: as steer, and what it did not read is a turn each. interrupt: its turn is interrupted for them. With
/// debounce:TIME, turns wait until no more messages come; at most cap:NUMBER messages wait; and drop:old|new|summarize
/// says which gives way. "default" sets back what the conversation began with.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport queue hello                                   how it is
  rapport queue hello collect debounce:2s cap:25        another mode
  rapport queue hello default")]
pub(super) struct Args {
    /// The conversation: its name, or a unique part of it (default: the only one that has not ended)
    session: Option<String>,
    /// The mode, and debounce:2s, cap:25, drop:old, in any order
    terms: Vec<String>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let is_open =
        |known: &Known| known.view.aim == Aim::Chat && known.view.status != rapport_core::Status::Cancelled;
    let verb = Verb::new("rapport queue SESSION", "that is a conversation", &is_open);
    let id = session_choice::choose(&place, args.session.as_deref(), &verb)?;
    let read = || -> Result<_, Failure> {
        let session = Session::replay(&place.store().counted(&id, 0)?);
        let not_read = || Failure::new(Code::Trouble, format!("{id} cannot be read"));
        Ok(session.ok_or_else(not_read)?.queue_terms())
    };
    if !args.terms.is_empty() {
        let change = QueueChange::parse(&args.terms.join(" "), read()?.1)
            .map_err(|error| Failure::new(Code::Usage, error.to_string()))?;
        let change = TermsChange { queue: Some(change), ..TermsChange::default() };
        sessions::act(&place, &id, &Act::ChangeTerms { change })?;
    }
    let (now, at_start) = read()?;
    if common.json {
        return say_json(&json!({ "session": id, "queue": now, "default": at_start }));
    }
    say(format_args!("{id}: {now}"))
}
