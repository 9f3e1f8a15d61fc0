//! The ground of a lead's answer: a preference, an earlier answer, or lines of a file. It only counts after the
//! engine has found it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

use crate::id::{QuestionId, SessionId};

/// The ground of an answer, as a lead names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Ground {
    /// A preference of the project: `preference:ID`.
    Preference(String),
    /// An answer that was given before: `answer:SESSION/QUESTION`.
    Answer {
        /// The session.
        session: SessionId,
        /// The question in it.
        question: QuestionId,
    },
    /// Lines of a file of the project: `file:PATH:LINES`, such as `file:docs/style.md:3-7`.
    File {
        /// The path from the project's directory.
        path: String,
        /// The first line, from 1.
        first: u32,
        /// The last line.
        last: u32,
    },
}

/// A ground that the engine has found, with its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grounding {
    /// The ground.
    pub ground: Ground,
    /// The text at that place, shortened.
    pub quote: String,
}

/// Why a text does not name a ground.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} is no ground: name preference:ID, answer:SESSION/QUESTION or file:PATH:LINES")]
pub struct NoGround(String);

impl FromStr for Ground {
    type Err = NoGround;

    fn from_str(text: &str) -> Result<Self, NoGround> {
        let no_ground = || NoGround(text.chars().take(200).collect());
        let (kind, rest) = text.trim().split_once(':').ok_or_else(no_ground)?;
        let found = match kind.trim().to_ascii_lowercase().as_str() {
            "preference" => {
                Some(Self::Preference(rest.trim().to_owned())).filter(|_| !rest.trim().is_empty())
            }
            "answer" => rest.trim().rsplit_once('/').and_then(|(session, question)| {
                let is_named = !session.is_empty() && !question.is_empty();
                let (session, question) = (SessionId::new(session), QuestionId::new(question));
                is_named.then_some(Self::Answer { session, question })
            }),
            "file" => rest.trim().rsplit_once(':').and_then(|(path, lines)| {
                let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
                let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
                let is_range = 1 <= first && first <= last && !path.trim().is_empty();
                is_range.then(|| Self::File { path: path.trim().to_owned(), first, last })
            }),
            _ => None,
        };
        found.ok_or_else(no_ground)
    }
}

impl fmt::Display for Ground {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Preference(id) => write!(f, "preference:{id}"),
            Self::Answer { session, question } => write!(f, "answer:{session}/{question}"),
            Self::File { path, first, last } if first == last => write!(f, "file:{path}:{first}"),
            Self::File { path, first, last } => write!(f, "file:{path}:{first}-{last}"),
        }
    }
}

impl Serialize for Ground {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Ground {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ground_is_read_as_it_is_written() {
        for text in
            ["preference:p3", "answer:20260124-add-auth/q2", "file:docs/style.md:3-7", "file:src/a:b.rs:9"]
        {
            let ground: Ground = text.parse().unwrap();
            assert_eq!(ground.to_string(), text);
            assert_eq!(serde_json::from_str::<Ground>(&format!("{text:?}")).unwrap(), ground);
        }
        assert_eq!("FILE: a.md : 4-4 ".parse::<Ground>().unwrap().to_string(), "file:a.md:4");
    }

    #[test]
    fn anything_else_is_no_ground() {
        for text in [
            "",
            "because",
            "preference:",
            "answer:q1",
            "answer:/q1",
            "answer:s/",
            "file:a.md",
            "file:a.md:0",
            "file:a.md:7-3",
            "file::3",
            "file:a.md:x",
            "I am sure:yes",
        ] {
            assert!(text.parse::<Ground>().is_err(), "{text}");
        }
    }
}
