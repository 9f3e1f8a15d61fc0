//! Settings of the planner.

use jiff::SignedDuration;
use rapport_settings::{Secret, Setting, one_of, section};

section! {
    /// Settings of the planner.
    pub struct PlannerLayer in "planner.", blank variables: Unset {
        /// How the model is called: `auto`, `api` or `agent`.
        via: PlannerVia, Trusted, Shown;
        /// The model; a small one by default.
        model: String, Trusted, Shown;
        /// The address of the model's API, without `/v1/messages`.
        base_url: String, Trusted, Masked;
        /// The time limit of one call (`60s`).
        timeout: SignedDuration, Project, Shown;
        /// The key of the model's API, if it is not in the environment.
        api_key: Secret, Trusted, Masked;
    }
    sections {}
}

/// How the model is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PlannerVia {
    /// By its API if there is a key, else through the agent's CLI.
    #[default]
    Auto,
    Api,
    /// Through the agent's CLI.
    Agent,
}

impl Setting for PlannerVia {
    fn parse(word: &str) -> Result<Self, String> {
        one_of(word, &[("auto", Self::Auto), ("api", Self::Api), ("agent", Self::Agent)])
    }
}
