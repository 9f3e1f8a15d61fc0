//! Projects: what exploring finds in each kind of repository, what people keep in its context, and what survives.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on stops")]

mod contexts;
mod hostile;
mod past;
mod stacks;
mod support;
