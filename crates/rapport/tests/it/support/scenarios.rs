//! Small scenarios that many tests play.

/// One question, a plan, a file.
pub(crate) const ONE_QUESTION: &str = r##"
version: 1
name: one question
invocations:
  - steps:
      - text: "One thing first."
      - ask: { questions: [{ question: "Which colour?", options: [{ label: Red }, { label: Blue }] }] }
    result: "# Paint\n\n1. Paint it {{answer:1}}."
  - steps:
      - write: { path: paint.txt, content: "{{answer:1}}\n" }
    result: "Painted in {{answer:1}}."
"##;

/// A plan without a question, and work that asks for permission and hears what it is told.
pub(crate) const PERMISSION: &str = r##"
version: 1
name: permission
invocations:
  - result: "# Build\n\n1. Build it."
  - steps:
      - bash: { command: "echo built > built.txt", permission: true }
    result: "Done."
"##;

/// A turn of planning that never comes to its end, and says so first.
pub(crate) const BUSY: &str = r##"
version: 1
name: busy
invocations:
  - steps:
      - text: "This takes a while."
      - delay: 600000
    result: "# Late\n\n1. Too late."
"##;
