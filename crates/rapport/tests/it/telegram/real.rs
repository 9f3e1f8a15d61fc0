//! The whole story with the real CLI, and a model that plays a script: planned, confirmed, asked in the middle of work,
//! done, and talked about.

use std::os::unix::fs::PermissionsExt as _;

use rapport_core::{Aim, Event};
use serde_json::{Value, json};

use super::{ANNA, Stage};
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::project::Project;
use crate::support::telegram::{ChatMessage, State};

const TASK: &str = "add JWT authentication";

/// CHAT-1, CHAT-42: no process for the questions, one for the task, one for the conversation.
#[tokio::test]
async fn the_main_story_with_the_real_cli() {
    let Some((mut stage, model)) = stage().await else { return };
    // Every write asks for permission.
    stage.serve_with(&[("RAPPORT_AGENT_PERMISSION_MODE", "default")]);
    let anna = stage.anna();

    anna.types(&format!("/plan {TASK}"));
    anna.taps("Express").await;
    anna.taps("No").await;
    anna.sees("Where are tokens kept?").await;
    anna.taps("Cookies").await;
    let summary = anna.sees("Plan Ready").await;
    for line in ["Which framework? → Express", "Refresh tokens? → No", "Where are tokens kept? → Cookies"]
    {
        assert!(summary.text().contains(line), "{line} in {}", summary.text());
    }
    assert_eq!(started(&stage), Vec::<String>::new(), "no process for the questions");

    anna.taps("✅ Confirm & Start").await;
    let question = anna.sees("Which library?").await;
    assert!(question.text().contains("The agent asks"), "{}", question.text());
    anna.taps_on(&question, "jose");
    let permission = anna.sees("May the agent use Write?").await;
    anna.taps_on(&permission, "Allow once");
    let ended = anna.sees("Done").await;
    assert!(ended.text().contains("auth.txt"), "{}", ended.text());
    let report = anna.sees("Auth is in place.").await;
    assert_eq!(report.marked("bold"), ["in place"]);
    assert_eq!(stage.project.file("auth.txt"), "jose\n");
    assert_eq!(started(&stage).len(), 1, "one process for the task: {:#?}", started(&stage));
    stage.unfiled(ANNA);

    let (told, is_error) = model.tool_result("toolu_ask").unwrap();
    assert!(told.contains("jose") && !is_error, "{told}");
    let first = prompt(&model);
    for part in [TASK, "Express", "No", "Cookies"] {
        assert!(first.contains(part), "{part} in {first}");
    }
    let turns = stage.sessions().into_iter().flat_map(|(_, _, facts)| facts);
    assert_eq!(turns.filter(|fact| matches!(fact, Event::TurnStarted { .. })).count(), 1, "one turn of work");

    anna.types("Good morning, what did you do?");
    // The same words are in the message about its work before.
    let replied = |state: &State| {
        let says = |message: &&ChatMessage| message.text().starts_with("I added");
        state.messages_in(ANNA, None).find(says).map(|message| message.marked("code"))
    };
    assert_eq!(stage.server.wait_for("the reply", replied).await, ["auth.txt"]);
    anna.types("And what is next?");
    anna.sees("Nothing is left to do.").await;
    assert_eq!(started(&stage).len(), 2, "one process for the conversation: {:#?}", started(&stage));
    assert_eq!(stage.sessions_for(&Aim::Chat), 1);

    assert_eq!(stage.stop(), 0);
    assert_eq!(stage.server.violations(), []);
}

/// `None` where tests with the real CLI are left out.
async fn stage() -> Option<(Stage, Model)> {
    let program = needs::claude()?;
    let project = Project::with_agent("");
    let model = Model::play(script(&project));
    let url = format!("http://{}", model.address());
    let mut project = noting(project, &program.to_string_lossy());
    for (name, value) in offline(&url) {
        project = project.set(name, value);
    }
    // The CLI leaves things there when it is killed.
    let temporary = project.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let project = project
        .set("TMPDIR", &temporary.to_string_lossy())
        .set("RAPPORT_PLANNER_VIA", "api")
        .set("RAPPORT_PLANNER_API_KEY", "any")
        .set("RAPPORT_PLANNER_BASE_URL", &url);
    Some((Stage::of(project).await, model))
}

fn script(project: &Project) -> Script {
    let question = |text: &str, options: [(&str, &str); 2]| {
        let option = |(label, value): (&str, &str)| json!({ "label": label, "value": value, "description": "", "recommended": false });
        json!({ "question": text, "options": options.map(option), "allowFreeText": false, "multiSelect": false })
    };
    let batch = |questions: Vec<Value>| {
        let done = questions.is_empty();
        json!({ "goal": "jwt-auth", "description": "jwt", "done": done, "questions": questions })
    };
    let library = json!({ "questions": [{
        "question": "Which library?", "header": "Library", "multiSelect": false,
        "options": [
            { "label": "jose", "description": "Small" },
            { "label": "jsonwebtoken", "description": "Well known" },
        ],
    }] });
    let file = json!({ "file_path": project.root().join("auth.txt"), "content": "jose\n" });
    let talk = Script::default()
        .say(Response::default().text("I added `auth.txt`."))
        .say(Response::default().text("Nothing is left to do."));
    Script::default()
        .reply(&batch(vec![
            question("Which framework?", [("Express", "express"), ("Fastify", "fastify")]),
            question("Refresh tokens?", [("Yes", "yes"), ("No", "no")]),
        ]))
        .reply(&batch(vec![question(
            "Where are tokens kept?",
            [("Cookies", "cookies"), ("Memory", "memory")],
        )]))
        .reply(&batch(vec![]))
        .say(Response::default().text("One thing first.").tool("toolu_ask", "AskUserQuestion", library))
        .say(Response::default().tool("toolu_write", "Write", file))
        .say(Response::default().text("Auth is **in place**."))
        .apart("Good morning", talk)
}

/// Has every process of the agent leave a line.
fn noting(project: Project, program: &str) -> Project {
    let (path, started) = (project.path("claude"), project.path("started"));
    let script = format!(
        "#!/bin/sh\nprintf '%s ' \"$@\" | tr '\\n' ' ' >> '{started}'\necho >> '{started}'\nexec '{program}' \"$@\"\n",
        started = started.display()
    );
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    project.set("RAPPORT_AGENT_COMMAND", &format!("'{}'", path.display()))
}

/// What each process that worked was started with; one that is only asked its version does not.
fn started(stage: &Stage) -> Vec<String> {
    let lines = std::fs::read_to_string(stage.project.path("started")).unwrap_or_default();
    lines.lines().filter(|line| !line.starts_with("--version")).map(str::to_owned).collect()
}

/// What the model was told first by the CLI, which brings tools.
fn prompt(model: &Model) -> String {
    let seen = model.seen();
    let first =
        seen.iter().find(|request| request["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
    first.map(|request| request["messages"].to_string()).unwrap_or_default()
}
