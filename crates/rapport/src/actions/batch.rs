//! Running a batch: the chosen actions of a plan in their order, up to the first failure that is not allowed, each noted
//! before and after; and going on with a batch that was interrupted.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use rapport_core::{Action, ActionPlan, Deed};
use serde_json::{Value, json};

use super::files::{Desk, State, digest_of, state, temporary};
use super::journal::{Fact, Intent, Journal, JournalError, digest, least_reserve};
use super::outcome::{Details, FileChange, Outcome, Ran, Settled};
use super::{ActionError, Hands, Live, Means, Observer, Place, Stop};
use super::{blocking, chat, create, edit, execute, invoke, read, research};

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

/// What becomes of a command that was cut off, and may have run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interrupted {
    /// Nothing yet: it is reported, and a person decides.
    Halt,
    /// It is run again.
    Again,
    /// It is left as it is, and the rest is done.
    GoOn,
}

/// A plan and what it takes to carry it out.
#[derive(Clone, Debug)]
pub struct Batch<'a> {
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

impl Batch<'_> {
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
        let plan = fingerprint(self.plan);
        let desk = self.open(move |journal| take_up(journal, &plan)).await?;
        Ok(self.go_on(desk, interrupted, hands, observer, stop).await)
    }

    async fn open(
        &self,
        prepare: impl FnOnce(&mut Journal) -> Result<String, ActionError> + Send + 'static,
    ) -> Result<Desk, ActionError> {
        let Place { project, journal } = self.place.clone();
        blocking(move || {
            let root =
                project.canonicalize().map_err(|error| ActionError::Project { path: project, error })?;
            let mut journal = Journal::open(&journal)?;
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
            let settled = match (&course, known, &skips[n]) {
                (_, Known::Ended(settled), _) => {
                    if let Course::On = course {
                        course = after(action, &settled.outcome);
                    }
                    settled
                }
                (_, _, Some(reason)) => Outcome::skipped(reason).into(),
                (Course::Halted(reason) | Course::Paused(reason), _, None) => Outcome::skipped(reason).into(),
                (Course::On, known, None) => {
                    let step = Step { batch: self, n, action, interrupted, hands, stop };
                    observer(Live::Started { n, action });
                    let (same_desk, settled, then) = step.take(desk, known, observer).await;
                    desk = same_desk;
                    course = then;
                    settled
                }
            };
            observer(Live::Ended { n, settled: &settled });
            actions.push(settled);
        }
        let mut unfinished = matches!(course, Course::Paused(_));
        if !unfinished && !was_finished {
            unfinished = !blocking(move || finish(&mut desk.journal)).await;
        }
        Ran { actions, unfinished }
    }
}

/// One action that is to be done now.
struct Step<'a> {
    batch: &'a Batch<'a>,
    n: usize,
    action: &'a Action,
    interrupted: Interrupted,
    hands: &'a dyn Hands,
    stop: &'a Stop,
}

impl Step<'_> {
    /// Does it and notes it.
    async fn take(&self, desk: Desk, known: Known, observer: &mut Observer<'_>) -> (Desk, Settled, Course) {
        let began = Instant::now();
        let (desk, outcome) = match known {
            Known::Begun(None) if !may_be_repeated(&self.action.deed) => match self.interrupted {
                Interrupted::Again => self.perform(desk, observer).await,
                Interrupted::GoOn => (desk, Some(may_have_run())),
                Interrupted::Halt => {
                    let reason = format!("after {} was interrupted; it may have run", name(self.action));
                    return (desk, may_have_run().into(), Course::Paused(reason));
                }
            },
            Known::Begun(Some(intent)) => match self.look(desk, intent).await {
                (desk, None) => self.perform(desk, observer).await,
                settled => settled,
            },
            Known::NotBegun | Known::Begun(None) | Known::Ended(_) => self.perform(desk, observer).await,
        };
        let Some(outcome) = outcome else {
            let outcome = Outcome::failed("interrupted");
            return (desk, outcome.into(), Course::Paused("the batch was stopped before it".to_owned()));
        };
        let settled = Settled { outcome, took: millis(began.elapsed()) };
        let course = match self.interrupted {
            Interrupted::GoOn if settled.outcome == may_have_run() => Course::On,
            Interrupted::GoOn | Interrupted::Halt | Interrupted::Again => {
                after(self.action, &settled.outcome)
            }
        };
        self.note_ended(desk, settled, course).await
    }

    /// Finds out whether a change that was begun was made. Nothing where it is still to be made.
    async fn look(&self, desk: Desk, intent: Intent) -> (Desk, Option<Outcome>) {
        let n = self.n;
        let path = path_of(&self.action.deed).unwrap_or(&intent.file).to_owned();
        blocking(move || {
            let real = desk.root.join(&intent.file);
            let _ = std::fs::remove_file(temporary(&desk.id, n, &real));
            let change = if intent.before.is_some() { FileChange::Changed } else { FileChange::Made };
            let found = state(&desk.root, &intent);
            let outcome = match found {
                Ok(State::After) => Some(Outcome::Done { details: Details::File { path, change } }),
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

    /// Does it. Nothing where it was stopped and can be done again.
    async fn perform(&self, mut desk: Desk, observer: &mut Observer<'_>) -> (Desk, Option<Outcome>) {
        let (n, what, deed) = (self.n, name(self.action), self.action.deed.clone());
        if path_of(&deed).is_some() {
            return blocking(move || {
                let outcome = change_file(&mut desk, n, what, &deed);
                (desk, Some(outcome))
            })
            .await;
        }
        let begin = move || {
            let noted = desk.journal.note(Fact::Began { n, what, intent: None });
            (desk, noted)
        };
        let (mut desk, noted) = blocking(begin).await;
        if let Err(error) = noted {
            return (desk, Some(Outcome::failed(error)));
        }
        let outcome = self.perform_elsewhere(&desk.root, observer).await;
        if let (Deed::Execute { .. }, Some(_)) = (&deed, &outcome) {
            desk = blocking(move || {
                note_changes(&mut desk);
                desk
            })
            .await;
        }
        (desk, outcome)
    }

    /// Everything but files. What waits for others can be stopped, and is done again later.
    async fn perform_elsewhere(&self, root: &Path, observer: &mut Observer<'_>) -> Option<Outcome> {
        let Self { batch, n, action, hands, stop, .. } = *self;
        let waiting = async {
            match &action.deed {
                Deed::Execute { command, cwd, env, timeout, expected: _, allow_failure: _ } => {
                    let order = execute::Order { command, cwd: cwd.as_deref(), env, timeout: *timeout };
                    return Some(execute::run(batch.means, root, n, order, observer, stop).await);
                }
                Deed::Research { queries } if !batch.means.research_command.is_empty() => {
                    let found = research::run(batch.means, root, hands, n, queries, observer, stop).await;
                    return Some(found);
                }
                Deed::Research { queries } => {
                    Some(research::run(batch.means, root, hands, n, queries, observer, stop).await)
                }
                Deed::Read { resource } => Some(read::run(root, resource).await),
                Deed::ChatWithUser { message } => Some(chat::run(hands, n, message).await),
                Deed::Invoke { agent, message } => Some(invoke::run(hands, n, agent, message).await),
                Deed::Create { .. } | Deed::Edit { .. } => None,
            }
        };
        match &action.deed {
            // These see to it themselves: what runs has to be ended first.
            Deed::Execute { .. } => waiting.await,
            Deed::Research { .. } if !batch.means.research_command.is_empty() => waiting.await,
            // A session that was begun cannot be taken back by not waiting for its name.
            Deed::Invoke { .. } => waiting.await,
            Deed::Research { .. } | Deed::Read { .. } | Deed::ChatWithUser { .. } => tokio::select! {
                outcome = waiting => outcome,
                () = stop.told() => None,
            },
            Deed::Create { .. } | Deed::Edit { .. } => None,
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

/// CREATE and EDIT, which only take what is here.
fn change_file(desk: &mut Desk, n: usize, what: String, deed: &Deed) -> Outcome {
    match deed {
        Deed::Create { path, content, overwrite } => {
            create::run(desk, n, what, path, content, (*overwrite).into())
        }
        Deed::Edit { path, edits } => edit::run(desk, n, what, path, edits),
        Deed::Read { .. }
        | Deed::Execute { .. }
        | Deed::Research { .. }
        | Deed::ChatWithUser { .. }
        | Deed::Invoke { .. } => Outcome::failed("it changes no file"),
    }
}

fn start(journal: &mut Journal, plan: String, skip: Vec<Option<String>>) -> Result<String, ActionError> {
    if !journal.facts().is_empty() {
        return Err(ActionError::NotNew { path: journal.directory().to_owned() });
    }
    let id = uuid::Uuid::new_v4().simple().to_string();
    journal.reserve(least_reserve())?;
    journal.note(Fact::Started { id: id.clone(), plan, skip })?;
    Ok(id)
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

/// Notes what a command did to files that the batch had changed before.
fn note_changes(desk: &mut Desk) {
    let expected = expected_files(desk.journal.facts());
    let now = expected.into_iter().filter_map(|(file, expected)| {
        let now = digest_of(&desk.root, &file).ok()?;
        (now != expected).then_some((file, now))
    });
    let files: BTreeMap<_, _> = now.collect();
    if !files.is_empty() {
        // Without it, undoing takes these changes for somebody else's, and asks.
        let _: Result<(), JournalError> = desk.journal.note(Fact::Changed { files });
    }
}

/// The files that were changed, and what they are by what was noted.
fn expected_files(facts: &[Fact]) -> BTreeMap<String, Option<String>> {
    let mut files = BTreeMap::new();
    for fact in facts {
        match fact {
            Fact::Began { n, intent: Some(intent), .. } => {
                let done = facts.iter().any(|fact| {
                    matches!(fact, Fact::Ended { n: ended, settled } if ended == n
                        && matches!(settled.outcome, Outcome::Done { .. }))
                });
                if done {
                    files.insert(intent.file.clone(), Some(intent.after.clone()));
                }
            }
            Fact::Changed { files: changed } => files.extend(changed.clone()),
            _ => {}
        }
    }
    files
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

/// How it goes on after this.
fn after(action: &Action, outcome: &Outcome) -> Course {
    let allowed = matches!(&action.deed, Deed::Execute { allow_failure: true, .. });
    match outcome {
        Outcome::Failed { why, .. } if why == INTERRUPTED || !allowed => {
            Course::Halted(format!("after {} failed", name(action)))
        }
        Outcome::Failed { .. } | Outcome::Done { .. } | Outcome::Skipped { .. } => Course::On,
    }
}

/// Why what was stopped failed.
const INTERRUPTED: &str = "interrupted";

fn may_have_run() -> Outcome {
    Outcome::failed("interrupted: it may have run")
}

/// What can be done again without harm. Files are looked at instead.
fn may_be_repeated(deed: &Deed) -> bool {
    match deed {
        Deed::Execute { .. } | Deed::Invoke { .. } => false,
        Deed::Create { .. }
        | Deed::Edit { .. }
        | Deed::Read { .. }
        | Deed::Research { .. }
        | Deed::ChatWithUser { .. } => true,
    }
}

fn path_of(deed: &Deed) -> Option<&str> {
    match deed {
        Deed::Create { path, .. } | Deed::Edit { path, .. } => Some(path),
        Deed::Read { .. }
        | Deed::Execute { .. }
        | Deed::Research { .. }
        | Deed::ChatWithUser { .. }
        | Deed::Invoke { .. } => None,
    }
}

/// An action in a few words.
fn name(action: &Action) -> String {
    const MOST: usize = 60;
    let about = match &action.deed {
        Deed::Create { path, .. } | Deed::Edit { path, .. } => path.as_str(),
        Deed::Execute { command, .. } => command.trim().lines().next().unwrap_or_default(),
        Deed::Invoke { agent, .. } => agent,
        Deed::Read { .. } | Deed::Research { .. } | Deed::ChatWithUser { .. } => {
            return action.deed.name().to_owned();
        }
    };
    let short: String = about.chars().take(MOST).collect();
    let more = if short.len() < about.len() { "…" } else { "" };
    format!("{} `{short}{more}`", action.deed.name())
}

/// Names what a plan does, and nothing of what it says about it.
fn fingerprint(plan: &ActionPlan) -> String {
    let deeds: Vec<Value> = plan.actions.iter().map(|action| deed_as_json(&action.deed)).collect();
    digest(Value::Array(deeds).to_string().as_bytes())
}

fn deed_as_json(deed: &Deed) -> Value {
    use rapport_core::Resource;
    let fields = match deed {
        Deed::Create { path, content, overwrite } => json!([path, content, overwrite]),
        Deed::Read { resource: Resource::File(path) } => json!(["file", path]),
        Deed::Read { resource: Resource::Url(url) } => json!(["url", url]),
        Deed::Edit { path, edits } => {
            let edits: Vec<_> = edits.iter().map(|edit| [&edit.find, &edit.replace]).collect();
            json!([path, edits])
        }
        Deed::Execute { command, cwd, env, expected: _, allow_failure, timeout } => {
            json!([command, cwd, env, allow_failure, timeout.map(|time| time.as_millis() as i64)])
        }
        Deed::Research { queries } => json!([queries]),
        Deed::ChatWithUser { message } => json!([message]),
        Deed::Invoke { agent, message } => json!([agent, message]),
    };
    json!([deed.name(), fields])
}

/// As precise as the journal keeps it, so that a batch told again is told the same.
fn millis(took: Duration) -> Duration {
    Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX))
}
