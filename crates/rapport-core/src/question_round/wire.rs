//! A round as a model writes it. The parser is lenient: a missing or `null` field has a default.

use serde::Deserialize;
use serde_json::Number;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Wire {
    pub(super) interactive: Option<bool>,
    pub(super) goal: Option<String>,
    pub(super) description: Option<String>,
    pub(super) questions: Option<Vec<WireQuestion>>,
    pub(super) done: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireQuestion {
    #[serde(alias = "text")]
    pub(super) question: String,
    pub(super) header: Option<String>,
    pub(super) options: Option<Vec<WireOption>>,
    pub(super) allow_free_text: Option<bool>,
    pub(super) multi_select: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum WireOption {
    Label(String),
    Full { label: String, value: Option<Scalar>, description: Option<String>, recommended: Option<bool> },
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Scalar {
    Text(String),
    Number(Number),
    Flag(bool),
}

impl Wire {
    /// Finds the round in a reply: the whole reply, the text between fences, or the text from the first brace to the
    /// last.
    pub(super) fn find(text: &str) -> Result<Self, String> {
        let readings = [Some(text.trim()), fenced(text), braced(text)];
        let mut problem = "there is no JSON object in it".to_owned();
        for reading in readings.into_iter().flatten() {
            match Self::read(reading) {
                Ok(wire) => return Ok(wire),
                Err(Some(error)) => {
                    problem = format!("it is not the JSON object that was asked for: {error}")
                }
                Err(None) => {}
            }
        }
        Err(problem)
    }

    /// Parses an object. The error is `None` if the text is not an object at all.
    pub(super) fn read(text: &str) -> Result<Self, Option<serde_json::Error>> {
        if !text.starts_with('{') {
            return Err(None);
        }
        serde_json::from_str(text).map_err(Some)
    }
}

impl Scalar {
    pub(super) fn into_text(self) -> String {
        match self {
            Scalar::Text(text) => text,
            Scalar::Number(number) => number.to_string(),
            Scalar::Flag(flag) => flag.to_string(),
        }
    }
}

/// The text between the first fence and the last.
pub(super) fn fenced(text: &str) -> Option<&str> {
    let (_, opened) = text.split_once("```")?;
    let (_, inside) = opened.split_once('\n')?;
    let (inside, _) = inside.rsplit_once("```")?;
    Some(inside.trim())
}

fn braced(text: &str) -> Option<&str> {
    let (from, to) = (text.find('{')?, text.rfind('}')?);
    text.get(from..=to)
}
