//! Settings of the planner, and which of them take effect.

use jiff::SignedDuration;
use rapport::config::{PlannerVia, Settings};

use super::KEY;
use crate::support::settings::settings;

/// What holds with this in the home, this in the project, and these variables.
fn load(home: &str, project: &str, env: &[(&str, &str)]) -> Result<Settings, String> {
    let folder = tempfile::tempdir().unwrap();
    let (home_dir, project_dir) = (folder.path().join("home"), folder.path().join("app"));
    std::fs::create_dir_all(&home_dir).unwrap();
    std::fs::create_dir_all(project_dir.join(".rapport")).unwrap();
    std::fs::write(home_dir.join("config.yaml"), home).unwrap();
    std::fs::write(project_dir.join(".rapport/config.yaml"), project).unwrap();
    settings(&home_dir, &project_dir, env).map_err(|error| error.to_string())
}

#[test]
fn later_layers_win_and_keys_are_never_shown() {
    let home = format!("planner:\n  via: api\n  model: one\n  api_key: {KEY}\n  timeout: 60s\n");
    let project = "planner:\n  model: two\n  timeout: 90s\n";
    let settings = load(&home, project, &[("RAPPORT_PLANNER_VIA", "agent")]).unwrap();
    let planner = &settings.planner;
    assert_eq!(planner.via, Some(PlannerVia::Agent));
    // An untrusted project does not choose the model that a person pays for.
    assert_eq!(planner.model.as_deref(), Some("one"));
    assert_eq!(planner.timeout, Some(SignedDuration::from_secs(90)));
    assert!(planner.api_key.is_some());
    assert!(!format!("{settings:?}").contains(KEY), "{settings:?}");
    let variables = [
        ("RAPPORT_PLANNER_MODEL", "three"),
        ("RAPPORT_PLANNER_BASE_URL", "http://127.0.0.1:1"),
        ("RAPPORT_PLANNER_TIMEOUT", "5s"),
        ("RAPPORT_PLANNER_API_KEY", " "),
    ];
    let settings = load(&home, "", &variables).unwrap();
    assert_eq!(settings.planner.model.as_deref(), Some("three"));
    assert_eq!(settings.planner.base_url.as_deref(), Some("http://127.0.0.1:1"));
    assert_eq!(settings.planner.timeout, Some(SignedDuration::from_secs(5)));
    assert!(settings.planner.api_key.is_some(), "an empty variable says nothing");
    assert_eq!(load("", "", &[]).unwrap().planner, Default::default());
}

#[test]
fn mistakes_are_told_with_their_place() {
    for (yaml, env, says) in [
        ("planner:\n  via: api2\n", None, "config.yaml:2:8: \"api2\" is not one of auto, api and agent"),
        ("planner:\n  modell: x\n", None, "config.yaml:2:3: unknown field `modell`"),
        ("planner:\n  timeout: soon\n", None, "config.yaml:2:12: \"soon\" is not a time"),
        (
            "",
            Some(("RAPPORT_PLANNER_VIA", "cli")),
            "RAPPORT_PLANNER_VIA: \"cli\" is not one of auto, api and agent",
        ),
        ("", Some(("RAPPORT_PLANNER_TIMEOUT", "x")), "RAPPORT_PLANNER_TIMEOUT: \"x\" is not a time"),
    ] {
        let error = load(yaml, "", env.as_slice()).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}
