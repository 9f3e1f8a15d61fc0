//! What carrying out a plan takes here, and how it is shown.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rapport_core::{ActionPlan, Resource};
use tokio::task::JoinHandle;

use crate::actions::{
    ActionError, Batch, Choice, Details, Hands, Interrupted, JournalError, Live, Means, Outcome as Ended,
    Ran, Settled, Stop, Stopper, read,
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

/// A plan that is carried out here.
pub(in crate::cli) struct Run<'a> {
    pub(in crate::cli) common: &'a Common,
    pub(in crate::cli) place: &'a Place,
    pub(in crate::cli) settings: &'a Settings,
    pub(in crate::cli) plan: &'a ActionPlan,
    /// The directory of its batch.
    pub(in crate::cli) journal: &'a Path,
}

/// How a batch is begun or gone on with.
pub(in crate::cli) enum Course {
    Begin(Vec<Choice>),
    GoOn(Interrupted),
}

impl Run<'_> {
    /// Carries it out and shows what happens, until it is done, a signal comes, or the hands stop it.
    pub(in crate::cli) async fn carry_out<H: Hands>(
        &self,
        course: Course,
        hands: impl FnOnce(Arc<Stopper>) -> H,
    ) -> Result<Ran, Failure> {
        let place = self.place.batch(self.journal);
        let means = means(self.settings)?;
        let batch = Batch { plan: self.plan, place: &place, means: &means };
        let (stopper, stop) = Stop::new();
        let stopper = Arc::new(stopper);
        let signals = stop_on_signal(stopper.clone())?;
        let hands = hands(stopper);
        let screen = Screen::new(self.common, self.plan);
        let mut show = |live: Live<'_>| screen.show(&live);
        let ran = match course {
            Course::Begin(choices) => batch.run(&choices, &hands, &mut show, &stop).await,
            Course::GoOn(interrupted) => batch.resume(interrupted, &hands, &mut show, &stop).await,
        };
        signals.abort();
        ran.map_err(|error| failed(&error))
    }
}

fn means(settings: &Settings) -> Result<Means, Failure> {
    let mut means = Means::new(std::env::current_exe()?);
    means.command_env.clone_from(&settings.command_env);
    means.command_timeout = Duration::try_from(settings.command_timeout).unwrap_or(means.command_timeout);
    means.research_command = settings.research_command.clone();
    Ok(means)
}

/// How previews are made: what they need is read as running would read it.
pub(in crate::cli) fn previewer(place: &Place, settings: &Settings) -> Result<Previewer, Failure> {
    let root = place.project.canonicalize()?;
    Ok(Previewer {
        command: settings.preview_command.clone(),
        fetch: Arc::new(move |resource: Resource| {
            let root = root.clone();
            Box::pin(async move { read::look(&root, &resource).await })
        }),
    })
}

/// Stops a batch when this process is told to stop.
fn stop_on_signal(stopper: Arc<Stopper>) -> Result<JoinHandle<()>, Failure> {
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
        ActionError::Journal(JournalError::NotOurs { path, .. }) => {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let hint = format!("Nothing was done. See what it did, and let it count: rapport trust {name}");
            return Failure::new(Code::Untrusted, error.to_string()).hint(hint);
        }
        ActionError::Journal(JournalError::Busy { .. }) => (Code::Busy, "Nothing was done."),
        ActionError::Journal(_) => (Code::Store, "Nothing was done."),
        ActionError::OtherPlan { .. } => (
            Code::Refused,
            "Bring the plan back to what it was, or take back what was done to files with: rapport undo",
        ),
        ActionError::Project { .. }
        | ActionError::NotNew { .. }
        | ActionError::NoBatch { .. }
        | ActionError::WasUndone { .. } => (Code::Refused, "Nothing was done."),
    };
    Failure::new(code, error.to_string()).hint(hint)
}

/// What is seen of a batch while it runs.
struct Screen {
    is_quiet: bool,
    names: Vec<String>,
}

impl Screen {
    fn new(common: &Common, plan: &ActionPlan) -> Self {
        // Commands of agents are long, and were seen when they were approved.
        let names =
            plan.actions.iter().map(|action| clip(&safe::line(&action.deed.in_brief()), NAME)).collect();
        Self { is_quiet: common.json, names }
    }

    fn show(&self, live: &Live<'_>) {
        if self.is_quiet {
            return;
        }
        let name = |n: usize| self.names.get(n).map(String::as_str).unwrap_or_default();
        let told = match live {
            Live::Started { n, .. } => format!("▸ {}", name(*n)),
            Live::Output { line, .. } => format!("  │ {line}"),
            Live::Ended { n, settled } => ended(name(*n), settled),
        };
        // Somebody who no longer reads is no reason to stop in the middle of a batch.
        let _ = say(safe::line(&told));
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
