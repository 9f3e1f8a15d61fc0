//! INVOKE: starts a session of another agent; this plan does not wait for it.

use crate::actions::Hands;
use crate::actions::outcome::{Details, Outcome};

pub(super) async fn run(hands: &dyn Hands, n: usize, agent: &str, message: &str) -> Outcome {
    Outcome::from_words(hands.invoke(n, agent, message).await, |name| Details::Session { name })
}
