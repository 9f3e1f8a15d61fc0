//! One action of a batch: run, and recorded before and after; or, if it was interrupted, examined.

use std::time::{Duration, Instant};

use rapport_core::{Action, Interrupted};

use super::changes::note_changes;
use super::{ActionBatch, Course, Known};
use crate::actions::files::{JournaledFiles, State, made, state, temporary};
use crate::actions::journal::{Fact, Intent};
use crate::actions::kinds::noting;
use crate::actions::outcome::{Outcome, TimedOutcome};
use crate::actions::{Observer, Requester, Stop, blocking};

/// The result of an action for now.
pub(in crate::actions) enum StepOutcome {
    Settled(Outcome),
    /// The action was stopped, with this result so far. It is not settled when the batch resumes.
    Stopped(Outcome),
}

/// One action to run now.
pub(in crate::actions) struct ActionStep<'a> {
    pub(in crate::actions) batch: &'a ActionBatch<'a>,
    pub(in crate::actions) n: usize,
    pub(in crate::actions) action: &'a Action,
    pub(in crate::actions) interrupted: Interrupted,
    pub(in crate::actions) requester: &'a dyn Requester,
    pub(in crate::actions) stop: &'a Stop,
}

impl ActionStep<'_> {
    /// Runs the action and records it.
    pub(super) async fn take(
        &self,
        journaled: JournaledFiles,
        known: Known,
        observer: &mut Observer<'_>,
    ) -> (JournaledFiles, TimedOutcome, Course) {
        let began = Instant::now();
        let (journaled, came) = match known {
            Known::Begun(None) if self.action.kind.is_irreversible() => match self.interrupted {
                Interrupted::Again => self.perform(journaled, observer).await,
                Interrupted::GoOn => {
                    (noting(journaled, note_changes).await, StepOutcome::Settled(Outcome::unsure()))
                }
                Interrupted::Halt => {
                    let reason =
                        format!("after {} was interrupted; it may have run", self.action.kind.in_brief());
                    return (journaled, Outcome::unsure().into(), Course::Paused(reason));
                }
            },
            Known::Begun(Some(intent)) => match self.look(journaled, intent).await {
                (journaled, None) => self.perform(journaled, observer).await,
                (journaled, Some(outcome)) => (journaled, StepOutcome::Settled(outcome)),
            },
            Known::NotBegun | Known::Begun(None) | Known::Ended(_) => self.perform(journaled, observer).await,
        };
        let took = millis(began.elapsed());
        let settled = match came {
            StepOutcome::Settled(outcome) => TimedOutcome { outcome, took },
            StepOutcome::Stopped(outcome) => {
                let course = Course::Paused("the batch was stopped before it".to_owned());
                return (journaled, TimedOutcome { outcome, took }, course);
            }
        };
        let course = after(self.action, &settled.outcome);
        self.note_ended(journaled, settled, course).await
    }

    /// Finds out whether an interrupted change took effect. `None` if it still has to be made.
    async fn look(&self, journaled: JournaledFiles, intent: Intent) -> (JournaledFiles, Option<Outcome>) {
        let n = self.n;
        let path = self.action.kind.effect().changed().last().unwrap_or(&intent.file).to_owned();
        blocking(move || {
            let real = journaled.root.join(&intent.file);
            let _ = rapport_durable::remove(&temporary(&journaled.id, n, &real));
            let outcome = match state(&journaled.root, &intent) {
                Ok(State::After) => Some(Outcome::Done { details: made(&journaled, path, &intent) }),
                Ok(State::Before) => None,
                Ok(State::Other) => Some(Outcome::failed(format!(
                    "another program changed {path} while this was interrupted"
                ))),
                Err(error) => Some(Outcome::failed(error)),
            };
            (journaled, outcome)
        })
        .await
    }

    /// Changes a file; the change records its own intent.
    pub(in crate::actions) async fn change(
        &self,
        mut journaled: JournaledFiles,
        change: impl FnOnce(&mut JournaledFiles, String) -> Outcome + Send + 'static,
    ) -> (JournaledFiles, StepOutcome) {
        let what = self.action.kind.in_brief();
        blocking(move || {
            let outcome = change(&mut journaled, what);
            (journaled, StepOutcome::Settled(outcome))
        })
        .await
    }

    /// Records the beginning, and only then runs the action.
    pub(in crate::actions) async fn begin(
        &self,
        mut journaled: JournaledFiles,
        work: impl Future<Output = StepOutcome>,
    ) -> (JournaledFiles, StepOutcome) {
        let kind = &self.action.kind;
        let irreversible = Some(kind.is_irreversible());
        let fact = Fact::Began { n: self.n, what: kind.in_brief(), intent: None, irreversible };
        let note = move || {
            let noted = journaled.journal.note(fact);
            (journaled, noted)
        };
        match blocking(note).await {
            (journaled, Ok(())) => (journaled, work.await),
            (journaled, Err(error)) => (journaled, StepOutcome::Settled(Outcome::failed(error))),
        }
    }

    /// Records the end. If that fails, no further action runs.
    async fn note_ended(
        &self,
        mut journaled: JournaledFiles,
        settled: TimedOutcome,
        course: Course,
    ) -> (JournaledFiles, TimedOutcome, Course) {
        let fact = Fact::Ended { n: self.n, settled: settled.clone() };
        let (journaled, noted) = blocking(move || {
            let noted = journaled.journal.note(fact);
            (journaled, noted)
        })
        .await;
        let course = match (noted, course) {
            (Ok(()), course) | (Err(_), course @ Course::Halted(_)) => course,
            (Err(error), Course::On | Course::Paused(_)) => {
                Course::Paused(format!("the result could not be recorded: {error}"))
            }
        };
        (journaled, settled, course)
    }
}

/// Waits for work that must not be abandoned halfway. When it is told to stop, it ends by itself, and counts as not
/// done.
pub(in crate::actions) async fn ended_early(stop: &Stop, work: impl Future<Output = Outcome>) -> StepOutcome {
    match work.await {
        outcome @ Outcome::Failed { .. } if stop.is_signalled() => StepOutcome::Stopped(outcome),
        outcome => StepOutcome::Settled(outcome),
    }
}

/// Waits for work that only waits for others, and that can therefore be repeated later.
pub(in crate::actions) async fn stoppable(stop: &Stop, work: impl Future<Output = Outcome>) -> StepOutcome {
    tokio::select! {
        // The requester may be told to stop at the same time, and would then report that there is no answer.
        biased;
        () = stop.signalled() => StepOutcome::Stopped(Outcome::failed("interrupted")),
        outcome = work => StepOutcome::Settled(outcome),
    }
}

/// How the batch continues after this action.
pub(super) fn after(action: &Action, outcome: &Outcome) -> Course {
    match outcome {
        Outcome::Failed { .. } if !action.kind.may_fail() && !outcome.may_have_run() => {
            Course::Halted(format!("after {} failed", action.kind.in_brief()))
        }
        // An action that may have run gets here only if a person decided to continue.
        Outcome::Failed { .. } | Outcome::Done { .. } | Outcome::Skipped { .. } => Course::On,
    }
}

/// Rounds to the precision of the journal, so that repeated results are equal.
fn millis(took: Duration) -> Duration {
    Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))
}
