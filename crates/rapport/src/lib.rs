//! The parts behind the `rapport` binary. `ARCHITECTURE.md` is the map.

pub mod actions;
pub mod agents;
pub mod channels;
pub mod cli;
pub mod clock;
pub mod config;
pub mod engine;
pub mod error;
pub mod planners;
pub mod projects;
mod sealed;
pub mod stores;
pub mod turns;
pub mod wiring;
pub mod workers;
