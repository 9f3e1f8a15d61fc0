//! What every implementation of a trait must do: the same story is run with each of them.

mod agent;
mod channel;
mod clock;
pub(crate) mod door;
mod dummy;
mod seals;
mod speed;
mod store;
mod turns;
mod worker;
