//! Questions, and how typed words become an answer.

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
/// The value in older logs for "allow always". The agent's program kept the rule behind it, so here it allows one call.
pub(crate) const ALWAYS: &str = "always";
/// The values of the confirmation's options.
pub(crate) const CONFIRM: &str = "confirm";
pub(crate) const CANCEL: &str = "cancel";
/// The values of the options when the budget is used up.
pub(crate) const GO_ON: &str = "go_on";
pub(crate) const STAY: &str = "stay";
pub(crate) const FINISH: &str = "finish";

/// Words that express a decision. A question that asks for none refuses them, because they were meant for another
/// question.
const RESERVED: [&str; 8] = ["yes", "y", "ok", "no", "n", "allow", "deny", "confirm"];

/// One question, as it is asked everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Its id within the session.
    pub id: QuestionId,
    /// The text of the question.
    pub text: String,
    /// A word or two that identify it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
    /// The options to choose from; empty for a question that accepts only text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<Choice>,
    /// Whether several options may be chosen.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub multi: bool,
    /// Whether free text is accepted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub free_text: bool,
    /// What the answer is for.
    #[serde(default, skip_serializing_if = "Purpose::is_clarify")]
    pub purpose: Purpose,
}

/// One option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// The text that people read.
    pub label: String,
    /// The value that is stored as the answer.
    pub value: String,
    /// What choosing it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// What it would look like, in Markdown: a sketch, a piece of code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// Whether the asker recommends it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recommended: bool,
}

impl Choice {
    /// A choice whose label is its value. A label that ends in "(Recommended)", as agents write it, marks a
    /// recommendation.
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

/// What an answer is for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Information for the agent.
    #[default]
    Clarify,
    /// Permission for the agent to use a tool.
    Permission(Permission),
    /// Permission for the agent to leave plan mode with this plan.
    LeavePlanMode {
        /// The plan it made.
        plan: String,
    },
    /// A form field of an MCP server.
    Elicit(Field),
    /// Confirmation to start the work with the plan as it stands.
    Confirm,
    /// Consent to continue although the budget is used up.
    Budget {
        /// The new budget if a person consents, in millionths of a US dollar.
        raised_micros: u64,
        /// The day, if it is the daily budget of all sessions together.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        day: Option<String>,
    },
    /// Whether the agent goes on, because its turn ended without a result and without a question.
    Idle,
}

impl Purpose {
    /// The form field to fill in, if there is one.
    pub fn field(&self) -> Option<&Field> {
        match self {
            Purpose::Elicit(field) => Some(field),
            Purpose::Clarify
            | Purpose::Permission(_)
            | Purpose::LeavePlanMode { .. }
            | Purpose::Confirm
            | Purpose::Budget { .. }
            | Purpose::Idle => None,
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
    /// Options by index, from 0.
    Choices(Vec<usize>),
    /// Free text.
    Text(String),
    /// Options by index, and free text.
    Both(Vec<usize>, String),
    /// Words that may be labels, values, option numbers (from 1) or free text.
    Words(Vec<String>),
    /// Words that are labels, values or option numbers (from 1), and free text.
    NamedAndText(Vec<String>, String),
}

impl Question {
    /// Matches a reply to this question without guessing: text that matches no option is free text where that is
    /// accepted, and refused otherwise. A bare number always means an option, and is refused if there is no such
    /// option.
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
            Reply::NamedAndText(words, text) => {
                let numbers = self.chosen(words).ok_or_else(|| self.not_options(words))?;
                Answer { values: self.values(numbers)?, text: Some(self.own_words(text)?) }
            }
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

    /// Whether this answer is possible here: its values are options, free text is accepted, and so is their number.
    pub fn accepts(&self, answer: &Answer) -> bool {
        let is_option = |value: &String| self.options.iter().any(|option| option.value == *value);
        let chosen = answer.values.len() + usize::from(answer.text.is_some());
        answer.values.iter().all(is_option)
            && (answer.text.is_none() || self.free_text)
            && (chosen == 1 || chosen > 1 && self.multi)
    }

    /// An answer in words: labels joined by commas, free text last.
    pub fn words(&self, answer: &Answer) -> String {
        let labels = answer.values.iter().map(|value| self.label(value));
        labels.chain(answer.text.as_deref()).collect::<Vec<_>>().join(", ")
    }

    /// Whether this answer denies: a permission, leaving plan mode, starting the work, or continuing over budget.
    pub fn is_denied_by(&self, answer: &Answer) -> bool {
        match self.purpose {
            Purpose::Clarify | Purpose::Idle => false,
            Purpose::Elicit(_) => Consent::of(answer) != Consent::Accept,
            Purpose::Confirm => answer.is(CANCEL),
            Purpose::Budget { .. } => answer.is(STAY),
            Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } => !answer.allows(),
        }
    }

    /// Whether two questions ask the same thing, regardless of their ids.
    pub(crate) fn same_as(&self, other: &Question) -> bool {
        Question { id: other.id.clone(), ..self.clone() } == *other
    }

    fn label<'a>(&'a self, value: &'a str) -> &'a str {
        self.options.iter().find(|o| o.value == value).map_or(value, |o| &o.label)
    }

    /// The values of the options with these indices, without duplicates.
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
        if let Some(numbers) = self.chosen(words) {
            return Ok(Answer { values: self.values(numbers)?, text: None });
        }
        if let Some(number) = self.named_in_short(&sentence) {
            return Ok(Answer { values: self.values([number])?, text: None });
        }
        if let Some(value) = self.meant(&sentence) {
            return Ok(Answer { values: vec![value.to_owned()], text: None });
        }
        // At a decision, free text denies or asks for another plan: people do not type that by mistake.
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

    /// The value that a plain yes or no means for this question.
    fn meant(&self, words: &str) -> Option<&'static str> {
        let word = words.trim().to_lowercase();
        let (yes, no) = match self.purpose {
            Purpose::Clarify | Purpose::Elicit(_) => return None,
            Purpose::Confirm => (CONFIRM, CANCEL),
            Purpose::Budget { .. } => (GO_ON, STAY),
            Purpose::Idle => (GO_ON, FINISH),
            Purpose::Permission { .. } | Purpose::LeavePlanMode { .. } => (ALLOW, DENY),
        };
        match word.as_str() {
            "yes" | "y" | "ok" => Some(yes),
            "no" | "n" => Some(no),
            other => [yes, no].into_iter().find(|value| *value == other),
        }
    }

    /// The number of the option Yes or No that a single letter means.
    fn named_in_short(&self, word: &str) -> Option<usize> {
        match word.trim().to_lowercase().as_str() {
            "y" => self.named("yes"),
            "n" => self.named("no"),
            _ => None,
        }
    }

    /// The numbers of the options that all of these words name. A label of several words may be typed without quotes.
    fn chosen(&self, words: &[String]) -> Option<Vec<usize>> {
        match self.named(&words.join(" ")) {
            Some(number) => Some(vec![number]),
            None => words.iter().map(|word| self.named(word).or_else(|| self.counted(word))).collect(),
        }
    }

    /// Options, then free text as one argument, if several may be chosen. Free text in several arguments, or of one
    /// word, is refused: `3 replicas` may be a sentence.
    fn options_and_words(&self, words: &[String]) -> Result<Option<Answer>, Refusal> {
        let is_option = |word: &&String| {
            let counted = || self.counted(word).filter(|number| (1..=self.options.len()).contains(number));
            self.named(word).or_else(counted).is_some()
        };
        let (first, rest) = words.split_at(words.iter().take_while(is_option).count());
        match rest {
            [] => Ok(None),
            _ if first.is_empty() || !self.multi || !self.free_text => Ok(None),
            [text] if text.trim().contains(char::is_whitespace) => {
                self.resolve(&Reply::NamedAndText(first.to_vec(), text.clone())).map(Some)
            }
            _ => Err(Refusal::OptionsOrText {
                question: self.id.clone(),
                options: first.join(" "),
                text: rest.join(" "),
            }),
        }
    }

    fn not_options(&self, words: &[String]) -> Refusal {
        let other = words.iter().find(|word| self.named(word).or_else(|| self.counted(word)).is_none());
        let why = format!("\"{}\" is not one of its options", other.map_or("", String::as_str));
        Refusal::DoesNotFit { question: self.id.clone(), why }
    }

    /// The index of the option with this label or value: an exact match first, then one that ignores case.
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

    /// A number that selects an option; it may be out of range.
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
