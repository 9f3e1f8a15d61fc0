//! Shared helpers of the tests.

pub(crate) mod browser;
pub(crate) mod crowd;
pub(crate) mod disk;
pub(crate) mod driven;
pub(crate) mod example;
pub(crate) mod model;
pub(crate) mod nats;
pub(crate) mod needs;
pub(crate) mod ordinary;
pub(crate) mod patience;
pub(crate) mod project;
pub(crate) mod pty;
pub(crate) mod rehearsal;
pub(crate) mod remote;
pub(crate) mod rounds_api;
pub(crate) mod running;
pub(crate) mod sampled;
pub(crate) mod scenarios;
pub(crate) mod scripted_agent;
pub(crate) mod serving;
pub(crate) mod settings;
pub(crate) mod stage;
pub(crate) mod telegram;
pub(crate) mod web;
