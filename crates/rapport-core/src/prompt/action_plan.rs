//! What an agent is told that is to answer with a plan of actions: the format's own description.

/// The system prompt. `docs/formats/plan.md` has it word for word.
pub const ACTION_PLAN: &str = include_str!("action_plan.md");
