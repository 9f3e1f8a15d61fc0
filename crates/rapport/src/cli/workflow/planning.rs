//! The first half of a turn: what the agent is shown is gathered and written down, and the agent makes a plan from it.
//!
//! Everything is in the turn's directory before the agent starts, and the agent is shown exactly what is written there.
//! So a kill at any moment leaves a turn that can be resumed, and never creates a turn twice.

use rapport_core::context::Payload;
use rapport_core::report::Overall;
use rapport_core::{
    Act, ActionPlan, Asking, FileTurn, Session, Status, TurnOrigin, TurnPlan, TurnStage, fenced,
};

use super::context::{self, Base};
use super::open_session::OpenSession;
use super::{asking, seals};
use crate::channels::terminal::safe;
use crate::cli::output::{say, say_json};
use crate::cli::{new, page};
use crate::clock::{self, Clock};
use crate::config::Settings;
use crate::error::{Code, Failure, Outcome};
use crate::turns::{CONTEXT_LOG, Folder, META, Meta, PLAN, TURN_CONTEXT, Turn, check, checksum};
use crate::wiring::Place;

/// The maximum number of attempts to replace an invalid plan.
const MOST_REPLANS: u32 = 3;

#[derive(Clone, Debug)]
pub(in crate::cli) struct Request {
    pub(in crate::cli) message: String,
    /// Whether the agent may ask.
    pub(in crate::cli) asking: Asking,
    /// Who consents to replacing an invalid plan.
    pub(in crate::cli) consent: Consent,
}

impl Request {
    /// An empty request, for a turn whose message is already written down.
    pub(in crate::cli) fn plain() -> Self {
        Self { message: String::new(), asking: Asking::Assume, consent: Consent::Ask }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Consent {
    Given,
    /// The person at the terminal is asked; without a terminal nobody consents.
    Ask,
}

/// Whether a turn replaces an invalid plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Message,
    Replan,
}

/// Plans the next turn, or the one without a plan, and again if the plan is invalid and somebody consents; then shows
/// the plan.
pub(in crate::cli) async fn plan(
    held: &OpenSession<'_>,
    after: Option<&FileTurn>,
    request: &Request,
) -> Outcome {
    if let Some(batch) = held.session().await?.half_undone() {
        let why =
            batch.undo_refused.as_ref().map(|problem| format!(": {}", problem.reason)).unwrap_or_default();
        let name = format!("{}-{}", held.folder.id, batch.name);
        let what = format!("undoing batch {} was interrupted{why}", batch.name);
        return Err(
            Failure::new(Code::Refused, what).hint(format!("Finish it first: rapport undo --batch {name}"))
        );
    }
    let turn = next(held, after).await?;
    begin(held, &turn, request, Reason::Message).await?;
    conclude(held, turn, request).await
}

/// Resumes a turn that the agent was planning, or that is ready to be planned. A failed one is retried.
pub(in crate::cli) async fn go_on(held: &OpenSession<'_>, turn: &str, request: &Request) -> Outcome {
    let turn = held.folder.turn(turn).await?;
    let session = held.session().await?;
    let view = held.view().await?;
    match session.drafting() {
        Some(_) if view.status == Status::Failed => held.submit(Act::Restart).await?,
        Some(_) => {}
        None if session.file_turn(&turn.name.to_string()).is_none_or(is_unplanned) => {
            start(held, &turn, request.asking).await?;
        }
        // It was in progress a moment ago, and is done by now.
        None => {}
    }
    finish(held, &turn, view.seq).await?;
    conclude(held, turn, request).await
}

/// The turn to plan: one without a plan, or a new one.
async fn next(held: &OpenSession<'_>, after: Option<&FileTurn>) -> Result<Turn, Failure> {
    match after {
        Some(turn) if is_unplanned(turn) => Ok(held.folder.turn(&turn.folder).await?),
        Some(turn) if turn.stage != TurnStage::Complete => Err(waits(&held.folder, &turn.folder)),
        after => {
            let before = match after {
                Some(turn) => Some(held.folder.turn(&turn.folder).await?),
                None => None,
            };
            Ok(held.folder.make_next(before.as_ref(), Clock::system().now()).await?)
        }
    }
}

/// Whether a turn has no plan yet.
pub(in crate::cli) fn is_unplanned(turn: &FileTurn) -> bool {
    matches!(turn.stage, TurnStage::Unplanned { .. } | TurnStage::Drafting)
}

/// Whether a person has to decide about a turn before the next one is planned.
pub(in crate::cli) fn is_waiting(turn: &FileTurn) -> bool {
    !is_unplanned(turn) && turn.stage != TurnStage::Complete
}

/// The error if a plan waits (FILE-19).
pub(in crate::cli) fn waits(folder: &Folder, turn: &str) -> Failure {
    Failure::new(Code::Refused, format!("the plan of turn {turn} must be executed first"))
        .hint(format!("Review and run it with: rapport resume {}", folder.id))
}

async fn begin(held: &OpenSession<'_>, turn: &Turn, request: &Request, reason: Reason) -> Outcome {
    prepare(held, turn, request, reason).await?;
    let after = held.view().await?.seq;
    start(held, turn, request.asking).await?;
    finish(held, turn, after).await
}

/// Writes down what the agent will be shown, and shows its size.
async fn prepare(held: &OpenSession<'_>, turn: &Turn, request: &Request, reason: Reason) -> Outcome {
    let OpenSession { place, settings, folder, common, .. } = held;
    new::lay_out(place, folder).await?;
    let mut base = Base::of(place, settings, folder, turn).await?;
    if reason == Reason::Replan {
        // The message describes what was wrong.
        base.report = None;
    }
    let payload = context::payload(place, settings, folder, &base, request).await?;
    if !common.json {
        context::estimate(&payload, &turn.name.to_string())?;
    }
    context::agree(common, settings, &payload).await?;
    write_down(turn, &base, &payload, reason).await
}

async fn write_down(turn: &Turn, base: &Base, payload: &Payload, reason: Reason) -> Outcome {
    let meta = Meta {
        agent_name: Some(base.agent.clone()),
        cumulative_cost: base.cost,
        is_replan: reason == Reason::Replan,
        ..if turn.meta.turn_id.is_empty() {
            Meta::new(turn.name, None, turn.created)
        } else {
            turn.meta.clone()
        }
    };
    turn.write(TURN_CONTEXT, base.context.clone().into_bytes()).await?;
    turn.write_noted(CONTEXT_LOG, payload.log().concat().into_bytes()).await?;
    Ok(turn.write(META, meta.to_yaml()?.into_bytes()).await?)
}

async fn start(held: &OpenSession<'_>, turn: &Turn, asking: Asking) -> Outcome {
    let conversation = clock::new_conversation();
    let meta = turn.meta_now().await?.unwrap_or_else(|| turn.meta.clone());
    let parent = meta.parent_turn_id.clone();
    // Turns of a tool without parents follow each other.
    let parent = match parent {
        None => turn.before(&held.folder.turns().await?).map(|before| before.name.to_string()),
        parent => parent,
    };
    let origin = Some(TurnOrigin {
        parent,
        created: turn.created,
        agent: meta.agent_name.clone(),
        is_replan: meta.is_replan,
    });
    let folder = turn.name.to_string();
    let shown = checksum::shown(&held.folder, &folder).await?;
    held.submit(Act::Draft { folder, conversation, asking, origin, shown }).await
}

/// Shows the agent's progress until the plan is filed, checked and, if it is invalid, reported.
async fn finish(held: &OpenSession<'_>, turn: &Turn, after: u64) -> Outcome {
    held.show(after).await?;
    let session = held.session().await?;
    if session.file_turn(&turn.name.to_string()).is_none_or(is_unplanned) {
        let message = format!("the agent ended without a plan for turn {}", turn.name);
        return Err(Failure::new(Code::Agent, message)
            .hint(format!("Try again with: rapport resume {}", held.folder.id)));
    }
    Ok(())
}

/// Shows the plan; has it made again if it is invalid and somebody consents.
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

/// Has an invalid plan made again, if somebody consents; an error otherwise. Returns the turn with the new plan.
async fn replan(
    held: &OpenSession<'_>,
    turn: &Turn,
    problems: &[String],
    request: &Request,
    replans: u32,
) -> Result<Turn, Failure> {
    let plan = turn.text(PLAN).await?.unwrap_or_default();
    let original = original_message(held, turn).await?;
    let message = if ActionPlan::is_words(&plan) && request.consent == Consent::Ask {
        answered(&plan, &answer(held, turn, &plan).await?, &original)
    } else {
        consent(held, turn, problems, request.consent, replans).await?;
        check::message(&plan, problems, &original)
    };
    let next = held.folder.make_next(Some(turn), Clock::system().now()).await?;
    begin(held, &next, &Request { message, ..request.clone() }, Reason::Replan).await?;
    Ok(next)
}

/// Shows the agent's reply in words, and asks for an answer to it.
async fn answer(held: &OpenSession<'_>, turn: &Turn, words: &str) -> Result<String, Failure> {
    let id = &held.folder.id;
    let instead = format!("Answer it, or say what to plan instead: rapport plan --session {id} -m MESSAGE");
    let what = format!("the agent replied in words to turn {} instead of making a plan", turn.name);
    if !held.common.json {
        say(format_args!("The agent replied in words:\n"))?;
        safe::lines(words.trim()).iter().try_for_each(|line| say(format_args!("  {line}")))?;
        say("")?;
    }
    if !asking::is_possible(held.common) {
        return Err(Failure::new(Code::Refused, what).hint(instead));
    }
    let answer = asking::words(held.common, "Your answer").await?;
    answer
        .filter(|answer| !answer.trim().is_empty())
        .ok_or_else(|| Failure::new(Code::Refused, what).hint(instead))
}

/// The message to the agent with a person's answer to its reply.
fn answered(words: &str, answer: &str, original: &str) -> String {
    format!(
        "You replied in words instead of a plan:\n\n{}\nThis is the answer:\n\n{}\n\
         Make the plan now. This is what it is for:\n\n{}",
        fenced(words.trim(), "text"),
        fenced(answer.trim(), "text"),
        fenced(original.trim_end(), "text")
    )
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
    told.map(safe::line).fold(failure, Failure::hint)
}

/// An error if nobody consents. A person who is asked sees the mistakes first, and not again afterwards.
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
        Consent::Ask if !asking::is_possible(held.common) => Err(failure.hint(instead)),
        Consent::Ask => {
            say(failure)?;
            if asking::yes("Have the agent make it again, and tell it these mistakes?").await? {
                return Ok(());
            }
            Err(Failure::new(Code::Refused, format!("{what} was not made again")).hint(instead))
        }
    }
}

/// The original request of a turn, however often it was planned since.
async fn original_message(held: &OpenSession<'_>, turn: &Turn) -> Result<String, Failure> {
    let turns = held.folder.turns().await?;
    let mut turn = turn;
    while turn.meta.is_replan || turn.meta_now().await?.is_some_and(|meta| meta.is_replan) {
        match turn.before(&turns) {
            Some(before) => turn = before,
            None => break,
        }
    }
    Ok(context::message_to(turn).await?.unwrap_or_default())
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
    say(format_args!("\nThe plan of turn {} is in {}", turn.name, safe::line(&path)))?;
    say(format_args!("Review and run it with: rapport resume {}", held.folder.id))
}

/// Creates a session for another agent, with a first turn that is ready to be planned.
pub(in crate::cli) async fn prepare_for(
    place: &Place,
    settings: &Settings,
    folder: &Folder,
    agent: &str,
    message: &str,
) -> Outcome {
    let turn = folder.make_next(None, Clock::system().now()).await?;
    let mut base = Base::after(place, settings, folder, None).await?;
    base.agent = agent.to_owned();
    let request = Request { message: message.to_owned(), ..Request::plain() };
    let payload = context::payload(place, settings, folder, &base, &request).await?;
    write_down(&turn, &base, &payload, Reason::Message).await
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
