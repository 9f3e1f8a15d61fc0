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

/// What the CLI itself always says, about itself and its surroundings. docs/formats/context.md lists it.
fn is_of_the_cli(text: &str) -> bool {
    let surroundings = text.contains("# currentDate\n") && text.trim_start().starts_with("<system-reminder>");
    text.starts_with("x-anthropic-billing-header: ")
        || text == "You are a Claude agent, built on Anthropic's Claude Agent SDK."
        || text.starts_with("# Environment\n")
        || (surroundings && text.len() < 500)
}

// FILE-8: both ways. What is written down is told, and nothing else is: no instructions or memories of the project or
// the person, no tools to find out more.
#[test]
fn file_8_the_model_is_told_nothing_that_is_not_written_down() {
    let Some(World { project, model }) = World::new(&[greeting()]) else { return };
    let write = |path: std::path::PathBuf, text: &str| {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for path in ["CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/a.md", "AGENTS.md"] {
        write(project.root().join(path), "added by the project\n");
    }
    write(
        project.root().join(".claude/skills/x/SKILL.md"),
        "---\nname: x\ndescription: added by a skill\n---\n",
    );
    write(project.path("home/.claude/CLAUDE.md"), "added by the person\n");
    project.rapport(&["trust", "--yes"]).check(0, "");
    project.rapport(&["new", "a"]).check(0, "");
    std::fs::write(project.root().join(".rapport/global.context"), "README.md\n").unwrap();
    project.plan_turn("Greet.").check(0, "Add a greeting");
    let log = ContextLog::parse(&project.turn_file("01/_context.log")).unwrap();
    let seen = model.seen();
    for request in &seen {
        let of_ours =
            |texts: Vec<&str>| -> String { texts.into_iter().filter(|text| !is_of_the_cli(text)).collect() };
        assert_eq!(of_ours(texts(&request["system"])), log.system);
        let messages = request["messages"].as_array().unwrap().iter();
        let told: String = messages.map(|message| of_ours(texts(&message["content"]))).collect();
        assert_eq!(told, log.document);
        let tools = request["tools"].as_array().unwrap().iter().filter_map(|tool| tool["name"].as_str());
        let tools: Vec<_> = tools.filter(|name| *name != "DeferredToolPlaceholder").collect();
        assert_eq!(tools, ["AskUserQuestion"]);
        assert!(!request.to_string().contains("added by"), "{request:#}");
    }
    assert_eq!(seen.len(), 1);
}

/// The pieces of text in a prompt, which may be one.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}
