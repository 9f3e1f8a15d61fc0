//! Deserialisation of parts of a scenario that serde cannot derive: alternatives, and rules with their own messages.

use serde::de::{Error as _, MapAccess, Visitor, value::MapAccessDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::scenario::{Call, FORMAT_VERSION, FullQuestion, Hang, Question};

impl<'de> Deserialize<'de> for Question {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrMap;
        impl<'de> Visitor<'de> for TextOrMap {
            type Value = Question;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str(
                    "a question: its text, or a map with `question`, `header`, `options`, `multiSelect`",
                )
            }

            fn visit_str<E>(self, text: &str) -> Result<Question, E> {
                Ok(Question::Plain(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Question, A::Error> {
                FullQuestion::deserialize(MapAccessDeserializer::new(map)).map(Question::Full)
            }
        }
        deserializer.deserialize_any(TextOrMap)
    }
}

impl Serialize for Hang {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Hang::Forever => serializer.serialize_bool(true),
            Hang::UntilEof => serializer.serialize_str("until_eof"),
        }
    }
}

impl<'de> Deserialize<'de> for Hang {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TrueOrWord;
        impl Visitor<'_> for TrueOrWord {
            type Value = Hang;

            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("`true` or `until_eof`")
            }

            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Hang, E> {
                if value { Ok(Hang::Forever) } else { Err(E::custom("expected `true` or `until_eof`")) }
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Hang, E> {
                match word {
                    "true" => Ok(Hang::Forever),
                    "until_eof" => Ok(Hang::UntilEof),
                    other => Err(E::unknown_variant(other, &["true", "until_eof"])),
                }
            }
        }
        deserializer.deserialize_any(TrueOrWord)
    }
}

pub(super) fn known_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let version = u32::deserialize(deserializer)?;
    if version == FORMAT_VERSION {
        return Ok(version);
    }
    Err(D::Error::custom(format!("version {version} is not known here, expected {FORMAT_VERSION}")))
}

pub(super) fn some_questions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Question>, D::Error> {
    let questions = Vec::deserialize(deserializer)?;
    if questions.is_empty() {
        return Err(D::Error::custom("expected at least one question"));
    }
    Ok(questions)
}

pub(super) fn some_calls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Call>, D::Error> {
    let calls = Vec::deserialize(deserializer)?;
    if calls.is_empty() {
        return Err(D::Error::custom("expected at least one tool call"));
    }
    Ok(calls)
}

pub(super) fn replies<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    let replies: Vec<Value> = Vec::deserialize(deserializer)?;
    if replies.iter().all(|reply| reply.is_object() || reply.is_string()) {
        return Ok(replies);
    }
    Err(D::Error::custom("expected each reply to be a map such as {questions, done}, or a text"))
}

pub(super) fn only_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    if bool::deserialize(deserializer)? {
        return Ok(true);
    }
    Err(D::Error::custom("expected `true`; leave the step out instead"))
}
