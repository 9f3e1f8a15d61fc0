//! The parts behind the `rapport` binary. `ARCHITECTURE.md` is the map.

mod branches;
pub mod channels;
pub mod cli;
pub mod error;
mod lead_tools;
mod logging;
pub mod options;
mod output;
pub mod wiring;

pub use rapport_engine::{
    actions, clock, config, engine, environment, planners, projects, seals, stores, threads, turns, workers,
};

/// The programs that do the work.
pub mod agents {
    pub use rapport_engine::agents::*;
    pub use rapport_rehearsal as rehearsal;
}
