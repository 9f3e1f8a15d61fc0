//! Running a batch: the chosen actions of a plan in their order, up to the first failure that is not allowed, each noted
//! before and after; and going on with a batch that was interrupted.

pub(super) mod changes;
pub(super) mod snapshot;
pub(super) mod step;

use rapport_core::{ActionPlan, Interrupted};
use rapport_durable::digest;

use self::step::{Step, after};
use super::files::Desk;
use super::journal::{Fact, Intent, Journal, RESERVE};
use super::outcome::{Outcome, Ran, Settled};
use super::{ActionError, Hands, Live, Means, Observer, Place, Stop, blocking};

/// Whether an action is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It is.
    Run,
    /// It is not.
    Skip {
        /// Why not, in words for the report.
        reason: String,
    },
}

/// A plan and what it takes to carry it out.
#[derive(Clone, Debug)]
pub struct ActionBatch<'a> {
    /// The plan.
    pub plan: &'a ActionPlan,
    /// Where.
    pub place: &'a Place,
    /// With what.
    pub means: &'a Means,
}

/// What is known about an action from the journal.
#[derive(Clone, Debug)]
enum Known {
    NotBegun,
    Begun(Option<Intent>),
    Ended(Settled),
}

/// How the rest of a batch goes.
enum Course {
    /// On.
    On,
    /// Nothing more is done, for this reason, and the batch is over.
    Halted(String),
    /// Nothing more is done for now, for this reason.
    Paused(String),
}

impl ActionBatch<'_> {
    /// Carries out what is chosen: one choice per action of the plan, and what there is no choice for is not done. Fails
    /// only where nothing was done; what goes wrong later is in what it gives.
    pub async fn run(
        &self,
        choices: &[Choice],
        hands: &dyn Hands,
        observer: &mut Observer<'_>,
        stop: &Stop,
    ) -> Result<Ran, ActionError> {
        let skip: Vec<_> = (0..self.plan.actions.len()).map(|n| skip(choices.get(n))).collect();
        let plan = fingerprint(self.plan);
        let desk = self.open(move |journal| start(journal, plan, skip)).await?;
        Ok(self.go_on(desk, Interrupted::Halt, hands, observer, stop).await)
    }

    /// Goes on with a batch that was interrupted, by a kill or otherwise. Gives what came of all of it. A batch that is over
    /// is only told again.
    pub async fn resume(
        &self,
        interrupted: Interrupted,
        hands: &dyn Hands,
        observer: &mut Observer<'_>,
        stop: &Stop,
    ) -> Result<Ran, ActionError> {
        if !Journal::is_in(&self.place.journal) {
            return Err(ActionError::NoBatch { path: self.place.journal.clone() });
        }
        let plan = fingerprint(self.plan);
        let desk = self.open(move |journal| take_up(journal, &plan)).await?;
        Ok(self.go_on(desk, interrupted, hands, observer, stop).await)
    }

    async fn open(
        &self,
        prepare: impl FnOnce(&mut Journal) -> Result<String, ActionError> + Send + 'static,
    ) -> Result<Desk, ActionError> {
        let Place { project, journal, seals, clock } = self.place.clone();
        blocking(move || {
            let root =
                project.canonicalize().map_err(|error| ActionError::Project { path: project, error })?;
            let mut journal = Journal::open(&journal, seals, clock)?;
            let id = prepare(&mut journal)?;
            Ok(Desk { root, journal, id })
        })
        .await
    }

    async fn go_on(
        &self,
        mut desk: Desk,
        interrupted: Interrupted,
        hands: &dyn Hands,
        observer: &mut Observer<'_>,
        stop: &Stop,
    ) -> Ran {
        let skips = skips(desk.journal.facts());
        let was_finished = desk.journal.facts().contains(&Fact::Finished);
        let mut actions = Vec::new();
        let mut course = Course::On;
        for (n, action) in self.plan.actions.iter().enumerate() {
            if let (Course::On, true) = (&course, stop.is_told()) {
                course = Course::Paused("the batch was stopped before it".to_owned());
            }
            let known = known(desk.journal.facts(), n);
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
                    let step = Step { batch: self, n, action, interrupted, hands, stop };
                    observer(Live::Started { n, action });
                    let (same_desk, settled, then) = step.take(desk, known, observer).await;
                    desk = same_desk;
                    course = then;
                    (settled, !matches!(course, Course::Paused(_)))
                }
            };
            observer(Live::Ended { n, settled: &settled, is_final });
            actions.push(settled);
        }
        let mut unfinished = matches!(course, Course::Paused(_));
        if !unfinished && !was_finished {
            unfinished = !blocking(move || finish(&mut desk.journal)).await;
        }
        Ran { actions, unfinished }
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

/// Names what a plan does, and nothing of what it says about it.
fn fingerprint(plan: &ActionPlan) -> String {
    let actions = plan.actions.iter().map(|action| action.kind.identity()).collect();
    digest(serde_json::Value::Array(actions).to_string().as_bytes())
}

fn take_up(journal: &mut Journal, fingerprint: &str) -> Result<String, ActionError> {
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

/// Notes that there is no more to do. The space for undoing stays set aside where something may have to be undone soon.
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
