//! Sessions over the Model Context Protocol (MCP). Another assistant starts workers, sees what they ask, answers, reviews
//! their changes, and applies or rejects them.
//!
//! The model behind a client is a lead ([`rapport_core::By::Lead`]): the core decides what it may do
//! ([`rapport_core::authority`]), and a refusal tells it where a person can decide. Every tool returns at once, except
//! `wait`, which reports progress.
//!
//! `server.rs` speaks the protocol, `tools.rs` lists the tools, and `tools/` has a file per group of them. `report.rs` says
//! what a tool tells of a task, `words.rs` how. `stdio.rs` serves one client over standard input and output,
//! `http.rs` any number of them, as a channel of `serve`.

mod changes;
mod http;
mod ids;
pub mod kind;
mod lead;
mod report;
mod server;
mod settings;
mod stdio;
mod take_up;
#[cfg(test)]
mod test_door;
mod token;
mod tools;
mod trouble;
mod words;

use std::path::PathBuf;

use rapport_core::Applier;
use rapport_door::WorkerChoice;

pub use settings::{ApplyName, McpLayer};
pub use stdio::{StdioError, serve_stdio};

/// The name of this channel, which identifies its sessions and the people who answer through it.
pub const CHANNEL: &str = "mcp";

/// What a server is made from.
#[derive(Clone)]
pub struct McpSetup {
    /// The directory of the project that it works in.
    pub project: PathBuf,
    /// What workers there are.
    pub workers: WorkerChoice,
    /// Who may apply what workers did.
    pub apply: Applier,
    /// The program's version, as clients see it.
    pub version: &'static str,
}
