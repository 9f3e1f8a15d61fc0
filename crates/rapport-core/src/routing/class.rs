//! The class of a question: what is at stake in it. It follows first from what asks, then from the words.

use serde::{Deserialize, Serialize};

use super::words::{self, tokens};
use crate::answer::{Answer, By};
use crate::elicitation::{Field, FieldKind};
use crate::question::{Purpose, Question};

/// What is at stake in a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Information for the agent, and none of the following.
    Clarification,
    /// Whether the agent may do something.
    Permission,
    /// Whether the work begins with its plan.
    Plan,
    /// Something that cannot be undone, or that is visible outside of the project.
    Irreversible,
    /// The cost of something.
    Money,
    /// A secret.
    Secret,
    /// A form of another program.
    Form,
    /// The agent repeats a question: the first answer did not help.
    AskedBefore,
    /// It concerns something that a person denied before.
    Denied,
    /// It has letters of alphabets that the table of words does not cover.
    Unread,
}

/// The earlier questions and answers of a session.
pub trait Earlier {
    /// The questions with their answers, and who gave them.
    fn answered(&self) -> impl Iterator<Item = (&Question, &Answer, &By)>;
}

impl Class {
    /// All classes.
    pub const ALL: [Self; 10] = [
        Self::Clarification,
        Self::Permission,
        Self::Plan,
        Self::Irreversible,
        Self::Money,
        Self::Secret,
        Self::Form,
        Self::AskedBefore,
        Self::Denied,
        Self::Unread,
    ];

    /// The class of a question, given what was asked before it.
    pub fn of(question: &Question, earlier: &impl Earlier) -> Self {
        let alone = Self::alone(question);
        if alone != Self::Clarification {
            return alone;
        }
        let said = tokens(&readable(question));
        let asked = tokens(&question.text);
        for (before, answer, by) in earlier.answered() {
            if before.is_denied_by(answer) && matches!(by, By::Person { .. }) && touches(&said, before) {
                return Self::Denied;
            }
            if before.purpose == Purpose::Clarify && tokens(&before.text) == asked {
                return Self::AskedBefore;
            }
        }
        Self::Clarification
    }

    /// The class of a question on its own, without the questions before it.
    pub fn alone(question: &Question) -> Self {
        match Self::by_source(&question.purpose) {
            // These are Rapport's own words.
            Self::Clarification if question.purpose == Purpose::Idle => Self::Clarification,
            Self::Clarification => {
                let text = readable(question);
                words::class(&text, &tokens(&text))
            }
            by_source => by_source,
        }
    }

    /// The class that follows from what asks.
    fn by_source(purpose: &Purpose) -> Self {
        match purpose {
            Purpose::Clarify | Purpose::Idle => Self::Clarification,
            Purpose::Permission(_) => Self::Permission,
            Purpose::LeavePlanMode { .. } | Purpose::Confirm => Self::Plan,
            Purpose::Elicit(field) if is_secret(field) => Self::Secret,
            Purpose::Elicit(_) => Self::Form,
            Purpose::Budget { .. } => Self::Money,
        }
    }

    /// Whether only people may decide it.
    pub fn is_for_people(self) -> bool {
        self != Self::Clarification
    }

    /// The stricter of two classes: a class for people cannot be lowered.
    #[must_use]
    pub fn raised_to(self, other: Self) -> Self {
        if self.is_for_people() { self } else { other }
    }

    /// Its name in logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Clarification => "clarification",
            Self::Permission => "permission",
            Self::Plan => "plan",
            Self::Irreversible => "irreversible",
            Self::Money => "money",
            Self::Secret => "secret",
            Self::Form => "form",
            Self::AskedBefore => "asked_before",
            Self::Denied => "denied",
            Self::Unread => "unread",
        }
    }

    /// The class of this name.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|class| class.word() == word)
    }

    /// The decision in words, as the subject of a sentence.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Clarification => "answering the agent",
            Self::Permission => "giving a permission",
            Self::Plan => "agreeing to a plan",
            Self::Irreversible => "deciding what cannot be undone",
            Self::Money => "deciding about money",
            Self::Secret => "giving a secret",
            Self::Form => "filling in a form",
            Self::AskedBefore => "answering what was asked before",
            Self::Denied => "deciding what a person denied before",
            Self::Unread => "answering in letters that Rapport cannot read",
        }
    }
}

/// Whether a field of a form asks for a secret, by its key.
fn is_secret(field: &Field) -> bool {
    let key = field.key.as_deref().unwrap_or_default();
    let takes_text = matches!(field.kind, FieldKind::Text { .. });
    takes_text && words::class(key, &tokens(key)) == Class::Secret
}

/// All text of a question that can show what it is about.
fn readable(question: &Question) -> String {
    let options = question.options.iter().flat_map(|option| {
        [Some(&option.label), Some(&option.value), option.description.as_ref(), option.preview.as_ref()]
    });
    let all = [Some(&question.text), question.header.as_ref()].into_iter().chain(options).flatten();
    all.map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Whether these words mention what was denied: the command, path or host of the call.
fn touches(said: &[String], denied: &Question) -> bool {
    let Purpose::Permission(asked) = &denied.purpose else { return false };
    let what = tokens(&asked.what);
    let is_telling = what.iter().map(String::len).sum::<usize>() > 2;
    is_telling && said.windows(what.len()).any(|window| window == what)
}
