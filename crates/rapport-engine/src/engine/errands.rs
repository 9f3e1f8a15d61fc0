//! What the engine does itself to make a want true: note a state, write the plan, find out what changed. Each ends in
//! an input, takes place off the loop, and can be done twice.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use rapport_core::{
    By, Changes, Existing, PlanFile, ProgressFile, QuestionId, RoundId, Rule, SessionId, TurnId, Want, World,
};

use crate::projects::grants::{Grant, Grants};
use crate::stores::Store;
use crate::workers::{Worker, WorkerError};
use rapport_durable as durable;

/// Something to be done once, by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Errand {
    Baseline(TurnId),
    Snapshot(RoundId),
    /// Whatever its revision: of two written at once, the older could come last.
    Plan,
    Report(TurnId),
    Batch(u32),
    File(TurnId),
    Grant(QuestionId),
}

impl Errand {
    /// The errand that makes this want true, if one does.
    pub(super) fn of(want: &Want) -> Option<Self> {
        match want {
            Want::Baseline(turn) => Some(Errand::Baseline(*turn)),
            Want::Snapshot(round) => Some(Errand::Snapshot(*round)),
            Want::PlanSaved(_) => Some(Errand::Plan),
            Want::Report { turn, .. } => Some(Errand::Report(*turn)),
            Want::Batch(brief) => Some(Errand::Batch(brief.round)),
            Want::Filed { turn, .. } => Some(Errand::File(*turn)),
            Want::Granted { question, .. } => Some(Errand::Grant(question.clone())),
            Want::AgentRunning(_) | Want::Replied { .. } | Want::AgentParked { .. } => None,
        }
    }
}

/// Where errands are run.
pub(super) struct Around {
    pub(super) session: SessionId,
    pub(super) project: PathBuf,
    pub(super) worker: Arc<dyn Worker>,
    pub(super) store: Arc<dyn Store>,
    pub(super) home: PathBuf,
    pub(super) now: Timestamp,
}

/// Runs the errand for this want. May block.
pub(super) fn run(want: &Want, around: &Around) -> World {
    let Around { project, worker, .. } = around;
    let done = match want {
        Want::Baseline(turn) => baseline(*turn, project, worker),
        Want::Snapshot(round) => Ok(snapshot(*round, project, worker)),
        Want::PlanSaved(file) => save_plan(file, project),
        Want::Report { baseline, .. } => report(baseline.as_deref(), project, worker),
        Want::Filed { turn, path, content } => file(around, *turn, path, content),
        Want::Granted { question, rule, by } => grant(around, question, rule, by),
        Want::AgentRunning(_) | Want::Replied { .. } | Want::AgentParked { .. } | Want::Batch(_) => {
            Err("the engine took somebody else's want for its own".to_owned())
        }
    };
    done.unwrap_or_else(|reason| World::Failed { reason })
}

fn grant(around: &Around, question: &QuestionId, rule: &Rule, by: &By) -> Result<World, String> {
    let grant = Grant { rule: rule.clone(), by: by.clone(), at: around.now };
    let kept = Grants::of(&around.home, &around.project).add(grant);
    kept.map_err(|e| format!("cannot keep what is allowed in this project: {e}"))?;
    Ok(World::Granted { question: question.clone() })
}

fn file(around: &Around, turn: TurnId, path: &str, content: &str) -> Result<World, String> {
    let attached = around.store.attach(&around.session, path, content.as_bytes());
    attached.map_err(|e| format!("cannot keep the plan: {e}"))?;
    Ok(World::Filed { turn, path: path.to_owned() })
}

fn baseline(turn: TurnId, project: &Path, worker: &Arc<dyn Worker>) -> Result<World, String> {
    is_there(project)?;
    let baseline =
        worker.baseline(project).map_err(|e| format!("cannot note the state of the project: {e}"))?;
    Ok(World::Baseline { turn, baseline })
}

/// A state that cannot be noted is no reason to disturb the work: then nobody can branch here later.
fn snapshot(round: RoundId, project: &Path, worker: &Arc<dyn Worker>) -> World {
    World::Snapshot { round, state: worker.baseline(project).unwrap_or_default() }
}

fn report(baseline: Option<&str>, project: &Path, worker: &Arc<dyn Worker>) -> Result<World, String> {
    // The work is done either way; not being able to list it is no reason to call it failed.
    let unknown = |error: WorkerError| Changes { unknown: Some(error.to_string()), ..Changes::default() };
    let changes = baseline.map(|baseline| worker.changes(project, baseline).unwrap_or_else(unknown));
    Ok(World::Report { changes })
}

fn save_plan(file: &PlanFile, project: &Path) -> Result<World, String> {
    is_there(project)?;
    let path = match file.existing {
        Existing::Replace => own_path(file, project),
        Existing::Refuse | Existing::KeepSections => file.path.clone(),
    };
    let place = project.join(&path);
    let content = beside(file, &place)?;
    write_atomically(project, &place, &content)
        .map_err(|e| format!("cannot write the plan to {}: {e}", place.display()))?;
    Ok(World::PlanSaved { revision: file.revision, path })
}

/// Where a plan goes that has its name from the task. What is there already and is not of this session, or not a plan
/// at all, stays; then this one gets a number.
fn own_path(file: &PlanFile, project: &Path) -> String {
    let mark = file.content.lines().find(|line| line.starts_with("**Session:** "));
    let is_free = |path: &String| match std::fs::read_to_string(project.join(path)) {
        Ok(there) => there.lines().any(|line| Some(line) == mark),
        // What else is in the way is told when it is written to.
        Err(error) => error.kind() != ErrorKind::InvalidData,
    };
    let name = file.path.trim_end_matches(".md");
    let numbered = (2..1000).map(|number| format!("{name}-{number}.md"));
    [file.path.clone()].into_iter().chain(numbered).find(is_free).unwrap_or_else(|| file.path.clone())
}

/// What is written, given what is there. A file that has just this content may be ours, from before a crash.
fn beside(file: &PlanFile, path: &Path) -> Result<String, String> {
    let there = match file.existing {
        Existing::Replace => None,
        Existing::Refuse | Existing::KeepSections => match std::fs::read(path) {
            Ok(there) => Some(there),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        },
    };
    let Some(there) = there.filter(|there| *there != file.content.as_bytes()) else {
        return Ok(file.content.clone());
    };
    match file.existing {
        Existing::Refuse => Err(format!(
            "{} was written by somebody else meanwhile; move it away, then the plan can be saved",
            path.display()
        )),
        Existing::Replace | Existing::KeepSections => {
            let older = String::from_utf8(there)
                .map_err(|_| format!("{} is not UTF-8 text, move it away first", path.display()))?;
            let (older, newer) = (ProgressFile::parse(&older), ProgressFile::parse(&file.content));
            Ok(match (older, newer) {
                (Ok(older), Ok(newer)) => newer.keeping(&older).to_string(),
                // What is no progress file has no sections to keep.
                (Err(_), _) | (_, Err(_)) => file.content.clone(),
            })
        }
    }
}

/// Either the old file or the whole new one, whatever happens in between; and never outside the project, even where a
/// folder on the way is a link that leads out of it.
fn write_atomically(project: &Path, path: &Path, content: &str) -> io::Result<()> {
    let project = project.canonicalize()?;
    let folder = path.parent().unwrap_or(path);
    // Before anything is made there, and after.
    leads_inside(&project, folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder))?;
    std::fs::create_dir_all(folder)?;
    leads_inside(&project, folder)?;
    durable::replace(path, content.as_bytes())
}

fn leads_inside(project: &Path, folder: &Path) -> io::Result<()> {
    if folder.canonicalize()?.starts_with(project) {
        return Ok(());
    }
    Err(io::Error::other("its folder is a link that leads out of the project"))
}

fn is_there(project: &Path) -> Result<(), String> {
    if project.is_dir() {
        return Ok(());
    }
    Err(format!("the project's directory {} is gone", project.display()))
}
