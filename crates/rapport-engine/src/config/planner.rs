//! About who makes rounds of questions.

use jiff::SignedDuration;
use serde::Deserialize;

use super::ConfigError;
use super::layer::{duration, parsed, some_duration};
use super::secret::Secret;

/// About who makes rounds of questions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlannerLayer {
    /// Which way a model is asked: `auto`, `api` or `agent`.
    pub via: Option<PlannerVia>,
    /// Which model, if not a small one.
    pub model: Option<String>,
    /// Where the model's API is, without `/v1/messages`.
    pub base_url: Option<String>,
    /// How long one call may take (`60s`).
    #[serde(deserialize_with = "some_duration")]
    pub timeout: Option<SignedDuration>,
    /// The key of the model's API, if it is not in the environment.
    pub api_key: Option<Secret>,
}

/// Which way a model is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerVia {
    /// Over its API where there is a key, else through the agent's CLI.
    #[default]
    Auto,
    /// Over its API.
    Api,
    /// Through the agent's CLI.
    Agent,
}

impl PlannerLayer {
    /// What the environment says.
    pub(super) fn from_env(env: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let given = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        Ok(Self {
            via: parsed(&env, "RAPPORT_PLANNER_VIA", via)?,
            model: given("RAPPORT_PLANNER_MODEL"),
            base_url: given("RAPPORT_PLANNER_BASE_URL"),
            timeout: parsed(&env, "RAPPORT_PLANNER_TIMEOUT", duration)?,
            api_key: given("RAPPORT_PLANNER_API_KEY").map(Secret::new),
        })
    }

    /// This layer, with another laid over it.
    pub(super) fn under(self, upper: Self) -> Self {
        Self {
            via: upper.via.or(self.via),
            model: upper.model.or(self.model),
            base_url: upper.base_url.or(self.base_url),
            timeout: upper.timeout.or(self.timeout),
            api_key: upper.api_key.or(self.api_key),
        }
    }
}

fn via(word: &str) -> Result<PlannerVia, String> {
    match word {
        "auto" => Ok(PlannerVia::Auto),
        "api" => Ok(PlannerVia::Api),
        "agent" => Ok(PlannerVia::Agent),
        _ => Err(format!("{word:?} is not one of auto, api and agent")),
    }
}
