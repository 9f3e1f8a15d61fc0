//! CHAT_WITH_USER: tells or asks a person something; their reply is the result.

use crate::actions::Requester;
use crate::actions::outcome::{Details, Outcome};

pub(super) async fn run(requester: &dyn Requester, n: usize, message: &str) -> Outcome {
    Outcome::from_words(requester.ask(n, message).await, |text| Details::Reply { text })
}
