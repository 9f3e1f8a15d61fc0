//! Which way a model is asked.

use std::time::Duration;

use rapport::agents::claude::ClaudeConfig;
use rapport::planners::messages::Credential;
use rapport::planners::{Means, Via, choose};

use super::server::{Answer, Server};
use super::{KEY, brief, good, texts};

fn means(via: Via, base_url: &str, credential: Option<Credential>) -> Means {
    let program = "/nowhere/claude";
    Means {
        via,
        credential,
        base_url: Some(base_url.into()),
        model: Some("small".into()),
        timeout: Duration::from_secs(30),
        agent: ClaudeConfig::new(program, env!("CARGO_BIN_EXE_rapport")),
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
