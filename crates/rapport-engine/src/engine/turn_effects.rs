//! What the engine does itself for turns in directories: write the plan and the report, check a plan, undo a batch.

use std::path::{Path, PathBuf};

use rapport_core::{Change, LaterChanges, TurnId, UndoProblem, UndoneFiles, Want, World};

use super::effects::Around;
use crate::actions::undo::UndoError;
use crate::actions::{Place, undo};
use crate::config;
use crate::turns::{Meta, PLAN, REPORT, Workshop, check, checksum, memos};

/// Runs the effect for a want about turns. May block.
pub(super) fn run(want: &Want, around: &Around) -> Result<World, String> {
    let workshop = around.workshop.as_ref().ok_or("this engine has no place for turns in directories")?;
    let effect = TurnEffect { around, workshop };
    match want {
        Want::Filed { turn, path, content, model, cost_micros } => {
            effect.file(*turn, path, content, model.as_ref(), *cost_micros)
        }
        Want::PlanChecked { folder, revision, plan, restore } => {
            effect.check(folder, *revision, plan, *restore)
        }
        Want::ReportFiled { folder, report, memos } => effect.report(folder, report, memos),
        Want::Undone { batch, folder, approved_at, later, has_remembered, has_run } => {
            let outcome = effect.undo(folder, *approved_at, *later, *has_run);
            let memos = has_remembered.then(|| "the changes to memos.yaml".to_owned());
            let outcome = outcome.map(|mut files| {
                files.remaining.extend(memos);
                files
            });
            Ok(World::Undone { batch: batch.clone(), outcome })
        }
        _ => Err("this is not about turns".to_owned()),
    }
}

struct TurnEffect<'a> {
    around: &'a Around,
    workshop: &'a Workshop,
}

impl TurnEffect<'_> {
    /// Writes the plan, and what making it took.
    fn file(
        &self,
        turn: TurnId,
        path: &str,
        content: &str,
        model: Option<&String>,
        cost_micros: u64,
    ) -> Result<World, String> {
        let folder = path.split('/').next().unwrap_or_default();
        self.note_cost(folder, model, cost_micros)
            .map_err(|error| format!("cannot note what it cost: {error}"))?;
        self.attach(path, content)?;
        Ok(World::Filed { turn, path: path.to_owned() })
    }

    fn note_cost(
        &self,
        folder: &str,
        model: Option<&String>,
        cost_micros: u64,
    ) -> Result<(), crate::turns::TurnError> {
        let directory = self.workshop.folder(&self.around.session).path.join(folder);
        let Some(mut meta) = Meta::read(&directory)? else { return Ok(()) };
        let before = meta.cumulative_cost - meta.turn_cost;
        meta.turn_cost = cost_micros as f64 / 1e6;
        meta.cumulative_cost = before + meta.turn_cost;
        meta.model = model.cloned().or(meta.model);
        meta.write(&directory)
    }

    fn attach(&self, path: &str, content: &str) -> Result<(), String> {
        let attached = self.around.store.attach(&self.around.session, path, content.as_bytes());
        attached.map_err(|error| format!("cannot write {path}: {error}"))
    }

    /// Looks whether a plan can be carried out. Its file is written where it is not there, or is to be restored.
    fn check(&self, folder: &str, revision: u32, plan: &str, restore: bool) -> Result<World, String> {
        let path = format!("{folder}/{PLAN}");
        let there = self.around.store.attached(&self.around.session, &path);
        let there = there.map_err(|error| format!("cannot read {path}: {error}"))?;
        let there = there.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let differs = there.clone().filter(|there| there != plan && !restore);
        if there.as_deref() != Some(plan) && differs.is_none() {
            self.attach(&path, plan)?;
        }
        let problems = match &differs {
            Some(_) => Vec::new(),
            None => check::problems(Path::new(&self.around.created.project), self.workshop.plan_name(), plan)
                .map_err(|error| error.to_string())?,
        };
        Ok(World::PlanChecked { folder: folder.to_owned(), revision, problems, differs })
    }

    /// Remembers what was approved of that, which can be done twice, writes the report, and seals the turn.
    fn report(&self, folder: &str, report: &str, changes: &[Change]) -> Result<World, String> {
        let failed = |error: crate::turns::TurnError| error.to_string();
        if !changes.is_empty() {
            let changes: Vec<_> = changes.iter().collect();
            memos::apply(&config::memos(Path::new(&self.around.created.project)), &changes)
                .map_err(failed)?;
        }
        self.attach(&format!("{folder}/{REPORT}"), report)?;
        let directory = self.workshop.folder(&self.around.session).path.join(folder);
        Ok(World::ReportFiled {
            folder: folder.to_owned(),
            files: checksum::sums(&directory).map_err(failed)?,
        })
    }

    fn undo(
        &self,
        folder: &str,
        approved_at: jiff::Timestamp,
        later: LaterChanges,
        has_run: bool,
    ) -> Result<UndoneFiles, UndoProblem> {
        let problem = |reason: String| UndoProblem { reason, changed: Vec::new(), is_partial: false };
        let found = self.workshop.batches.find(&self.around.session, folder, approved_at);
        let Some(journal) = found.map_err(|error| problem(error.to_string()))? else {
            if !has_run {
                // It was approved, and never begun.
                return Ok(UndoneFiles::default());
            }
            return Err(problem("its journal is not here, so nobody knows how files were before".into()));
        };
        let place = Place {
            project: PathBuf::from(&self.around.created.project),
            journal,
            seals: self.workshop.seals.clone(),
        };
        if !crate::actions::journal::Journal::is_in(&place.journal) {
            return Ok(UndoneFiles::default());
        }
        let undone = undo(&place, later).map_err(|error| refused(&error))?;
        Ok(UndoneFiles {
            restored: undone.restored,
            removed: undone.removed,
            kept: undone.kept,
            set_aside: undone
                .set_aside
                .into_iter()
                .map(|(file, path)| (file, path.display().to_string()))
                .collect(),
            remaining: undone.remaining,
        })
    }
}

/// Why nothing was undone, or not all of it.
fn refused(error: &UndoError) -> UndoProblem {
    let reason = error.to_string();
    match error {
        UndoError::ChangedLater { files, is_begun } => {
            UndoProblem { reason, changed: files.clone(), is_partial: *is_begun }
        }
        UndoError::Stuck { .. } => UndoProblem { reason, changed: Vec::new(), is_partial: true },
        UndoError::Action(_) => UndoProblem { reason, changed: Vec::new(), is_partial: false },
    }
}
