//! What Claude Code does besides running a session: one-shot calls, cutting conversations, diagnosis.

use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::channel::Version;
use super::{Claude, once, structured, transcript};
use crate::agents::{
    Conversations, Cut, Diagnosed, Diagnosis, OneShot, Structured, StructuredCall, StructuredError,
};

/// How to get a version that supports everything.
const UPDATE: &str = "Update it with: npm install -g @anthropic-ai/claude-code";

/// The first version that can tell whether somebody is logged in.
const TELLS_LOGIN: Version = Version(2, 1, 90);

impl OneShot for Claude {
    fn ask<'a>(
        &'a self,
        directory: &'a Path,
        prompt: &'a str,
        tools: &'a str,
    ) -> BoxFuture<'a, Result<String, String>> {
        once::ask(&self.config, directory, prompt, tools).boxed()
    }

    fn structured<'a>(
        &'a self,
        directory: &'a Path,
        call: &'a StructuredCall,
    ) -> BoxFuture<'a, Result<Structured, StructuredError>> {
        structured::call(&self.config, directory, call).boxed()
    }
}

impl Conversations for Claude {
    /// The CLI writes a moment after it asks, and may have been killed in that moment. If nothing follows the question,
    /// the existing lines precede it.
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
    /// Runs the CLI and returns its output.
    fn run(&self, words: &[&str]) -> io::Result<Output> {
        let config = &self.config;
        let mut command = Command::new(&config.program);
        command.args(&config.leading_args).args(words).stdin(Stdio::null());
        command.env_clear().envs(config.env.iter().map(|(name, value)| (name, value))).output()
    }

    /// Whether the CLI says that nobody is logged in. Older versions would interpret these words as a prompt, and the
    /// scripted agent has no account.
    fn is_logged_out(&self, version: Option<Version>) -> bool {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Login {
            logged_in: bool,
        }
        let is_known =
            version.is_some_and(|version| version >= TELLS_LOGIN) && self.config.leading_args.is_empty();
        let said = is_known.then(|| self.run(&["auth", "status"])).and_then(Result::ok);
        let login = said.and_then(|said| serde_json::from_slice::<Login>(&said.stdout).ok());
        login.is_some_and(|login| !login.logged_in)
    }
}

impl Diagnosis for Claude {
    fn diagnose(&self) -> Diagnosed {
        let config = &self.config;
        let program = config.program.display();
        match self.run(&["--version"]) {
            Ok(output) if output.status.success() => {
                let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
                let version = Version::find(&said);
                if self.is_logged_out(version) {
                    return Diagnosed::LoggedOut(format!("{said}, not logged in"));
                }
                match config.channel.lacks(version) {
                    Some(lacks) => {
                        Diagnosed::Limited { found: format!("{said}; {lacks}"), advice: UPDATE.into() }
                    }
                    None => Diagnosed::Usable(format!("{said}; {}", config.channel.explain(version))),
                }
            }
            Ok(output) => {
                let said = String::from_utf8_lossy(&output.stderr);
                Diagnosed::Broken(format!("{program} --version: {}", said.trim()))
            }
            Err(error) => Diagnosed::Missing(format!("cannot run {program}: {error}")),
        }
    }
}
