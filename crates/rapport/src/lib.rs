//! The parts behind the `rapport` binary. `ARCHITECTURE.md` is the map.

pub mod agents;
pub mod channels;
pub mod clock;
pub mod engine;
pub mod stores;
pub mod workers;
