//! The second half of a turn: the plan is checked and reviewed, and the approved items are run and reported. These are
//! acts and facts of the session; this module submits and shows them.

use std::path::Path;

use rapport_core::report::Overall;
use rapport_core::{
    Act, ActionPlan, ActionResult, FileBatch, FileTurn, Interrupted, LaterChanges, Resource, TurnPlan,
    TurnStage,
};
use similar::TextDiff;

use super::open_session::OpenSession;
use super::plan::{self, Request};
use super::seals::Changed;
use super::{prompts, run};
use crate::actions::read;
use crate::channels::terminal::review::{self, Previewer, Review, ReviewError, Selection, Verdict};
use crate::channels::terminal::terminal_text;
use crate::cli::output::{say, say_json};
use crate::cli::{Common, page, screen, undo};
use crate::config::{self, Settings};
use crate::error::{Code, Failure, Outcome};
use crate::projects::memos;
use crate::threads::off_thread;
use crate::turns::batches::BatchDir;
use crate::turns::{PLAN, REPORT, Turn};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Approval {
    /// The person at the terminal.
    Person,
    /// Everything is approved beforehand.
    All,
}

impl Approval {
    pub(in crate::cli) fn from_flag(yes: bool) -> Self {
        if yes { Approval::All } else { Approval::Person }
    }
}

/// Resumes a turn.
pub(in crate::cli) struct Reviewing<'a> {
    pub(in crate::cli) held: &'a OpenSession<'a>,
    pub(in crate::cli) approval: Approval,
    pub(in crate::cli) changed: Changed,
    pub(in crate::cli) request: &'a Request,
}

impl Reviewing<'_> {
    /// Has the plan of a turn approved, run and reported; or resumes a paused batch.
    pub(in crate::cli) async fn turn(&self, folder: &str) -> Outcome {
        // An unreadable memo file is reported before anything is asked or done.
        let memos = config::memos(&self.held.place.project);
        off_thread(move || memos::read(&memos)).await??;
        let paused =
            self.held.session().await?.file_turn(folder).map(|turn| turn.stage) == Some(TurnStage::Paused);
        if paused {
            return self.paused(folder).await;
        }
        self.check(folder).await?;
        let turn = self.found(folder).await?;
        if turn.differs.is_some() {
            self.differs(folder, &turn).await?;
        }
        self.review(folder).await
    }

    async fn found(&self, folder: &str) -> Result<FileTurn, Failure> {
        let session = self.held.session().await?;
        let gone = || Failure::new(Code::NotFound, format!("there is no turn {folder}"));
        session.file_turn(folder).cloned().ok_or_else(gone)
    }

    async fn check(&self, folder: &str) -> Outcome {
        self.held.submit(Act::Review { folder: folder.to_owned() }).await?;
        let view = self.held.settle().await?;
        match view.failure {
            Some(reason) => Err(Failure::new(Code::Store, reason).hint(crate::error::KEPT)),
            None => Ok(()),
        }
    }

    /// The plan's file differs from the plan: the difference takes effect once a person accepts it.
    async fn differs(&self, folder: &str, turn: &FileTurn) -> Outcome {
        let (planned, there) = (turn.plan.as_ref().map_or("", |plan| plan.text.as_str()), &turn.differs);
        let there = there.clone().unwrap_or_default();
        let accept = Act::AcceptPlan { folder: folder.to_owned(), text: there.clone() };
        let act = match self.changed {
            Changed::Accept => accept,
            Changed::Refuse => {
                let what = format!("{folder}/{PLAN} differs from the plan");
                if !self.held.common.json {
                    let diff = TextDiff::from_lines(planned, &there);
                    let diff = diff.unified_diff().context_radius(3).header("planned", PLAN).to_string();
                    diff.lines().try_for_each(|line| say(terminal_text::line(line)))?;
                }
                if !prompts::is_possible(self.held.common) || self.approval == Approval::All {
                    return Err(Failure::new(Code::Refused, what).hint(format!(
                        "Restore the plan, or accept the file as it is now: rapport resume {} --accept-changes",
                        self.held.folder.id
                    )));
                }
                let offer = format!("{what}. (u)se the file as it is now / (r)estore it / (q)uit ›");
                match self.choice(&offer, &["use", "restore", "quit"]).await? {
                    'u' => accept,
                    'r' => Act::RestorePlan { folder: folder.to_owned() },
                    _ => return Err(self.held.interrupted("left; nothing was done")),
                }
            }
        };
        self.held.submit(act).await?;
        self.held.settle().await?;
        Ok(())
    }

    async fn choice(&self, prompt: &str, words: prompts::Offered<'_>) -> Result<char, Failure> {
        Ok(prompts::letter(prompt, words).await?.unwrap_or('q'))
    }

    async fn review(&self, folder: &str) -> Outcome {
        let held = self.held;
        let turn = self.found(folder).await?;
        let directory = held.folder.turn(folder).await?;
        if let Some(problems) = plan::invalid(&held.session().await?, &directory) {
            return plan::replan_from(held, &directory, &problems, self.request).await;
        }
        let Some(planned) = &turn.plan else {
            return Err(Failure::new(Code::Refused, format!("turn {folder} has no plan that waits")));
        };
        let plan = planned.shown();
        if !held.common.json {
            // A person with several sessions should see which one this is.
            say(format_args!("Session {}, turn {folder}", held.folder.id))?;
        }
        let files = super::files_of(held.place, &held.folder, &held.session().await?).await?;
        match verdict(held.common, &files, held.settings, &plan, self.approval).await? {
            Verdict::Approve(selection) | Verdict::Run(selection) => {
                let (folder, revision) = (folder.to_owned(), planned.revision);
                self.run(&directory, Act::Approve { folder, revision, chosen: selection.chosen() }).await
            }
            Verdict::Skip => self.skip(folder).await,
            Verdict::Quit => Err(left().hint(format!("Go on with: rapport resume {}", held.folder.id))),
        }
    }

    /// Skips the plan; the person says what to plan instead (FILE-31).
    async fn skip(&self, folder: &str) -> Outcome {
        let held = self.held;
        match prompts::message(held.common, &held.folder.id).await {
            Ok(message) => plan_instead(held, folder, &Request { message, ..self.request.clone() }).await,
            // A person who leaves has not decided: the plan still waits.
            Err(failure) if failure.code == Code::Interrupted => Err(failure),
            Err(failure) => {
                held.submit(Act::Skip { folder: folder.to_owned(), message: None }).await?;
                held.settle().await?;
                Err(failure)
            }
        }
    }

    /// A batch was interrupted, and a person decides how to continue.
    async fn paused(&self, folder: &str) -> Outcome {
        let (held, turn) = (self.held, self.found(folder).await?);
        let directory = held.folder.turn(folder).await?;
        let Some(batch) = turn.batch() else {
            return Err(Failure::new(Code::Refused, format!("turn {folder} has no batch")));
        };
        let go_on = |interrupted| Act::GoOn { batch: batch.name.clone(), interrupted };
        if batch.is_ended {
            // Only its report is missing.
            return self.run(&directory, go_on(Interrupted::Halt)).await;
        }
        if !held.common.json {
            say(format_args!("The batch of turn {folder} was interrupted. So far:"))?;
            let story = journal(held, &turn, batch)?.map(|journal| journal.story()).unwrap_or_default();
            story.iter().try_for_each(|line| say(format_args!("  {}", terminal_text::line(line))))?;
        }
        if self.approval == Approval::All {
            return self.run(&directory, go_on(Interrupted::Again)).await;
        }
        if !prompts::is_possible(held.common) {
            let id = &held.folder.id;
            return Err(Failure::new(
                Code::Refused,
                "a batch was interrupted, and nobody can be asked what to do",
            )
            .hint(format!("Resume it (the interrupted action is repeated): rapport resume {id} -y"))
            .hint(format!("Undo its changes to files with: rapport undo {id}")));
        }
        let (prompt, words): (_, prompts::Offered<'_>) = match batch.unsure {
            Some(_) => (
                "(a)gain, repeating the interrupted one / (g)o on after it / (u)ndo / (q)uit ›",
                &["again", "go on", "undo", "quit"],
            ),
            None => ("(g)o on / (u)ndo / (q)uit ›", &["go on", "undo", "quit"]),
        };
        match self.choice(prompt, words).await? {
            'a' => self.run(&directory, go_on(Interrupted::Again)).await,
            'g' if batch.unsure.is_some() => self.run(&directory, go_on(Interrupted::GoOn)).await,
            'g' => self.run(&directory, go_on(Interrupted::Again)).await,
            'u' => undo::in_session(held, &batch.name, LaterChanges::Refuse).await,
            _ => Err(prompts::left()),
        }
    }

    /// Runs a batch, shows it, and reports the result.
    async fn run(&self, turn: &Turn, act: Act) -> Outcome {
        let (held, folder) = (self.held, turn.name.to_string());
        let plan = self.found(&folder).await?.plan;
        let plan = plan.as_ref().map_or_else(|| ActionPlan::unread(""), TurnPlan::shown);
        run::run(held, &plan, act).await?;
        self.conclude(turn).await
    }

    /// Reports the result of a turn.
    pub(in crate::cli) async fn conclude(&self, turn: &Turn) -> Outcome {
        let (held, folder) = (self.held, turn.name.to_string());
        let after = self.found(&folder).await?;
        if after.stage == TurnStage::Planned && after.differs.is_some() {
            return Err(Failure::new(
                Code::Refused,
                format!("{folder}/{PLAN} was changed; nothing was done"),
            )
            .hint(format!("Look at it with: rapport resume {}", held.folder.id)));
        }
        if let Some(problems) = plan::invalid(&held.session().await?, turn) {
            return plan::replan_from(held, turn, &problems, self.request).await;
        }
        let (Some(status), Some(batch)) = (after.status, after.batch()) else {
            return Err(paused(held, &folder, after.batch()));
        };
        if after.stage != TurnStage::Complete {
            return Err(paused(held, &folder, Some(batch)));
        }
        tell(held, turn, status, batch)?;
        for name in batch.ended.values().filter_map(|end| end.session.as_ref()) {
            match plan_invoked(held, name).await {
                // It has its own commands for continuing; this turn is done either way.
                Err(failure) if failure.code != Code::Interrupted => failure.print(held.common.json),
                outcome => outcome?,
            }
        }
        match status {
            Overall::Failed => undo::offer(held, batch).await,
            Overall::Completed | Overall::Partial | Overall::Skipped | Overall::ValidationFailed => Ok(()),
        }
    }
}

/// Skips a turn's plan, and has something else planned.
pub(in crate::cli) async fn plan_instead(held: &OpenSession<'_>, folder: &str, request: &Request) -> Outcome {
    let message = Some(request.message.clone());
    held.submit(Act::Skip { folder: folder.to_owned(), message }).await?;
    held.settle().await?;
    plan::plan(held, held.session().await?.file_turn(folder), request).await
}

/// The error if a batch stopped early.
fn paused(held: &OpenSession<'_>, folder: &str, batch: Option<&FileBatch>) -> Failure {
    let reason = batch.and_then(|batch| batch.paused.as_deref()).unwrap_or("it was stopped");
    Failure::new(Code::Interrupted, format!("the batch of turn {folder} was interrupted: {reason}"))
        .hint(format!("Go on with it, or undo it, with: rapport resume {}", held.folder.id))
}

/// The journal of a batch, if it began here.
fn journal(held: &OpenSession<'_>, turn: &FileTurn, batch: &FileBatch) -> Result<Option<BatchDir>, Failure> {
    let batches = held.place.batches();
    let path = batches.find(&held.folder.id, &turn.folder, batch.approved_at)?;
    let begun = path.filter(|path| crate::actions::journal::Journal::is_in(path));
    Ok(begun.map(BatchDir::read).transpose()?)
}

/// The error if the person left the review.
pub(in crate::cli) fn left() -> Failure {
    Failure::new(Code::Interrupted, "left; nothing was done")
}

/// The decision about a plan.
pub(in crate::cli) async fn verdict(
    common: &Common,
    files: &Path,
    settings: &Settings,
    plan: &ActionPlan,
    approval: Approval,
) -> Result<Verdict, Failure> {
    match approval {
        Approval::Person => ask(common, files, settings, plan).await,
        Approval::All => {
            if !common.json {
                page::plan(common, plan)?;
            }
            Ok(Verdict::Approve(Selection::all(plan)))
        }
    }
}

async fn ask(
    common: &Common,
    files: &Path,
    settings: &Settings,
    plan: &ActionPlan,
) -> Result<Verdict, Failure> {
    let config = Review {
        interactive: prompts::is_possible(common),
        colour: screen::colour(common.color),
        previewer: previewer(files, settings)?,
    };
    // Show the defaults that the plan does not spell out.
    let mut shown = plan.clone();
    for action in &mut shown.actions {
        action.kind.limit(settings.command_timeout);
    }
    review::review(&shown, &[], &config).await.map_err(|error| match error {
        ReviewError::NoTerminal => Failure::new(Code::Usage, error.to_string())
            .hint("Come back with a terminal, or approve all of it with: -y"),
        ReviewError::Io(error) => error.into(),
    })
}

/// Makes previews, reading files as running the action would.
fn previewer(files: &Path, settings: &Settings) -> Result<Previewer, Failure> {
    let root = files.canonicalize()?;
    Ok(Previewer {
        command: settings.preview_command.clone(),
        fetch: std::sync::Arc::new(move |resource: Resource| {
            let root = root.clone();
            Box::pin(async move { read::look(&root, &resource).await })
        }),
    })
}

/// The number of actions by result, for scripts.
pub(in crate::cli) fn counts(batch: &FileBatch) -> serde_json::Value {
    let [total, succeeded, failed, skipped] = counted(batch);
    serde_json::json!({
        "total": total, "approved": total - skipped, "skipped": skipped, "succeeded": succeeded, "failed": failed,
    })
}

/// Prints the result in one line.
pub(in crate::cli) fn say_outcome(status: Overall, batch: &FileBatch) -> Outcome {
    let [total, succeeded, failed, skipped] = counted(batch);
    say(format_args!("\n{status}: {succeeded} of {total} actions done, {failed} failed, {skipped} skipped."))
}

fn counted(batch: &FileBatch) -> [usize; 4] {
    let of = |result: ActionResult| batch.ended.values().filter(|end| end.result == result).count();
    [batch.ended.len(), of(ActionResult::Done), of(ActionResult::Failed), of(ActionResult::Skipped)]
}

fn tell(held: &OpenSession<'_>, turn: &Turn, status: Overall, batch: &FileBatch) -> Outcome {
    let path = turn.place(REPORT);
    if held.common.json {
        return say_json(&serde_json::json!({
            "session": held.folder.id, "turn": turn.name.to_string(), "report": path,
            "status": status.to_string(), "actions": counts(batch),
        }));
    }
    say_outcome(status, batch)?;
    say(format_args!("The report of turn {} is in {}", turn.name, terminal_text::line(&path)))?;
    say(format_args!("Go on with: rapport resume {}", held.folder.id))
}

/// Plans the session that the plan began for another agent, at once.
async fn plan_invoked(held: &OpenSession<'_>, name: &str) -> Outcome {
    let folder = held.place.folder(&rapport_core::SessionId::new(name));
    let other = held.beside(folder).await?;
    if !held.common.json {
        say(format_args!("\nSession {} begins.", other.folder.id))?;
    }
    let Some(turn) = other.folder.latest().await? else { return Ok(()) };
    plan::go_on(&other, &turn.name.to_string(), &Request::plain()).await
}
