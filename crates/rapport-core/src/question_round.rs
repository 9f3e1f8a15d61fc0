//! Rounds of questions that a planner makes: its input and its output.
//!
//! `wire` parses a round as a model writes it, `clean` enforces the limits, `signal` finds a round in an agent's reply.

mod cleanup;
pub mod signal;
mod wire;

use serde_json::Value;

use crate::event::Usage;
use crate::input::NewQuestion;
use crate::prompt::question_round as prompt;
use crate::slug;
use wire::Wire;

/// The maximum number of questions in a round that was requested.
const MAX_QUESTIONS: usize = 4;

/// The planner's input for the next round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// The task, in the person's words.
    pub task: String,
    /// The number of this round, from 1.
    pub round: u32,
    /// The maximum number of rounds.
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
    /// The next questions; empty if nothing more has to be known.
    pub questions: Vec<NewQuestion>,
    /// Whether enough is known. True if and only if there are no questions.
    pub done: bool,
    /// The tokens and money that it took.
    pub usage: Usage,
}

impl Brief {
    /// The system prompt of a model that makes rounds.
    pub const INSTRUCTIONS: &str = prompt::INSTRUCTIONS;
    /// The line of a message that precedes the answers, one per line, each with the prefix `Q: `.
    pub const ANSWERS_SO_FAR: &str = prompt::ANSWERS_SO_FAR;
    /// The beginning of the last paragraph of a message that asks again.
    pub const NOT_USABLE: &str = prompt::NOT_USABLE;

    /// The message for this round (CHAT-6, CHAT-7).
    pub fn prompt(&self) -> String {
        prompt::round(self)
    }

    /// The message again, after a reply that could not be used, with the reason.
    pub fn prompt_again(&self, problem: &str) -> String {
        prompt::round_again(self, problem)
    }

    /// The JSON schema of the reply.
    pub fn schema(&self) -> Value {
        prompt::schema(self.round)
    }
}

impl QuestionRound {
    /// A round without questions: nothing more has to be known.
    pub fn done() -> Self {
        Self { done: true, ..Self::default() }
    }

    /// Parses a model's reply (CHAT-43) and enforces the limits: at most 4 questions of at most 4 options, each
    /// answerable, none asked before. The error says what is wrong, in words for the model.
    pub fn parse(text: &str, brief: &Brief) -> Result<Self, String> {
        let wire = Wire::find(text)?;
        let is_first = brief.round <= 1;
        if wire.questions.is_none() && wire.done.is_none() {
            return Err("the JSON object has neither `questions` nor `done`".into());
        }
        let asked = brief.answered.iter().map(|(question, _)| question.as_str());
        let questions = cleanup::questions(wire.questions.unwrap_or_default(), asked, MAX_QUESTIONS);
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

/// The name as part of a path, if it contains anything usable.
fn named(name: &str) -> Option<String> {
    name.chars().any(char::is_alphanumeric).then(|| slug::part(name))
}
