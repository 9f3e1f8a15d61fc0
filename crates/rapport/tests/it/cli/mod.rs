//! The commands themselves: help, JSON, exit codes, what they print where.

mod choosing;
mod commands;
mod demo;
mod logging;
mod looks;
mod resuming;
pub(crate) mod saying;
mod tree;
