//! Rounds of questions that are made without the agent: what a planner is given, and what it gives back.

use crate::input::Draft;

/// What a planner is given to make the next round from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// What somebody wants done, in their words.
    pub task: String,
    /// Which round this would be, from 1.
    pub round: u32,
    /// How many there may be.
    pub max_rounds: u32,
    /// Questions with their answers in words, oldest first.
    pub answered: Vec<(String, String)>,
}

/// What a planner gives back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// A name for the plan's folder, with the first round.
    pub goal: Option<String>,
    /// A name for the plan's file, with the first round.
    pub description: Option<String>,
    /// The next questions; none where nothing more has to be known.
    pub questions: Vec<Draft>,
    /// Whether enough is known.
    pub done: bool,
}
