//! The first half of a turn at a terminal: the engine prepares it (`turns/preparation.rs`); here a person consents to
//! what is sent, sees the agent plan, and has an invalid plan made again.

use rapport_core::report::Overall;
use rapport_core::{Act, ActionPlan, Asking, FileTurn, Session, Status, TermsChange, TurnPlan};

use super::open_session::OpenSession;
use super::{context, prompts, seals};
use crate::channels::terminal::terminal_text;
use crate::cli::output::{say, say_json};
use crate::cli::page;
use crate::clock::{self, Clock};
use crate::config::Settings;
use crate::error::{Code, Failure, Outcome};
use crate::turns::preparation::{self, PlanReason, TurnPreparation};
use crate::turns::{Folder, PLAN, Turn, check};
use crate::wiring::Workspace;

/// The maximum number of attempts to replace an invalid plan.
const MOST_REPLANS: u32 = 3;

#[derive(Clone, Debug)]
pub(in crate::cli) struct Request {
    pub(in crate::cli) message: String,
    /// Whether the agent may ask.
    pub(in crate::cli) asking: Asking,
    /// Who consents to replacing an invalid plan.
    pub(in crate::cli) consent: Consent,
    /// Changes of the terms from this turn on.
    pub(in crate::cli) terms: Option<TermsChange>,
}

impl Request {
    /// An empty request, for a turn whose message is already stored.
    pub(in crate::cli) fn plain() -> Self {
        Self { message: String::new(), asking: Asking::Assume, consent: Consent::Ask, terms: None }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Consent {
    Given,
    /// The person at the terminal is asked; without a terminal there is no consent.
    Ask,
}

/// Plans the next turn, or the one without a plan, and again if the plan is invalid and the person consents; then
/// shows the plan.
pub(in crate::cli) async fn plan(
    held: &OpenSession<'_>,
    after: Option<&FileTurn>,
    request: &Request,
) -> Outcome {
    refuse_half_undone(held).await?;
    let turn = next(held, after).await?;
    begin(held, &turn, request, PlanReason::Message).await?;
    conclude(held, turn, request).await
}

/// Plans again with an answer to the agent's reply in words: this one, or what the person types once the reply is shown.
pub(in crate::cli) async fn answer_reply(
    held: &OpenSession<'_>,
    turn: &FileTurn,
    answer: Option<String>,
    request: &Request,
) -> Outcome {
    refuse_half_undone(held).await?;
    let replied = held.folder.turn(&turn.folder).await?;
    let next = match answer {
        Some(answer) => answered(held, &replied, &answer, request).await?,
        None => replan(held, &replied, &turn.problems, request, 0).await?,
    };
    conclude(held, next, request).await
}

/// While a batch is undone only in part, nothing is planned.
async fn refuse_half_undone(held: &OpenSession<'_>) -> Outcome {
    let session = held.session().await?;
    let Some(batch) = session.half_undone() else { return Ok(()) };
    let why = batch.undo_refused.as_ref().map(|problem| format!(": {}", problem.reason)).unwrap_or_default();
    let name = format!("{}-{}", held.folder.id, batch.name);
    let what = format!("undoing batch {} was interrupted{why}", batch.name);
    Err(Failure::new(Code::Refused, what).hint(format!("Finish it first: rapport undo --batch {name}")))
}

/// Resumes a turn that the agent was planning, or that is ready to be planned. A failed one is retried.
pub(in crate::cli) async fn go_on(held: &OpenSession<'_>, turn: &str, request: &Request) -> Outcome {
    let turn = held.folder.turn(turn).await?;
    change_terms(held, request).await?;
    let session = held.session().await?;
    let view = held.view().await?;
    match session.drafting() {
        Some(_) if view.has_failed() => held.submit(Act::Restart).await?,
        Some(_) => {}
        None if session.file_turn(&turn.name.to_string()).is_none_or(FileTurn::is_unplanned) => {
            start(held, &turn, request.asking).await?;
        }
        // The planning ended just before.
        None => {}
    }
    finish(held, &turn, view.seq).await?;
    conclude(held, turn, request).await
}

/// The turn to plan: one without a plan, or a new one.
async fn next(held: &OpenSession<'_>, after: Option<&FileTurn>) -> Result<Turn, Failure> {
    match after.filter(|turn| turn.is_waiting()) {
        Some(turn) => Err(waits(&held.folder, &turn.folder)),
        None => Ok(held.preparation().await?.next(after, Clock::system().now()).await?),
    }
}

/// The error if a plan waits (FILE-19).
pub(in crate::cli) fn waits(folder: &Folder, turn: &str) -> Failure {
    Failure::new(Code::Refused, format!("the plan of turn {turn} must be executed first"))
        .hint(format!("Review and run it with: rapport resume {}", folder.id))
}

async fn begin(held: &OpenSession<'_>, turn: &Turn, request: &Request, reason: PlanReason) -> Outcome {
    prepare(held, turn, request, reason).await?;
    change_terms(held, request).await?;
    let after = held.view().await?.seq;
    start(held, turn, request.asking).await?;
    finish(held, turn, after).await
}

/// Stores changes of the terms, if there are any.
pub(in crate::cli) async fn change_terms(held: &OpenSession<'_>, request: &Request) -> Outcome {
    match request.terms {
        Some(change) => held.submit(Act::ChangeTerms { change }).await,
        None => Ok(()),
    }
}

/// Stores what the agent will be shown, once the person has seen its size.
async fn prepare(held: &OpenSession<'_>, turn: &Turn, request: &Request, reason: PlanReason) -> Outcome {
    let OpenSession { place, settings, folder, common, .. } = held;
    TurnPreparation::lay_out(folder, &place.project).await?;
    let preparation = held.preparation().await?;
    let mut base = preparation.base_of(&held.session().await?, turn).await?;
    if reason == PlanReason::Replan {
        // The message describes what was wrong.
        base.report = None;
    }
    let payload = context::payload(&preparation, &base, request).await?;
    if !common.json {
        context::estimate(&payload, &turn.name.to_string())?;
    }
    context::agree(common, settings, &payload).await?;
    Ok(preparation.write_down(turn, &base, &payload, reason).await?)
}

async fn start(held: &OpenSession<'_>, turn: &Turn, asking: Asking) -> Outcome {
    let draft = held.preparation().await?.draft(turn, asking, clock::new_conversation()).await?;
    held.submit(draft).await
}

/// Shows the agent's progress until the plan is filed, checked and, if it is invalid, reported.
async fn finish(held: &OpenSession<'_>, turn: &Turn, after: u64) -> Outcome {
    held.show(after).await?;
    let session = held.session().await?;
    if session.file_turn(&turn.name.to_string()).is_none_or(FileTurn::is_unplanned) {
        return Err(unplanned(held, &format!("turn {}", turn.name)));
    }
    Ok(())
}

fn unplanned(held: &OpenSession<'_>, turn: &str) -> Failure {
    Failure::new(Code::Agent, format!("the agent ended without a plan for {turn}"))
        .hint(format!("Try again with: rapport resume {}", held.folder.id))
}

/// Shows the plan; has it made again if it is invalid and the person consents.
async fn conclude(held: &OpenSession<'_>, mut turn: Turn, request: &Request) -> Outcome {
    let mut replans = 0;
    loop {
        let session = held.session().await?;
        let Some(problems) = invalid(&session, &turn) else { return tell(held, &session, &turn) };
        turn = replan(held, &turn, &problems, request, replans).await?;
        replans += 1;
    }
}

/// Why the plan of a turn was reported as invalid, if it was.
pub(in crate::cli) fn invalid(session: &Session, turn: &Turn) -> Option<Vec<String>> {
    let turn = session.file_turn(&turn.name.to_string())?;
    (turn.status == Some(Overall::ValidationFailed)).then(|| turn.problems.clone())
}

/// Has an invalid plan made again, if the person consents; an error otherwise. Returns the turn with the new plan.
async fn replan(
    held: &OpenSession<'_>,
    turn: &Turn,
    problems: &[String],
    request: &Request,
    replans: u32,
) -> Result<Turn, Failure> {
    let plan = turn.text(PLAN).await?.unwrap_or_default();
    if ActionPlan::is_words(&plan) && request.consent == Consent::Ask {
        let answer = answer(held, turn, &plan).await?;
        return answered(held, turn, &answer, request).await;
    }
    consent(held, turn, problems, request.consent, replans).await?;
    let original = held.preparation().await?.original_message(turn).await?;
    again(held, turn, check::message(&plan, problems, &original), request).await
}

/// Has the agent plan with a person's answer to its reply in words. Returns the turn with the plan.
async fn answered(
    held: &OpenSession<'_>,
    turn: &Turn,
    answer: &str,
    request: &Request,
) -> Result<Turn, Failure> {
    show_size(held, turn, answer, request).await?;
    change_terms(held, request).await?;
    let (after, folder) = (held.view().await?.seq, turn.name.to_string());
    let (text, asking) = (answer.to_owned(), Some(request.asking));
    // The engine prepares the turn, as for an answer from any other channel. The person has agreed to its size here.
    held.submit(Act::AnswerReply { folder, text, asking, is_size_agreed: true }).await?;
    held.show(after).await?;
    let session = held.session().await?;
    let next = session.latest_turn().filter(|next| next.folder != turn.name.to_string());
    let next = next.filter(|next| !next.is_unplanned()).ok_or_else(|| unplanned(held, "the next turn"))?;
    Ok(held.folder.turn(&next.folder).await?)
}

/// Shows how much the agent will be shown with this answer, and asks for consent if that is more than the settings
/// allow.
async fn show_size(held: &OpenSession<'_>, turn: &Turn, answer: &str, request: &Request) -> Outcome {
    let (preparation, session) = (held.preparation().await?, held.session().await?);
    let mut base = preparation.base_after(&session, Some(turn)).await?;
    base.report = None;
    let words = turn.text(PLAN).await?.unwrap_or_default();
    let original = preparation.original_message(turn).await?;
    let message = preparation::answered(&words, answer, &original);
    let payload = context::payload(&preparation, &base, &Request { message, ..request.clone() }).await?;
    if !held.common.json {
        context::estimate(&payload, &format!("{:02}", turn.name.number + 1))?;
    }
    context::agree(held.common, held.settings, &payload).await
}

/// Has the agent plan again, in a turn of its own.
async fn again(
    held: &OpenSession<'_>,
    turn: &Turn,
    message: String,
    request: &Request,
) -> Result<Turn, Failure> {
    let next = held.folder.make_next(Some(turn), Clock::system().now()).await?;
    begin(held, &next, &Request { message, ..request.clone() }, PlanReason::Replan).await?;
    Ok(next)
}

/// Shows the agent's reply in words, and asks for an answer to it.
async fn answer(held: &OpenSession<'_>, turn: &Turn, words: &str) -> Result<String, Failure> {
    let id = &held.folder.id;
    let unanswered = || {
        let what = format!("the agent replied in words to turn {} instead of making a plan", turn.name);
        Failure::new(Code::Refused, what)
            .hint(format!("Answer it: rapport resume {id} -m ANSWER"))
            .hint(format!("Or say what to plan instead: rapport plan --session {id} -m MESSAGE"))
    };
    if !held.common.json {
        page::reply(held.common, words)?;
    }
    if !prompts::is_possible(held.common) {
        return Err(unanswered());
    }
    let answer = prompts::words(held.common, "Your answer").await?;
    answer.filter(|answer| !answer.trim().is_empty()).ok_or_else(unanswered)
}

/// The same for a plan that turns out to be invalid when it is to be carried out.
pub(in crate::cli) async fn replan_from(
    held: &OpenSession<'_>,
    turn: &Turn,
    problems: &[String],
    request: &Request,
) -> Outcome {
    let next = replan(held, turn, problems, request, 0).await?;
    conclude(held, next, request).await
}

/// The error for a plan that cannot be carried out.
pub(in crate::cli) fn faulty(what: &str, problems: &[String]) -> Failure {
    let failure = Failure::new(Code::Refused, format!("{what} cannot be carried out"));
    let told = problems.iter().take(check::MOST).flat_map(|problem| problem.lines());
    told.map(terminal_text::line).fold(failure, Failure::hint)
}

/// An error without consent. A person who is asked sees the mistakes first, and not again afterwards.
async fn consent(
    held: &OpenSession<'_>,
    turn: &Turn,
    problems: &[String],
    consent: Consent,
    replans: u32,
) -> Outcome {
    let instead = format!("Say what to plan instead: rapport plan --session {} -m MESSAGE", held.folder.id);
    let what = format!("the plan of turn {}", turn.name);
    let failure = faulty(&what, problems);
    match consent {
        Consent::Given | Consent::Ask if replans >= MOST_REPLANS => Err(failure.hint(instead)),
        Consent::Given => Ok(()),
        Consent::Ask if !prompts::is_possible(held.common) => Err(failure.hint(instead)),
        Consent::Ask => {
            say(failure)?;
            if prompts::yes("Have the agent make it again, and tell it these mistakes?").await? {
                return Ok(());
            }
            Err(Failure::new(Code::Refused, format!("{what} was not made again")).hint(instead))
        }
    }
}

fn tell(held: &OpenSession<'_>, session: &Session, turn: &Turn) -> Outcome {
    let path = turn.place(PLAN);
    let planned = session.file_turn(&turn.name.to_string()).and_then(|turn| turn.plan.as_ref());
    let plan = planned.map_or_else(|| ActionPlan::unread(""), TurnPlan::shown);
    if held.common.json {
        let turn = turn.name.to_string();
        return say_json(&serde_json::json!({
            "session": held.folder.id, "turn": turn, "plan": path, "title": plan.title, "actions": plan.actions.len(),
        }));
    }
    page::plan(held.common, &plan)?;
    say(format_args!("\nThe plan of turn {} is in {}", turn.name, terminal_text::line(&path)))?;
    say(format_args!("Review and run it with: rapport resume {}", held.folder.id))
}

/// Makes the first turn of a session for another agent, ready to be planned.
pub(in crate::cli) async fn prepare_for(
    place: &Workspace,
    settings: &Settings,
    folder: &Folder,
    agent: &str,
    message: &str,
) -> Outcome {
    let (session, _) = super::read_state(place, folder).await?;
    let preparation = super::preparation(place, settings, folder, &session).await?;
    let turn = preparation.next(None, Clock::system().now()).await?;
    let mut base = preparation.base_after(&session, None).await?;
    base.agent = agent.to_owned();
    let request = Request { message: message.to_owned(), ..Request::plain() };
    let payload = context::payload(&preparation, &base, &request).await?;
    Ok(preparation.write_down(&turn, &base, &payload, PlanReason::Message).await?)
}

/// Preconditions for planning and running: wait until everything that proceeds by itself has ended, and check that
/// finished turns are unchanged.
pub(in crate::cli) async fn begin_with(held: &OpenSession<'_>, changed: seals::Changed) -> Outcome {
    let view = held.view().await?;
    if view.status == Status::Cancelled {
        return Err(Failure::new(Code::Refused, format!("{} was cancelled", held.folder.id))
            .hint("Begin another one with: rapport new NAME"));
    }
    let session = held.session().await?;
    if session.is_failed() && session.drafting().is_none() {
        // An effect of Rapport itself failed: retry it.
        held.submit(Act::Restart).await?;
    }
    // An agent that still works, or failed, is shown by the command that resumes it.
    let is_drafting = session.drafting().is_some() && (session.has_turn() || session.is_failed());
    if !is_drafting {
        let view = held.settle().await?;
        if let Some(reason) = view.failure {
            return Err(Failure::new(Code::Store, reason).hint(crate::error::KEPT));
        }
    }
    seals::check(held, changed).await
}
