//! What actions need others for: a person's words, a search of the web, another agent's session.

use std::sync::{Arc, Mutex, PoisonError};

use rapport_core::{Act, Draft};

use super::held::Held;
use super::{asking, drafting, record};
use crate::actions::{Hands, Pending, Stopper};
use crate::channels::terminal::safe;
use crate::cli::{Common, new};
use crate::config::Settings;
use crate::error::{Code, Failure};
use crate::turns::Folder;
use crate::wiring::{self, Place};

/// Those of a turn: a person is asked in the session's name, so that they can answer from anywhere.
pub(in crate::cli) struct SessionHands<'a> {
    pub(in crate::cli) held: &'a Held<'a>,
    /// What the batch is called in the session.
    pub(in crate::cli) batch: &'a str,
    pub(in crate::cli) stopper: Arc<Stopper>,
    pub(in crate::cli) invoked: &'a Invoked,
}

/// The sessions that a batch began.
#[derive(Debug, Default)]
pub(in crate::cli) struct Invoked(Mutex<Vec<Folder>>);

impl Invoked {
    fn add(&self, folder: Folder) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(folder);
    }

    /// All of them, once.
    pub(in crate::cli) fn take(&self) -> Vec<Folder> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Hands for SessionHands<'_> {
    fn ask<'a>(&'a self, n: usize, message: &'a str) -> Pending<'a> {
        Box::pin(async move {
            match self.reply(n, message).await {
                Ok(words) => Ok(words),
                // The person left: the batch stops here, and the question stays open.
                Err(failure) if failure.code == Code::Interrupted => {
                    self.stopper.stop();
                    std::future::pending().await
                }
                Err(failure) => Err(failure.message),
            }
        })
    }

    fn research<'a>(&'a self, _: usize, queries: &'a [String]) -> Pending<'a> {
        Box::pin(research(self.held.place, self.held.settings, queries))
    }

    fn invoke<'a>(&'a self, _: usize, agent: &'a str, message: &'a str) -> Pending<'a> {
        Box::pin(async move {
            let folder = begin(self.held.place, self.held.settings, agent, message)
                .map_err(|failure| failure.message)?;
            let name = folder.id.to_string();
            self.invoked.add(folder);
            Ok(name)
        })
    }
}

impl SessionHands<'_> {
    /// Asks, unless that was done before, and waits for the answer.
    async fn reply(&self, n: usize, message: &str) -> Result<String, Failure> {
        let header = record::header(self.batch, n);
        let before = self.held.view().await?.seq;
        if record::asked(&self.held.entries()?, &header, message).is_none() {
            let question = Draft {
                text: message.to_owned(),
                header: Some(header.clone()),
                free_text: true,
                ..Draft::default()
            };
            self.held.submit(Act::Ask { question }).await?;
        }
        let entries = self.held.entries()?;
        let lost = || Failure::new(Code::Trouble, "the question is gone before it was answered");
        let question = record::asked(&entries, &header, message).ok_or_else(lost)?;
        if let Some(words) = record::answer(&entries, question) {
            return Ok(words);
        }
        self.held.show(before).await?;
        record::answer(&self.held.entries()?, question).ok_or_else(lost)
    }
}

/// Those of a plan that belongs to no session: only who sits here can be asked.
pub(in crate::cli) struct AloneHands<'a> {
    pub(in crate::cli) common: &'a Common,
    pub(in crate::cli) place: &'a Place,
    pub(in crate::cli) settings: &'a Settings,
    pub(in crate::cli) stopper: Arc<Stopper>,
}

impl Hands for AloneHands<'_> {
    fn ask<'a>(&'a self, _: usize, message: &'a str) -> Pending<'a> {
        Box::pin(async move {
            if !asking::is_possible(self.common) {
                return Err("nobody can be asked without a terminal".to_owned());
            }
            for line in safe::lines(message) {
                println!("{line}");
            }
            match asking::words(self.common, "Your reply").await {
                Ok(Some(words)) => Ok(words),
                Err(failure) if failure.code != Code::Interrupted => Err(failure.message),
                // Who leaves leaves the batch, which then waits for nobody.
                Ok(None) | Err(_) => {
                    self.stopper.stop();
                    std::future::pending().await
                }
            }
        })
    }

    fn research<'a>(&'a self, _: usize, queries: &'a [String]) -> Pending<'a> {
        Box::pin(research(self.place, self.settings, queries))
    }

    fn invoke<'a>(&'a self, _: usize, agent: &'a str, message: &'a str) -> Pending<'a> {
        Box::pin(async move {
            let folder =
                begin(self.place, self.settings, agent, message).map_err(|failure| failure.message)?;
            Ok(folder.id.to_string())
        })
    }
}

/// A session for another agent, with its first turn ready to be planned.
fn begin(place: &Place, settings: &Settings, agent: &str, message: &str) -> Result<Folder, Failure> {
    let folder = new::make(place, agent)?;
    drafting::prepare_for(place, settings, &folder, agent, message)?;
    Ok(folder)
}

/// Searches the web through the agent, in a conversation of its own.
async fn research(place: &Place, settings: &Settings, queries: &[String]) -> Result<String, String> {
    let agent = wiring::agent(place, settings).map_err(|failure| failure.message)?;
    let agent = agent.one_shot().ok_or("this agent cannot search the web outside of a session")?;
    let list: String = queries.iter().map(|query| format!("- {}\n", query.replace('\n', " "))).collect();
    let prompt = format!(
        "Search the web for each of these, and tell what you found, in Markdown, with the addresses it is from:\n\n{list}"
    );
    agent.ask(&place.project, &prompt, "WebSearch,WebFetch").await
}
