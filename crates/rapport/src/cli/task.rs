//! `rapport task`: a task for a project, planned with its lead before an agent begins it.

use std::ffi::OsString;

use rapport_core::routing::Policy;
use rapport_core::{
    Aim, Assignment, Created, Enrichment, PlannedAction, PlanningRequest, SessionId, quick_task,
};
use rapport_door::Projects as _;

use super::agent_flags::AgentFlags;
use super::run::{self, Start};
use super::session_choice;
use super::{Common, chat, detachment, handover, project, resume, text, trust};
use crate::config::{Layer, Settings, WorkerLayer};
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;
use crate::workers::worktrees;

/// The word before the task by which the agent works in a git worktree.
const IN_WORKTREE: &str = "@worktree";

/// Have a task planned with the lead of a project, and then done by an agent that the lead guides
///
/// The lead reads what is known about the project, explores it if that is missing or stale, asks you what the result
/// depends on, sums up the requirements, and starts the agent with all of it. Later questions of the agent go to the
/// lead first, as far as lead.policy lets it (docs/routing.md). With --quick the agent begins at once, with what is
/// known; so does a short task whose scope is obvious, where the setting lead.quick is on. See, steer and end it with the usual commands: status, say, cancel, resume; projects are listed and named with
/// rapport project.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport task shop \"implement dark mode\"
  rapport task shop @worktree \"implement dark mode\"     apart from the project, until you apply it
  rapport task shop --quick \"fix the typo in the title\"  without planning
  rapport task shop --detach \"implement dark mode\"      planned and done under rapport serve
  rapport task shop --refresh                            only explore it again
  rapport task shop --resume dark-mode \"also for the admin pages\"")]
pub(super) struct Args {
    /// The project, by its name or its directory
    #[arg(value_name = "PROJECT")]
    about: String,
    /// What you want done; "@worktree" before it has the agent work in a git worktree
    task: Vec<OsString>,
    /// Begin at once, without planning it with the lead
    #[arg(long)]
    quick: bool,
    /// Do not wait for it: `rapport serve` runs the lead and its agent, and you answer from anywhere
    #[arg(long, conflicts_with = "resume")]
    detach: bool,
    /// Explore the project again, even if what is known about it is current
    #[arg(long)]
    refresh: bool,
    /// Go on with this session, instead of beginning one
    #[arg(long, value_name = "SESSION")]
    resume: Option<String>,
    #[command(flatten)]
    agent: AgentFlags,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let here = Workspace::find(common)?;
    let known = here.projects();
    let named = project::named(&here, Some(&args.about))?;
    let path = project::done(known.resolve(&named))?;
    let words = text(&args.task, "this task")?;
    let (is_worktree, words) = match words.split_first() {
        Some((first, rest)) if first == IN_WORKTREE => (true, rest.to_vec()),
        _ => (false, words),
    };
    let task = words.join(" ").trim().to_owned();
    if task.is_empty() && args.refresh {
        return project::explore(common, &known, &named);
    }
    let there = Common { project: Some(path), ..common.clone() };
    let place = Workspace::find(&there)?;
    trust::ask_once(&there, &place)?;
    let resumed = args.resume.as_deref().map(|named| session_choice::by_name(&place, named)).transpose()?;
    if task.is_empty() {
        return match resumed {
            // LEAD-25: nothing new is to be planned.
            Some(id) => resume::resume(&there, Some(id.as_str()), &resume::How::with(args.agent)),
            None => Err(Failure::new(Code::Usage, "say what you want done")
                .hint(format!("rapport task {} \"TASK\"", args.about))),
        };
    }
    let worker =
        WorkerLayer { kind: is_worktree.then(|| worktrees::NAME.to_owned()), ..WorkerLayer::default() };
    let settings = place.settings(Layer { worker, ..args.agent.layer() })?;
    // LEAD-26: what is to be explored, or goes on, is planned.
    let is_obvious =
        settings.quick_tasks && !args.refresh && resumed.is_none() && quick_task::is_obvious(&task);
    if args.quick || is_obvious {
        return quick(&there, &place, &settings, (&task, resumed), (args.refresh, args.detach));
    }
    let name = project::done(known.load(&named)).map(|loaded| loaded.context.name).unwrap_or(args.about);
    let action = resumed.map_or(PlannedAction::Start, PlannedAction::Resume);
    let request =
        PlanningRequest { action, project: name, task, worktree: is_worktree, refresh: args.refresh };
    chat::tell(&there, &place, &settings, request.text(), args.detach)
}

/// LEAD-26: begins at once, with what is known about the project.
fn quick(
    common: &Common,
    place: &Workspace,
    settings: &Settings,
    (task, resumed): (&str, Option<SessionId>),
    (is_refreshed, is_detached): (bool, bool),
) -> Outcome {
    let (known, named) = (place.projects(), place.project.to_string_lossy().into_owned());
    if is_refreshed {
        project::done(known.explore(&named))?;
    }
    if let Some(id) = resumed {
        let session = session_choice::known(place, &id)?;
        session.check_counts()?;
        return resume::with_message(common, place, &session, task);
    }
    handover::check_worker(place, settings)?;
    let context = project::done(known.load(&named))?.context;
    let enrichment = Enrichment::default();
    let created = place.session(enrichment.prompt(task, Some(&context)), Aim::Work, settings)?;
    let lead = if settings.lead_policy == Policy::Ask { None } else { place.lead()? };
    let assignment = Assignment {
        original_task: Some(task.to_owned()),
        context: enrichment.context(Some(&context)),
        ..Assignment::default()
    };
    let created = Created { lead, assignment: Some(assignment), ..created };
    if is_detached {
        return detachment::begin(common, place, created);
    }
    run::host(common, place, settings, Start::New(Box::new(created)))
}
