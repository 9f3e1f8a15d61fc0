//! The engine's effects for turns with directories: prepare a turn, write the plan and the report, check a plan, undo a
//! batch.

use std::path::{Path, PathBuf};

use rapport_core::{Change, LaterChanges, NextTurn, Session, TurnId, UndoProblem, UndoneFiles, Want, World};

use super::effects::{EffectContext, unblocked};
use crate::actions::undo::UndoError;
use crate::actions::{BatchSite, undo};
use crate::clock;
use crate::config;
use crate::projects::memos;
use crate::turns::check::CheckedPlan;
use crate::turns::preparation::{self, PlanReason, TurnPreparation};
use crate::turns::{Folder, META, PLAN, REPORT, TurnError, Workshop, check, checksum};

pub(super) async fn run(want: Want, context: EffectContext) -> Result<World, String> {
    let workshop = context.workshop.clone().ok_or("this engine does not support turns with directories")?;
    let effect = TurnEffect { context, workshop };
    match want {
        Want::Filed { turn, path, content, model, cost_micros } => {
            effect.file(turn, path, content, model, cost_micros).await
        }
        Want::PlanChecked { folder, revision, plan, restore } => {
            effect.check(folder, revision, plan, restore).await
        }
        Want::TurnPrepared(next) => effect.prepare(next).await,
        Want::ReportFiled { folder, report, memos } => effect.report(folder, report, memos).await,
        Want::Undone { batch, folder, approved_at, later, has_remembered, has_run } => {
            let undone = unblocked(move || Ok(effect.undo(&folder, approved_at, later, has_run))).await?;
            let memos = has_remembered.then(|| "the changes to memos.yaml".to_owned());
            let outcome = undone.map(|mut files| {
                files.remaining.extend(memos);
                files
            });
            Ok(World::Undone { batch, outcome })
        }
        _ => Err("this is not about turns".to_owned()),
    }
}

/// Why a turn was not prepared.
enum NotPrepared {
    Turn(TurnError),
    /// The agent would be shown this many tokens.
    TooLarge(u64),
}

impl From<TurnError> for NotPrepared {
    fn from(error: TurnError) -> Self {
        Self::Turn(error)
    }
}

struct TurnEffect {
    context: EffectContext,
    workshop: Workshop,
}

impl TurnEffect {
    /// Writes the plan and its cost.
    async fn file(
        &self,
        turn: TurnId,
        path: String,
        content: String,
        model: Option<String>,
        cost_micros: u64,
    ) -> Result<World, String> {
        self.attach(&path, content).await?;
        let folder = path.split('/').next().unwrap_or_default();
        self.note_cost(folder, model, cost_micros).await?;
        Ok(World::Filed { turn, path })
    }

    /// The documents of the session.
    fn documents(&self) -> Folder {
        Folder::new(self.context.store.clone(), &self.context.session)
    }

    /// Stores what the agent will be shown in the turn after a reply in words, with a person's answer to that.
    async fn prepare(&self, next: NextTurn) -> Result<World, String> {
        let EffectContext { session: id, store, created, .. } = &self.context;
        let entries = store.counted(id, 0).await.map_err(|error| error.to_string())?;
        let session = store.replay(id, &entries).map_err(|error| error.to_string())?;
        self.refuse_changed_turns(&session).await?;
        let preparation = TurnPreparation {
            folder: self.documents(),
            project: PathBuf::from(&created.project),
            files: self.directory()?,
            agent: self.workshop.agent.clone(),
            max_file_bytes: self.workshop.max_file_bytes,
        };
        self.prepared(&preparation, &session, next).await.map_err(|error| match error {
            NotPrepared::Turn(error) => format!("cannot prepare the next turn: {error}"),
            NotPrepared::TooLarge(tokens) => format!(
                "about {tokens} tokens would be sent, more than the {} of context.max_tokens; select fewer files in the \
                 .context files, or allow more, and try again",
                self.workshop.max_tokens
            ),
        })
    }

    async fn prepared(
        &self,
        preparation: &TurnPreparation,
        session: &Session,
        next: NextTurn,
    ) -> Result<World, NotPrepared> {
        let NextTurn { after, words, answer, asking, is_size_agreed } = next;
        TurnPreparation::lay_out(&preparation.folder, &preparation.project).await?;
        let replied = preparation.folder.turn(&after).await?;
        let turn = preparation.next_after_reply(session, &replied, self.context.clock.now()).await?;
        let mut base = preparation.base_of(session, &turn).await?;
        // The message has the reply, so the report about it is not shown.
        base.report = None;
        let original = preparation.original_message(&replied).await?;
        let message = preparation::answered(&words, &answer, &original);
        let payload = preparation.payload(&base, &message, asking).await?;
        let tokens = payload.tokens() as u64;
        if tokens > self.workshop.max_tokens && !is_size_agreed {
            return Err(NotPrepared::TooLarge(tokens));
        }
        preparation.write_down(&turn, &base, &payload, PlanReason::Replan).await?;
        let (origin, shown) = preparation.origin(&turn).await?;
        let (folder, conversation) = (turn.name.to_string(), clock::new_conversation());
        Ok(World::TurnPrepared { after, folder, conversation, origin, shown })
    }

    /// Nothing is built on finished turns that were changed, before a person accepts the changes.
    async fn refuse_changed_turns(&self, session: &Session) -> Result<(), String> {
        for (turn, sums) in session.sealed().iter().filter(|(_, sums)| !sums.is_empty()) {
            let changed = checksum::broken(&self.documents(), turn, sums).await;
            if let Some(what) = changed.map_err(|error| error.to_string())?.first() {
                let id = &self.context.session;
                return Err(format!(
                    "{what}, after its turn was finished; restore it, or accept it with: rapport resume {id} --accept-changes"
                ));
            }
        }
        Ok(())
    }

    async fn note_cost(&self, folder: &str, model: Option<String>, cost_micros: u64) -> Result<(), String> {
        let failed = |error: TurnError| format!("cannot record its cost: {error}");
        let Some(mut meta) = self.documents().meta(folder).await.map_err(failed)? else { return Ok(()) };
        let before = meta.cumulative_cost - meta.turn_cost;
        meta.turn_cost = cost_micros as f64 / 1e6;
        meta.cumulative_cost = before + meta.turn_cost;
        meta.model = model.or(meta.model);
        self.attach(&format!("{folder}/{META}"), meta.to_yaml().map_err(failed)?).await
    }

    async fn attach(&self, path: &str, content: String) -> Result<(), String> {
        let attached = self.context.attacher.attach(path, content.into_bytes()).await;
        attached.map_err(|error| format!("cannot write {path}: {error}"))
    }

    /// Checks whether a plan can be carried out. Writes its file if it is missing, or has to be restored.
    async fn check(
        &self,
        folder: String,
        revision: u32,
        plan: String,
        restore: bool,
    ) -> Result<World, String> {
        let path = format!("{folder}/{PLAN}");
        let there = self.context.store.attached(&self.context.session, &path).await;
        let there = there.map_err(|error| format!("cannot read {path}: {error}"))?;
        let there = there.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let differs = there.clone().filter(|there| *there != plan && !restore);
        if there.as_ref() != Some(&plan) && differs.is_none() {
            self.attach(&path, plan.clone()).await?;
        }
        let CheckedPlan { problems, remarks } = match &differs {
            Some(_) => CheckedPlan::default(),
            None => self.checked(plan).await?,
        };
        Ok(World::PlanChecked { folder, revision, problems, remarks, differs })
    }

    /// The directory with the files: the project's, or a separate one.
    fn directory(&self) -> Result<PathBuf, String> {
        let workplace = self.context.workplace.as_ref().ok_or("the workplace is not open")?;
        Ok(workplace.directory().to_owned())
    }

    async fn checked(&self, plan: String) -> Result<CheckedPlan, String> {
        let directory = self.directory()?;
        let workshop = self.workshop.clone();
        unblocked(move || {
            check::checked(&directory, workshop.plan_name(), &plan).map_err(|error| error.to_string())
        })
        .await
    }

    /// Stores the approved memos, which is idempotent even across processes; writes the report; and computes the turn's
    /// check sums.
    async fn report(&self, folder: String, report: String, changes: Vec<Change>) -> Result<World, String> {
        if !changes.is_empty() {
            let memos = config::memos(Path::new(&self.context.created.project));
            unblocked(move || {
                let changes: Vec<_> = changes.iter().collect();
                memos::apply(&memos, &changes).map_err(|error| error.to_string())
            })
            .await?;
        }
        self.attach(&format!("{folder}/{REPORT}"), report).await?;
        let files = checksum::sums(&self.documents(), &folder).await.map_err(|error| error.to_string())?;
        Ok(World::ReportFiled { folder, files })
    }

    fn undo(
        &self,
        folder: &str,
        approved_at: jiff::Timestamp,
        later: LaterChanges,
        has_run: bool,
    ) -> Result<UndoneFiles, UndoProblem> {
        let problem = |reason: String| UndoProblem { reason, changed: Vec::new(), is_partial: false };
        let found = self.workshop.batches.find(&self.context.session, folder, approved_at);
        let Some(journal) = found.map_err(|error| problem(error.to_string()))? else {
            if !has_run {
                // The batch was approved but never began.
                return Ok(UndoneFiles::default());
            }
            return Err(problem(
                "its journal is missing, so the previous content of its files is unknown".into(),
            ));
        };
        let site = BatchSite {
            project: self.directory().map_err(problem)?,
            journal,
            seals: self.workshop.seals.clone(),
            clock: self.context.clock.clone(),
        };
        if !crate::actions::journal::Journal::is_in(&site.journal) {
            return Ok(UndoneFiles::default());
        }
        Ok(undo(&site, later).map_err(|error| refused(&error))?.into())
    }
}

/// Why nothing, or not everything, was undone.
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
