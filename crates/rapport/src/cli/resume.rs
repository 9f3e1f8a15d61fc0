//! `rapport resume`: whatever comes next in a session of files.

use rapport_core::report::Overall;
use rapport_core::{Asking, FileTurn, Session, TurnStage};

use super::agent_flags::AgentFlags;
use super::files::drafting::{self, Consent, Request};
use super::files::held::{self, Held};
use super::files::reviewing::{Approval, Reviewing};
use super::files::seals::Changed;
use super::files::{self, Where, asking};
use super::{Common, message, trust};
use crate::error::{Code, Failure, Outcome};
use crate::turns::Folder;
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
    /// Build on finished turns, and take a plan, although their files were changed
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
    let folder = files::find(&place, args.at.session.as_deref(), "rapport resume --session SESSION")?;
    // Before it is held: holding it lets it go on.
    let before = files::state(&place, &folder)?;
    refuse_another_turn(&before, &folder, args.at.turn.as_deref())?;
    let is_over = |turn: &&FileTurn| turn.stage == TurnStage::Ended && turn.status != Some(Overall::Skipped);
    let ended = before.file_turns().iter().find(is_over);
    let ended = ended.map(|turn| turn.folder.clone());
    held::hold(common, &place, &settings, folder, async |held| go_on(held, &args, ended.as_deref()).await)
}

/// Goes on. `ended` is a turn of which only the report was missing: it is there by now.
async fn go_on(held: &Held<'_>, args: &Args, ended: Option<&str>) -> Outcome {
    let changed = Changed::from_flag(args.accept_changes);
    drafting::begin_with(held, changed).await?;
    let mut request = Request {
        message: String::new(),
        asking: if args.adaptive { Asking::Adaptive } else { Asking::Assume },
        consent: if args.replan { Consent::Given } else { Consent::Ask },
    };
    let session = held.session().await?;
    if let Some(turn) = ended.filter(|_| args.message.is_none()) {
        let approval = Approval::from_flag(args.yes);
        let reviewing = Reviewing { held, approval, changed, request: &request };
        return reviewing.conclude(&held.folder.turn(turn)?).await;
    }
    if let Some(turn) = session.drafting() {
        return drafting::go_on(held, &turn.folder, &request).await;
    }
    let turn = files::turn(&session, &held.folder, args.at.turn.as_deref())?;
    match turn.map(|turn| (turn.stage, turn)) {
        Some((_, turn)) if drafting::is_waiting(turn) && args.message.is_some() => {
            Err(drafting::waits(&held.folder, &turn.folder)
                .hint("A message is for after that: rapport resume without -m."))
        }
        Some((_, turn)) if drafting::is_waiting(turn) => {
            let approval = Approval::from_flag(args.yes);
            Reviewing { held, approval, changed, request: &request }.turn(&turn.folder).await
        }
        Some((TurnStage::Unplanned { is_ready: true }, turn)) if args.message.is_none() => {
            drafting::go_on(held, &turn.folder, &request).await
        }
        Some(_) | None => {
            request.message = match &args.message {
                Some(words) => message::given(held.common, words).await?,
                None if asking::is_possible(held.common) => {
                    asking::message(held.common, &held.folder.id).await?
                }
                None => return Err(nobody_to_ask()),
            };
            drafting::plan(held, turn, &request).await
        }
    }
}

/// The agent is at one turn at a time; another one that was named is not passed over in silence.
fn refuse_another_turn(session: &Session, folder: &Folder, named: Option<&str>) -> Outcome {
    let Some(named) = named else { return Ok(()) };
    files::turn(session, folder, Some(named))?;
    let Some(other) = session.drafting().filter(|turn| turn.folder != named) else { return Ok(()) };
    Err(Failure::new(Code::Refused, format!("turn {} is being planned, and comes first", other.folder))
        .hint(format!("Go on with it: rapport resume --session {}", folder.id)))
}

fn nobody_to_ask() -> Failure {
    Failure::new(
        Code::Usage,
        "no plan waits here, and nobody can be asked what to plan next without a terminal",
    )
    .hint("Say it: rapport resume -m \"now the tests\"")
}
