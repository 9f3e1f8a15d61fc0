//! One test binary.

mod screens;
mod support;
