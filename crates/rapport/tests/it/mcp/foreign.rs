//! A client that somebody else wrote: that of the protocol's own project, in the new protocol and in the old one.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::story::confirm;
use crate::support::needs;
use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

fn leads_a_worker(era: &str, protocol: &str) {
    let Some(place) = needs::mcp_client() else { return };
    let project = Project::with_scenario(ONE_QUESTION);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp-client/lead.mjs");
    let server = project.command();
    let mut node = Command::new("node");
    node.arg(script).arg(place).args([era, env!("CARGO_BIN_EXE_rapport"), "mcp", "--apply", "lead"]);
    node.current_dir(project.root()).env_clear().stdin(Stdio::null()).stdout(Stdio::piped());
    node.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut child = node.spawn().unwrap();
    let mut told: Vec<(String, Value)> = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        told.push((line["event"].as_str().unwrap().to_owned(), line["data"].clone()));
        let (event, data) = told.last().unwrap();
        if event == "answer_worker_question" && data["isError"] == true {
            assert_eq!(data["error"], "needs_person", "{data}");
            confirm(&project);
        }
    }
    assert!(child.wait().unwrap().success(), "{told:#?}");
    let events: Vec<_> = told.iter().map(|(event, _)| event.as_str()).collect();
    let waits = ["wait", "answer_worker_question", "wait", "answer_worker_question", "wait"];
    assert_eq!(events[..3], ["connected", "tools", "task_worker"]);
    assert_eq!(events[3..8], waits);
    assert_eq!(events[8..], ["review_changes", "apply_changes", "closed"]);
    assert_eq!(told[0].1, json!({ "server": "rapport", "protocol": protocol }));
    assert_eq!((&told[3].1["status"], &told[7].1["status"]), (&json!("needs_input"), &json!("completed")));
    assert_eq!(told[9].1["changes"], "applied");
    assert_eq!(project.file("paint.txt"), "Blue\n");
    let facts: Vec<_> = project.facts().iter().map(rapport_core::Event::words).collect();
    assert!(facts.iter().any(|fact| fact.contains("the lead foreign-client")), "{facts:#?}");
}

#[test]
fn a_client_of_others_leads_a_worker_in_the_old_protocol() {
    leads_a_worker("legacy", "2025-11-25");
}

#[test]
fn a_client_of_others_leads_a_worker_in_the_new_protocol() {
    leads_a_worker("modern", "2026-07-28");
}
