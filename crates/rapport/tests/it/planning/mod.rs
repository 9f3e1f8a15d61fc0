//! `rapport plan --as progress` as people use it: only the program, the scripted agent and a project.

mod killed;
mod printed;
mod response;
mod rounds;
mod screen;

use rapport::agents::rehearsal::builder::ScenarioBuilder;
use rapport::agents::rehearsal::scenario::{Hang, Scenario, Step};
use rapport_core::{Event, ProgressFile, View};
use serde_json::{Value, json};

use crate::support::project::{Project, Ran, Running};

/// A valid file with this name, and these words in its analysis.
pub(crate) fn file(name: &str, analysis: &str) -> String {
    format!(
        "# Progress: {name}\n\n## Status\n\nIn Progress\n\n## Analysis\n\n{analysis}\n\n## Tasks\n\n### Phase 1: Setup\n\n\
         - [ ] Begin\n- [ ] Test it\n\n## Testing Strategy\n\nUnit tests.\n"
    )
}

/// A project whose agent plays this.
pub(super) fn project(scenario: ScenarioBuilder) -> Project {
    let scenario = serde_json::to_string(&scenario.build()).unwrap();
    Project::with_scenario(&scenario)
}

pub(super) const IDEA: &str = "a todo app";

impl Project {
    /// `rapport plan` to its end, without a person who could answer.
    pub(super) fn plan(&self, more: &[&str]) -> Ran {
        self.rapport(&[&["plan", IDEA, "--as", "progress"], more].concat())
    }

    /// `rapport plan --adaptive`, watched and answered from elsewhere.
    pub(super) fn plan_adaptively(&self, more: &[&str]) -> Running {
        self.launch(&[&["plan", "--json", IDEA, "--as", "progress", "--adaptive"], more].concat(), &[])
    }

    pub(super) fn answer(&self, question: &str, words: &str) {
        self.rapport(&["answer", self.session().as_str(), "--question", question, words])
            .check(0, "Answered.");
    }

    /// The file that came out, which is a valid one.
    #[track_caller]
    pub(super) fn progress(&self) -> String {
        let text = std::fs::read_to_string(self.root().join("progress.md")).expect("progress.md is there");
        assert_eq!(ProgressFile::parse(&text).unwrap().problems(), []);
        text
    }

    /// The command lines of the agent's processes, in order.
    pub(super) fn agents(&self) -> Vec<Vec<String>> {
        let Ok(records) = std::fs::read_dir(self.path("records")) else { return Vec::new() };
        let mut paths: Vec<_> = records.map(|record| record.unwrap().path()).collect();
        paths.retain(|path| path.to_string_lossy().ends_with("argv.json"));
        paths.sort();
        let argv = |path| {
            let record: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
            serde_json::from_value(record["argv"].clone()).unwrap()
        };
        paths.into_iter().map(argv).collect()
    }
}

/// While a model does not answer, every view of the session says so.
#[test]
fn a_model_that_does_not_answer_is_told_of() {
    const WHY: &str = "the model's API said 529 overloaded; trying again in 0.6 s (1 of 10)";
    let retry = json!({
        "type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "retry_delay_ms": 600,
        "error_status": 529, "error": "overloaded",
    });
    let retried = |then: ScenarioBuilder| then.respond_with_text(&file("Retried", "x"));
    let plain = project(retried(Scenario::new("retried").step(Step::Raw(retry.clone()))));
    plain.plan(&[]).check(0, WHY);
    plain.rapport(&["log", plain.session().as_str()]).check(0, WHY);

    let hangs = Scenario::new("hangs").step(Step::Raw(retry)).step(Step::Hang(Hang::Forever));
    let watched = project(retried(hangs));
    let mut running = watched.plan_adaptively(&[]);
    running.until(|fact| matches!(fact, Event::Delayed { .. }));
    watched.rapport(&["status", watched.session().as_str()]).check(0, &format!("  agent     {WHY}"));
    running.kill();
}

/// How often the agent asked.
pub(super) fn rounds(project: &Project) -> usize {
    project.facts().iter().filter(|fact| matches!(fact, Event::Asked { .. })).count()
}

/// The last thing that `--json` prints: the session as it stands.
pub(super) fn last_view(ran: &Ran) -> View {
    serde_json::from_str(ran.out().lines().last().unwrap()).unwrap()
}
