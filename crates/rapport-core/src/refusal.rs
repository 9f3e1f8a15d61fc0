//! Why an input was refused. A refusal changes nothing and says what would have been accepted.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::answer::By;
use crate::id::QuestionId;

/// Why an input was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// No question with that id was ever asked here.
    #[error("there is no question {question} in this session")]
    UnknownQuestion {
        /// The id that was given.
        question: QuestionId,
    },
    /// It was answered before.
    #[error("{question} was already answered with \"{answer}\" by {by}")]
    AlreadyAnswered {
        /// The id of the question.
        question: QuestionId,
        /// What it was answered with, in words.
        answer: String,
        /// Who gave that answer.
        by: By,
    },
    /// The question ended without an answer.
    #[error("{question} can no longer be answered: {how}")]
    QuestionEnded {
        /// The id of the question.
        question: QuestionId,
        /// How it ended.
        how: String,
    },
    /// No question is open.
    #[error("no question is open")]
    NothingOpen,
    /// Several questions are open and none was named.
    #[error("{count} questions are open, name one of them: {}", list(.open))]
    WhichQuestion {
        /// How many are open.
        count: usize,
        /// Their ids.
        open: Vec<QuestionId>,
    },
    /// The answer was empty.
    #[error("the answer to {question} is empty")]
    EmptyAnswer {
        /// The id of the question.
        question: QuestionId,
    },
    /// The asker does not accept this answer.
    #[error("{question} does not accept that answer: {why}")]
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
    /// Free text where only options are accepted.
    #[error("{question} accepts one of its options, not free text")]
    OptionsOnly {
        /// The id of the question.
        question: QuestionId,
    },
    /// Words that are not a decision, where one is asked for.
    #[error("{question} is a decision, and \"{words}\" is not one of its options")]
    NoDecision {
        /// The id of the question.
        question: QuestionId,
        /// What was said.
        words: String,
    },
    /// Words that begin with options, where both options and free text are accepted.
    #[error("\"{options} {text}\" can mean options of {question} and free text, or free text only")]
    OptionsOrText {
        /// The id of the question.
        question: QuestionId,
        /// The words that name options.
        options: String,
        /// The words after them.
        text: String,
    },
    /// A word that decides something elsewhere, where the question has no such option.
    #[error("\"{word}\" is not an option of {question}, and may have been meant for another question")]
    ReservedWord {
        /// The id of the question.
        question: QuestionId,
        /// The word that was typed.
        word: String,
    },
    /// The rule is not in effect in this session.
    #[error("{rule} is not allowed in this session")]
    NoSuchRule {
        /// The rule that was named.
        rule: String,
    },
    /// Several choices where one is accepted.
    #[error("{question} accepts one choice, not several")]
    OneChoiceOnly {
        /// The id of the question.
        question: QuestionId,
    },
    /// A text was too long.
    #[error("this {what} has {bytes} bytes; the maximum is {limit}")]
    TooLong {
        /// What is too long.
        what: Cow<'static, str>,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        limit: usize,
    },
    /// The task was empty.
    #[error("the task is empty")]
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
    /// The session cannot branch at that question.
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
    /// Only a person may decide this.
    #[error("{what} needs a person, {by} cannot decide it")]
    NeedsPerson {
        /// What was tried, as the subject of a sentence.
        what: Cow<'static, str>,
        /// Who tried it.
        by: By,
        /// The question, if it was an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<QuestionId>,
    },
    /// An input about a turn or call that is not the current one.
    #[error("{what} does not belong to the current turn")]
    Stray {
        /// What came in.
        what: Cow<'static, str>,
    },
}

fn list(open: &[QuestionId]) -> String {
    open.iter().map(QuestionId::as_str).collect::<Vec<_>>().join(", ")
}
