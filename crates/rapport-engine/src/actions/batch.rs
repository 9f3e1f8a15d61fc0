//! Runs a batch: the selected actions of a plan in order, up to the first failure that is not allowed, each recorded in
//! the journal before and after; and resumes an interrupted batch.

pub(super) mod changes;
pub(super) mod snapshot;
pub(super) mod step;

use rapport_core::{ActionPlan, Interrupted};
use rapport_durable::digest;

use self::step::{ActionStep, after};
use super::files::JournaledFiles;
use super::journal::{Fact, Intent, Journal, RESERVE};
use super::outcome::{BatchOutcome, Outcome, TimedOutcome};
use super::{ActionConfig, ActionError, BatchSite, Live, Observer, Requester, Stop, blocking};

/// Whether an action is to be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    Run,
    Skip {
        /// The reason, in words for the report.
        reason: String,
    },
}

/// A plan and everything needed to carry it out.
#[derive(Clone, Debug)]
pub struct ActionBatch<'a> {
    pub plan: &'a ActionPlan,
    pub site: &'a BatchSite,
    pub config: &'a ActionConfig,
}

/// What the journal says about an action.
#[derive(Clone, Debug)]
enum Known {
    NotBegun,
    Begun(Option<Intent>),
    Ended(TimedOutcome),
}

/// How the rest of a batch continues.
enum Course {
    On,
    /// The batch is over, for this reason; no further action runs.
    Halted(String),
    /// No further action runs for now, for this reason.
    Paused(String),
}

impl ActionBatch<'_> {
    /// Runs the selected actions: one choice per action of the plan; an action without a choice is skipped. Returns
    /// an error only if nothing was done; later failures are part of the result.
    pub async fn run(
        &self,
        choices: &[Choice],
        requester: &dyn Requester,
        observer: &mut Observer<'_>,
        stop: &Stop,
    ) -> Result<BatchOutcome, ActionError> {
        let skip: Vec<_> = (0..self.plan.actions.len()).map(|n| skip(choices.get(n))).collect();
        let plan = fingerprint(self.plan);
        let journaled = self.open(move |journal| start(journal, plan, skip)).await?;
        Ok(self.go_on(journaled, Interrupted::Halt, requester, observer, stop).await)
    }

    /// Resumes a batch that was interrupted, by a kill or otherwise, and returns the results of all its actions. A
    /// batch that has ended only returns its results again.
    pub async fn resume(
        &self,
        interrupted: Interrupted,
        requester: &dyn Requester,
        observer: &mut Observer<'_>,
        stop: &Stop,
    ) -> Result<BatchOutcome, ActionError> {
        if !Journal::is_in(&self.site.journal) {
            return Err(ActionError::NoBatch { path: self.site.journal.clone() });
        }
        let plan = fingerprint(self.plan);
        let journaled = self.open(move |journal| resume_journal(journal, &plan)).await?;
        Ok(self.go_on(journaled, interrupted, requester, observer, stop).await)
    }

    async fn open(
        &self,
        prepare: impl FnOnce(&mut Journal) -> Result<String, ActionError> + Send + 'static,
    ) -> Result<JournaledFiles, ActionError> {
        let BatchSite { project, journal, seals, clock } = self.site.clone();
        blocking(move || {
            let root =
                project.canonicalize().map_err(|error| ActionError::Project { path: project, error })?;
            let mut journal = Journal::open(&journal, seals, clock)?;
            let id = prepare(&mut journal)?;
            Ok(JournaledFiles { root, journal, id })
        })
        .await
    }

    async fn go_on(
        &self,
        mut journaled: JournaledFiles,
        interrupted: Interrupted,
        requester: &dyn Requester,
        observer: &mut Observer<'_>,
        stop: &Stop,
    ) -> BatchOutcome {
        let skips = skips(journaled.journal.facts());
        let was_finished = journaled.journal.facts().contains(&Fact::Finished);
        let mut actions = Vec::new();
        let mut course = Course::On;
        for (n, action) in self.plan.actions.iter().enumerate() {
            if let (Course::On, true) = (&course, stop.is_signalled()) {
                course = Course::Paused("the batch was stopped before it".to_owned());
            }
            let known = known(journaled.journal.facts(), n);
            let (settled, is_final) = match (&course, known, &skips[n]) {
                (_, Known::Ended(settled), _) => {
                    if let Course::On = course {
                        course = after(action, &settled.outcome);
                    }
                    (settled, true)
                }
                (_, _, Some(reason)) => (Outcome::skipped(reason).into(), true),
                (Course::Halted(reason), _, None) => (Outcome::skipped(reason).into(), true),
                (Course::Paused(reason), _, None) => (Outcome::skipped(reason).into(), false),
                (Course::On, known, None) => {
                    let step = ActionStep { batch: self, n, action, interrupted, requester, stop };
                    observer(Live::Started { n, action });
                    let (same_files, settled, then) = step.take(journaled, known, observer).await;
                    journaled = same_files;
                    course = then;
                    (settled, !matches!(course, Course::Paused(_)))
                }
            };
            observer(Live::Ended { n, settled: &settled, is_final });
            actions.push(settled);
        }
        let mut unfinished = matches!(course, Course::Paused(_));
        if !unfinished && !was_finished {
            unfinished = !blocking(move || finish(&mut journaled.journal)).await;
        }
        BatchOutcome { actions, unfinished }
    }
}

fn start(journal: &mut Journal, plan: String, skip: Vec<Option<String>>) -> Result<String, ActionError> {
    if !journal.facts().is_empty() {
        return Err(ActionError::NotNew { path: journal.directory().to_owned() });
    }
    let id = uuid::Uuid::new_v4().simple().to_string();
    journal.reserve(RESERVE)?;
    journal.note(Fact::Started { id: id.clone(), plan, skip })?;
    Ok(id)
}

/// A digest of a plan's actions, without their descriptions.
fn fingerprint(plan: &ActionPlan) -> String {
    let actions = plan.actions.iter().map(|action| action.kind.identity()).collect();
    digest(serde_json::Value::Array(actions).to_string().as_bytes())
}

fn resume_journal(journal: &mut Journal, fingerprint: &str) -> Result<String, ActionError> {
    let path = journal.directory().to_owned();
    let Some(Fact::Started { id, plan, .. }) = journal.facts().first() else {
        return Err(ActionError::NoBatch { path });
    };
    if plan != fingerprint {
        return Err(ActionError::OtherPlan { path });
    }
    if journal.facts().iter().any(|fact| matches!(fact, Fact::UndoBegan { .. } | Fact::Undone)) {
        return Err(ActionError::WasUndone { path });
    }
    Ok(id.clone())
}

/// Records the end of the batch. The disk space for undoing stays reserved if something may have to be undone soon.
fn finish(journal: &mut Journal) -> bool {
    let is_failure = |fact: &Fact| match fact {
        Fact::Ended { settled, .. } => !matches!(settled.outcome, Outcome::Done { .. }),
        _ => false,
    };
    let failed = journal.facts().iter().any(is_failure);
    let noted = journal.note(Fact::Finished).is_ok();
    if noted && !failed {
        journal.release();
    }
    noted
}

fn skips(facts: &[Fact]) -> Vec<Option<String>> {
    match facts.first() {
        Some(Fact::Started { skip, .. }) => skip.clone(),
        _ => Vec::new(),
    }
}

fn skip(choice: Option<&Choice>) -> Option<String> {
    match choice {
        Some(Choice::Run) => None,
        Some(Choice::Skip { reason }) => Some(reason.clone()),
        None => Some("it was not chosen".to_owned()),
    }
}

fn known(facts: &[Fact], n: usize) -> Known {
    let mut known = Known::NotBegun;
    for fact in facts {
        match fact {
            Fact::Began { n: begun, intent, .. } if *begun == n => known = Known::Begun(intent.clone()),
            Fact::Ended { n: ended, settled } if *ended == n => known = Known::Ended(settled.clone()),
            _ => {}
        }
    }
    known
}
