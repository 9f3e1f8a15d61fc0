//! `meta.yaml`: the origin of a turn, its agent, and its cost.

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{META, TurnError, TurnName, replace, text};

/// The metadata of a turn. Older tools wrote only some of the fields.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meta {
    pub turn_id: String,
    /// The turn it follows; or, if that has the same number, the turn that it is another attempt of.
    pub parent_turn_id: Option<String>,
    pub creation_timestamp: Option<String>,
    pub agent_name: Option<String>,
    pub model: Option<String>,
    /// What planning it cost, in dollars.
    pub turn_cost: f64,
    /// The same for it and all earlier turns in its line.
    pub cumulative_cost: f64,
    /// Whether it was planned because the previous plan was invalid.
    pub is_replan: bool,
    /// Fields of other programs, kept verbatim.
    #[serde(skip)]
    pub others: Map<String, Value>,
}

impl Meta {
    pub fn new(name: TurnName, parent: Option<TurnName>, now: Timestamp) -> Self {
        Self {
            turn_id: name.to_string(),
            parent_turn_id: parent.map(|parent| parent.to_string()),
            creation_timestamp: Some(now.to_string()),
            ..Self::default()
        }
    }

    /// The turn it follows, or is another attempt of.
    pub fn parent(&self) -> Option<TurnName> {
        self.parent_turn_id.as_deref()?.parse().ok()
    }

    /// When it was made.
    pub fn created(&self) -> Option<Timestamp> {
        self.creation_timestamp.as_deref()?.parse().ok()
    }

    /// Reads it from a turn's directory; `None` if it does not exist.
    pub fn read(turn: &Path) -> Result<Option<Self>, TurnError> {
        let path = turn.join(META);
        let Some(text) = text(&path)?.filter(|text| !text.trim().is_empty()) else { return Ok(None) };
        let wrong = |error: serde_saphyr::Error| TurnError::Wrong {
            path: path.clone(),
            what: error.without_snippet().to_string(),
        };
        let mut meta: Self = serde_saphyr::from_str(&text).map_err(wrong)?;
        meta.others = serde_saphyr::from_str(&text).map_err(wrong)?;
        let ours = meta.fields()?;
        meta.others.retain(|name, _| !ours.contains_key(name));
        Ok(Some(meta))
    }

    /// Writes it to a turn's directory.
    pub fn write(&self, turn: &Path) -> Result<(), TurnError> {
        let path = turn.join(META);
        let all: Map<_, _> = self.fields()?.into_iter().chain(self.others.clone()).collect();
        let yaml = serde_saphyr::to_string(&all)
            .map_err(|error| TurnError::Wrong { path: path.clone(), what: error.to_string() })?;
        replace(&path, yaml.as_bytes())
    }

    /// Our own fields, by name.
    fn fields(&self) -> Result<Map<String, Value>, TurnError> {
        match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => Ok(fields),
            other => Err(TurnError::Wrong { path: META.into(), what: format!("{other:?} is not an object") }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(Meta::read(directory.path()).unwrap(), None);
        let now = "2026-01-24T10:00:00Z".parse().unwrap();
        let mut meta = Meta::new("02-branch-01".parse().unwrap(), Some(TurnName::numbered(2)), now);
        meta.agent_name = Some("null: \"#".into());
        meta.turn_cost = 0.125;
        meta.write(directory.path()).unwrap();
        assert_eq!(Meta::read(directory.path()).unwrap(), Some(meta.clone()));
        assert_eq!((meta.parent(), meta.created()), (Some(TurnName::numbered(2)), Some(now)));
        let older = "turn_id: '01'\nparent_turn_id: null\nsomething_else: {a: [1, '2']}\n";
        std::fs::write(directory.path().join(META), older).unwrap();
        let read = Meta::read(directory.path()).unwrap().unwrap();
        assert_eq!(read.turn_id, "01");
        read.write(directory.path()).unwrap();
        assert_eq!(read.others["something_else"], serde_json::json!({ "a": [1, "2"] }));
        assert_eq!(Meta::read(directory.path()).unwrap(), Some(read), "what others wrote stays");
    }
}
