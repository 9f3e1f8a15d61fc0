//! The commands themselves: help, JSON, exit codes, and what they print to which stream.

mod choosing;
mod cluster;
mod colours;
mod commands;
mod completing;
mod demo;
mod detaching;
mod first_hour;
mod hosts;
mod logging;
mod looks;
mod pages;
mod project;
mod resuming;
pub(crate) mod saying;
mod serving;
mod stumbling;
mod tree;
mod windows;
