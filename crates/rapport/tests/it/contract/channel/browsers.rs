//! The page for browsers as a channel: people see its inbox, and answer with its forms.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use rapport::channels::web::{Address, Web, WebConfig};
use rapport::clock::Clock;
use rapport::projects::known_projects::KnownProjects;
use rapport::workers::history::commits;
use rapport_core::SessionId;
use rapport_door::ChannelNotice;
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, watch};

use super::{People, holds};
use crate::web::WebVisitor;

#[tokio::test]
async fn people_at_browsers_see_and_answer() {
    let home = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let listen = listener.local_addr().unwrap();
    let channel = Web::new(WebConfig {
        listener,
        address: Address { url: format!("http://{listen}"), listen },
        hosts: vec!["127.0.0.1".to_owned()],
        push_hosts: Vec::new(),
        home: home.path().to_owned(),
        projects: Vec::new(),
        knowledge: Arc::new(KnownProjects::new(home.path().to_owned(), Clock::system(), commits)),
        secrets: Vec::new(),
        zone: jiff::tz::TimeZone::UTC,
        now: Arc::new(jiff::Timestamp::now),
    });
    holds(Box::new(channel), &Visitor { link: watch::Sender::default(), visitor: OnceCell::new() }).await;
}

/// A person with a browser, who pairs it as soon as there is a link.
struct Visitor {
    link: watch::Sender<Option<String>>,
    visitor: OnceCell<WebVisitor>,
}

impl Visitor {
    async fn paired(&self) -> &WebVisitor {
        let pair = async {
            let link = self.link.subscribe().wait_for(Option::is_some).await.unwrap().clone().unwrap();
            WebVisitor::pair(&link, "Anna's phone").await
        };
        self.visitor.get_or_init(|| pair).await
    }
}

impl People for Visitor {
    fn hear(&self, notice: &ChannelNotice) {
        if let ChannelNotice::Invitation { link, .. } = notice {
            self.link.send_replace(Some(link.clone()));
        }
    }

    fn see<'a>(&'a self, id: &'a SessionId, question: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move { drop(self.paired().await.sees(&format!("/s/{id}"), question).await) })
    }

    fn choose<'a>(&'a self, id: &'a SessionId, option: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let visitor = self.paired().await;
            let page = visitor.page(&format!("/s/{id}")).await;
            page.check(200, option);
            visitor.press(&page, "option:0", &[]).await.check(200, "Answered.");
        })
    }

    fn see_it_gone<'a>(&'a self, id: &'a SessionId, _: &'a str) -> BoxFuture<'a, ()> {
        // The next card may be there at once, so what has to be gone is the form of the first question.
        let form = r#"name="question" value="q1""#;
        Box::pin(async move { drop(self.paired().await.misses(&format!("/s/{id}"), form).await) })
    }
}
