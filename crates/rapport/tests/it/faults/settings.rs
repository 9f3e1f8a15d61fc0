//! Settings that are wrong, and which of several takes precedence.

use serde_json::Value;

use crate::support::project::Project;
use crate::support::scenarios::ONE_QUESTION;

fn write(project: &Project, path: &str, text: &str) {
    let path = project.path(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// The terms of a session that is begun now, and begun only.
fn terms(project: &Project, args: &[&str]) -> (u64, String) {
    let words = [&["run", "--json"], args, &["x"]].concat();
    let mut command = project.command();
    let ran = command.args(words).env("RAPPORT_TRIAL", "kill-after:1").output().unwrap();
    assert!(!ran.status.success());
    let ids = rapport::stores::blocking::BlockingStore::new(rapport::stores::files::Files::new(
        ["app/.teddy/sessions", "app/.rapport/sessions"]
            .map(|folder| project.path(folder))
            .into_iter()
            .find(|folder| folder.exists())
            .unwrap(),
    ))
    .list()
    .unwrap();
    let log = project.rapport(&["log", "--json", ids.last().unwrap().as_str()]);
    let first: Value = serde_json::from_str(log.out().lines().next().unwrap()).unwrap();
    let terms = &first["facts"][0]["created"]["terms"];
    (terms["max_rounds"].as_u64().unwrap(), terms["hot"].as_str().unwrap().to_owned())
}

#[test]
fn what_is_wrong_is_told_with_file_line_and_column() {
    let cases = [
        ("agent:\n  hott: 5m\n", ":2:3: unknown field `hott`, expected one of name, command, hot, silence,"),
        ("agnt: {}\n", ":1:1: unknown field `agnt`, expected one of agent, rounds, questions, lead, planner"),
        ("agent:\n  hot: [1]\n", ":2:8: expected string scalar"),
        ("agent:\n  hot: soon\n", ":2:8: \"soon\" is not a time such as 30s, 5m or 2h"),
        ("agent:\n  silence: -5m\n", ":2:12: \"-5m\" is not a time"),
        ("questions:\n  expire: 5\n", ":2:11: \"5\" is not a time"),
        ("rounds:\n  max: many\n", ":2:8: invalid"),
        ("agent: [\n", ":1:8: expected mapping"),
    ];
    for place in ["home/.rapport/config.yaml", "app/.rapport/config.yaml"] {
        for (text, says) in cases {
            let project = Project::with_scenario(ONE_QUESTION);
            write(&project, place, text);
            let file = project.path(place).display().to_string();
            project.rapport(&["run", "x"]).check(2, &format!("rapport: {file}{says}"));
            project.rapport(&["doctor"]).check(1, &format!("bad      settings   {file}{says}"));
            project.rapport(&["status"]).check(0, "No sessions here yet.");
        }
    }
    let project = Project::with_scenario(ONE_QUESTION);
    std::fs::create_dir_all(project.root().join(".rapport/config.yaml")).unwrap();
    project.rapport(&["run", "x"]).check(2, "config.yaml: Is a directory");
}

#[test]
fn a_variable_that_is_wrong_is_named() {
    for (name, value, says) in [
        ("RAPPORT_AGENT_HOT", "soon", "\"soon\" is not a time such as 30s, 5m or 2h"),
        ("RAPPORT_AGENT_SILENCE", "", "\"\" is not a time such as 30s, 5m or 2h"),
        ("RAPPORT_QUESTIONS_EXPIRE", "-1h", "\"-1h\" is not a time"),
        ("RAPPORT_ROUNDS_MAX", "-1", "\"-1\" is not a number such as 5"),
        ("RAPPORT_AGENT_COMMAND", "", "agent.command is empty\n  Name the agent in config.yaml,"),
    ] {
        let project = Project::with_scenario(ONE_QUESTION).set(name, value);
        project
            .rapport(&["run", "x"])
            .check(2, says)
            .check(2, if says.contains("agent") { "" } else { name });
        assert!(!project.root().join(".rapport").exists());
    }
}

#[test]
fn flags_win_over_variables_over_the_project_over_the_home_over_the_defaults() {
    let project = Project::with_scenario(ONE_QUESTION);
    assert_eq!(terms(&project, &[]), (5, "PT5M".into()));
    write(&project, "home/.rapport/config.yaml", "rounds: { max: 1 }\nagent: { hot: 1m }\n");
    assert_eq!(terms(&project, &[]), (1, "PT1M".into()));
    write(&project, "app/.rapport/config.yaml", "rounds: { max: 2 }\nagent: { hot: 2m }\n");
    assert_eq!(terms(&project, &[]), (1, "PT2M".into()));
    project.rapport(&["trust", "--yes"]).check(0, "rounds: { max: 2 }");
    assert_eq!(terms(&project, &[]), (2, "PT2M".into()));
    let project = project.set("RAPPORT_ROUNDS_MAX", "3").set("RAPPORT_AGENT_HOT", "3m");
    assert_eq!(terms(&project, &[]), (3, "PT3M".into()));
    assert_eq!(terms(&project, &["--max-rounds", "4"]), (4, "PT3M".into()));
    assert_eq!(terms(&project, &["--max-rounds", "4", "--hot", "4m"]), (4, "PT4M".into()));
}

#[test]
fn the_folder_of_an_older_tool_is_used_as_it_is() {
    let project = Project::with_scenario(ONE_QUESTION);
    write(&project, "app/.teddy/config.yaml", "agent: { hot: 9m }\n");
    assert_eq!(terms(&project, &[]), (5, "PT9M".into()));
    assert!(!project.root().join(".rapport").exists());
    project.rapport(&["status"]).check(0, "-x  ");
}

#[test]
fn without_a_home_it_says_which_variable_to_set() {
    let project = Project::with_scenario(ONE_QUESTION).set("HOME", "");
    project.rapport(&["run", "x"]).check(2, "neither RAPPORT_HOME nor HOME is set\n  Say where");
}
