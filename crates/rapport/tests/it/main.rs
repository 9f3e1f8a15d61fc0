//! One test binary.

#![allow(clippy::expect_used, reason = "a test that cannot go on says why and fails")]

mod screens;
mod support;
