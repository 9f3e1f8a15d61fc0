//! What the model is told is what is written down, byte for byte; shown with the real CLI and a model that notes it.

use rapport_core::context::ContextLog;
use serde_json::Value;

use super::greeting;
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::project::Project;

/// A project with the real CLI, and a model that makes these plans, one per turn.
pub(super) struct World {
    pub(super) project: Project,
    model: Model,
}

impl World {
    /// `None` where tests with the real CLI are left out.
    pub(super) fn new(plans: &[String]) -> Option<Self> {
        let program = needs::claude()?;
        let mut project = Project::with_agent(&format!("'{}'", program.display()));
        let script =
            plans.iter().fold(Script::default(), |script, plan| script.begin(Response::default().text(plan)));
        let model = Model::play(script);
        let url = format!("http://{}", model.address());
        for (name, value) in offline(&url) {
            project = project.set(name, value);
        }
        let temporary = project.path("tmp");
        std::fs::create_dir(&temporary).unwrap();
        let project = project.set("TMPDIR", &temporary.to_string_lossy());
        Some(Self { project, model })
    }
}

// FILE-8: `_context.log` is the single truth of what the model was shown.
#[test]
fn file_8_the_model_is_told_what_is_written_down_byte_for_byte() {
    let Some(World { project, model }) = World::new(&[greeting()]) else { return };
    project.rapport(&["new", "a"]).check(0, "");
    std::fs::write(
        project.root().join("odd.txt"),
        "tabs\there, ``` fences, \u{1f600}, @README.md and no newline at the end",
    )
    .unwrap();
    std::fs::write(project.root().join("dos.txt"), "with\r\nreturns\r\n\r\n").unwrap();
    std::fs::write(project.root().join(".rapport/global.context"), "*.txt\nREADME.md\nmissing.md\n").unwrap();
    std::fs::write(project.root().join(".rapport/memos.yaml"), "- Use pnpm.\n").unwrap();
    project.plan_turn("  Greet \"everybody\".\n\n\n<tag>&amp;</tag>\n").check(0, "Add a greeting");
    assert_eq!(project.turn_file("01/plan.md"), greeting());

    let log = ContextLog::parse(&project.turn_file("01/_context.log")).unwrap();
    let seen = model.seen();
    let request = seen.first().unwrap();
    let system = texts(&request["system"]);
    assert!(system.iter().any(|text| *text == log.system), "the system prompt is not among {system:#?}");
    let told: Vec<_> = request["messages"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|message| texts(&message["content"]))
        .collect();
    // It may come in two pieces, which are it and nothing else.
    let is_it = |text: &[&str]| text.concat() == log.document;
    let is_told = told.windows(1).chain(told.windows(2)).any(is_it);
    assert!(is_told, "the document is not among {told:#?}");
    for part in [
        "with\r\nreturns\r\n",
        "@README.md and no newline",
        "Use pnpm.",
        "missing.md",
        "# An app",
        "<tag>&amp;</tag>",
    ] {
        assert!(log.document.contains(part), "{part}");
    }
}

/// The pieces of text in a prompt, which may be one.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}
