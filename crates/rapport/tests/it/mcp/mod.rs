//! Another assistant leads workers over MCP: it starts them, answers, reviews, and applies or rejects what they did.

pub(crate) mod client;
mod faults;
mod foreign;
pub(crate) mod http;
mod killed;
mod person;
mod real;
pub(crate) mod story;

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
