//! INVOKE: starts a session of another agent; this plan does not wait for it.

use crate::actions::Requester;
use crate::actions::outcome::{Details, Outcome};

pub(super) async fn run(requester: &dyn Requester, n: usize, agent: &str, message: &str) -> Outcome {
    Outcome::from_words(requester.invoke(n, agent, message).await, |name| Details::Session { name })
}
