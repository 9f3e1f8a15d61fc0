//! One action of a batch: done, and noted before and after; or, where it was begun and cut off, found out about.

use std::time::{Duration, Instant};

use rapport_core::{Action, Interrupted};

use super::changes::note_changes;
use super::{ActionBatch, Course, Known};
use crate::actions::files::{Desk, State, made, state, temporary};
use crate::actions::journal::{Fact, Intent};
use crate::actions::kinds::noting;
use crate::actions::outcome::{Outcome, Settled};
use crate::actions::{Hands, Observer, Stop, blocking};

/// What came of an action for now.
pub(in crate::actions) enum Came {
    /// That is what came of it.
    Settled(Outcome),
    /// It was stopped, with this so far. When the batch goes on, it is not settled.
    Stopped(Outcome),
}

/// One action that is to be done now.
pub(in crate::actions) struct Step<'a> {
    pub(in crate::actions) batch: &'a ActionBatch<'a>,
    pub(in crate::actions) n: usize,
    pub(in crate::actions) action: &'a Action,
    pub(in crate::actions) interrupted: Interrupted,
    pub(in crate::actions) hands: &'a dyn Hands,
    pub(in crate::actions) stop: &'a Stop,
}

impl Step<'_> {
    /// Does it and notes it.
    pub(super) async fn take(
        &self,
        desk: Desk,
        known: Known,
        observer: &mut Observer<'_>,
    ) -> (Desk, Settled, Course) {
        let began = Instant::now();
        let (desk, came) = match known {
            Known::Begun(None) if self.action.kind.is_irreversible() => match self.interrupted {
                Interrupted::Again => self.perform(desk, observer).await,
                Interrupted::GoOn => (noting(desk, note_changes).await, Came::Settled(Outcome::unsure())),
                Interrupted::Halt => {
                    let reason =
                        format!("after {} was interrupted; it may have run", self.action.kind.in_brief());
                    return (desk, Outcome::unsure().into(), Course::Paused(reason));
                }
            },
            Known::Begun(Some(intent)) => match self.look(desk, intent).await {
                (desk, None) => self.perform(desk, observer).await,
                (desk, Some(outcome)) => (desk, Came::Settled(outcome)),
            },
            Known::NotBegun | Known::Begun(None) | Known::Ended(_) => self.perform(desk, observer).await,
        };
        let took = millis(began.elapsed());
        let settled = match came {
            Came::Settled(outcome) => Settled { outcome, took },
            Came::Stopped(outcome) => {
                let course = Course::Paused("the batch was stopped before it".to_owned());
                return (desk, Settled { outcome, took }, course);
            }
        };
        let course = after(self.action, &settled.outcome);
        self.note_ended(desk, settled, course).await
    }

    /// Finds out whether a change that was begun was made. Nothing where it is still to be made.
    async fn look(&self, desk: Desk, intent: Intent) -> (Desk, Option<Outcome>) {
        let n = self.n;
        let path = self.action.kind.effect().changed().last().unwrap_or(&intent.file).to_owned();
        blocking(move || {
            let real = desk.root.join(&intent.file);
            let _ = rapport_durable::remove(&temporary(&desk.id, n, &real));
            let outcome = match state(&desk.root, &intent) {
                Ok(State::After) => Some(Outcome::Done { details: made(&desk, path, &intent) }),
                Ok(State::Before) => None,
                Ok(State::Other) => Some(Outcome::failed(format!(
                    "{path} was changed by somebody else while this was interrupted"
                ))),
                Err(error) => Some(Outcome::failed(error)),
            };
            (desk, outcome)
        })
        .await
    }

    /// Changes a file, which notes by itself what it is about to do.
    pub(in crate::actions) async fn change(
        &self,
        mut desk: Desk,
        change: impl FnOnce(&mut Desk, String) -> Outcome + Send + 'static,
    ) -> (Desk, Came) {
        let what = self.action.kind.in_brief();
        blocking(move || {
            let outcome = change(&mut desk, what);
            (desk, Came::Settled(outcome))
        })
        .await
    }

    /// Notes that it begins, and only then does it.
    pub(in crate::actions) async fn begin(
        &self,
        mut desk: Desk,
        work: impl Future<Output = Came>,
    ) -> (Desk, Came) {
        let kind = &self.action.kind;
        let irreversible = Some(kind.is_irreversible());
        let fact = Fact::Began { n: self.n, what: kind.in_brief(), intent: None, irreversible };
        let note = move || {
            let noted = desk.journal.note(fact);
            (desk, noted)
        };
        match blocking(note).await {
            (desk, Ok(())) => (desk, work.await),
            (desk, Err(error)) => (desk, Came::Settled(Outcome::failed(error))),
        }
    }

    /// Where even that cannot be noted, nothing more is done.
    async fn note_ended(&self, mut desk: Desk, settled: Settled, course: Course) -> (Desk, Settled, Course) {
        let fact = Fact::Ended { n: self.n, settled: settled.clone() };
        let (desk, noted) = blocking(move || {
            let noted = desk.journal.note(fact);
            (desk, noted)
        })
        .await;
        let course = match (noted, course) {
            (Ok(()), course) | (Err(_), course @ Course::Halted(_)) => course,
            (Err(error), Course::On | Course::Paused(_)) => {
                Course::Paused(format!("what was done could not be noted: {error}"))
            }
        };
        (desk, settled, course)
    }
}

/// What cannot be left alone halfway: it ends itself when it is told to stop, and then has not done what it was to do.
pub(in crate::actions) async fn ended_early(stop: &Stop, work: impl Future<Output = Outcome>) -> Came {
    match work.await {
        outcome @ Outcome::Failed { .. } if stop.is_told() => Came::Stopped(outcome),
        outcome => Came::Settled(outcome),
    }
}

/// What only waits for others, and can be done again later.
pub(in crate::actions) async fn stoppable(stop: &Stop, work: impl Future<Output = Outcome>) -> Came {
    tokio::select! {
        // Who is asked may be told to stop as well, and has no answer then.
        biased;
        () = stop.told() => Came::Stopped(Outcome::failed("interrupted")),
        outcome = work => Came::Settled(outcome),
    }
}

/// How it goes on after this.
pub(super) fn after(action: &Action, outcome: &Outcome) -> Course {
    match outcome {
        Outcome::Failed { .. } if !action.kind.may_fail() && !outcome.may_have_run() => {
            Course::Halted(format!("after {} failed", action.kind.in_brief()))
        }
        // What may have run ends like this only where a person said to go on.
        Outcome::Failed { .. } | Outcome::Done { .. } | Outcome::Skipped { .. } => Course::On,
    }
}

/// As precise as the journal keeps it, so that a batch told again is told the same.
fn millis(took: Duration) -> Duration {
    Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))
}
