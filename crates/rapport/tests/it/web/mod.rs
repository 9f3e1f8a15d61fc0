//! The page for browsers: with the real `rapport serve`, over plain HTTP and in a real Chromium.

mod access;
mod answering;
mod browsing;
mod every_page;
mod faults;
mod killed;
mod looking;
mod many;
mod offers;
mod projects;
mod push;
mod push_service;
mod replies;
mod strangers;
mod visitor;

pub(crate) use visitor::{Page, WebVisitor};

use serde_json::Value;

use crate::support::project::{Project, Running};

/// A `rapport serve` with the page.
pub(crate) struct WebSite {
    pub(crate) project: Project,
    pub(crate) serving: Running,
    /// Where it is.
    pub(crate) url: String,
    /// The link that it printed.
    pub(crate) link: String,
    env: Vec<(String, String)>,
}

impl WebSite {
    pub(crate) fn start(project: Project) -> Self {
        Self::start_with(project, &[])
    }

    /// The same with these variables.
    pub(crate) fn start_with(project: Project, env: &[(&str, &str)]) -> Self {
        let (serving, url, link) = serve(&project, env);
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { project, serving, url, link, env }
    }

    /// A device that is paired by a link of its own.
    pub(crate) async fn pair(&self, name: &str) -> WebVisitor {
        WebVisitor::pair(&self.invite(&[]), name).await
    }

    /// A link that lets one device in.
    pub(crate) fn invite(&self, flags: &[&str]) -> String {
        let told: Value = self.project.json(&[&["open", "--print", "--json"], flags].concat());
        told["link"].as_str().unwrap().to_owned()
    }

    /// Kills the server.
    pub(crate) fn stop(&mut self) {
        let _ = self.serving.child.kill();
        let _ = self.serving.child.wait();
    }

    /// Kills the server and starts it again, at the same address.
    pub(crate) fn restart(&mut self) {
        self.stop();
        let listen = self.url.strip_prefix("http://").unwrap().to_owned();
        let env = self.env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let env: Vec<_> = env.chain([("RAPPORT_WEB_LISTEN", listen.as_str())]).collect();
        let (serving, url, link) = serve(&self.project, &env);
        assert_eq!(url, self.url);
        (self.serving, self.link) = (serving, link);
    }
}

impl Drop for WebSite {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Serves the page; where it is, and its first link.
fn serve(project: &Project, env: &[(&str, &str)]) -> (Running, String, String) {
    try_serve(project, env).expect("it did not serve")
}

/// The same; `None` if the server died before it said where it is.
fn try_serve(project: &Project, env: &[(&str, &str)]) -> Option<(Running, String, String)> {
    let own = [("RAPPORT_WEB_ENABLED", "true"), ("RAPPORT_WEB_LISTEN", "127.0.0.1:0")];
    let mut serving = project.launch(&["serve", "--json"], &[&own, env].concat());
    // Another channel may say something in between.
    let mut told = std::iter::from_fn(|| {
        let line = Some(serving.line()).filter(|line| !line.is_empty())?;
        Some(serde_json::from_str::<Value>(&line).expect("it did not serve"))
    });
    let address = |told: Value| Some(told["name"].as_str()?.strip_prefix("the page at ")?.to_owned());
    let url = told.find_map(address)?;
    let link = told.find_map(|told| Some(told["link"].as_str()?.to_owned()))?;
    Some((serving, url, link))
}
