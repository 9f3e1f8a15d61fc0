//! MCP elicitation: a server asks a person to fill in a form or to visit a page. Each field is a question; the answers
//! become one reply to the server. Declining and cancelling are different replies.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::answer::Answer;
use crate::question::{Choice, Question};

/// The value of the option that agrees, if there is nothing to fill in.
pub const ACCEPT: &str = "mcp:accept";
/// The value that leaves an optional field empty.
const LEAVE_OUT: &str = "mcp:leave_out";
/// The person declines.
const DECLINE: &str = "mcp:decline";
/// The person dismisses the request without deciding.
pub(crate) const CANCEL: &str = "mcp:cancel";

/// One field that a server wants filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// The server that asks.
    pub server: String,
    /// The key of the field in the reply; `None` if there is nothing to fill in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The kind of value that it accepts.
    pub kind: FieldKind,
}

/// The kind of value that a field accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FieldKind {
    /// Yes or no to the request as a whole.
    Consent,
    /// A text.
    Text {
        /// The minimum number of characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shortest: Option<u64>,
        /// The maximum number of characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        longest: Option<u64>,
        /// The required format: `email`, `uri`, `date` or `date-time`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        format: Option<String>,
    },
    /// A number.
    Number {
        /// Whether it must be an integer.
        whole: bool,
        /// The minimum.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        least: Option<Number>,
        /// The maximum.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<Number>,
    },
    /// Yes or no: the values `true` and `false`.
    Flag,
    /// One of the options.
    One,
    /// Several of the options.
    Several {
        /// The minimum number of options.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fewest: Option<u64>,
        /// The maximum number of options.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        most: Option<u64>,
    },
}

/// The person's decision, as the server is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// The person agreed; the fields are filled in.
    Accept,
    /// The person declines.
    Decline,
    /// The person dismissed the request.
    Cancel,
}

impl Consent {
    /// The protocol's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Consent::Accept => "accept",
            Consent::Decline => "decline",
            Consent::Cancel => "cancel",
        }
    }

    /// What an answer to any of the fields means for the whole request.
    pub(crate) fn of(answer: &Answer) -> Self {
        let chosen = |value: &str| answer.values.iter().any(|chosen| chosen == value);
        if chosen(CANCEL) {
            Consent::Cancel
        } else if chosen(DECLINE) {
            Consent::Decline
        } else {
            Consent::Accept
        }
    }
}

impl Field {
    /// The options that are offered in addition to the field's own.
    pub fn ways_out(is_required: bool) -> Vec<Choice> {
        let leave_out =
            (!is_required).then(|| Choice::described("Leave it out", LEAVE_OUT, "This field is optional"));
        let decline = Choice::described("Decline", DECLINE, "Tells the server no");
        let cancel = Choice::described("Cancel", CANCEL, "Tells the server that nobody decided");
        leave_out.into_iter().chain([decline, cancel]).collect()
    }

    /// Whether a bare number is a value and not the position of an option.
    pub(crate) fn takes_words(&self) -> bool {
        matches!(self.kind, FieldKind::Text { .. } | FieldKind::Number { .. })
    }

    /// Why the field does not accept this answer, if it does not.
    pub(crate) fn refuses(&self, answer: &Answer) -> Option<String> {
        if Consent::of(answer) != Consent::Accept || answer.is(LEAVE_OUT) {
            return None;
        }
        match &self.kind {
            FieldKind::Consent | FieldKind::Flag | FieldKind::One => None,
            FieldKind::Several { fewest, most } => refused_count(answer.values.len() as u64, *fewest, *most),
            FieldKind::Text { shortest, longest, format } => {
                let text = answer.text.as_deref()?;
                let count = text.chars().count() as u64;
                let by_length = refused_length(count, *shortest, *longest);
                by_length.or_else(|| refused_format(text, format.as_deref()?))
            }
            FieldKind::Number { whole, least, most } => {
                refused_number(answer.text.as_deref()?, *whole, least.as_ref(), most.as_ref())
            }
        }
    }

    fn value(&self, answer: &Answer) -> Option<Value> {
        let first = || answer.values.first().cloned();
        if answer.is(LEAVE_OUT) {
            return None;
        }
        Some(match &self.kind {
            FieldKind::Consent => return None,
            FieldKind::Text { .. } => answer.text.clone()?.into(),
            FieldKind::Number { .. } => Value::Number(number(answer.text.as_deref()?)?),
            FieldKind::Flag => (first()? == "true").into(),
            FieldKind::One => first()?.into(),
            FieldKind::Several { .. } => answer.values.clone().into(),
        })
    }
}

/// Combines the answers to all fields into one reply.
pub(crate) fn reply<'a>(
    answered: impl Iterator<Item = (&'a Question, &'a Answer)> + Clone,
) -> (Consent, Map<String, Value>) {
    let said =
        answered.clone().map(|(_, answer)| Consent::of(answer)).find(|action| *action != Consent::Accept);
    let action = said.unwrap_or(Consent::Accept);
    let content = answered.filter_map(|(question, answer)| {
        let field = question.purpose.field()?;
        Some((field.key.clone()?, field.value(answer)?))
    });
    (action, if action == Consent::Accept { content.collect() } else { Map::new() })
}

fn refused_count(count: u64, fewest: Option<u64>, most: Option<u64>) -> Option<String> {
    let too_few = fewest.filter(|fewest| count < *fewest).map(|fewest| format!("choose at least {fewest}"));
    too_few.or_else(|| most.filter(|most| count > *most).map(|most| format!("choose at most {most}")))
}

fn refused_length(count: u64, shortest: Option<u64>, longest: Option<u64>) -> Option<String> {
    let short =
        shortest.filter(|least| count < *least).map(|least| format!("it needs at least {least} characters"));
    short.or_else(|| {
        longest.filter(|most| count > *most).map(|most| format!("it may have at most {most} characters"))
    })
}

fn refused_format(text: &str, format: &str) -> Option<String> {
    let is_fine = match format {
        "email" => text.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.')),
        "uri" => text.split_once(':').is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty()),
        "date" => text.parse::<jiff::civil::Date>().is_ok(),
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        // The server checks formats that are unknown here.
        _ => true,
    };
    (!is_fine).then(|| format!("it has to be of the form {format}"))
}

fn refused_number(text: &str, whole: bool, least: Option<&Number>, most: Option<&Number>) -> Option<String> {
    let Some(number) = number(text) else { return Some("it has to be a number".into()) };
    if whole && !(number.is_i64() || number.is_u64()) {
        return Some("it has to be a whole number".into());
    }
    let value = number.as_f64()?;
    let small = least.filter(|least| least.as_f64().is_some_and(|least| value < least));
    let large = most.filter(|most| most.as_f64().is_some_and(|most| value > most));
    small
        .map(|least| format!("it has to be at least {least}"))
        .or_else(|| large.map(|most| format!("it has to be at most {most}")))
}

fn number(text: &str) -> Option<Number> {
    serde_json::from_str(text.trim()).ok()
}
