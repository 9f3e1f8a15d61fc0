//! What the engine itself does to make a want true: open the workplace, record a state, write the plan, list the
//! changes, apply the work. Each effect ends in an input, runs off the loop, and is idempotent.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rapport_core::{
    Aim, ApplyTo, By, Changes, Created, EarlierAnswer, Existing, Merged, NotMerged, PlanFile, ProgressFile,
    QuestionId, RoundId, Rule, SessionId, Stretch, TurnId, UndoProblem, Want, World,
};

use super::kept_states::{KeptStates, of_undo};
use super::turn_effects;
use crate::clock::Clock;
use crate::projects::earlier_answers::AnswerRules;
use crate::projects::grants::{Grant, Grants};
use crate::stores::{Attacher, Store};
use crate::turns::Workshop;
use crate::workers::local::Directory;
use crate::workers::{Worker, WorkerError, Workplace, take_all_back};

/// The maximum number of plans with the same name in a project.
const MOST_PLANS: u32 = 1000;

/// The key of an effect, so that it runs once at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Effect {
    Baseline(TurnId),
    Snapshot(RoundId),
    /// Without the revision, because of two concurrent writes the older one could win.
    Plan,
    Report(TurnId),
    QuestionRound(u32),
    File(TurnId),
    PrepareTurn,
    CheckPlan(String),
    FileReport(String),
    Undo(String),
    /// Opens the workplace, before anything else happens there.
    Open,
    /// Ends whatever still runs in the workplace, before it is opened again.
    Close,
    /// Waits for a slot in the limit of agents that work at the same time.
    TakeSlot,
    Merge,
    Apply,
    Clear,
    UndoWork,
    NoteLeft,
    Grant(QuestionId),
    RuleAnswer(QuestionId),
    /// Asks the lead, or withdraws the question.
    ReachLead(QuestionId),
    /// Tells the lead that the work ended.
    InformLead(u32),
}

impl Effect {
    /// The effect that makes this want true, if there is one.
    pub(super) fn of(want: &Want) -> Option<Self> {
        match want {
            Want::Baseline(turn) => Some(Effect::Baseline(*turn)),
            Want::Snapshot(round) => Some(Effect::Snapshot(*round)),
            Want::PlanSaved(_) => Some(Effect::Plan),
            Want::Report { turn, .. } => Some(Effect::Report(*turn)),
            Want::QuestionRound(brief) => Some(Effect::QuestionRound(brief.round)),
            Want::Filed { turn, .. } => Some(Effect::File(*turn)),
            Want::TurnPrepared(_) => Some(Effect::PrepareTurn),
            Want::PlanChecked { folder, .. } => Some(Effect::CheckPlan(folder.clone())),
            Want::ReportFiled { folder, .. } => Some(Effect::FileReport(folder.clone())),
            Want::Undone { batch, .. } => Some(Effect::Undo(batch.clone())),
            Want::Merged { .. } => Some(Effect::Merge),
            Want::Applied { .. } => Some(Effect::Apply),
            Want::Cleared => Some(Effect::Clear),
            Want::WorkUndone(_) => Some(Effect::UndoWork),
            Want::WorkLeft => Some(Effect::NoteLeft),
            Want::Granted { question, .. } => Some(Effect::Grant(question.clone())),
            Want::AnswerRuled { question, .. } => Some(Effect::RuleAnswer(question.clone())),
            Want::LeadInformed { end, .. } => Some(Effect::InformLead(*end)),
            Want::LeadTold { question, .. } | Want::LeadReleased { question, .. } => {
                Some(Effect::ReachLead(question.clone()))
            }
            Want::AgentRunning(_)
            | Want::Replied { .. }
            | Want::AgentParked { .. }
            | Want::HostsAllowed(_)
            | Want::Checked { .. }
            | Want::BatchRunning(_)
            | Want::ActionReplied { .. } => None,
        }
    }
}

/// Whether a want needs the workplace.
pub(super) fn needs_workplace(want: &Want) -> bool {
    match want {
        Want::Baseline(_)
        | Want::Snapshot(_)
        | Want::PlanSaved(_)
        | Want::Checked { .. }
        | Want::Report { .. }
        | Want::WorkLeft
        | Want::AgentRunning(_)
        | Want::HostsAllowed(_)
        | Want::TurnPrepared(_)
        | Want::PlanChecked { .. }
        | Want::BatchRunning(_)
        | Want::Undone { .. }
        | Want::Merged { .. }
        | Want::Applied { .. } => true,
        Want::QuestionRound(_)
        | Want::Filed { .. }
        | Want::LeadTold { .. }
        | Want::LeadReleased { .. }
        | Want::LeadInformed { .. }
        | Want::Granted { .. }
        | Want::AnswerRuled { .. }
        | Want::Cleared
        | Want::WorkUndone(_)
        | Want::Replied { .. }
        | Want::AgentParked { .. }
        | Want::ActionReplied { .. }
        | Want::ReportFiled { .. } => false,
    }
}

/// The context of an effect.
pub(super) struct EffectContext {
    pub(super) session: SessionId,
    pub(super) created: Created,
    pub(super) worker: Arc<dyn Worker>,
    /// The open workplace, if the effect needs it.
    pub(super) workplace: Option<Arc<dyn Workplace>>,
    pub(super) store: Arc<dyn Store>,
    pub(super) attacher: Arc<dyn Attacher>,
    pub(super) workshop: Option<Workshop>,
    pub(super) home: PathBuf,
    pub(super) clock: Clock,
    /// The current or last stretch of the session's work.
    pub(super) stretch: Option<Stretch>,
}

impl EffectContext {
    fn kept_states(&self) -> KeptStates {
        let project = Directory::of_project(&self.created);
        KeptStates { store: self.store.clone(), session: self.session.clone(), project }
    }
}

/// Runs the effect for this want.
pub(super) async fn run(want: Want, context: EffectContext) -> World {
    let outcome = match want {
        Want::Filed { .. }
        | Want::TurnPrepared(_)
        | Want::PlanChecked { .. }
        | Want::ReportFiled { .. }
        | Want::Undone { .. } => turn_effects::run(want, context).await,
        Want::PlanSaved(file) => save_plan(file, &context).await,
        want => {
            let context = Arc::new(context);
            prepare_states(&want, &context).await;
            let attempted = context.clone();
            let outcome = unblocked(move || attempt(&want, &attempted)).await;
            if let Ok(world) = &outcome {
                let EffectContext { created, stretch, attacher, .. } = &*context;
                context.kept_states().keep_recorded(&**attacher, created, stretch.as_ref(), world).await;
            }
            outcome
        }
    };
    outcome.unwrap_or_else(|reason| World::Failed { reason })
}

/// Keeps the states that an effect changes the project between, and restores those that it needs.
async fn prepare_states(want: &Want, context: &EffectContext) {
    let kept = context.kept_states();
    match want {
        Want::Applied { merged, .. } => kept.keep(&*context.attacher, &merged.from, &merged.to).await,
        Want::Report { baseline: Some(baseline), .. } if !context.created.works_apart() => {
            kept.restore(&[(baseline, baseline)]).await;
        }
        Want::WorkUndone(states) => kept.restore(&states.iter().map(of_undo).collect::<Vec<_>>()).await,
        _ => {}
    }
}

/// Runs blocking work on a blocking thread.
pub(super) async fn unblocked<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()))
}

fn attempt(want: &Want, context: &EffectContext) -> Result<World, String> {
    let workplace = || context.workplace.as_deref().ok_or("the workplace is not open");
    match want {
        Want::Baseline(turn) => baseline(*turn, workplace()?, &context.created.aim),
        Want::Snapshot(round) => Ok(snapshot(*round, workplace()?)),
        Want::WorkLeft => Ok(World::WorkLeft { state: workplace()?.snapshot().unwrap_or_default() }),
        Want::Report { baseline, .. } => Ok(report(baseline.as_deref(), workplace()?)),
        Want::Merged { with_conflicts } => {
            let outcome = workplace()?.merge(*with_conflicts).map_err(|error| error.to_string())?;
            Ok(World::Merged { outcome })
        }
        Want::Applied { merged, plan, to } => apply(context, workplace()?, (merged, to), plan.as_deref()),
        Want::Cleared => {
            let cleared = context.worker.clear(&context.session, &context.created);
            Ok(World::Cleared { left: cleared.err().map(|error| error.to_string()) })
        }
        Want::WorkUndone(states) => {
            let undone = take_all_back(&Directory::of_project(&context.created), states);
            let problem = |error: WorkerError| UndoProblem {
                reason: error.to_string(),
                changed: Vec::new(),
                is_partial: matches!(error, WorkerError::HalfDone { .. }),
            };
            Ok(World::WorkUndone { outcome: undone.map_err(problem) })
        }
        Want::Granted { question, rule, by } => grant(context, question, rule, by),
        Want::AnswerRuled { question, text, answer, by } => rule_answer(
            context,
            EarlierAnswer {
                text: text.clone(),
                answer: answer.clone(),
                by: by.clone(),
                session: context.session.clone(),
                question: question.clone(),
                at: context.clock.now(),
            },
        ),
        Want::PlanSaved(_)
        | Want::Filed { .. }
        | Want::TurnPrepared(_)
        | Want::PlanChecked { .. }
        | Want::ReportFiled { .. }
        | Want::Undone { .. }
        | Want::LeadTold { .. }
        | Want::LeadReleased { .. }
        | Want::LeadInformed { .. }
        | Want::AgentRunning(_)
        | Want::Replied { .. }
        | Want::AgentParked { .. }
        | Want::HostsAllowed(_)
        | Want::QuestionRound(_)
        | Want::Checked { .. }
        | Want::BatchRunning(_)
        | Want::ActionReplied { .. } => Err("the engine has no effect for this want".to_owned()),
    }
}

/// Applies the work to the project, and copies the plan, which is not part of the work.
fn apply(
    context: &EffectContext,
    workplace: &dyn Workplace,
    (merged, to): (&Merged, &ApplyTo),
    plan: Option<&str>,
) -> Result<World, String> {
    let files = match workplace.apply(merged, to, &context.created.task) {
        Ok(files) => files,
        Err(error) => return Ok(World::Merged { outcome: Err(not_applied(error)) }),
    };
    if let ApplyTo::Branch(_) = to {
        return Ok(World::Applied { files });
    }
    let project = Directory::at(&context.created.project);
    if let Some(plan) = plan
        && let (Ok(Some(content)), Ok(None)) = (workplace.read(plan), project.read(plan))
    {
        // The work is in the project, even if the copy of its plan fails; the facts have the plan too.
        if let Err(error) = project.replace(plan, &content) {
            tracing::warn!(%error, %plan, "the plan was not written to the project");
        }
    }
    Ok(World::Applied { files })
}

fn not_applied(error: WorkerError) -> NotMerged {
    let reason = Some(error.to_string());
    let half_done = if let WorkerError::HalfDone { files, .. } = error { files } else { Vec::new() };
    NotMerged { reason, half_done, ..NotMerged::default() }
}

fn grant(context: &EffectContext, question: &QuestionId, rule: &Rule, by: &By) -> Result<World, String> {
    let grant = Grant { rule: rule.clone(), by: by.clone(), at: context.clock.now() };
    let kept = Grants::of(&context.home, Path::new(&context.created.project)).add(grant);
    kept.map_err(|e| format!("cannot store the permission rule of this project: {e}"))?;
    Ok(World::Granted { question: question.clone() })
}

fn rule_answer(context: &EffectContext, rule: EarlierAnswer) -> Result<World, String> {
    let question = rule.question.clone();
    let kept = AnswerRules::of(&context.home, Path::new(&context.created.project)).add(rule);
    kept.map_err(|e| format!("cannot store the answer as a rule of this project: {e}"))?;
    Ok(World::AnswerRuled { question })
}

/// Records the state before a turn. Work does not begin without it; a conversation and the writing of a progress file
/// do.
fn baseline(turn: TurnId, workplace: &dyn Workplace, aim: &Aim) -> Result<World, String> {
    let baseline = match (workplace.snapshot(), aim) {
        (Ok(baseline), _) => baseline,
        (Err(error @ WorkerError::ProjectGone { .. }), _) => return Err(error.to_string()),
        (Err(error), Aim::Work | Aim::Files) => {
            return Err(format!("cannot record the state of the project: {error}"));
        }
        (Err(error), Aim::Chat | Aim::Progress(_)) => {
            tracing::warn!(%error, "the state of the project was not recorded");
            None
        }
    };
    Ok(World::Baseline { turn, baseline })
}

/// Records the state at a round. A failure must not disturb the work; then the session cannot branch at this round.
fn snapshot(round: RoundId, workplace: &dyn Workplace) -> World {
    World::Snapshot { round, state: workplace.snapshot().unwrap_or_default() }
}

fn report(baseline: Option<&str>, workplace: &dyn Workplace) -> World {
    // The work is done even if its changes cannot be listed.
    let unknown = |error: WorkerError| Changes { unknown: Some(error.to_string()), ..Changes::default() };
    World::Report { changes: baseline.map(|baseline| workplace.changes(baseline).unwrap_or_else(unknown)) }
}

async fn save_plan(file: PlanFile, context: &EffectContext) -> Result<World, String> {
    let workplace = context.workplace.clone().ok_or("the workplace is not open")?;
    let path = match file.existing {
        Existing::Replace => own_path(&file, &workplace, context).await?,
        Existing::Refuse | Existing::KeepSections => file.path.clone(),
    };
    unblocked(move || write_plan(&file, path, &*workplace)).await
}

fn write_plan(file: &PlanFile, path: String, workplace: &dyn Workplace) -> Result<World, String> {
    let content = beside(file, workplace, &path)?;
    workplace.replace(&path, content.as_bytes()).map_err(|error| {
        let directory = workplace.directory();
        if !workplace.seen_at().is_dir() {
            return WorkerError::ProjectGone { directory: directory.to_owned() }.to_string();
        }
        format!("cannot write the plan to {}: {error}", directory.join(&path).display())
    })?;
    Ok(World::PlanSaved { revision: file.revision, path })
}

/// A path for the plan, named after the task. If a file exists there that is not this session's plan, the name gets a
/// number.
async fn own_path(
    file: &PlanFile,
    workplace: &Arc<dyn Workplace>,
    context: &EffectContext,
) -> Result<String, String> {
    let name = file.path.trim_end_matches(".md");
    let numbered = (2..MOST_PLANS).map(|number| format!("{name}-{number}.md"));
    let mut own_contents = None;
    for path in [file.path.clone()].into_iter().chain(numbered) {
        if file.own_paths.contains(&path) {
            return Ok(path);
        }
        let (read, workplace) = (path.clone(), workplace.clone());
        let there = unblocked(move || Ok(workplace.read(&read))).await?;
        // Any other obstacle is reported when the file is written.
        let Ok(Some(there)) = there else { return Ok(path) };
        if own_contents.is_none() {
            own_contents = Some(contents(context).await?);
        }
        if own_contents.iter().flatten().any(|content| content.as_bytes() == there) {
            return Ok(path);
        }
    }
    Err(format!("there are too many plans called {}; remove some, then the plan can be saved", file.path))
}

/// Every content that the plan's file had according to the facts.
async fn contents(context: &EffectContext) -> Result<Vec<String>, String> {
    let entries = context.store.counted(&context.session, 0).await;
    Ok(PlanFile::contents(&entries.map_err(|error| error.to_string())?))
}

/// The content to write, given an existing file. A file with exactly this content may have been written by this
/// session before a crash.
fn beside(file: &PlanFile, workplace: &dyn Workplace, path: &str) -> Result<String, String> {
    let whole = workplace.directory().join(path);
    let there = match file.existing {
        Existing::Replace => None,
        Existing::Refuse | Existing::KeepSections => {
            workplace.read(path).map_err(|error| format!("cannot read {}: {error}", whole.display()))?
        }
    };
    let Some(there) = there.filter(|there| *there != file.content.as_bytes()) else {
        return Ok(file.content.clone());
    };
    match file.existing {
        Existing::Refuse => Err(format!(
            "another program or person wrote {} meanwhile; move it away, then the plan can be saved",
            whole.display()
        )),
        Existing::Replace | Existing::KeepSections => {
            let older = String::from_utf8(there)
                .map_err(|_| format!("{} is not UTF-8 text, move it away first", whole.display()))?;
            let (older, newer) = (ProgressFile::parse(&older), ProgressFile::parse(&file.content));
            Ok(match (older, newer) {
                (Ok(older), Ok(newer)) => newer.keeping(&older).to_string(),
                // A file that is not a progress file has no sections to keep.
                (Err(_), _) | (_, Err(_)) => file.content.clone(),
            })
        }
    }
}
