//! `rapport resume`: whatever comes next in a session of files.

use rapport_core::Asking;

use super::agent_flags::AgentFlags;
use super::files::approving::{self, Approval};
use super::files::drafting::{self, Consent, Request};
use super::files::held::{self, Held};
use super::files::seals::Changed;
use super::files::{self, Where, asking, record};
use super::{Common, message, trust};
use crate::error::{Code, Failure, Outcome};
use crate::stores::Store as _;
use crate::turns::{CONTEXT_LOG, Folder, Standing, Turn};
use crate::wiring::Place;

/// Go on with a session of files: review the plan and run what you approve, or say what to plan next
///
/// Where the latest turn has a plan that was not run, it is checked, shown, run as far as you approve, and reported. Where it
/// has a report, you are asked what to plan next. Planning or a run that was interrupted, even killed, is gone on with.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport resume                        whatever comes next
  rapport resume -y                     run all of the plan without asking
  rapport resume -m \"now the tests\"     plan the next turn
  rapport resume --session add-auth --turn 02-branch-01")]
pub(super) struct Args {
    /// Approve all of the plan
    #[arg(long, short)]
    yes: bool,
    /// What to plan next, where no plan waits; "-" reads it from standard input, nothing opens an editor
    #[arg(long, short, value_name = "MESSAGE", num_args = 0..=1, default_missing_value = "")]
    message: Option<String>,
    /// Let the agent ask for critical facts that are missing
    #[arg(long)]
    adaptive: bool,
    /// Have a plan that is not valid made again, without asking
    #[arg(long)]
    replan: bool,
    /// Build on finished turns although their files were changed
    #[arg(long)]
    accept_changes: bool,
    #[command(flatten)]
    at: Where,
    #[command(flatten)]
    agent: AgentFlags,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Place::find(common)?;
    trust::ask_once(common, &place)?;
    let settings = place.settings(args.agent.layer())?;
    let folder = files::find(&place, args.at.session.as_deref())?;
    // Before it is held: holding it lets its agent go on.
    refuse_another_turn(&place, &folder, args.at.turn.as_deref())?;
    held::hold(common, &place, &settings, folder, async |held| go_on(held, &args).await)
}

async fn go_on(held: &Held<'_>, args: &Args) -> Outcome {
    drafting::begin_with(held, Changed::from_flag(args.accept_changes)).await?;
    let mut request = Request {
        message: String::new(),
        asking: if args.adaptive { Asking::Adaptive } else { Asking::Assume },
        consent: if args.replan { Consent::Given } else { Consent::Ask },
    };
    let under_way = record::drafting(&held.entries()?);
    // Where its directory is gone, there is nothing to go on with.
    if let Some(turn) = under_way.and_then(|under_way| held.folder.turn(&under_way.folder).ok()) {
        if turn.standing() == Standing::Unplanned {
            return drafting::go_on(held, &turn, &request).await;
        }
        // Only that the plan is there was not noted.
        drafting::settle(held, &turn).await?;
    }
    let turn = files::turn(&held.folder, args.at.turn.as_deref())?;
    match turn.as_ref().map(|turn| (turn.standing(), turn)) {
        Some((Standing::Pending, turn)) if args.message.is_some() => Err(drafting::waits(&held.folder, turn)
            .hint("A message is for after that: rapport resume without -m.")),
        Some((Standing::Pending, turn)) => {
            approving::approve(held, turn, Approval::from_flag(args.yes), &request).await
        }
        Some((Standing::Unplanned, turn)) if args.message.is_none() && is_ready(turn) => {
            drafting::go_on(held, turn, &request).await
        }
        Some((Standing::Unplanned | Standing::Complete, _)) | None => {
            request.message = match &args.message {
                Some(words) => message::given(held.common, words).await?,
                None if asking::is_possible(held.common) => {
                    asking::message(held.common, &held.folder.id).await?
                }
                None => return Err(nobody_to_ask()),
            };
            drafting::plan(held, turn.as_ref(), &request).await
        }
    }
}

/// The agent is at one turn at a time; another one that was named is not passed over in silence.
fn refuse_another_turn(place: &Place, folder: &Folder, named: Option<&str>) -> Outcome {
    let Some(named) = named else { return Ok(()) };
    let named = folder.turn(named)?.name.to_string();
    // One without a log was never planned by us.
    let Ok(entries) = place.store().read(&folder.id, 0) else { return Ok(()) };
    let Some(other) = record::drafting(&entries).map(|under_way| under_way.folder).filter(|at| *at != named)
    else {
        return Ok(());
    };
    Err(Failure::new(Code::Refused, format!("turn {other} is being planned, and comes first"))
        .hint(format!("Go on with it: rapport resume --session {}", folder.id)))
}

/// Whether what the agent is to be shown is there, and only the agent was not told yet. In a new branch it is a copy, and
/// nobody was named yet to plan it.
fn is_ready(turn: &Turn) -> bool {
    let is_own = turn.name.branch == 0 || turn.meta.agent_name.is_some();
    is_own && turn.file(CONTEXT_LOG).exists()
}

fn nobody_to_ask() -> Failure {
    Failure::new(
        Code::Usage,
        "no plan waits here, and nobody can be asked what to plan next without a terminal",
    )
    .hint("Say it: rapport resume -m \"now the tests\"")
}
