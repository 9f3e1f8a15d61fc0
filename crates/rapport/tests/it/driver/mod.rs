//! The driver for Claude Code: its protocol, its keeper, and whole runs with small fake agents.

mod asking;
mod dying;
mod fake;
mod fork;
mod keeper;
mod once;
mod probes;
mod recorded;
mod rehearsed;
mod resuming;
mod transcript;
mod wire;
