//! Whether a model is called through its API or through the CLI.

use std::sync::Arc;
use std::time::Duration;

use rapport::agents::claude::{Claude, ClaudeConfig};
use rapport::planners::messages::Credential;
use rapport::planners::{ModelAccess, Via, choose};
use rapport::wiring::{self, Workspace};

use super::server::{Answer, Server};
use super::{KEY, brief, good, texts};
use crate::support::settings::settings;

fn means(via: Via, base_url: &str, credential: Option<Credential>) -> ModelAccess {
    let program = "/nowhere/claude";
    ModelAccess {
        via,
        credential,
        base_url: Some(base_url.into()),
        model: Some("small".into()),
        timeout: Duration::from_secs(30),
        agent: Arc::new(Claude::new(ClaudeConfig::new(program, env!("CARGO_BIN_EXE_rapport")))),
        directory: std::env::temp_dir(),
    }
}

#[tokio::test]
async fn chat_42_a_key_means_the_api_and_no_key_the_cli() {
    let key = || Some(Credential::Key(KEY.into()));
    for (via, credential, by_api) in [
        (Via::Auto, key(), true),
        (Via::Api, key(), true),
        (Via::Agent, key(), false),
        (Via::Auto, None, false),
        (Via::Agent, None, false),
    ] {
        let server = Server::giving(&[Answer::json(&good())]).await;
        let planner = choose(means(via, &server.url, credential)).unwrap();
        let outcome = planner.next(brief(1, &[])).await;
        assert_eq!(server.asked().len(), usize::from(by_api), "{via:?}");
        match outcome {
            Ok(batch) => {
                assert!(by_api);
                assert_eq!(texts(&batch), ["Which library?"]);
                assert_eq!(server.asked()[0].body["model"], "small");
            }
            Err(error) => {
                assert!(!by_api, "{error}");
                assert!(error.to_string().contains("cannot start /nowhere/claude"), "{error}");
            }
        }
    }
    let refused = choose(means(Via::Api, "https://x", None)).err().unwrap();
    assert_eq!(refused.to_string(), "there is no key for the model API");
}

/// What the settings say reaches the API.
#[tokio::test]
async fn chat_42_the_settings_name_key_model_and_address() {
    let server = Server::giving(&[Answer::json(&good())]).await;
    let folder = tempfile::tempdir().unwrap();
    let place = Workspace::new(folder.path().join("home"), folder.path().join("app"));
    let variables = [
        ("RAPPORT_PLANNER_VIA", "api"),
        ("RAPPORT_PLANNER_API_KEY", KEY),
        ("RAPPORT_PLANNER_MODEL", "tiny"),
        ("RAPPORT_PLANNER_BASE_URL", &server.url),
    ];
    let settings = settings(&place.home, &place.project, &variables).unwrap();
    let planner = wiring::planner(&place, &settings).unwrap();
    assert_eq!(texts(&planner.next(brief(1, &[])).await.unwrap()), ["Which library?"]);
    let asked = server.asked();
    assert_eq!((asked[0].header("x-api-key"), &asked[0].body["model"]), (Some(KEY), &"tiny".into()));
}
