//! CHAT_WITH_USER: a person is told or asked something, and their words are what comes of it.

use crate::actions::Hands;
use crate::actions::outcome::{Details, Outcome};

pub(super) async fn run(hands: &dyn Hands, n: usize, message: &str) -> Outcome {
    Outcome::from_words(hands.ask(n, message).await, |text| Details::Reply { text })
}
