//! Built-in scenarios, and the two stories of CLARIFY-26 for tests.

use super::builder::ScenarioBuilder;
use super::scenario::Scenario;

/// The scenario that is played when none is named.
pub const DEFAULT: &str = "greeting";

/// The scenarios inside the binary, by name.
pub(crate) const BUILT_IN: [(&str, &str); 2] = [
    (DEFAULT, include_str!("../scenarios/greeting.yaml")),
    ("files", include_str!("../scenarios/files.yaml")),
];

/// The text of a built-in scenario.
pub fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Asks two questions, then answers with a progress file, in one session.
pub fn interactive_planning() -> ScenarioBuilder {
    let progress = "# Progress: Interactive Test\n\n## Status\n\nIn Progress\n\n## Tasks\n\n### Phase 1: Setup\n\n\
        - [ ] Configure project\n\n## Testing Strategy\n\nBasic tests.\n";
    Scenario::new("interactive planning")
        .with_session_id("test-session-123")
        .asks_questions(&["What programming language?", "What database?"])
        .next_invocation()
        .respond_with_text(progress)
}

/// Asks, asks again, then is done.
pub fn multi_round_qa() -> ScenarioBuilder {
    let progress = "# Progress: Multi-Round Test\n\n## Status\n\nRALPH_DONE\n\n## Tasks\n\n### Phase 1: Done\n\n\
        - [x] Task complete\n";
    Scenario::new("multi-round questions")
        .with_session_id("multi-session-456")
        .asks_questions(&["Question round 1?"])
        .next_invocation()
        .asks_questions(&["Question round 2?"])
        .next_invocation()
        .respond_with_text(progress)
}
