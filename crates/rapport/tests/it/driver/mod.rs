//! The driver for Claude Code: its language, its keeper, and whole runs against small fake agents.

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
