//! Rapport, the parts behind the binary.
pub mod agents;
