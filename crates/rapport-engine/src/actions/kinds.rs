//! How each kind of action is executed: one file per kind; this file dispatches. The list of kinds, and everything else
//! in which they differ, is in the core's `action_plan/kinds.rs`.

mod chat;
mod create;
mod delete;
mod edit;
mod execute;
mod invoke;
mod move_file;
pub mod read;
mod research;

use rapport_core::ActionKind;

use super::batch::changes::note_changes;
use super::batch::snapshot::note_state;
use super::batch::step::{ActionStep, StepOutcome, ended_early, stoppable};
use super::files::JournaledFiles;
use super::{ActionBatch, Observer, blocking};

pub(crate) use execute::{of_commands, of_confined_commands};

/// Writes to the journal of the batch, on a blocking thread.
pub(super) async fn noting(
    mut journaled: JournaledFiles,
    note: impl FnOnce(&mut JournaledFiles) + Send + 'static,
) -> JournaledFiles {
    blocking(move || {
        note(&mut journaled);
        journaled
    })
    .await
}

impl ActionStep<'_> {
    pub(super) async fn perform(
        &self,
        journaled: JournaledFiles,
        observer: &mut Observer<'_>,
    ) -> (JournaledFiles, StepOutcome) {
        let Self { batch: ActionBatch { config, .. }, n, action, requester, stop, .. } = *self;
        let root = journaled.root.clone();
        match action.kind.clone() {
            ActionKind::Create { path, content, overwrite } => {
                let create = move |journaled: &mut JournaledFiles, what| {
                    create::run(journaled, n, what, &path, &content, overwrite.into())
                };
                self.change(journaled, create).await
            }
            ActionKind::Edit { path, edits } => {
                self.change(journaled, move |journaled, what| edit::run(journaled, n, what, &path, &edits))
                    .await
            }
            ActionKind::Delete { path } => {
                self.change(journaled, move |journaled, what| delete::run(journaled, n, what, &path)).await
            }
            ActionKind::Move { from, to } => {
                self.change(journaled, move |journaled, what| move_file::run(journaled, n, what, &from, &to))
                    .await
            }
            ActionKind::Execute { command, shell, cwd, env, timeout, expected: _, allow_failure: _ } => {
                let order =
                    execute::Order { command: &command, shell, cwd: cwd.as_deref(), env: &env, timeout };
                let running = ended_early(stop, execute::run(config, &root, n, order, observer, stop));
                let journaled = noting(journaled, move |journaled| note_state(journaled, n)).await;
                let (journaled, came) = self.begin(journaled, running).await;
                (noting(journaled, note_changes).await, came)
            }
            ActionKind::Research { queries } => match config.research_command.split_first() {
                Some((program, args)) => {
                    let order = research::ResearchOrder { program, args, queries: &queries };
                    let running = research::run(config, &root, n, order, observer, stop);
                    self.begin(journaled, ended_early(stop, running)).await
                }
                None => self.begin(journaled, stoppable(stop, research::ask(requester, n, &queries))).await,
            },
            // The session would exist even if its name were not waited for.
            ActionKind::Invoke { agent, message } => {
                let invoking =
                    async { StepOutcome::Settled(invoke::run(requester, n, &agent, &message).await) };
                self.begin(journaled, invoking).await
            }
            ActionKind::Read { resource } => {
                self.begin(journaled, stoppable(stop, read::run(&root, &resource))).await
            }
            ActionKind::ChatWithUser { message } => {
                self.begin(journaled, stoppable(stop, chat::run(requester, n, &message))).await
            }
        }
    }
}
