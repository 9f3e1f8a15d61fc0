//! The parts behind the `rapport` binary. `ARCHITECTURE.md` is the map.

pub mod actions;
pub mod agents;
pub mod channels;
mod checked_line;
pub mod cli;
pub mod clock;
pub mod config;
mod durable;
pub mod engine;
pub mod error;
pub mod planners;
pub mod projects;
pub mod seals;
pub mod stores;
#[cfg(debug_assertions)]
mod trial;
pub mod turns;
pub mod wiring;
pub mod workers;
