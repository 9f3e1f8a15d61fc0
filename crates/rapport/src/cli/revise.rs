//! `rapport revise`: feedback on a plan or on the work, in the same conversation.

use std::ffi::OsString;

use rapport_core::{Act, Aim, Purpose, QuestionId, Reply};
use serde_json::json;

use super::output::{say, say_json};
use super::session_choice::{self, Known};
use super::workflow::plan::{self, Request};
use super::workflow::seals::Changed;
use super::workflow::{open_session, review};
use super::{Common, say, sessions, trust};
use crate::config::Layer;
use crate::error::{Code, Failure, Outcome};
use crate::wiring::Workspace;

/// Give feedback on the plan or the work of a session; the agent does it again
///
/// A plan that waits for confirmation is made again with your feedback. A plan of actions that waits for review is
/// skipped, and the next turn is planned with your feedback. After a finished turn the feedback is the message of the
/// next one. Current or finished work continues with it in the same conversation, as with `rapport say`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rapport revise add-auth \"rather with sessions than with tokens\"
  rapport revise add-auth - < feedback.md")]
pub(super) struct Args {
    /// The session: its name, or a unique part of it
    session: String,
    /// The feedback; "-" reads it from standard input
    #[arg(required = true)]
    feedback: Vec<OsString>,
}

pub(super) fn execute(common: &Common, args: Args) -> Outcome {
    let place = Workspace::find(common)?;
    let known = session_choice::known(&place, &session_choice::by_name(&place, &args.session)?)?;
    known.check_counts()?;
    let confirmation = known.view.questions.iter().find(|question| question.purpose == Purpose::Confirm);
    if let Some(question) = confirmation {
        return plan_again(common, &place, &known, &question.id, say::words(&args.feedback)?);
    }
    say::refuse_if_asked(&known)?;
    let words = say::words(&args.feedback)?;
    match &known.view.review {
        Some(review) if review.paused.is_some() => {
            let what = format!("the batch of turn {} was interrupted, and waits for a decision", review.turn);
            Err(Failure::new(Code::Refused, what).hint(format!("Decide with: rapport resume {}", known.id)))
        }
        Some(review) if known.view.aim == Aim::Files => {
            plan_instead(common, &place, &known, &review.turn, words)
        }
        Some(_) | None => say::say_to(common, &place, &known, &words),
    }
}

/// Has the plan that waits for confirmation made again.
fn plan_again(
    common: &Common,
    place: &Workspace,
    known: &Known,
    question: &QuestionId,
    words: String,
) -> Outcome {
    let act = Act::Answer { question: Some(question.clone()), reply: Reply::Text(words) };
    let reached = sessions::act(place, &known.id, &act)?;
    if common.json {
        return say_json(&json!({ "session": known.id, "question": question }));
    }
    say("The agent gets this message, and plans again.")?;
    sessions::next_step(reached, &known.id).map_or(Ok(()), say)
}

/// Has another turn planned instead of the waiting plan.
fn plan_instead(common: &Common, place: &Workspace, known: &Known, turn: &str, message: String) -> Outcome {
    trust::ask_once(common, place)?;
    let settings = place.settings(Layer::default())?;
    let folder = place.folder(&known.id);
    let request = Request { message, ..Request::plain() };
    open_session::hold(common, place, &settings, folder, async |held| {
        plan::begin_with(held, Changed::Refuse).await?;
        review::plan_instead(held, turn, &request).await
    })
}
