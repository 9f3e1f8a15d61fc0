//! Learnings: what people want kept in mind for a project, and where it came from.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use crate::answer::By;
use crate::display_text;
use crate::view::View;

/// The maximum number of characters of a learning. A longer answer is a document rather than something to keep in
/// mind.
const MAX_LEARNING: usize = 400;

/// Something to keep in mind for a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Learning {
    /// Derived from its text, so that no other text has the same id.
    pub id: String,
    /// The text of the learning.
    pub text: String,
    /// Its kind, where that is not clear from its place in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<LearningKind>,
    /// Where it came from: a question of a session (`SESSION/q1`), or a session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Who said it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Since when it is in effect, or when it was proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// What kind of learning it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LearningKind {
    /// A wish of people.
    #[default]
    Preference,
    /// A convention of the project.
    Convention,
}

impl LearningKind {
    /// Its name in JSON.
    pub fn word(self) -> &'static str {
        match self {
            Self::Preference => "preference",
            Self::Convention => "convention",
        }
    }
}

impl Learning {
    /// A learning with this text, as one line. `None` if the text is empty or too long.
    pub fn new(text: &str) -> Option<Self> {
        let text = display_text::line(text).split_whitespace().collect::<Vec<_>>().join(" ");
        let fits = !text.is_empty() && text.chars().count() <= MAX_LEARNING;
        fits.then(|| Self::plain(text))
    }

    /// A learning with nothing but a text.
    pub(super) fn plain(text: String) -> Self {
        Self { id: id_of(&text), text, kind: None, from: None, by: None, since: None }
    }

    /// Proposes a learning for each answer of people in a session. Answers about secrets are left out, because every
    /// agent is told the learnings.
    pub fn proposed_by(session: &View) -> Vec<Self> {
        let by_people = session.answers.iter().filter(|answer| matches!(answer.by, By::Person { .. }));
        let proposals = by_people.filter(|answer| !names_a_secret(&answer.text)).filter_map(|answer| {
            let learning = Self::new(&format!("{} {}", answer.text.trim(), answer.answer.trim()))?;
            let from = Some(format!("{}/{}", session.id, answer.id));
            let kind = Some(LearningKind::Preference);
            Some(Self { kind, from, ..learning }.said(&answer.by, answer.at))
        });
        proposals.collect()
    }

    /// The same, with its author and time.
    #[must_use]
    pub fn said(self, by: &By, at: Timestamp) -> Self {
        Self { by: Some(by.to_string()), since: Some(at), ..self }
    }
}

impl<'de> Deserialize<'de> for Learning {
    /// People may write only the text. The id is not read, because it is derived from the text.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Whole {
                text: String,
                kind: Option<LearningKind>,
                from: Option<String>,
                by: Option<String>,
                since: Option<Timestamp>,
            },
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Text(text) => Self::plain(text),
            Written::Whole { text, kind, from, by, since } => {
                Self { kind, from, by, since, ..Self::plain(text) }
            }
        })
    }
}

/// Whether a question asks for a secret.
fn names_a_secret(question: &str) -> bool {
    const WORDS: [&str; 10] = [
        "password",
        "passwort",
        "passphrase",
        "secret",
        "token",
        "credential",
        "api key",
        "apikey",
        "private key",
        "pin",
    ];
    let question = question.to_lowercase();
    let is_word = |word: &str| question.split(|c: char| !c.is_alphanumeric()).any(|part| part == word);
    WORDS.iter().any(|word| if word.len() > 3 { question.contains(word) } else { is_word(word) })
}

/// The id of a text: the FNV-1a hash of its words, as eight hexadecimal digits.
fn id_of(text: &str) -> String {
    let bytes = text.split_whitespace().flat_map(|word| word.bytes().chain([b' ']));
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{:08x}", (hash >> 32) ^ (hash & 0xffff_ffff))
}
