//! `rapport cancel`.

use rapport_core::Act;
use serde_json::json;

use super::choose::{self, Known, Verb, Which};
use super::output::{say, say_json};
use super::{Common, handover, sessions};
use crate::error::Outcome;
use crate::wiring::Place;

/// End a session; its agent is stopped, its files stay
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport cancel 20260124-add-auth
  rapport cancel add-auth --reason \"we buy it instead\"")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// Why, for those who read the log
    #[arg(long, value_name = "WHY")]
    reason: Option<String>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let verb = Verb::new("rapport cancel SESSION", "still open", &Known::goes_on);
    let id = choose::choose(&place, args.which.name(), &verb)?;
    sessions::act(&place, &id, &Act::Cancel { reason: args.reason })?;
    // It is cancelled either way. Where this fails, `rapport undo` tries it again.
    let _ = handover::settle(&place, &id);
    if common.json {
        return say_json(&json!({ "session": id, "status": "cancelled" }));
    }
    say(format_args!("Cancelled {id}."))
}
