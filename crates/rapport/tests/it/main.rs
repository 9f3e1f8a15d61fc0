//! One test binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on has failed; the lint knows only functions marked as tests"
)]

mod actions;
mod cli;
mod compat;
mod containers;
mod contract;
mod crash;
mod driver;
mod faults;
mod files;
mod foreign;
mod hostile;
mod lead;
mod mcp;
mod nats;
mod planners;
mod planning;
mod rehearsal;
mod review;
mod screens;
mod story;
mod support;
mod telegram;
mod telegram_load;
mod telegram_server;
mod telegram_wire;
mod tidy;
mod web;
