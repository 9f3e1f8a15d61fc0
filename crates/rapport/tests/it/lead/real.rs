//! The real Claude Code as a lead, with Rapport's own tools and a scripted model: what it answers, what it drafts,
//! and what it may not do.

use std::time::Duration;

use rapport_core::routing::Ground;
use rapport_core::{By, Event, SessionId};
use serde_json::{Value, json};

use super::{begin_lead, facts, worker};
use crate::support::model::{Model, Response, Script, offline};
use crate::support::needs;
use crate::support::patience::wait_for;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

fn call(id: &str, tool: &str, input: Value) -> Response {
    Response::default().tool(id, tool, input)
}

/// The session that `rapport run paint` begins.
fn painting() -> String {
    format!("{}-paint", jiff::Timestamp::now().strftime("%Y%m%d"))
}

/// A project with a lead whose model follows this script after its first words, and an agent that asks for a colour.
fn project(
    policy: &str,
    script: impl FnOnce(&Project, Script) -> Script,
) -> Option<(Project, Model, SessionId)> {
    let program = needs::claude()?;
    let project = Project::with_scenario(ONE_QUESTION).set("RAPPORT_LEAD_POLICY", policy);
    std::fs::write(project.root().join("style.md"), "# Style\nEverything is painted blue.\n").unwrap();
    let hello = Script::default().say(Response::default().text("Hello."));
    let model = Model::play(script(&project, hello));
    let url = format!("http://{}", model.address());
    let project = offline(&url).into_iter().fold(project, |project, (name, value)| project.set(name, value));
    let lead = begin_lead(&project, &program.display().to_string());
    Some((project, model, lead))
}

fn respond(id: &str, response: &str, ground: Option<&str>) -> Response {
    let input = json!({ "sessionId": painting(), "question": "q1", "response": response, "ground": ground });
    call(id, "mcp__rapport__claude_code_respond", input)
}

/// LEAD-2, LEAD-12, LEAD-13, LEAD-21: the lead reads the project, answers with a line of it as its ground, and the
/// agent is told who answered and why. A ground that it has not read does not count.
#[test]
fn lead_12_the_real_cli_answers_as_a_lead_with_a_ground() {
    let made = project("auto", |project, script| {
        let style = project.root().join("style.md");
        script
            .say(call("toolu_1", "Read", json!({ "file_path": style })))
            .say(respond("toolu_2", "Blue", Some("file:style.md:2")))
            .say(Response::default().text("I answered it."))
    });
    let Some((project, model, lead)) = made else { return };
    let mut run = project.start(&["paint"], &[]);
    run.until(|fact| matches!(fact, Event::PlanProposed { .. }));
    let id = worker(&project, &lead);
    let all = facts(&project, &id);
    let grounded = all.iter().find_map(|fact| match fact {
        Event::Grounded { because, .. } => Some(because.clone()),
        _ => None,
    });
    let because = grounded.unwrap_or_else(|| panic!("{all:#?}\n{:#?}", model.told()));
    let expected = Ground::File { path: "style.md".into(), first: 2, last: 2 };
    assert_eq!((because.ground, because.quote.as_str()), (expected, "Everything is painted blue."));
    let by = all.iter().find_map(|fact| match fact {
        Event::Answered { question, by, .. } if question.as_str() == "q1" => Some(by.clone()),
        _ => None,
    });
    assert_eq!(by, Some(By::Lead { name: lead.to_string() }));
    // The lead's next request may come after the worker has gone on.
    let (told, is_error) = wait_for("the result of the tool", || model.tool_result("toolu_2"));
    assert!(!is_error && told.contains(&format!("Response sent to Claude Code session {id}")), "{told}");
    let triggers =
        model.told().into_iter().filter(|told| told.contains("[Claude Code Question - Session ")).count();
    assert!(triggers >= 1, "{:#?}", model.told());
    project.rapport(&["digest"]).check(0, "because of file:style.md:2: Everything is painted blue.");
    let status = project.rapport(&["status", "--json", id.as_str()]);
    assert!(
        status.out().contains("\"ground\": \"file:style.md:2\"")
            || status.out().contains("\"ground\":\"file:style.md:2\""),
        "{}",
        status.out()
    );
    run.kill();
    project.wait_alone(Duration::from_secs(20));
}

/// The default policy: the lead drafts, and a person sends the draft with one command. No other agent has the lead's
/// tools.
#[test]
fn the_real_cli_drafts_and_a_person_sends_it() {
    let made = project("assist", |_, script| {
        script
            .say(respond("toolu_1", "Blue", Some("file:style.md:2")))
            .say(call(
                "toolu_2",
                "mcp__rapport__claude_code_respond",
                json!({ "sessionId": "20200101-invented", "response": "Blue" }),
            ))
            .say(Response::default().text("Drafted."))
    });
    let Some((project, model, lead)) = made else { return };
    let mut run = project.start(&["paint"], &[]);
    run.until(|fact| matches!(fact, Event::Drafted { .. }));
    let id = worker(&project, &lead);
    let shown: Value = project.json(&["status", "--json", id.as_str()]);
    let draft = &shown["questions"][0]["draft"];
    // The lead has not read the file that it names, so there is no ground.
    assert_eq!((&draft["answer"], &draft["because"]), (&json!("Blue"), &Value::Null), "{shown}");
    project.rapport(&["answer", id.as_str(), "--draft"]).check(0, "Answered. q1: Blue");
    let answered = run.until(|fact| matches!(fact, Event::Answered { .. }));
    assert!(matches!(answered, Event::Answered { by: By::Person { .. }, .. }), "{answered:?}");
    run.until(|fact| matches!(fact, Event::PlanProposed { .. }));
    // The lead works beside its worker, and may be told later than the worker plans.
    let (told, _) = wait_for("the result of the draft", || model.tool_result("toolu_1"));
    assert!(told.contains("waits for the person"), "{told}");
    run.kill();
    project.wait_alone(Duration::from_secs(20));
    // A process that no agent of the lead started does not get its tools.
    let refused = project.rapport(&["mcp", "--relay", "/nowhere.sock", "--lead", lead.as_str()]);
    refused.check(3, "are not offered here");
}
