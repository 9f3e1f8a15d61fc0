//! Questions, and how what somebody typed becomes an answer to one.

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, MAX_TEXT};
use crate::id::QuestionId;
use crate::refusal::Refusal;

/// One question, as it is asked everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its name within the session.
    pub id: QuestionId,
    /// What is asked.
    pub text: String,
    /// A word or two to recognise it by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// What can be chosen; empty for a question that takes only text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// Whether several options may be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multi: bool,
    /// Whether words of one's own are an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free_text: bool,
    /// What an answer decides.
    #[serde(default, skip_serializing_if = "Purpose::is_clarify")]
    pub purpose: Purpose,
}

/// One thing that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// What people read.
    pub label: String,
    /// What is stored as the answer.
    pub value: String,
    /// What choosing it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Choice {
    /// A choice whose label is its value.
    pub fn plain(label: impl Into<String>) -> Self {
        let label = label.into();
        Self { value: label.clone(), label, description: None }
    }

    pub(crate) fn described(label: &str, value: &str, description: &str) -> Self {
        Self { label: label.into(), value: value.into(), description: Some(description.into()) }
    }
}

/// What an answer decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// What the agent should know.
    #[default]
    Clarify,
    /// Whether the agent may use a tool.
    Permission {
        /// The tool's name.
        tool: String,
        /// What exactly would happen: the command, the path.
        what: String,
    },
    /// Whether the agent may leave plan mode with this plan.
    LeavePlanMode {
        /// The plan it made.
        plan: String,
    },
    /// Whether work starts with the plan as it stands.
    Confirm,
}

impl Purpose {
    fn is_clarify(&self) -> bool {
        matches!(self, Purpose::Clarify)
    }
}

/// What somebody gave as an answer, before it is matched to the question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// Options by their place, from 0.
    Choices(Vec<usize>),
    /// Words that are the answer itself.
    Text(String),
    /// Options by their place, and words beside them.
    Both(Vec<usize>, String),
    /// Words that may be labels, values, option numbers (from 1) or free text.
    Words(Vec<String>),
}

impl Question {
    /// Matches a reply to this question. Nothing is guessed: what fits no option is free text where that is allowed,
    /// and refused where it is not.
    pub fn resolve(&self, reply: &Reply) -> Result<Answer, Refusal> {
        let answer = match reply {
            Reply::Choices(places) => Answer { values: self.values(places)?, text: None },
            Reply::Text(text) => Answer { values: Vec::new(), text: Some(self.own_words(text)?) },
            Reply::Both(places, text) => {
                Answer { values: self.values(places)?, text: Some(self.own_words(text)?) }
            }
            Reply::Words(words) => self.match_words(words)?,
        };
        let chosen = answer.values.len() + usize::from(answer.text.is_some());
        if chosen == 0 {
            return Err(Refusal::EmptyAnswer { question: self.id.clone() });
        }
        if chosen > 1 && !self.multi {
            return Err(Refusal::OneChoiceOnly { question: self.id.clone() });
        }
        Ok(answer)
    }

    /// An answer in words: labels joined by a comma, own words last.
    pub fn words(&self, answer: &Answer) -> String {
        let labels = answer.values.iter().map(|value| self.label(value));
        labels.chain(answer.text.as_deref()).collect::<Vec<_>>().join(", ")
    }

    /// Whether two questions ask the same thing, whatever they are called.
    pub fn same_as(&self, other: &Question) -> bool {
        Question { id: other.id.clone(), ..self.clone() } == *other
    }

    fn label<'a>(&'a self, value: &'a str) -> &'a str {
        self.options.iter().find(|o| o.value == value).map_or(value, |o| &o.label)
    }

    fn values(&self, places: &[usize]) -> Result<Vec<String>, Refusal> {
        let mut values: Vec<String> = Vec::with_capacity(places.len());
        for &place in places {
            let option = self.options.get(place).ok_or_else(|| self.no_such_option(place + 1))?;
            if !values.contains(&option.value) {
                values.push(option.value.clone());
            }
        }
        Ok(values)
    }

    fn own_words(&self, text: &str) -> Result<String, Refusal> {
        if !self.free_text {
            return Err(Refusal::OptionsOnly { question: self.id.clone() });
        }
        if text.len() > MAX_TEXT {
            return Err(Refusal::TooLong { what: "answer".into(), bytes: text.len(), limit: MAX_TEXT });
        }
        let text = text.trim();
        if text.is_empty() {
            return Err(Refusal::EmptyAnswer { question: self.id.clone() });
        }
        Ok(text.to_owned())
    }

    fn match_words(&self, words: &[String]) -> Result<Answer, Refusal> {
        // Several words that are not all options are one sentence typed without quotes.
        let mut places = Vec::new();
        for word in words {
            match self.place(word)? {
                Some(place) => places.push(place),
                None => {
                    return Ok(Answer { values: Vec::new(), text: Some(self.own_words(&words.join(" "))?) });
                }
            }
        }
        Ok(Answer { values: self.values(&places)?, text: None })
    }

    fn place(&self, word: &str) -> Result<Option<usize>, Refusal> {
        let word = word.trim();
        let is = |test: &dyn Fn(&Choice) -> bool| self.options.iter().position(test);
        let exact = is(&|o| o.value == word || o.label == word);
        let found = exact.or_else(|| is(&|o| o.label.to_lowercase() == word.to_lowercase()));
        if found.is_some() || self.options.is_empty() {
            return Ok(found);
        }
        match word.parse::<usize>() {
            Ok(number) if (1..=self.options.len()).contains(&number) => Ok(Some(number - 1)),
            Ok(number) => Err(self.no_such_option(number)),
            Err(_) => Ok(None),
        }
    }

    fn no_such_option(&self, number: usize) -> Refusal {
        Refusal::NoSuchOption { question: self.id.clone(), number, options: self.options.len() }
    }
}
