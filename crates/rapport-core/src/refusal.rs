//! Why an input was refused. A refusal changes nothing and says what would have been accepted.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::answer::By;
use crate::id::QuestionId;

/// Why an input was not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// No question of that name was ever asked here.
    #[error("there is no question {question} in this session")]
    UnknownQuestion {
        /// The id or rule that was named.
        question: QuestionId,
    },
    /// Somebody else answered first.
    #[error("{question} was already answered with \"{answer}\" by {by}")]
    AlreadyAnswered {
        /// The id of the question.
        question: QuestionId,
        /// What it was answered with, in words.
        answer: String,
        /// Who gave that answer.
        by: By,
    },
    /// The question ended in another way.
    #[error("{question} can no longer be answered: {how}")]
    QuestionEnded {
        /// The id of the question.
        question: QuestionId,
        /// How it ended.
        how: String,
    },
    /// Nothing is open.
    #[error("no question is open")]
    NothingOpen,
    /// Several are open and none was named.
    #[error("{count} questions are open, name one of them: {}", list(.open))]
    WhichQuestion {
        /// How many are open.
        count: usize,
        /// Their ids.
        open: Vec<QuestionId>,
    },
    /// The answer was empty.
    #[error("an empty answer to {question} is no answer")]
    EmptyAnswer {
        /// The id of the question.
        question: QuestionId,
    },
    /// An answer that the asker does not take.
    #[error("that is no answer to {question}: {why}")]
    DoesNotFit {
        /// The id of the question.
        question: QuestionId,
        /// The reason, in words for a person.
        why: String,
    },
    /// A number beyond the options.
    #[error("{question} has {options} options, there is no option {number}")]
    NoSuchOption {
        /// The id of the question.
        question: QuestionId,
        /// The number given, from 1.
        number: usize,
        /// How many options there are.
        options: usize,
    },
    /// Own words where only options are taken.
    #[error("{question} takes one of its options, not words of one's own")]
    OptionsOnly {
        /// The id of the question.
        question: QuestionId,
    },
    /// Words that are no decision, where one is asked for.
    #[error("{question} is a decision, and \"{words}\" is none of its options")]
    NoDecision {
        /// The id of the question.
        question: QuestionId,
        /// What was said.
        words: String,
    },
    /// A word that decides something, where nothing is to be decided.
    #[error("\"{word}\" is none of the options of {question}, and may have been meant for another question")]
    ReservedWord {
        /// The id of the question.
        question: QuestionId,
        /// The word that was typed.
        word: String,
    },
    /// A rule that does not hold here.
    #[error("{rule} is not allowed in this session")]
    NoSuchRule {
        /// The id or rule that was named.
        rule: String,
    },
    /// Several choices where one is taken.
    #[error("{question} takes one choice, not several")]
    OneChoiceOnly {
        /// The id of the question.
        question: QuestionId,
    },
    /// A text was too long.
    #[error("this {what} has {bytes} bytes, at most {limit} are taken")]
    TooLong {
        /// What is too long.
        what: Cow<'static, str>,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The task was empty.
    #[error("an empty task is no task")]
    EmptyTask,
    /// There is no question before this one.
    #[error("there is no earlier question to go back to in this round")]
    NothingBefore,
    /// The answer can no longer be changed.
    #[error("the answer to {question} can no longer be changed: {why}")]
    TooLateToChange {
        /// The id of the question.
        question: QuestionId,
        /// The reason, in words for a person.
        why: String,
    },
    /// Nothing can branch off there.
    #[error("cannot branch at {question}: {why}")]
    NoBranch {
        /// The id of the question.
        question: QuestionId,
        /// The reason, in words for a person.
        why: String,
    },
    /// Not possible in this phase.
    #[error("{what} is not possible now: {why}")]
    NotNow {
        /// What was tried, as a noun: `confirming`.
        what: Cow<'static, str>,
        /// Why it is not possible.
        why: String,
    },
    /// An input about a turn or call that is not the current one.
    #[error("{what} does not belong to anything that is going on")]
    Stray {
        /// What came in.
        what: Cow<'static, str>,
    },
}

fn list(open: &[QuestionId]) -> String {
    open.iter().map(QuestionId::as_str).collect::<Vec<_>>().join(", ")
}
