//! A lead that knows projects: their context, and agents that are started with it.

use rapport_core::{Event, SessionId};
use serde_json::{Value, json};

use super::WORKER;
use super::client::Client;
use super::story::confirm;
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::BUSY;

/// LEAD-23: a context is loaded, or said to need exploring; explored; updated with proposals that a person decides
/// about.
#[test]
fn lead_23_a_lead_loads_explores_and_updates_a_context() {
    let project = Project::with_scenario(WORKER);
    std::fs::write(project.root().join("go.mod"), "module shop\n").unwrap();
    let mut client = Client::start(&project, &[]);
    let load = json!({ "action": "load", "project": "app" });
    let loaded = client.call("project_context", load.clone()).says("the action explore");
    assert_eq!((loaded.status(), &loaded.data["needsExploring"]), ("needs_exploring", &json!(true)));
    let explored = client.call("project_context", json!({ "action": "explore", "project": "app" }));
    assert_eq!(explored.status(), "explored");
    let explored = explored.says("- Type: Go");
    assert_eq!(explored.data["context"]["description"], "Go module shop");
    assert_eq!(client.call("project_context", load.clone()).status(), "loaded");
    let update =
        json!({ "action": "update", "project": "app", "preferences": ["Use tabs"], "sessionId": "s1" });
    let proposed = client.call("project_context", update).says("once the person consents");
    assert_eq!(proposed.data["context"]["proposed"][0]["text"], "Use tabs");
    assert_eq!(proposed.data["context"]["preferences"], Value::Null);
    project.rapport(&["project", "learn", "Use tabs"]).check(0, "");
    client.call("project_context", load).says("- Preference: Use tabs");
    let listed = client.call("project_context", json!({ "action": "list" })).says("app  ");
    assert_eq!(listed.data["projects"][0]["name"], "app");
    for (wrong, kind, why) in [
        (json!({ "action": "load", "project": "nobody" }), "unknown", "There are: app"),
        (json!({ "action": "explore", "project": "/etc" }), "needs_person", "rapport project add NAME DIR"),
        (json!({ "action": "explore", "project": "x", "path": "/etc" }), "needs_person", "/etc"),
        (json!({ "action": "load", "project": "../app" }), "unknown", "there is no project"),
        (json!({ "action": "update", "project": "app" }), "invalid", "give preferences"),
        (json!({ "action": "register", "project": "app" }), "invalid", "register"),
    ] {
        client.call("project_context", wrong).refuses(kind, why);
    }
}

/// LEAD-24, LEAD-29, LEAD-30, LEAD-31: an agent starts with the enriched prompt, which the session keeps; a lead
/// tells it something, looks at it, and ends it.
#[test]
fn lead_24_an_agent_starts_with_what_is_known() {
    let project = Project::with_scenario(WORKER).recorded();
    std::fs::write(project.root().join("CLAUDE.md"), "Mind the tests.\n").unwrap();
    project.git(&["add", "."]);
    project.git(&["commit", "--quiet", "-m", "Rules"]);
    project.rapport(&["project", "explore"]).check(0, "");
    project.rapport(&["project", "learn", "Use tabs"]).check(0, "");
    let mut client = Client::start(&project, &[]);
    let started = client.call(
        "claude_code_start",
        json!({
            "project": "app", "prompt": "Paint the doors", "workingDir": "doors", "worktree": true,
            "context": {
                "originalTask": "paint", "notes": ["There are two doors"], "requirements": ["No stains"],
                "answers": [{ "question": "Which house?", "answer": "The red one" }],
            },
        }),
    );
    let session = project.session();
    let started = started.says(&format!("Claude Code session {session} started in app."));
    let task = started.data["task"].as_str().unwrap();
    for part in [
        "Paint the doors\n\n## Context\n\n- Project: app (",
        "- Preference: Use tabs\n- There are two doors\n- Work in doors\n",
        "\n\n## Requirements\n\n1. No stains\n2. Which house? The person answered: The red one\n",
        "\n\n## From the project's CLAUDE.md\n\n> Mind the tests.",
    ] {
        assert!(task.contains(part), "{part:?} is not in {task}");
    }
    let task_id = started.task();
    client.until(&task_id, "needs_input").says("Which colour?");
    assert!(project.agent_inputs()[0].iter().any(|input| input.to_string().contains("Paint the doors")));
    let state = client.call("claude_code_status", json!({ "sessionId": session }));
    assert_eq!(state.data["originalTask"], "paint");
    assert_eq!(state.data["requirements"][1], "Which house? The person answered: The red one");
    assert!(state.data["context"].as_array().unwrap().contains(&json!("There are two doors")));
    client.call("answer_worker_question", json!({ "taskId": task_id, "answer": "Blue" }));
    client.until(&task_id, "needs_input").says("Start the work with this plan?");
    confirm(&project);
    client.until(&task_id, "needs_input").says("Which file?");
    let cancelled = client.call("claude_code_cancel", json!({ "sessionId": session, "reason": "enough" }));
    assert_eq!(cancelled.status(), "cancelled");
    client
        .call("claude_code_say", json!({ "sessionId": session, "message": "go on" }))
        .refuses("not_now", "");
    for (wrong, kind, why) in [
        (json!({ "project": "app", "prompt": " " }), "invalid", "say what to do"),
        (json!({ "project": "app", "prompt": "x", "workingDir": "../.." }), "invalid", "workingDir"),
        (json!({ "project": "/etc", "prompt": "x" }), "needs_person", "made known"),
        (json!({ "project": "nobody", "prompt": "x" }), "unknown", "there is no project"),
    ] {
        client.call("claude_code_start", wrong).refuses(kind, why);
    }
    let other = project.path("other");
    std::fs::create_dir_all(&other).unwrap();
    project.rapport(&["project", "add", "other", other.to_str().unwrap()]).check(0, "");
    let elsewhere = json!({ "project": "other", "prompt": "x" });
    client.call("claude_code_start", elsewhere).refuses("invalid", "rapport mcp --project DIR");
    client
        .call("claude_code_cancel", json!({ "sessionId": "20990101-none" }))
        .refuses("unknown", "there is no task");
    let facts = project.facts();
    let by_lead = |fact: &&Event| matches!(fact, Event::Cancelled { by: rapport_core::By::Lead { .. }, .. });
    assert_eq!(facts.iter().filter(by_lead).count(), 1);
    assert_eq!(
        project.store().list().unwrap(),
        [SessionId::new(session.as_str())],
        "nothing else was started"
    );
}

/// A lead's words reach an agent that works, and who said them is a fact.
#[test]
fn a_lead_says_something_to_an_agent_at_work() {
    let project = Project::with_scenario(BUSY);
    let mut client = Client::start(&project, &[]);
    let started = client.call("claude_code_start", json!({ "project": "app", "prompt": "paint" }));
    let session = project.session();
    wait_for("the agent to work", || {
        project.facts().iter().any(|fact| matches!(fact, Event::Said { .. })).then_some(())
    });
    client
        .call("claude_code_say", json!({ "sessionId": session, "message": " " }))
        .refuses("invalid", "nothing in it");
    client
        .call("claude_code_say", json!({ "sessionId": session, "message": "mind the tests" }))
        .says("said: ");
    let facts = project.facts();
    let heard = facts.iter().find_map(|fact| match fact {
        Event::Heard { by, text, .. } => Some((by.to_string(), text.clone())),
        _ => None,
    });
    assert_eq!(heard, Some(("the lead test-client".into(), "mind the tests".into())));
    client.call("claude_code_cancel", json!({ "sessionId": started.task() })).says("cancelled: ");
}

/// LEAD-31: the tools say what they are and when to use them.
#[test]
fn lead_31_the_tools_say_when_to_use_them() {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &[]);
    let listed = client.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool =
        |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    assert_eq!(tool("claude_code_start")["title"], "Claude Code: start");
    for (name, when) in [
        ("claude_code_start", "Use it when the person wants code written"),
        ("project_context", "before you plan work there"),
        ("claude_code_say", "This answers no question"),
        ("claude_code_status", "what it asks"),
        ("claude_code_cancel", "End a Claude Code session"),
    ] {
        assert!(tool(name)["description"].as_str().unwrap().contains(when), "{name}");
    }
}
