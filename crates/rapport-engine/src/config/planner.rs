//! Settings of the planner.

use jiff::SignedDuration;
use serde::Deserialize;

use super::ConfigError;
use super::layer::{duration, parsed, some_duration};
use super::secret::Secret;

/// Settings of the planner.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PlannerLayer {
    /// How the model is called: `auto`, `api` or `agent`.
    pub via: Option<PlannerVia>,
    /// The model; a small one by default.
    pub model: Option<String>,
    /// The address of the model's API, without `/v1/messages`.
    pub base_url: Option<String>,
    /// The time limit of one call (`60s`).
    #[serde(deserialize_with = "some_duration")]
    pub timeout: Option<SignedDuration>,
    /// The key of the model's API, if it is not in the environment.
    pub api_key: Option<Secret>,
}

/// How the model is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlannerVia {
    /// By its API if there is a key, else through the agent's CLI.
    #[default]
    Auto,
    Api,
    /// Through the agent's CLI.
    Agent,
}

impl PlannerLayer {
    /// Reads the layer from the environment.
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

    /// This layer, overridden by another one.
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
