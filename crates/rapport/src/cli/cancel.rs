//! `rapport cancel`.

use rapport_core::Act;
use serde_json::json;

use super::output::{say, say_json};
use super::{Common, sessions};
use crate::error::Outcome;
use crate::wiring::Place;

/// End a session; its agent is stopped, its files stay
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport cancel 20260124-add-auth
  rapport cancel add-auth --reason \"we buy it instead\"")]
pub(super) struct Args {
    /// The session: its name, or a part of it that no other has
    session: String,
    /// Why, for those who read the log
    #[arg(long, value_name = "WHY")]
    reason: Option<String>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    let id = sessions::find(&*place.store(), &args.session)?;
    sessions::act(&place, &id, &Act::Cancel { reason: args.reason })?;
    if common.json {
        return say_json(&json!({ "session": id, "status": "cancelled" }));
    }
    say(format_args!("Cancelled {id}."))
}
