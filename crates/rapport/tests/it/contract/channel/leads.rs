//! MCP as a channel: leads see and answer there, through tools instead of a screen.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rapport::config::{self, Layer, Settings};
use rapport::wiring::Workspace;
use rapport_core::{By, Created, Origin, SessionId};
use rapport_door::ChannelNotice;
use serde_json::{Value, json};
use tokio::sync::{Mutex, watch};

use super::{PATIENCE, People, created, holds};
use crate::mcp::http::WebClient;

const TOKEN: &str = "a-token-of-the-test";

#[tokio::test]
async fn leads_over_mcp_see_and_answer() {
    let folder = tempfile::tempdir().unwrap();
    let place = Workspace::new(folder.path().join("home"), folder.path().into());
    let env = [("RAPPORT_MCP_LISTEN", "127.0.0.1:0"), ("RAPPORT_MCP_TOKEN", TOKEN)];
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let sources =
        Arc::new(config::sources(&place.home, &place.project, env, &place.known_settings()).unwrap());
    let settings = Settings::load(&sources, Layer::default(), &place.worker_kinds).unwrap();
    let setup = place.channel_setup(&settings, sources.clone());
    let kinds = place.channels.chosen(&[], &sources).unwrap();
    let channel = kinds.open(&setup).await.unwrap().remove(0);
    assert!(channel.serves_leads());
    holds(channel, &Lead { url: watch::Sender::default(), client: Mutex::default() }).await;
}

/// A lead with a client, as soon as the channel says where it listens.
struct Lead {
    url: watch::Sender<Option<String>>,
    client: Mutex<Option<WebClient>>,
}

impl Lead {
    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let mut client = self.client.lock().await;
        if client.is_none() {
            let mut told = self.url.subscribe();
            let url = told.wait_for(Option::is_some).await.unwrap().clone().unwrap();
            let mut greeted = WebClient::at(url, TOKEN.into());
            greeted.greet().await;
            *client = Some(greeted);
        }
        client.as_mut().unwrap().call(tool, arguments).await
    }

    /// Waits until a question is open, or is not.
    async fn until(&self, id: &SessionId, question: &str, is_open: bool) {
        let looking = async {
            loop {
                let told = self.call("work_status", json!({ "taskId": id })).await;
                let open = told["questions"].as_array().into_iter().flatten();
                if open.into_iter().any(|open| open["text"] == question) == is_open {
                    return;
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.unwrap();
    }
}

impl People for Lead {
    fn begins(&self, task: &str) -> Created {
        let origin = Some(Origin { channel: "mcp".into(), key: "web-client".into() });
        Created { by: By::Lead { name: "web-client".into() }, origin, ..created(task) }
    }

    fn is_one(&self, by: &By, _: &str) -> bool {
        matches!(by, By::Lead { .. })
    }

    fn hear(&self, notice: &ChannelNotice) {
        if let ChannelNotice::Serving { name, .. } = notice {
            let url = name.split_whitespace().find(|word| word.starts_with("http://"));
            self.url.send_replace(url.map(str::to_owned));
        }
    }

    fn see<'a>(&'a self, id: &'a SessionId, question: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.until(id, question, true))
    }

    fn choose<'a>(&'a self, id: &'a SessionId, option: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let told = self.call("answer_worker_question", json!({ "taskId": id, "answer": option })).await;
            assert_eq!(told["success"], true, "{told}");
        })
    }

    fn see_it_gone<'a>(&'a self, id: &'a SessionId, question: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(self.until(id, question, false))
    }
}
