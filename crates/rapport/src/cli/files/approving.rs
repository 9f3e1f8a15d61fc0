//! The second half of a turn: the plan is checked, reviewed, carried out as far as it was approved, and reported.
//!
//! What was approved is written down first, then the journal has what is done; the memos, which can be changed twice, come
//! before the report, and the seal after it. So a kill at any moment leaves what is clear, and what can be gone on with.

use std::path::PathBuf;
use std::sync::Arc;

use rapport_core::report::{Overall, Report};
use rapport_core::{Act, ActionPlan};

use super::batches::{self, Approved, BatchDir, Undo, batch_of};
use super::checking::{self, Checked};
use super::drafting::{self, Request};
use super::hands::{Invoked, SessionHands};
use super::held::Held;
use super::{asking, record, reporting, running, seals};
use crate::actions::{Choice, Interrupted, LaterChanges, Ran};
use crate::channels::terminal::review::{self, Review, ReviewError, Selection, Verdict};
use crate::channels::terminal::safe;
use crate::cli::output::{say, say_json};
use crate::cli::{screen, undo};
use crate::clock::Clock;
use crate::config;
use crate::error::{Code, Failure, Outcome};
use crate::turns::{PLAN, REPORT, Turn, memos, replace, text};

/// Who approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Approval {
    /// Who sits here.
    Person,
    /// Everything is approved beforehand.
    All,
}

/// Has the plan of a turn approved, carried out and reported.
pub(in crate::cli) async fn approve(
    held: &Held<'_>,
    turn: &Turn,
    approval: Approval,
    request: &Request,
) -> Outcome {
    // What could not be remembered afterwards is told before anything is asked or done.
    memos::read(&config::memos(&held.place.project))?;
    let batch = batch_of(held.place, &held.folder, turn)?;
    if let Some(batch) = batch.filter(|batch| batch.undo() == Undo::Not) {
        return take_up(held, turn, batch, approval).await;
    }
    let source = text(&turn.file(PLAN))?.unwrap_or_default();
    let plan = match checking::check(&held.place.project, PLAN, &source)? {
        Checked::Good(plan) => plan,
        Checked::Bad(faulty) => return drafting::replan_from(held, turn, faulty, &source, request).await,
    };
    if !plan.memos.is_empty() {
        // Before anything is done, rather than when only this is left to do.
        memos::read(&config::memos(&held.place.project))?;
    }
    if !held.common.json {
        // Whoever has several sessions should see which of them this is.
        say(format_args!("Session {}, turn {}", held.folder.id, turn.name))?;
    }
    match verdict(held, &plan, approval).await? {
        Verdict::Approve(selection) | Verdict::Run(selection) => {
            let path = batches::next_of(held.place, &held.folder, turn)?;
            let approved = Approved::from(&selection).of(turn);
            approved.keep(&path)?;
            carry_out(held, turn, &plan, path, &approved, Course::Begin).await
        }
        Verdict::Skip => skip(held, turn, &plan, request).await,
        Verdict::Quit => Err(left().hint(format!("Go on with: rapport resume --session {}", held.folder.id))),
    }
}

/// How it is told that the person left the review.
pub(in crate::cli) fn left() -> Failure {
    Failure::new(Code::Interrupted, "left; nothing was done")
}

async fn verdict(held: &Held<'_>, plan: &ActionPlan, approval: Approval) -> Result<Verdict, Failure> {
    if approval == Approval::All {
        if !held.common.json {
            say(review::unasked(plan, &[]).trim_end())?;
        }
        return Ok(Verdict::Approve(Selection::all(plan)));
    }
    ask(held.common, held.place, held.settings, plan).await
}

/// Asks who sits here what to do with a plan.
pub(in crate::cli) async fn ask(
    common: &crate::cli::Common,
    place: &crate::wiring::Place,
    settings: &config::Settings,
    plan: &ActionPlan,
) -> Result<Verdict, Failure> {
    let config = Review {
        interactive: asking::is_possible(common.json),
        colour: screen::colour(common.color),
        previewer: running::previewer(place, settings)?,
    };
    review::review(plan, &[], &config).await.map_err(|error| match error {
        ReviewError::NoTerminal => Failure::new(Code::Usage, error.to_string())
            .hint("Approve all of it with -y, or come back with a terminal."),
        ReviewError::Io(error) => error.into(),
    })
}

/// Nothing of it is done; the person says what to plan instead (FILE-31).
async fn skip(held: &Held<'_>, turn: &Turn, plan: &ActionPlan, request: &Request) -> Outcome {
    let message = match asking::message(held.common, &held.folder.id).await {
        // Who leaves instead has not decided: the plan still waits.
        Err(failure) if failure.code == Code::Interrupted => return Err(failure),
        message => message,
    };
    let mut report =
        Report::nothing_done(plan, PLAN, Overall::Skipped, "the plan was skipped", Clock::system().now());
    report.message = message.as_ref().ok().cloned();
    replace(&turn.file(REPORT), report.to_string().as_bytes())?;
    seals::seal_turn(held, turn).await?;
    let request = Request { message: message?, ..request.clone() };
    drafting::plan(held, Some(turn), &request).await
}

/// How a batch is begun or gone on with.
enum Course {
    Begin,
    GoOn(Interrupted),
}

/// A batch was begun before: it was cut off, or only its report is missing.
async fn take_up(held: &Held<'_>, turn: &Turn, batch: BatchDir, approval: Approval) -> Outcome {
    let approved = Approved::kept(&batch.path)?;
    let source = text(&turn.file(PLAN))?.unwrap_or_default();
    let plan = ActionPlan::parse(&source).map_err(|_| {
        Failure::new(
            Code::Refused,
            format!("{} was changed while it was carried out", turn.file(PLAN).display()),
        )
        .hint("Take back what was done with: rapport undo")
    })?;
    if batch.is_finished() {
        return carry_out(held, turn, &plan, batch.path, &approved, Course::GoOn(Interrupted::Halt)).await;
    }
    if !held.common.json {
        say(format_args!("The batch of turn {} was interrupted. So far:", turn.name))?;
        batch.story().iter().try_for_each(|line| say(format_args!("  {}", safe::line(line))))?;
    }
    match course(held, &batch, approval).await? {
        Some(interrupted) => {
            carry_out(held, turn, &plan, batch.path, &approved, Course::GoOn(interrupted)).await
        }
        None => {
            undo::undo_and_tell(held.common, held.place, &batch.path, LaterChanges::Refuse)?;
            let label = batches::label(&held.folder, &batch.path).unwrap_or_default();
            for question in record::waiting(&held.entries()?, label) {
                held.submit(Act::Withdraw { question }).await?;
            }
            Ok(())
        }
    }
}

/// What becomes of a batch that was cut off; `None` where it is to be undone.
async fn course(
    held: &Held<'_>,
    batch: &BatchDir,
    approval: Approval,
) -> Result<Option<Interrupted>, Failure> {
    if approval == Approval::All {
        return Ok(Some(Interrupted::Again));
    }
    if !asking::is_possible(held.common.json) {
        let id = &held.folder.id;
        return Err(Failure::new(
            Code::Refused,
            "a batch was interrupted, and nobody can be asked what to do",
        )
        .hint(format!("Go on with it (what was interrupted is done again): rapport resume -y --session {id}"))
        .hint(format!("Take back what it did to files: rapport undo --session {id}")));
    }
    let is_unsure = batch.is_unsure();
    let choices = if is_unsure {
        "(a)gain, the interrupted one too / (g)o on after it / (u)ndo / (q)uit › "
    } else {
        "(g)o on / (u)ndo / (q)uit › "
    };
    loop {
        let answer = asking::line(choices).await?.unwrap_or_else(|| "q".into()).to_lowercase();
        match answer.as_str() {
            "a" | "again" if is_unsure => return Ok(Some(Interrupted::Again)),
            "g" | "go" | "go on" if is_unsure => return Ok(Some(Interrupted::GoOn)),
            "g" | "go" | "go on" => return Ok(Some(Interrupted::Again)),
            "u" | "undo" => return Ok(None),
            "q" | "quit" => return Err(Failure::new(Code::Interrupted, "left; everything is as it was")),
            _ => {}
        }
    }
}

async fn carry_out(
    held: &Held<'_>,
    turn: &Turn,
    plan: &ActionPlan,
    path: PathBuf,
    approved: &Approved,
    course: Course,
) -> Outcome {
    let (stopper, stop) = crate::actions::Stop::new();
    let stopper = Arc::new(stopper);
    let invoked = Invoked::default();
    let label = batches::label(&held.folder, &path).unwrap_or_default();
    let hands = SessionHands { held, batch: label, stopper: stopper.clone(), invoked: &invoked };
    let (place, means) = running::means(held.place, held.settings, path.clone())?;
    let batch = crate::actions::Batch { plan, place: &place, means: &means };
    let mut screen = running::Screen::new(held.common, plan);
    let signals = running::stop_on_signal(stopper)?;
    let ran = match course {
        Course::Begin => {
            let choices: Vec<_> = approved.actions.iter().map(choice).collect();
            batch.run(&choices, &hands, &mut |live| screen.show(&live), &stop).await
        }
        Course::GoOn(interrupted) => {
            batch.resume(interrupted, &hands, &mut |live| screen.show(&live), &stop).await
        }
    };
    signals.abort();
    let ran = ran.map_err(|error| running::failed(&error))?;
    if ran.unfinished {
        return Err(Failure::new(
            Code::Interrupted,
            format!("the batch of turn {} was interrupted", turn.name),
        )
        .hint(format!("Go on with it, or undo it, with: rapport resume --session {}", held.folder.id)));
    }
    let report = conclude(held, turn, plan, approved, &ran).await?;
    tell(held, turn, &report)?;
    for folder in invoked.take() {
        match plan_invoked(held, folder).await {
            // It has its own commands to go on with; this turn is done either way.
            Err(failure) if failure.code != Code::Interrupted => failure.print(held.common.json),
            outcome => outcome?,
        }
    }
    match report.status {
        Overall::Failed => {
            let command = format!("rapport undo --session {}", held.folder.id);
            undo::offer(held.common, held.place, &path, &command).await
        }
        Overall::Completed | Overall::Partial | Overall::Skipped | Overall::ValidationFailed => Ok(()),
    }
}

/// Writes down what follows from a batch.
async fn conclude(
    held: &Held<'_>,
    turn: &Turn,
    plan: &ActionPlan,
    approved: &Approved,
    ran: &Ran,
) -> Result<Report, Failure> {
    approved.remember(held.place, plan)?;
    let report = reporting::report(plan, PLAN, approved, ran);
    replace(&turn.file(REPORT), report.to_string().as_bytes())?;
    seals::seal_turn(held, turn).await?;
    Ok(report)
}

fn tell(held: &Held<'_>, turn: &Turn, report: &Report) -> Outcome {
    let path = turn.file(REPORT).display().to_string();
    if held.common.json {
        return say_json(&serde_json::json!({
            "session": held.folder.id, "turn": turn.name.to_string(), "report": path,
            "status": report.status.to_string(), "actions": reporting::counts(report),
        }));
    }
    reporting::say_outcome(report)?;
    say(format_args!("The report of turn {} is in {}", turn.name, safe::line(&path)))?;
    say(format_args!("Go on with: rapport resume --session {}", held.folder.id))
}

/// A session that the plan began for another agent is planned at once.
async fn plan_invoked(held: &Held<'_>, folder: crate::turns::Folder) -> Outcome {
    let other = held.beside(folder).await?;
    if !held.common.json {
        say(format_args!("\nSession {} begins.", other.folder.id))?;
    }
    let Some(turn) = other.folder.latest()? else { return Ok(()) };
    drafting::go_on(&other, &turn, &Request::plain()).await
}

fn choice(left: &Option<String>) -> Choice {
    match left {
        None => Choice::Run,
        Some(reason) => Choice::Skip { reason: reason.clone() },
    }
}
