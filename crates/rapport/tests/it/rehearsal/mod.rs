//! The rehearsal agent, as a host sees it: the real binary, its pipes, its files.
mod approval;
mod batches;
mod builder;
mod counter;
mod cut_off;
mod deferral;
mod greeting;
mod mistakes;
mod plain;
mod recordings;
mod steps;
pub(crate) mod story;
