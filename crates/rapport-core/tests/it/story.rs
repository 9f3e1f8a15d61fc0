//! Stories: what comes in, step by step, and the facts and wants that must come of it.

mod budget;
mod chat;
mod checking;
mod confirming;
mod eliciting;
mod failing;
mod handover;
mod in_text;
mod log;
mod planner;
mod progress;
mod queue;
mod rounds;
mod saying;
mod stopping;
pub(crate) mod turns;
mod undoing;
mod waiting;
mod working;

use rapport_core::NewQuestion;

use crate::support::{Story, draft};

pub(crate) fn way() -> NewQuestion {
    draft("Which way?", &["Passkeys", "Passwords", "Magic link"])
}

pub(crate) fn length() -> NewQuestion {
    draft("How long?", &["A day", "A week"])
}

/// A plan that rests on two answers, saved and waiting for confirmation.
pub(crate) fn planned() -> Story {
    let mut story = Story::of("Add login");
    story
        .connects()
        .asks("c1", &[way(), length()], "c1 asked round 1: q1, q2")
        .answer("q1", "1", "q1 answered passkeys by ann (terminal)")
        .answer("q2", "A week", "q2 answered a-week by ann (terminal)")
        .takes("c1")
        .finishes(
            "# Passkey login\n\n1. Write it",
            "turn 1 ended; plan proposed: passkey-login/add-login; Rapport asked round 2: confirm",
        )
        .saved();
    story
}

/// The agent at work.
pub(crate) fn working() -> Story {
    let mut story = planned();
    story
        .answer("confirm", "confirm", "confirm answered confirm by ann (terminal); turn 2 started to work")
        .saved()
        .baseline()
        .connects();
    story
}
