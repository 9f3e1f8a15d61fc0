//! The first half of a turn: what the agent is shown is gathered and written down, and the agent makes a plan of it.
//!
//! Everything is in the turn's directory before the agent is told a word, and the agent is told what is written there. So
//! a kill at any moment leaves a turn that can be gone on with, and never makes two of one.

use rapport_core::context::Payload;
use rapport_core::{Act, ActionPlan, Asking, Status};

use super::checking::{self, Checked, Faulty};
use super::held::Held;
use super::told::{self, Base};
use super::{asking, batches, record, seals};
use crate::channels::terminal::review;
use crate::channels::terminal::safe;
use crate::cli::output::{say, say_json};
use crate::clock::{self, Clock};
use crate::config::Settings;
use crate::error::{Code, Failure, Outcome};
use crate::turns::{
    CONTEXT_LOG, Folder, Meta, PLAN, Standing, TURN_CONTEXT, Turn, replace, replace_in_pieces, text,
};
use crate::wiring::Place;

/// How often a plan that is not valid is made again.
const MOST_REPLANS: u32 = 3;

/// What is to be planned.
#[derive(Clone, Debug)]
pub(in crate::cli) struct Request {
    /// What the person says.
    pub(in crate::cli) message: String,
    /// Whether the agent may ask.
    pub(in crate::cli) asking: Asking,
    /// Who consents to planning again what is not valid.
    pub(in crate::cli) consent: Consent,
}

impl Request {
    /// One that says nothing: for a turn whose message is written down already.
    pub(in crate::cli) fn plain() -> Self {
        Self { message: String::new(), asking: Asking::Assume, consent: Consent::Ask }
    }
}

/// Who consents to planning again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Consent {
    /// Somebody has, beforehand.
    Given,
    /// Who sits here is asked; without a terminal nobody does.
    Ask,
}

/// Whether a turn is planned because of a plan that was not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Message,
    Replan,
}

/// Plans the next turn, or the one that waits for its plan, and again where that is wanted; then shows what is planned.
pub(in crate::cli) async fn plan(held: &Held<'_>, after: Option<&Turn>, request: &Request) -> Outcome {
    let turn = next(held, after)?;
    begin(held, &turn, request, Origin::Message).await?;
    conclude(held, turn, request).await
}

/// Goes on with a turn that the agent was at, or that is ready for it. One that failed is tried again.
pub(in crate::cli) async fn go_on(held: &Held<'_>, turn: &Turn, request: &Request) -> Outcome {
    let view = held.view().await?;
    match record::drafting(&held.entries()?) {
        Some(_) if view.status == Status::Failed => held.submit(Act::Restart).await?,
        Some(_) => {}
        None if turn.standing() == Standing::Unplanned => start(held, turn, request.asking).await?,
        // It was under way a moment ago, and is done by now.
        None => {}
    }
    finish(held, turn, view.seq).await?;
    conclude(held, turn.clone(), request).await
}

/// Waits until a turn whose plan is there is noted as planned.
pub(in crate::cli) async fn settle(held: &Held<'_>, turn: &Turn) -> Outcome {
    let after = held.view().await?.seq;
    finish(held, turn, after).await
}

/// The turn that is to be planned: one that has no plan yet, or a new one.
fn next(held: &Held<'_>, after: Option<&Turn>) -> Result<Turn, Failure> {
    match after {
        Some(turn) if turn.standing() == Standing::Unplanned => Ok(turn.clone()),
        Some(turn) if turn.standing() == Standing::Pending => Err(waits(&held.folder, turn)),
        after => {
            if let Some(before) = after {
                batches::batch_of(held.place, &held.folder, before)?;
            }
            Ok(held.folder.make_next(after, Clock::system().now())?)
        }
    }
}

/// How it is told that a plan waits (FILE-19).
pub(in crate::cli) fn waits(folder: &Folder, turn: &Turn) -> Failure {
    Failure::new(Code::Refused, format!("the plan of turn {} must be executed first", turn.name))
        .hint(format!("Review and run it with: rapport resume --session {}", folder.id))
}

async fn begin(held: &Held<'_>, turn: &Turn, request: &Request, origin: Origin) -> Outcome {
    prepare(held, turn, request, origin).await?;
    let after = held.view().await?.seq;
    start(held, turn, request.asking).await?;
    finish(held, turn, after).await
}

/// Writes down what the agent will be shown, and shows what that takes.
async fn prepare(held: &Held<'_>, turn: &Turn, request: &Request, origin: Origin) -> Outcome {
    let Held { place, settings, folder, common, .. } = held;
    let mut base = Base::of(place, settings, folder, turn)?;
    if origin == Origin::Replan {
        // What was wrong is in the message.
        base.report = None;
    }
    let payload = told::payload(place, settings, folder, &base, request)?;
    if !common.json {
        told::estimate(&payload, &turn.name.to_string())?;
    }
    told::agree(common, settings, &payload).await?;
    write_down(turn, &base, &payload, origin)
}

fn write_down(turn: &Turn, base: &Base, payload: &Payload, origin: Origin) -> Outcome {
    let meta = Meta {
        agent_name: Some(base.agent.clone()),
        cumulative_cost: base.cost,
        is_replan: origin == Origin::Replan,
        ..if turn.meta.turn_id.is_empty() {
            Meta::new(turn.name, None, turn.created)
        } else {
            turn.meta.clone()
        }
    };
    replace(&turn.file(TURN_CONTEXT), base.context.as_bytes())?;
    replace_in_pieces(&turn.file(CONTEXT_LOG), payload.log().iter().map(|piece| piece.as_bytes()))?;
    Ok(meta.write(&turn.path)?)
}

async fn start(held: &Held<'_>, turn: &Turn, asking: Asking) -> Outcome {
    let conversation = clock::new_conversation();
    held.submit(Act::Draft { folder: turn.name.to_string(), conversation, asking }).await
}

/// Shows the agent at its work until the plan is there, and notes what it took.
async fn finish(held: &Held<'_>, turn: &Turn, after: u64) -> Outcome {
    held.show(after).await?;
    let taken = record::taken(&held.entries()?, &turn.name.to_string());
    let mut meta = Meta::read(&turn.path)?.unwrap_or_default();
    let before = meta.cumulative_cost - meta.turn_cost;
    meta.turn_cost = taken.cost_micros as f64 / 1e6;
    meta.cumulative_cost = before + meta.turn_cost;
    meta.model = taken.model.or(meta.model);
    meta.write(&turn.path)?;
    if turn.standing() == Standing::Unplanned {
        let message = format!("the agent ended without a plan for turn {}", turn.name);
        return Err(Failure::new(Code::Agent, message)
            .hint(format!("Try again with: rapport resume --session {}", held.folder.id)));
    }
    Ok(())
}

/// Looks whether the plan is valid; has it made again where it is not and somebody consents.
async fn conclude(held: &Held<'_>, mut turn: Turn, request: &Request) -> Outcome {
    let mut replans = 0;
    loop {
        let plan = text(&turn.file(PLAN))?.unwrap_or_default();
        let faulty = match checking::check(&held.place.project, PLAN, &plan)? {
            Checked::Good(good) => return tell(held, &turn, &good),
            Checked::Bad(faulty) => faulty,
        };
        turn = replan(held, &turn, &faulty, request, replans).await?;
        replans += 1;
    }
}

/// Reports a plan that is not valid, and plans again where somebody consents; fails where nobody does. Gives the turn with
/// the new plan.
async fn replan(
    held: &Held<'_>,
    turn: &Turn,
    faulty: &Faulty,
    request: &Request,
    replans: u32,
) -> Result<Turn, Failure> {
    faulty.report(held, turn, Clock::system().now()).await?;
    consent(held, turn, faulty, request.consent, replans).await?;
    let message = faulty.message(&original_message(held, turn)?);
    let next = held.folder.make_next(Some(turn), Clock::system().now())?;
    begin(held, &next, &Request { message, ..request.clone() }, Origin::Replan).await?;
    Ok(next)
}

/// The same for a plan that turns out not to be valid when it is to be carried out.
pub(in crate::cli) async fn replan_from(
    held: &Held<'_>,
    turn: &Turn,
    faulty: &Faulty,
    request: &Request,
) -> Outcome {
    let next = replan(held, turn, faulty, request, 0).await?;
    conclude(held, next, request).await
}

/// Fails where nobody consents. Who is asked is told the mistakes first, and not once more afterwards.
async fn consent(held: &Held<'_>, turn: &Turn, faulty: &Faulty, consent: Consent, replans: u32) -> Outcome {
    const INSTEAD: &str = "Say what to plan instead: rapport plan -m MESSAGE";
    let what = format!("the plan of turn {}", turn.name);
    let failure = faulty.failure(&what);
    match consent {
        Consent::Given | Consent::Ask if replans >= MOST_REPLANS => Err(failure.hint(INSTEAD)),
        Consent::Given => Ok(()),
        Consent::Ask if !asking::is_possible(held.common) => Err(failure.hint(INSTEAD)),
        Consent::Ask => {
            say(failure)?;
            if asking::yes("Have it made again, with these mistakes told?").await? {
                return Ok(());
            }
            Err(Failure::new(Code::Refused, format!("{what} is not made again")).hint(INSTEAD))
        }
    }
}

/// What was wanted when a turn was first planned, however often that was tried since.
fn original_message(held: &Held<'_>, turn: &Turn) -> Result<String, Failure> {
    let turns = held.folder.turns()?;
    let mut turn = turn;
    while turn.meta.is_replan || Meta::read(&turn.path)?.is_some_and(|meta| meta.is_replan) {
        match turn.before(&turns) {
            Some(before) => turn = before,
            None => break,
        }
    }
    Ok(told::message_to(turn)?.unwrap_or_default())
}

fn tell(held: &Held<'_>, turn: &Turn, plan: &ActionPlan) -> Outcome {
    let path = turn.file(PLAN).display().to_string();
    if held.common.json {
        let turn = turn.name.to_string();
        return say_json(&serde_json::json!({
            "session": held.folder.id, "turn": turn, "plan": path, "title": plan.title, "actions": plan.actions.len(),
        }));
    }
    say(review::unasked(plan, &[]).trim_end())?;
    say(format_args!("\nThe plan of turn {} is in {}", turn.name, safe::line(&path)))?;
    say(format_args!("Review and run it with: rapport resume --session {}", held.folder.id))
}

/// Makes a session for another agent, with a first turn that is ready to be planned.
pub(in crate::cli) fn prepare_for(
    place: &Place,
    settings: &Settings,
    folder: &Folder,
    agent: &str,
    message: &str,
) -> Outcome {
    let turn = folder.make_next(None, Clock::system().now())?;
    let mut base = Base::after(place, settings, folder, None)?;
    base.agent = agent.to_owned();
    let request = Request { message: message.to_owned(), ..Request::plain() };
    let payload = told::payload(place, settings, folder, &base, &request)?;
    write_down(&turn, &base, &payload, Origin::Message)
}

/// What has to hold before anything is planned or carried out.
pub(in crate::cli) async fn begin_with(held: &Held<'_>, changed: seals::Changed) -> Outcome {
    if held.view().await?.status == Status::Cancelled {
        return Err(Failure::new(Code::Refused, format!("{} was cancelled", held.folder.id))
            .hint("Begin another one with: rapport new NAME"));
    }
    seals::check(held, changed).await?;
    seals::seal_finished(held).await
}
