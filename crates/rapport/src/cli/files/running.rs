//! What carrying out a plan takes here, and how it is shown.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rapport_core::{ActionPlan, Resource, apply_edits};
use tokio::task::JoinHandle;

use crate::actions::{
    ActionError, Details, JournalError, Live, Means, Outcome as Ended, Place as Where, Settled, Stopper, read,
};
use crate::channels::terminal::review::Previewer;
use crate::channels::terminal::safe;
use crate::channels::terminal::text::clip;
use crate::cli::Common;
use crate::cli::output::say;
use crate::cli::screen::StopSignal;
use crate::config::Settings;
use crate::error::{Code, Failure};
use crate::wiring::Place;

/// How much of an action is told while it runs, in columns.
const NAME: usize = 72;

/// Where a batch is carried out, and with what.
pub(in crate::cli) fn means(
    place: &Place,
    settings: &Settings,
    journal: PathBuf,
) -> Result<(Where, Means), Failure> {
    let mut means = Means::new(std::env::current_exe()?);
    means.command_timeout = Duration::try_from(settings.command_timeout).unwrap_or(means.command_timeout);
    means.research_command = settings.research_command.clone();
    Ok((Where { project: place.project.clone(), journal }, means))
}

/// How previews are made: with the very functions that running uses.
pub(in crate::cli) fn previewer(place: &Place, settings: &Settings) -> Result<Previewer, Failure> {
    let root = place.project.canonicalize()?;
    Ok(Previewer {
        command: settings.preview_command.clone(),
        fetch: Arc::new(move |resource: Resource| {
            let root = root.clone();
            Box::pin(async move { read::look(&root, &resource).await })
        }),
        replace: Arc::new(|text, edits| apply_edits(text, edits).map_err(|error| error.to_string())),
    })
}

/// Stops a batch when this process is told to stop.
pub(in crate::cli) fn stop_on_signal(stopper: Arc<Stopper>) -> Result<JoinHandle<()>, Failure> {
    let mut signal = StopSignal::listen()?;
    Ok(tokio::spawn(async move {
        signal.received().await;
        stopper.stop();
        // A second signal is not for us: what runs is being ended.
        std::future::pending::<()>().await;
    }))
}

/// How it is told that a batch could not be begun.
pub(in crate::cli) fn failed(error: &ActionError) -> Failure {
    let (code, hint) = match error {
        ActionError::Journal(JournalError::Busy { .. }) => (Code::Busy, "Nothing was done."),
        ActionError::Journal(_) => (Code::Store, "Nothing was done."),
        ActionError::OtherPlan { .. } => (
            Code::Refused,
            "Bring the plan back to what it was, or take back what was done with: rapport undo",
        ),
        ActionError::Project { .. }
        | ActionError::NotNew { .. }
        | ActionError::NoBatch { .. }
        | ActionError::WasUndone { .. } => (Code::Refused, "Nothing was done."),
    };
    Failure::new(code, error.to_string()).hint(hint)
}

/// What is seen of a batch while it runs.
pub(in crate::cli) struct Screen {
    is_quiet: bool,
    names: Vec<String>,
}

impl Screen {
    /// For this plan.
    pub(in crate::cli) fn new(common: &Common, plan: &ActionPlan) -> Self {
        // Commands of agents are long, and were seen when they were approved.
        let names =
            plan.actions.iter().map(|action| clip(&safe::line(&action.deed.in_brief()), NAME)).collect();
        Self { is_quiet: common.json, names }
    }

    /// Shows what happens.
    pub(in crate::cli) fn show(&mut self, live: &Live<'_>) {
        if self.is_quiet {
            return;
        }
        let name = |n: usize| self.names.get(n).map(String::as_str).unwrap_or_default();
        // Somebody who no longer reads is no reason to stop in the middle of a batch.
        let _ = match live {
            Live::Started { n, .. } => say(format_args!("▸ {}", safe::line(name(*n)))),
            Live::Output { line, .. } => say(format_args!("  │ {}", safe::line(line))),
            Live::Ended { n, settled } => say(format_args!("{}", safe::line(&ended(name(*n), settled)))),
        };
    }
}

fn ended(name: &str, settled: &Settled) -> String {
    match &settled.outcome {
        Ended::Done { details: Details::Session { name: session } } => format!("✓ {name}: session {session}"),
        Ended::Done { .. } => format!("✓ {name}"),
        Ended::Failed { why, .. } => format!("✗ {name}: {why}"),
        Ended::Skipped { reason } => format!("– {name}: {reason}"),
    }
}
