//! "While you were away": what leads did, at the command line and for an assistant over MCP; and overruling it, line by
//! line.

use rapport_core::{By, SessionId, View};
use serde_json::{Value, json};

use crate::mcp::WORKER;
use crate::mcp::client::Client;
use crate::support::project::Project;
use crate::support::sampled::sampled;

/// A project in which an assistant answered the question of its worker, and has gone.
fn answered() -> (Project, SessionId) {
    let project = Project::with_scenario(WORKER);
    let mut client = Client::start(&project, &[]);
    let task = client.call("task_worker", json!({ "task": "paint" })).task();
    client.until(&task, "needs_input").says("Which colour?");
    client.call("claude_code_digest", json!({})).says("No lead did anything.");
    client.call("answer_worker_question", json!({ "taskId": task, "answer": "Blue" })).says("Answered by");
    client.until(&task, "needs_input").says("Start the work with this plan?");
    let told = client.call("claude_code_digest", json!({ "hours": 1 }));
    let line = &told.data["digest"]["lines"][0];
    assert_eq!((&line["question"], &line["text"]), (&json!("q1"), &json!("Which colour?")), "{line}");
    told.says("q1 \"Which colour?\": answered Blue");
    client.call("claude_code_digest", json!({ "hours": -1 })).refuses("invalid", "claude_code_digest");
    client.close();
    let id = project.session();
    (project, id)
}

/// The sessions besides this one.
fn branches(project: &Project, id: &SessionId) -> Vec<View> {
    let all: Vec<View> = project.json(&["status", "--json"]);
    all.into_iter().filter(|view| view.id != *id).collect()
}

/// The learnings that are proposed, and hold only once a person keeps them.
fn proposed(project: &Project) -> Vec<String> {
    let shown: Value = project.json(&["project", "show", "--json"]);
    let all = shown["context"]["proposed"].as_array().unwrap_or_else(|| panic!("{shown}"));
    all.iter().map(|learning| learning["text"].as_str().unwrap().to_owned()).collect()
}

/// LEAD-28: the digest says what the lead answered. A person overrules one line: a branch at that question has the other
/// answer, the original keeps its own, and a learning is proposed.
#[test]
fn lead_28_a_line_of_the_digest_is_overruled_at_the_command_line() {
    let (project, id) = answered();
    project
        .rapport(&["digest"])
        .check(0, &format!("1. {id} q1  Which colour?\n  answered: Blue\n"))
        .check(0, "overrule it with: rapport digest --overrule 1")
        .check(0, "Leads cost $0.00 in the last 24h.");
    let shown: Value = project.json(&["digest", "--json"]);
    assert_eq!(shown["lines"][0]["question"], "q1", "{shown}");
    project.rapport(&["digest", "--since", "0s"]).check(0, "No lead answered");
    for wrong in ["0", "2"] {
        project.rapport(&["digest", "--overrule", wrong]).check(4, "is not an answer of a lead");
    }
    project.rapport(&["digest", "--instead", "Red"]).check(2, "--overrule");
    assert_eq!(branches(&project, &id), [], "nothing was overruled");

    project
        .rapport(&["digest", "--overrule", "1", "--instead", "Red"])
        .check(0, "Proposed to keep in mind: Which colour? Not Blue: rather Red")
        .check(0, "rapport project learn");
    let made = branches(&project, &id);
    let [branch] = &made[..] else { panic!("{made:?}") };
    assert_eq!(branch.branched_from.as_ref().map(|from| &from.session), Some(&id));
    assert_eq!(branch.answers[0].answer, "Red");
    assert!(matches!(branch.answers[0].by, By::Person { .. }), "{:?}", branch.answers);
    let original: View = project.json(&["status", "--json", id.as_str()]);
    assert_eq!(original.answers[0].answer, "Blue", "what was done with it stays");
    assert_eq!(proposed(&project), ["Which colour? Not Blue: rather Red"]);
    // Without another answer, the question is open again in the branch.
    project.rapport(&["digest", "--overrule", "1"]).check(0, "Not Blue: ask instead");
    let open = branches(&project, &id).into_iter().filter(|view| !view.questions.is_empty()).count();
    assert_eq!(open, 1);
}

/// kill -9 around the durable writes of overruling: doing it again completes it, and proposes nothing twice.
#[test]
fn overruling_survives_a_kill_around_every_write() {
    let overrule = |project: &Project, point: Option<usize>| {
        let mut command = project.command();
        command.args(["digest", "--overrule", "1", "--instead", "Red"]);
        command.envs(point.map(|point| ("RAPPORT_TRIAL_WRITES", point.to_string())));
        command.output().unwrap().status
    };
    for point in sampled(60, 8) {
        let (project, id) = answered();
        if !overrule(&project, Some(point)).success() {
            assert!(overrule(&project, None).success(), "point {point}");
        }
        let proposed = proposed(&project);
        assert_eq!(proposed, ["Which colour? Not Blue: rather Red"], "point {point}");
        let red = |view: &View| view.answers.iter().any(|given| given.answer == "Red");
        let made = branches(&project, &id);
        assert!(made.iter().any(red), "point {point}: {made:?}");
        let original: View = project.json(&["status", "--json", id.as_str()]);
        assert_eq!(original.answers[0].answer, "Blue", "point {point}");
    }
}
