//! Everything behind the door to a session: the loop that makes wants true, and the stores, workers, agents, planners and
//! actions it works with. `ARCHITECTURE.md` is the map.

pub mod actions;
pub mod agents;
pub mod clock;
pub mod config;
pub mod engine;
pub mod environment;
pub mod planners;
pub mod projects;
pub mod seals;
pub mod stores;
pub mod threads;
pub mod turns;
pub mod workers;

pub use rapport_door::variant;
