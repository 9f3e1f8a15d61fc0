//! Sessions over the Model Context Protocol (MCP). Another assistant starts workers, sees what they ask, answers,
//! reviews their changes, and applies or rejects them.
//!
//! The model behind a client is a lead ([`rapport_core::By::Lead`]): the core decides what it may do
//! ([`rapport_core::authority`]), and a refusal tells it where a person can decide. Every tool returns at once, except
//! `wait`, which reports progress.
//!
//! What a lead may not decide, the person at the client decides in a dialog, if the client has dialogs: `dialog.rs`
//! turns a question into a form and a filled-in form into an answer, `person.rs` shows it to the person. If the
//! questions of a worker are for the person, a client that follows tasks gets the worker as a task (`tasks.rs`).
//!
//! `server.rs` speaks the protocol, `tools.rs` lists the tools, and `tools/` has a file per group of them.
//! `report.rs` says what a tool tells of a task, `words.rs` how; `templates.rs` has templates of tasks. `stdio.rs`
//! serves one client over standard input and output, `http.rs` any number of them, as a channel of `serve`.
//! `state_seal.rs` signs what a client has to repeat. `conformance.rs` has the tools that the protocol's conformance
//! suite calls, in tests only.

mod changes;
#[cfg(feature = "conformance")]
mod conformance;
mod dialog;
mod http;
mod ids;
pub mod kind;
mod lead;
mod person;
mod report;
mod resumption;
mod server;
mod settings;
mod state_seal;
mod stdio;
mod tasks;
mod templates;
#[cfg(test)]
mod test_door;
mod token;
mod tool_error;
mod tools;
mod words;

use std::path::PathBuf;
use std::sync::Arc;

use rapport_core::routing::Policy;
use rapport_core::{By, Decider, SessionId};
use rapport_door::{Clock, Projects, WorkerChoice};

pub use settings::{DeciderName, McpLayer, PolicyName};
pub use stdio::{StdioError, serve_lead, serve_stdio};

/// The name of this channel, which identifies its sessions and the people who answer through it.
pub const CHANNEL: &str = "mcp";

/// The parts of a server.
#[derive(Clone)]
pub struct McpSetup {
    /// The directory of the project that it works in.
    pub project: PathBuf,
    /// The workers to choose from.
    pub workers: WorkerChoice,
    /// Who may apply the work of workers.
    pub apply: Decider,
    /// Which questions of workers the client's model may answer.
    pub questions: Policy,
    /// The lead whose agent the client is, if it is one: the client acts as that lead, and leads what it starts.
    pub lead: Option<SessionId>,
    /// Whether a client's dialogs count as the person's own decisions.
    pub dialogs: bool,
    /// The person who runs this server.
    pub person: By,
    /// What is known about projects.
    pub projects: Arc<dyn Projects>,
    /// The program's version, as clients see it.
    pub version: &'static str,
    pub clock: Clock,
}
