//! `rapport serve` for another project than the one it is started in.

use jiff::SignedDuration;
use rapport::stores::blocking::BlockingStore;
use rapport::stores::files::Files;
use rapport_core::Session;

use super::{AUTH, Stage};

/// The settings name the project, and that one's own settings hold for what is begun there.
#[tokio::test]
async fn the_settings_of_the_project_that_is_served_hold() {
    let mut stage = Stage::quiet(AUTH).await;
    let other = stage.project.path("other");
    for (folder, hot) in [(stage.project.root(), "6m"), (other.clone(), "7m")] {
        std::fs::create_dir_all(folder.join(".rapport")).unwrap();
        std::fs::write(folder.join(".rapport/config.yaml"), format!("agent: {{ hot: {hot} }}\n")).unwrap();
    }
    let home = stage.project.path("home/.rapport");
    std::fs::create_dir_all(&home).unwrap();
    std::fs::write(home.join("config.yaml"), format!("serve: {{ project: '{}' }}\n", other.display()))
        .unwrap();
    stage.serve_with(&[]);
    let anna = stage.anna();
    anna.types("/plan add JWT authentication");
    anna.sees("Q1 of 3").await;
    assert!(stage.printed().contains(&format!("\"project\":\"{}\"", other.display())), "{}", stage.printed());
    let store = BlockingStore::new(Files::new(rapport::config::sessions(&other)));
    let ids = store.list().unwrap();
    let session = Session::replay(&store.read(&ids[0], 0).unwrap()).unwrap();
    assert_eq!((ids.len(), session.created().terms.hot), (1, SignedDuration::from_mins(7)));
    assert!(stage.sessions().is_empty(), "nothing was begun where it was started");
}
