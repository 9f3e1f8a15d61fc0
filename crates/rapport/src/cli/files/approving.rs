//! The second half of a turn: the plan is checked, reviewed, carried out as far as it was approved, and reported.
//!
//! What was approved is written down first, then the journal has what is done; the memos, which can be changed twice, come
//! before the report, and the seal after it. So a kill at any moment leaves what is clear, and what can be gone on with.

use std::path::PathBuf;

use rapport_core::report::{Overall, Report};
use rapport_core::{Act, ActionPlan};

use super::batches::{self, Approved, BatchDir, Undo, batch_of};
use super::checking::{self, Checked};
use super::drafting::{self, Request};
use super::hands::{Invoked, SessionHands};
use super::held::Held;
use super::running::{self, Course, Run};
use super::{asking, record, reporting, seals};
use crate::actions::{Interrupted, LaterChanges, Ran};
use crate::channels::terminal::review::{self, Review, ReviewError, Selection, Verdict};
use crate::channels::terminal::safe;
use crate::cli::output::{say, say_json};
use crate::cli::{Common, screen, undo};
use crate::clock::Clock;
use crate::config::{self, Settings};
use crate::error::{Code, Failure, Outcome};
use crate::turns::{Folder, PLAN, REPORT, Turn, memos, replace, text};
use crate::wiring::Place;

/// Who approves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Approval {
    /// Who sits here.
    Person,
    /// Everything is approved beforehand.
    All,
}

impl Approval {
    /// As the flag says.
    pub(in crate::cli) fn from_flag(yes: bool) -> Self {
        if yes { Approval::All } else { Approval::Person }
    }
}

/// The plan of a turn, how much of it was approved, and where its batch is.
struct Job<'a> {
    turn: &'a Turn,
    plan: &'a ActionPlan,
    approved: Approved,
    batch: PathBuf,
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
        Checked::Bad(faulty) => return drafting::replan_from(held, turn, &faulty, request).await,
    };
    if !held.common.json {
        // Whoever has several sessions should see which of them this is.
        say(format_args!("Session {}, turn {}", held.folder.id, turn.name))?;
    }
    match verdict(held.common, held.place, held.settings, &plan, approval).await? {
        Verdict::Approve(selection) | Verdict::Run(selection) => {
            let batch = batches::next_of(held.place, &held.folder, turn)?;
            let approved = Approved::from(&selection).of(turn);
            approved.keep(&batch)?;
            let course = Course::Begin(approved.choices());
            carry_out(held, &Job { turn, plan: &plan, approved, batch }, course).await
        }
        Verdict::Skip => skip(held, turn, &plan, request).await,
        Verdict::Quit => Err(left().hint(format!("Go on with: rapport resume --session {}", held.folder.id))),
    }
}

/// How it is told that the person left the review.
pub(in crate::cli) fn left() -> Failure {
    Failure::new(Code::Interrupted, "left; nothing was done")
}

/// What is to become of a plan.
pub(in crate::cli) async fn verdict(
    common: &Common,
    place: &Place,
    settings: &Settings,
    plan: &ActionPlan,
    approval: Approval,
) -> Result<Verdict, Failure> {
    match approval {
        Approval::Person => ask(common, place, settings, plan).await,
        Approval::All => {
            if !common.json {
                say(review::unasked(plan, &[]).trim_end())?;
            }
            Ok(Verdict::Approve(Selection::all(plan)))
        }
    }
}

async fn ask(
    common: &Common,
    place: &Place,
    settings: &Settings,
    plan: &ActionPlan,
) -> Result<Verdict, Failure> {
    let config = Review {
        interactive: asking::is_possible(common),
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

/// A batch was begun before: it was cut off, or only its report is missing.
async fn take_up(held: &Held<'_>, turn: &Turn, batch: BatchDir, approval: Approval) -> Outcome {
    let source = text(&turn.file(PLAN))?.unwrap_or_default();
    let plan = ActionPlan::parse(&source).map_err(|_| {
        Failure::new(
            Code::Refused,
            format!("{} was changed while it was carried out", turn.file(PLAN).display()),
        )
        .hint("Take back what was done to files with: rapport undo")
    })?;
    let job = Job { turn, plan: &plan, approved: Approved::kept(&batch.path)?, batch: batch.path.clone() };
    if batch.is_finished() {
        return carry_out(held, &job, Course::GoOn(Interrupted::Halt)).await;
    }
    if !held.common.json {
        say(format_args!("The batch of turn {} was interrupted. So far:", turn.name))?;
        batch.story().iter().try_for_each(|line| say(format_args!("  {}", safe::line(line))))?;
    }
    match course(held, &batch, approval).await? {
        Some(interrupted) => carry_out(held, &job, Course::GoOn(interrupted)).await,
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
    if !asking::is_possible(held.common) {
        let id = &held.folder.id;
        return Err(Failure::new(
            Code::Refused,
            "a batch was interrupted, and nobody can be asked what to do",
        )
        .hint(format!("Go on with it (what was interrupted is done again): rapport resume -y --session {id}"))
        .hint(format!("Take back what was done to files with: rapport undo --session {id}")));
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
            "q" | "quit" => return Err(asking::left()),
            _ => {}
        }
    }
}

async fn carry_out(held: &Held<'_>, job: &Job<'_>, course: Course) -> Outcome {
    let Held { common, place, settings, folder, .. } = held;
    let Job { turn, plan, batch, .. } = job;
    let invoked = Invoked::default();
    let label = batches::label(folder, batch).unwrap_or_default();
    let hands = |stopper| SessionHands { held, batch: label, stopper, invoked: &invoked };
    let ran = Run { common, place, settings, plan, journal: batch }.carry_out(course, hands).await?;
    if ran.unfinished {
        return Err(Failure::new(
            Code::Interrupted,
            format!("the batch of turn {} was interrupted", turn.name),
        )
        .hint(format!("Go on with it, or undo it, with: rapport resume --session {}", folder.id)));
    }
    let report = conclude(held, job, &ran).await?;
    tell(held, turn, &report)?;
    for folder in invoked.take() {
        match plan_invoked(held, folder).await {
            // It has its own commands to go on with; this turn is done either way.
            Err(failure) if failure.code != Code::Interrupted => failure.print(common.json),
            outcome => outcome?,
        }
    }
    match report.status {
        Overall::Failed => {
            let command = format!("rapport undo --session {}", folder.id);
            undo::offer(common, place, batch, &command).await
        }
        Overall::Completed | Overall::Partial | Overall::Skipped | Overall::ValidationFailed => Ok(()),
    }
}

/// Writes down what follows from a batch.
async fn conclude(held: &Held<'_>, job: &Job<'_>, ran: &Ran) -> Result<Report, Failure> {
    let Job { turn, plan, approved, .. } = job;
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
async fn plan_invoked(held: &Held<'_>, folder: Folder) -> Outcome {
    let other = held.beside(folder).await?;
    if !held.common.json {
        say(format_args!("\nSession {} begins.", other.folder.id))?;
    }
    let Some(turn) = other.folder.latest()? else { return Ok(()) };
    drafting::go_on(&other, &turn, &Request::plain()).await
}
