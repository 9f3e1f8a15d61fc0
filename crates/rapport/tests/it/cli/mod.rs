//! The commands themselves: help, JSON, exit codes, what they print where.

mod commands;
mod demo;
mod logging;
