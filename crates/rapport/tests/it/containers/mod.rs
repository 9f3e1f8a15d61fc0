//! Sessions in containers, with a real engine: how long a container lives, and what happens when the container, its
//! engine or its host dies.

mod engines;
mod faults;
mod hostile;
mod killed;
mod led;
mod life;
mod many;
mod real;
mod remote;
mod setup;
mod small;

use std::process::Command;
use std::time::Duration;

use rapport_core::Event;
use serde_json::json;

use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_at_most;
use crate::support::project::{Project, Running};

/// An agent that writes a file, asks, and writes another with what it was told.
const ASKS: &str = r##"
version: 1
name: asks
invocations:
  - result: "# Paint\n\n1. Paint it."
  - steps:
      - write: { path: before.txt, content: "before\n" }
      - ask:
          questions:
            - question: "Which colour?"
              header: Colour
              options: [{ label: Red }, { label: Blue }]
      - bash: { command: "ls -a > seen.txt; id -u > user.txt" }
      - write: { path: after.txt, content: "after\n" }
    result: "Painted."
"##;

/// How long an engine may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// A project whose agents work in containers, and the engine.
struct World {
    project: Project,
    engine: String,
    /// The model of the real CLI; the scripted agent has none.
    model: Option<Model>,
}

/// The call with which the real CLI asks.
const ASKING: &str = "toolu_asks";
/// The call with which the real CLI looks for the work from before its question.
const LOOKS: &str = "toolu_looks";

impl World {
    /// `None` only where what is missing was left out on purpose.
    #[track_caller]
    fn new(scenario: &str) -> Option<Self> {
        let engine = needs::engine()?;
        Some(Self { project: Project::with_scenario(scenario).working_in("container"), engine, model: None })
    }

    /// The same with the real CLI, which does what `ASKS` does.
    #[track_caller]
    fn real() -> Option<Self> {
        let write = |path: &str, content: &str| {
            let path = format!("/work/project/{path}");
            json!({ "file_path": path, "content": content })
        };
        let question = json!({ "questions": [{
            "question": "Which colour?", "header": "Colour", "multiSelect": false,
            "options": [{ "label": "Red", "description": "Warm" }, { "label": "Blue", "description": "Cold" }],
        }] });
        let look = json!({ "file_path": "/work/project/before.txt" });
        let script = Script::default()
            .say(Response::default().text("# Paint\n\n1. Paint it."))
            .say(Response::default().tool("toolu_before", "Write", write("before.txt", "before\n")))
            .say(Response::default().tool(ASKING, "AskUserQuestion", question))
            .say(Response::default().tool(LOOKS, "Read", look))
            .say(Response::default().tool("toolu_after", "Write", write("after.txt", "after\n")))
            .say(Response::default().text("Painted."));
        Self::real_playing(script)
    }

    /// The same with a model that plays this script.
    #[track_caller]
    fn real_playing(script: Script) -> Option<Self> {
        let (engine, program) = (needs::engine()?, needs::claude()?);
        let model = Model::play(script);
        let project = Project::with_agent(&program.display().to_string()).working_in("container");
        let project = with_model(project, &model).set("RAPPORT_AGENT_PERMISSION_MODE", "acceptEdits");
        Some(Self { project, engine, model: Some(model) })
    }

    fn model(&self) -> &Model {
        self.model.as_ref().expect("the agent is the real CLI")
    }

    /// What the engine's own program says.
    fn docker(&self, args: &[&str]) -> String {
        let out = Command::new("docker").args(["--host", &self.engine]).args(args).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    /// The name of the session's container.
    fn container(&self) -> String {
        let label = format!("label=rapport.project={}", self.project.root().display());
        self.docker(&["ps", "--all", "--filter", &label, "--format", "{{.Names}}"])
    }

    fn told(&self, what: &str) -> String {
        self.docker(&["inspect", "--format", what, &self.container()])
    }

    fn is_running(&self) -> bool {
        self.told("{{.State.Running}}") == "true"
    }

    /// Begins, confirms the plan, and continues up to the question.
    fn asked(&self, flags: &[&str]) -> Running {
        let mut running = self.project.start(&[flags, &["paint"]].concat(), &[]);
        running.until_asked();
        self.project.rapport(&["answer", "paint", "confirm"]).check(0, "Answered.");
        running.until_asked();
        running
    }

    /// The same, until the agent is parked, and its work is stored.
    fn parked(&self) -> Running {
        let mut running = self.asked(&["--hot", "0s"]);
        running.until(|fact| matches!(fact, Event::Parked { .. }));
        let session = self.project.root().join(".rapport/sessions").join(self.project.session().as_str());
        until("the work is stored", || session.join("kept/work.patch").exists());
        running
    }

    /// The agent took its answer at the call with which it had asked, and not by a message.
    fn assert_continued_at_its_call(&self) {
        let facts = self.project.facts();
        let parked = facts.iter().filter(|fact| matches!(fact, Event::Parked { .. })).count();
        assert_eq!(parked, 1, "{facts:#?}");
        let broken = |fact: &&Event| matches!(fact, Event::CutOff { .. } | Event::Failed { .. });
        assert_eq!(facts.iter().find(broken), None);
    }

    fn answer(&self) {
        self.project.rapport(&["answer", "paint", "Blue"]).check(0, "Answered.");
    }

    /// The work is complete, and the project gets it.
    fn assert_painted(&self) {
        self.project.rapport(&["apply", "paint"]).check(0, "Applied to").check(0, "Its container is gone");
        assert_eq!(
            (self.project.file("before.txt"), self.project.file("after.txt")),
            ("before\n".into(), "after\n".into())
        );
        let was_there = match &self.model {
            None => self.project.file("seen.txt").contains("before.txt"),
            Some(model) => model.tool_result(LOOKS).is_some_and(|(read, _)| read.contains("before")),
        };
        assert!(was_there, "the work from before the question was there");
        let asked = self.project.facts().into_iter().filter_map(|fact| match fact {
            Event::Asked { questions, .. } => questions.into_iter().next(),
            _ => None,
        });
        let asked: Vec<_> = asked.filter(|question| question.text == "Which colour?").collect();
        assert_eq!(asked.len(), 1, "nothing is asked twice: {asked:?}");
        assert_eq!(self.container(), "", "the container is gone");
    }
}

/// A project whose CLI asks this model.
fn with_model(project: Project, model: &Model) -> Project {
    let url = format!("http://{}", model.address());
    offline(&url).into_iter().fold(project, |project, (name, value)| project.set(name, value))
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    wait_at_most(PATIENCE, what, || is_so().then_some(()));
}
