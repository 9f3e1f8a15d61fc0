//! `rapport cancel`.

use rapport_core::{Act, SessionId};
use rapport_door::diff_names;
use serde_json::json;

use super::output::{say, say_json};
use super::session_choice::{self, Known, Verb, Which};
use super::{Common, handover, sessions, undo_work};
use crate::channels::terminal::terminal_text;
use crate::cli::runtime;
use crate::engine::Sessions;
use crate::error::{Failure, Outcome};
use crate::threads::off_thread;
use crate::wiring::Workspace;

/// End a session; its agent is stopped, its changes stay and are listed
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport cancel 20260124-add-auth
  rapport cancel add-auth --reason \"we buy it instead\"")]
pub(super) struct Args {
    #[command(flatten)]
    which: Which,
    /// The reason, for the log
    #[arg(long, value_name = "WHY")]
    reason: Option<String>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let verb = Verb::new("rapport cancel SESSION", "still open", &Known::goes_on);
    let id = session_choice::choose(&place, args.which.name(), &verb)?;
    sessions::act(&place, &id, &Act::Cancel { reason: args.reason })?;
    // The session is cancelled even if this fails; `rapport undo` retries it.
    let _ = handover::settle(&place, &id);
    if common.json {
        return say_json(&json!({ "session": id, "status": "cancelled" }));
    }
    say(format_args!("Cancelled {id}."))?;
    let runtime = runtime::small()?;
    runtime.block_on(left_behind(&place, &place.sessions(), &id))?.iter().try_for_each(say)
}

/// The files that a session changed before it was cancelled, and how to undo that, line by line.
pub(super) async fn left_behind(
    place: &Workspace,
    sessions: &dyn Sessions,
    id: &SessionId,
) -> Result<Vec<String>, Failure> {
    let (own, session) = (place.clone(), id.clone());
    let known = off_thread(move || session_choice::known(&own, &session)).await??;
    if !known.session.has_worked() {
        return Ok(Vec::new());
    }
    // A failure to compare is not an error: the session is cancelled.
    let diff = match sessions::diff(sessions, id).await {
        Ok(diff) => diff,
        Err(failure) => return Ok(vec![format!("Its changes cannot be shown: {}", failure.message)]),
    };
    let mut left: Vec<_> =
        diff_names(&diff).iter().map(|file| format!("  {}", terminal_text::line(file))).collect();
    if diff.is_empty() {
        return Ok(vec!["It had changed no files.".to_owned()]);
    }
    left.insert(0, "It had changed these files, which stay as they are:".to_owned());
    left.push(format!("See the changes with: rapport diff {id}"));
    if known.view.workplace.is_some() {
        left.push(format!("Discard them with: rapport discard {id}"));
    } else if undo_work::is_due(&known) {
        left.push(format!("Undo them with: rapport undo {id}"));
    }
    Ok(left)
}
