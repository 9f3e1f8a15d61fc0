//! Rounds of questions that a planner makes: what the planner is given, and what it gives back.
//!
//! `wire` parses a round as a model writes it, `clean` brings it within the limits, `signal` finds a round in an agent's reply.

mod clean;
pub mod signal;
mod wire;

use serde_json::Value;

use crate::event::Usage;
use crate::input::Draft;
use crate::prompt::question_round as prompt;
use crate::slug;
use wire::Wire;

/// How many questions a round that was asked for may have.
const MAX_QUESTIONS: usize = 4;

/// What a planner makes the next round from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// What somebody wants done, in their words.
    pub task: String,
    /// Which round this would be, from 1.
    pub round: u32,
    /// How many rounds there may be.
    pub max_rounds: u32,
    /// Questions with their answers in words, oldest first.
    pub answered: Vec<(String, String)>,
}

/// A round that a planner made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionRound {
    /// A name for the plan's folder, with the first round.
    pub goal: Option<String>,
    /// A name for the plan's file, with the first round.
    pub description: Option<String>,
    /// The next questions; none where nothing more has to be known.
    pub questions: Vec<Draft>,
    /// Whether enough is known. True exactly where there are no questions.
    pub done: bool,
    /// The tokens and money that it took.
    pub usage: Usage,
}

impl Brief {
    /// The system prompt of a model that makes rounds.
    pub const INSTRUCTIONS: &str = prompt::INSTRUCTIONS;
    /// The line in a message after which the answers come, one a line, each beginning with `Q: `.
    pub const ANSWERS_SO_FAR: &str = prompt::ANSWERS_SO_FAR;
    /// How the last paragraph of a message begins that asks once more.
    pub const NOT_USABLE: &str = prompt::NOT_USABLE;

    /// The message for this round (CHAT-6, CHAT-7).
    pub fn prompt(&self) -> String {
        prompt::round(self)
    }

    /// The message once more, after a reply that could not be used, with the reason.
    pub fn prompt_again(&self, problem: &str) -> String {
        prompt::round_again(self, problem)
    }

    /// The JSON schema of the reply.
    pub fn schema(&self) -> Value {
        prompt::schema(self.round)
    }
}

impl QuestionRound {
    /// The round that says: nothing more has to be known.
    pub fn done() -> Self {
        Self { done: true, ..Self::default() }
    }

    /// Reads a model's reply (CHAT-43) and brings it within the limits: at most 4 questions of at most 4 options, each
    /// of which can be answered, none asked before. The error says what is wrong, in words for the model.
    pub fn parse(text: &str, brief: &Brief) -> Result<Self, String> {
        let wire = Wire::find(text)?;
        let is_first = brief.round <= 1;
        if wire.questions.is_none() && wire.done.is_none() {
            return Err("the JSON object has neither `questions` nor `done`".into());
        }
        let asked = brief.answered.iter().map(|(question, _)| question.as_str());
        let questions = clean::questions(wire.questions.unwrap_or_default(), asked, MAX_QUESTIONS);
        if is_first && questions.is_empty() && wire.done != Some(true) {
            return Err("there is no question in it that could be asked".into());
        }
        let part = |name: Option<String>| name.as_deref().filter(|_| is_first).and_then(named);
        Ok(Self {
            goal: part(wire.goal),
            description: part(wire.description),
            done: questions.is_empty(),
            questions,
            usage: Usage::default(),
        })
    }
}

/// A part of a path, if there is anything to make one from.
fn named(name: &str) -> Option<String> {
    name.chars().any(char::is_alphanumeric).then(|| slug::part(name))
}
