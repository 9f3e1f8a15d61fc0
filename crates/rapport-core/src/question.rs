//! Questions, and how the words that somebody typed become an answer.

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, MAX_TEXT};
use crate::elicitation::{Consent, Field};
use crate::id::QuestionId;
use crate::permission::Permission;
use crate::refusal::Refusal;

/// The values of the options of a permission, and of leaving plan mode.
pub(crate) const ALLOW: &str = "allow";
pub(crate) const FOR_SESSION: &str = "session";
pub(crate) const FOR_PROJECT: &str = "project";
pub(crate) const DENY: &str = "deny";
/// The value in older logs for "allow always". The rule behind it was kept by the agent, so here it allows one call.
pub(crate) const ALWAYS: &str = "always";
/// The values of the confirmation's options.
pub(crate) const CONFIRM: &str = "confirm";
pub(crate) const CANCEL: &str = "cancel";

/// Words that mean a decision. At a question that asks for none, they are refused: they were meant for another question.
const RESERVED: [&str; 8] = ["yes", "y", "ok", "no", "n", "allow", "deny", "confirm"];

/// One question, as it is asked everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its id within the session.
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
    /// Whether free text is an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free_text: bool,
    /// What an answer decides.
    #[serde(default, skip_serializing_if = "Purpose::is_clarify")]
    pub purpose: Purpose,
}

/// One option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The text that people read.
    pub label: String,
    /// What is stored as the answer.
    pub value: String,
    /// What choosing it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it would look like, in Markdown: a sketch, a piece of code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Whether whoever asks would choose it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recommended: bool,
}

impl Choice {
    /// A choice whose label is its value. A label that ends in "(Recommended)" says so, as agents write it.
    pub fn plain(label: impl Into<String>) -> Self {
        let label = label.into();
        Self {
            recommended: says_recommended(&label),
            value: label.clone(),
            label,
            description: None,
            preview: None,
        }
    }

    pub(crate) fn described(label: &str, value: &str, description: &str) -> Self {
        let description = Some(description.into());
        Self { label: label.into(), value: value.into(), description, preview: None, recommended: false }
    }
}

fn says_recommended(label: &str) -> bool {
    label.trim_end().to_lowercase().ends_with("(recommended)")
}

/// What an answer decides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// What the agent wants to know.
    #[default]
    Clarify,
    /// Whether the agent may use a tool.
    Permission(Permission),
    /// Whether the agent may leave plan mode with this plan.
    LeavePlanMode {
        /// The plan it made.
        plan: String,
    },
    /// What an MCP server wants filled in.
    Elicit(Field),
    /// Whether work starts with the plan as it stands.
    Confirm,
}

impl Purpose {
    /// The field that is to be filled in, if one is.
    pub fn field(&self) -> Option<&Field> {
        match self {
            Purpose::Elicit(field) => Some(field),
            Purpose::Clarify | Purpose::Permission(_) | Purpose::LeavePlanMode { .. } | Purpose::Confirm => {
                None
            }
        }
    }

    fn is_clarify(&self) -> bool {
        matches!(self, Purpose::Clarify)
    }
}

/// What a person chose or typed, before it is matched to the question.
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
    /// and refused where it is not. A mere number is always meant for an option, and refused where there is none.
    pub fn resolve(&self, reply: &Reply) -> Result<Answer, Refusal> {
        let numbers =
            |places: &[usize]| places.iter().map(|place| place.saturating_add(1)).collect::<Vec<_>>();
        let answer = match reply {
            Reply::Choices(places) => Answer { values: self.values(numbers(places))?, text: None },
            Reply::Text(text) => Answer { values: Vec::new(), text: Some(self.own_words(text)?) },
            Reply::Both(places, text) => {
                Answer { values: self.values(numbers(places))?, text: Some(self.own_words(text)?) }
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
        if let Some(why) = self.purpose.field().and_then(|field| field.refuses(&answer)) {
            return Err(Refusal::DoesNotFit { question: self.id.clone(), why });
        }
        Ok(answer)
    }

    /// An answer in words: labels joined by a comma, own words last.
    pub fn words(&self, answer: &Answer) -> String {
        let labels = answer.values.iter().map(|value| self.label(value));
        labels.chain(answer.text.as_deref()).collect::<Vec<_>>().join(", ")
    }

    /// Whether this answer says no: to a permission, to leaving plan mode, to starting the work.
    pub fn is_denied_by(&self, answer: &Answer) -> bool {
        match self.purpose {
            Purpose::Clarify => false,
            Purpose::Elicit(_) => Consent::of(answer) != Consent::Accept,
            Purpose::Confirm => answer.is(CANCEL),
            Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } => !answer.allows(),
        }
    }

    /// Whether two questions ask the same thing, whatever they are called.
    pub fn same_as(&self, other: &Question) -> bool {
        Question { id: other.id.clone(), ..self.clone() } == *other
    }

    fn label<'a>(&'a self, value: &'a str) -> &'a str {
        self.options.iter().find(|o| o.value == value).map_or(value, |o| &o.label)
    }

    /// The values of the options with these numbers, each once.
    fn values(&self, numbers: impl IntoIterator<Item = usize>) -> Result<Vec<String>, Refusal> {
        let mut values = Vec::new();
        for number in numbers {
            let option = number.checked_sub(1).and_then(|place| self.options.get(place));
            let option = option.ok_or_else(|| self.no_such_option(number))?;
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
        if text.chars().all(|c| c.is_whitespace() || c.is_control()) {
            return Err(Refusal::EmptyAnswer { question: self.id.clone() });
        }
        Ok(text.trim().to_owned())
    }

    fn match_words(&self, words: &[String]) -> Result<Answer, Refusal> {
        let sentence = words.join(" ");
        // A label of several words may be typed without quotes, and so may a sentence.
        let numbers = match self.named(&sentence) {
            Some(number) => Some(vec![number]),
            None => words.iter().map(|word| self.named(word).or_else(|| self.counted(word))).collect(),
        };
        if let Some(numbers) = numbers {
            return Ok(Answer { values: self.values(numbers)?, text: None });
        }
        if let Some(value) = self.meant(&sentence) {
            return Ok(Answer { values: vec![value.to_owned()], text: None });
        }
        // At a decision, words of one's own say no or ask for another plan: nobody says that by a slip.
        if !matches!(self.purpose, Purpose::Clarify | Purpose::Elicit(_)) {
            return Err(Refusal::NoDecision { question: self.id.clone(), words: sentence });
        }
        if RESERVED.contains(&sentence.trim().to_lowercase().as_str()) {
            return Err(Refusal::ReservedWord { question: self.id.clone(), word: sentence });
        }
        if let Some(answer) = self.options_and_words(words)? {
            return Ok(answer);
        }
        Ok(Answer { values: Vec::new(), text: Some(self.own_words(&sentence)?) })
    }

    /// The value that a plain yes or no means here.
    pub fn meant(&self, words: &str) -> Option<&'static str> {
        let word = words.trim().to_lowercase();
        let (yes, no) = match self.purpose {
            Purpose::Clarify | Purpose::Elicit(_) => return None,
            Purpose::Confirm => (CONFIRM, CANCEL),
            Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } => (ALLOW, DENY),
        };
        match word.as_str() {
            "yes" | "y" | "ok" => Some(yes),
            "no" | "n" => Some(no),
            other => [yes, no].into_iter().find(|value| *value == other),
        }
    }

    /// Options, and then own words as one argument, where several may be chosen.
    fn options_and_words(&self, words: &[String]) -> Result<Option<Answer>, Refusal> {
        let Some((last, first)) = words.split_last().filter(|(_, first)| self.multi && !first.is_empty())
        else {
            return Ok(None);
        };
        let numbers: Option<Vec<_>> =
            first.iter().map(|word| self.named(word).or_else(|| self.counted(word))).collect();
        let Some(numbers) = numbers.filter(|_| last.contains(char::is_whitespace)) else { return Ok(None) };
        Ok(Some(Answer { values: self.values(numbers)?, text: Some(self.own_words(last)?) }))
    }

    /// The number of the option with this label or value; as it is written, if there is one, else in any case.
    fn named(&self, word: &str) -> Option<usize> {
        let word = word.trim();
        let find = |is: &dyn Fn(&str) -> bool| {
            let found =
                self.options.iter().position(|option| is(option.label.trim()) || is(option.value.trim()));
            found.filter(|_| !word.is_empty()).map(|place| place + 1)
        };
        let lower = word.to_lowercase();
        find(&|name| name == word).or_else(|| find(&|name| name.to_lowercase() == lower))
    }

    /// A number, where options can be counted. Whether there are so many is another matter.
    fn counted(&self, word: &str) -> Option<usize> {
        let word = word.trim();
        let takes_numbers = self.purpose.field().is_some_and(Field::takes_words);
        let digits =
            !self.options.is_empty() && !takes_numbers && word.bytes().all(|byte| byte.is_ascii_digit());
        word.parse().ok().filter(|_| digits)
    }

    fn no_such_option(&self, number: usize) -> Refusal {
        Refusal::NoSuchOption { question: self.id.clone(), number, options: self.options.len() }
    }
}
