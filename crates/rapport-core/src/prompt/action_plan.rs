//! The system prompt for an agent that answers with a plan of actions: the description of the format.

/// The system prompt. `docs/formats/plan.md` has it word for word.
pub const ACTION_PLAN: &str = include_str!("action_plan.md");
