//! What the core promises: tables, stories told through the public functions, and properties of any story at all.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on stops")]

mod action_plan;
mod authority;
mod branch;
mod context;
mod interactive_file;
mod names;
mod plan_check;
mod plan_file;
mod progress_file;
mod project;
mod property;
mod question_round;
mod questions;
mod report;
mod routing;
mod story;
mod support;
