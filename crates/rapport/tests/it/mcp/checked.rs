//! The outcome of the check of finished work, as a lead reads it.

use serde_json::json;

use super::WORKER;
use super::client::Client;
use super::story::done;
use crate::support::project::Project;

#[test]
fn a_lead_reads_the_outcome_with_the_diff() {
    let project =
        Project::with_scenario(WORKER).set("RAPPORT_WORKER_CHECK", "cat paint.txt; echo 1 failed; exit 1");
    let mut client = Client::start(&project, &[]);
    let ended = done(&project, &mut client);
    assert_eq!(
        (&ended.data["check"]["passed"], &ended.data["check"]["exitCode"]),
        (&json!(false), &json!(1)),
        "{ended:?}"
    );
    assert_eq!(ended.data["check"]["output"], "Blue\n1 failed");
    let told = "Check: the check cat paint.txt; echo 1 failed; exit 1 failed with exit code 1";
    let diff = ended.diff();
    ended.says(told).says("  1 failed");
    client.call("review_changes", json!({ "diffId": diff, "format": "summary" })).says(told);
}
