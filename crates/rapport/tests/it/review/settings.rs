//! The setting for the program that shows previews.

use rapport::config;
use rapport::wiring::Workspace;
use tempfile::TempDir;

use crate::support::settings::settings;

/// FILE-36: `preview_command` in the project's file, where that is trusted, or in the environment, in words.
#[test]
fn file_36_the_preview_command_is_a_setting() {
    let (home, project) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let load = |variable: Option<&str>| {
        let env = variable.map(|value| ("RAPPORT_PREVIEW_COMMAND", value));
        settings(home.path(), project.path(), env.as_slice()).unwrap().preview_command
    };
    let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert_eq!(load(None), None);
    let folder = project.path().join(".teddy");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("config.yaml"), "preview_command: \"nvim -R\"\n").unwrap();
    assert_eq!(load(None), None, "a project may not name programs by itself");
    let known = Workspace::new(home.path().into(), project.path().into()).known_settings();
    let brought = config::brought(home.path(), project.path(), &known).unwrap();
    config::trust(home.path(), project.path(), |_| None).unwrap().trust(&[brought]).unwrap();
    assert_eq!(load(None), words(&["nvim", "-R"]));
    assert_eq!(load(Some("'/opt/my viewer' --wait")), words(&["/opt/my viewer", "--wait"]));
    assert_eq!(load(Some("")), None, "an empty one is none");
}
