//! Another assistant leads workers over MCP: it starts them, answers, reviews, and applies or rejects their work.

mod checked;
pub(crate) mod client;
mod conformance;
mod dialogs;
mod elicited;
mod faults;
mod foreign;
pub(crate) mod http;
mod killed;
mod person;
mod projects;
mod real;
mod starting;
pub(crate) mod story;
mod tasks;

use serde_json::{Map, Value, json};

use crate::support::project::Project;

/// The configuration of a client that starts a server of this project.
fn servers(project: &Project, args: &[&str]) -> Value {
    let command = project.command();
    let env = command.get_envs();
    let env: Map<String, Value> =
        env.filter_map(|(name, value)| Some((name.to_str()?.to_owned(), json!(value?.to_str()?)))).collect();
    let server = json!({ "command": env!("CARGO_BIN_EXE_rapport"), "args": args, "env": env });
    json!({ "mcpServers": { "rapport": server } })
}

/// A question before the plan, another while it works, and a revision.
pub(crate) const WORKER: &str = r##"
version: 1
name: worker
invocations:
  - steps:
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue, preview: "*like*\nthe sky" }] }] }
    result: "# Paint\n\n1. Paint it {{answer:1}}."
  - steps:
      - ask: { questions: [{ question: "Which file?", options: [{ label: paint.txt }, { label: other.txt }] }] }
      - write: { path: paint.txt, content: "{{answer:1}}\n" }
    result: "Painted."
  - steps:
      - write: { path: more.txt, content: "more\n" }
    result: "Revised."
"##;
