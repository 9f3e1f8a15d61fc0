//! CHAT_WITH_USER: tells or asks a person something; their reply is the result.

use crate::actions::Hands;
use crate::actions::outcome::{Details, Outcome};

pub(super) async fn run(hands: &dyn Hands, n: usize, message: &str) -> Outcome {
    Outcome::from_words(hands.ask(n, message).await, |text| Details::Reply { text })
}
