//! What Claude Code does besides running a session: one-shot calls, cutting conversations, diagnosis.

use std::io;
use std::path::{Path, PathBuf};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::channel::{PATIENCE, Version};
use super::command::FromProject;
use super::config::{ClaudeCode, LOG_IN};
use super::one_shot::SaidOfItself;
use super::{Claude, one_shot, structured_call, transcript};
use crate::agents::registry::AgentKind as _;
use crate::agents::{
    Conversations, Cut, Diagnosed, Diagnosis, OneShot, Structured, StructuredCall, StructuredError,
};
use crate::workers::local::Directory;

/// How to get a version that supports everything.
const UPDATE: &str = "Update it with: npm install -g @anthropic-ai/claude-code";

/// The error about a CLI that does not answer.
const NO_ANSWER: &str = "it gave no answer within ten seconds";

/// The first version of the CLI that can report whether a person is logged in.
const TELLS_LOGIN: Version = Version(2, 1, 90);

/// A directory that belongs to no project.
fn nowhere() -> PathBuf {
    PathBuf::from("/")
}

impl OneShot for Claude {
    fn ask<'a>(
        &'a self,
        directory: &'a Path,
        prompt: &'a str,
        tools: &'a str,
    ) -> BoxFuture<'a, Result<String, String>> {
        one_shot::ask(&self.config, directory, prompt, tools).boxed()
    }

    fn structured<'a>(
        &'a self,
        directory: &'a Path,
        call: &'a StructuredCall,
    ) -> BoxFuture<'a, Result<Structured, StructuredError>> {
        structured_call::call(&self.config, directory, call).boxed()
    }
}

impl Conversations for Claude {
    /// The CLI writes the transcript a moment after it asks, and may have been killed in that moment. If the agent
    /// still waits for the answer, all lines of the transcript precede the call.
    fn branch(&self, cut: &Cut<'_>) -> io::Result<Option<Vec<u8>>> {
        let fork = |original: Vec<u8>| {
            let forked = transcript::fork(&original, cut.call, cut.from, cut.to);
            forked.or_else(|| cut.is_waited_for.then(|| transcript::copy(&original, cut.from, cut.to)))
        };
        let directory = Path::new(cut.from.directory);
        let there = transcript::content(&self.config.env, directory, cut.from.conversation)?;
        Ok(there.and_then(fork).or_else(|| cut.kept.clone().and_then(fork)))
    }

    fn pending(&self, kept: &[u8]) -> Vec<String> {
        transcript::pending(kept)
    }
}

impl Claude {
    /// What the CLI says about itself in this directory.
    async fn says(&self, words: &[&str], directory: &Path) -> io::Result<SaidOfItself> {
        let said = timeout(PATIENCE, one_shot::run(&self.config, words, &Directory::at(directory))).await;
        said.unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, NO_ANSWER)))
    }

    /// Whether the CLI reports that no person is logged in. Older versions would take the arguments for a prompt, and
    /// the scripted agent has no account: they are not asked.
    async fn is_logged_out(&self, version: Option<Version>, directory: &Path) -> bool {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Login {
            logged_in: bool,
        }
        let is_known =
            version.is_some_and(|version| version >= TELLS_LOGIN) && self.config.leading_args.is_empty();
        if !is_known {
            return false;
        }
        let said = self.says(&["auth", "status"], &self.asked_at(directory).await).await.ok();
        let login = said.and_then(|said| serde_json::from_str::<Login>(&said.output).ok());
        login.is_some_and(|login| !login.logged_in)
    }

    /// Where the CLI is asked about the login: in the project if its settings count, else in a directory without
    /// settings. A project can claim a login by naming a program that prints a key.
    async fn asked_at(&self, directory: &Path) -> PathBuf {
        let (config, directory) = (self.config.clone(), directory.to_owned());
        let find = move || match config.from_project(&directory) {
            FromProject::Everything => directory,
            FromProject::Nothing { .. } => {
                config.private.clone().filter(|folder| folder.is_dir()).unwrap_or_else(nowhere)
            }
        };
        spawn_blocking(find).await.unwrap_or_else(|_| nowhere())
    }

    /// The channel in use, and the reason for it. The scripted agent supports every channel, so there is no reason.
    fn explained(&self, version: Option<Version>) -> String {
        let config = &self.config;
        if config.is_rehearsal { config.channel.in_words(version) } else { config.channel.explain(version) }
    }

    async fn diagnosed(&self, directory: &Path) -> Diagnosed {
        let config = &self.config;
        let program = config.program.display();
        match self.says(&["--version"], directory).await {
            Ok(said) if said.status.success() => {
                let words = said.output.trim();
                let version = Version::find(words);
                if self.is_logged_out(version, directory).await {
                    let found = format!("{words}, not logged in");
                    return Diagnosed::LoggedOut { found, advice: LOG_IN.into() };
                }
                match config.channel.lacks(version) {
                    Some(lacks) => {
                        Diagnosed::CannotAsk { found: format!("{words}; {lacks}"), advice: UPDATE.into() }
                    }
                    None => Diagnosed::Usable(format!("{words}; {}", self.explained(version))),
                }
            }
            Ok(said) => Diagnosed::Broken(format!("{program} --version: {}", said.errors.join(" "))),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                Diagnosed::Broken(format!("{program} --version: {error}"))
            }
            Err(error) => {
                Diagnosed::Missing { found: error.to_string(), advice: ClaudeCode.installation().into() }
            }
        }
    }
}

impl Diagnosis for Claude {
    fn diagnose<'a>(&'a self, directory: &'a Path) -> BoxFuture<'a, Diagnosed> {
        self.diagnosed(directory).boxed()
    }
}
