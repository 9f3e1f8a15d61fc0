//! The channels, where people see and answer: the available kinds, which of them are served, and running them side by
//! side.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use rapport_door::{Channel, ChannelKind, ChannelSetup, Served};
use rapport_settings::{Declared, Sources};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::error::{Code, Failure, Outcome};

#[cfg(feature = "telegram")]
pub use rapport_telegram as telegram;
pub use rapport_terminal as terminal;
#[cfg(feature = "web")]
pub use rapport_web as web;

/// How to get a build with everything.
pub(crate) const FULL: &str =
    "Build it with everything: cargo install --path crates/rapport --profile dist --features full";

/// Channels that this build lacks, by the names of their sections.
const LEFT_OUT: &[&str] = &[
    #[cfg(not(feature = "mcp"))]
    "mcp",
    #[cfg(not(feature = "telegram"))]
    "telegram",
    #[cfg(not(feature = "web"))]
    "web",
];

/// Every kind of channel that `serve` can run.
#[derive(Clone)]
pub struct ChannelKinds(Vec<Arc<dyn ChannelKind>>);

impl ChannelKinds {
    /// The kinds that come with Rapport. A new one is one line here.
    pub fn builtin() -> Self {
        Self(vec![
            #[cfg(feature = "telegram")]
            Arc::new(telegram::kind::TelegramKind),
            #[cfg(feature = "mcp")]
            Arc::new(rapport_mcp::kind::McpKind),
            #[cfg(feature = "web")]
            Arc::new(rapport_web::kind::WebKind),
        ])
    }

    /// The same with another one.
    #[must_use]
    pub fn with(mut self, kind: impl ChannelKind + 'static) -> Self {
        self.0.push(Arc::new(kind));
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = &dyn ChannelKind> {
        self.0.iter().map(|kind| &**kind)
    }

    /// The sections of the settings that configure them.
    pub fn sections(&self) -> Vec<Declared> {
        // A section for a channel that this build lacks is not a mistake, because a full build reads the same file.
        let left_out = LEFT_OUT.iter().map(|name| Declared::left_out(name));
        self.iter().map(ChannelKind::section).chain(left_out).collect()
    }

    /// The project that the settings of a channel name, as older ones do.
    pub fn project(&self, settings: &Sources) -> Result<Option<PathBuf>, Failure> {
        for kind in self.iter() {
            if let Some(project) = kind.project(settings)? {
                return Ok(Some(project));
            }
        }
        Ok(None)
    }

    /// The kinds to serve: those with these names, or without names all that are configured.
    pub fn chosen(&self, names: &[String], settings: &Sources) -> Result<Self, Failure> {
        if self.0.is_empty() {
            return Err(
                Failure::new(Code::Usage, "this rapport was built without channels to serve").hint(FULL)
            );
        }
        let (mut chosen, mut missing) = (Vec::new(), Vec::new());
        let named =
            self.0.iter().filter(|kind| names.is_empty() || names.iter().any(|name| name == kind.name()));
        for kind in named {
            match kind.missing(settings)? {
                None => chosen.push(kind.clone()),
                Some(what) => missing.push((kind.name(), what)),
            }
        }
        let message = match missing.as_slice() {
            [(name, what), ..] if !names.is_empty() => {
                format!("the channel {name} is not configured: {}", what.what)
            }
            _ if chosen.is_empty() => {
                let missing: Vec<_> = missing.iter().map(|(_, missing)| missing.what).collect();
                format!("no channel is configured: {}", missing.join("; "))
            }
            _ => return Ok(Self(chosen)),
        };
        let hints = missing.into_iter().map(|(_, missing)| missing.advice);
        Err(hints.fold(Failure::new(Code::Usage, message), Failure::hint))
    }

    /// Opens one channel of each kind, ready to run.
    pub async fn open(&self, setup: &ChannelSetup) -> Result<Vec<Box<dyn Channel>>, Failure> {
        let mut channels = Vec::new();
        for kind in self.iter() {
            let channel = kind.open(setup.clone()).await;
            channels.push(channel.map_err(|error| of(kind.name(), error.into()))?);
        }
        Ok(channels)
    }

    /// The help of `serve` about all of them.
    pub fn help(&self) -> String {
        let parts = self.iter().map(|kind| format!("--channel {}: {}", kind.name(), kind.help()));
        parts.collect::<Vec<_>>().join("\n\n")
    }
}

impl fmt::Debug for ChannelKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(ChannelKind::name)).finish()
    }
}

/// Runs channels until `stop` says so or one of them fails, which stops the others. Ends when all of them have.
pub async fn run(channels: Vec<Box<dyn Channel>>, served: Served, stop: &watch::Sender<bool>) -> Outcome {
    let mut running = JoinSet::new();
    let mut names = HashMap::new();
    for channel in channels {
        let name = channel.name();
        names.insert(running.spawn(channel.run(served.clone())).id(), name);
    }
    drop(served);
    let mut outcome = Ok(());
    while let Some(ended) = running.join_next_with_id().await {
        let (id, ended) = match ended {
            Ok((id, ended)) => (id, ended.map_err(Failure::from)),
            Err(error) => (error.id(), Err(Failure::new(Code::Trouble, error.to_string()))),
        };
        if let Err(failure) = ended {
            let _ = stop.send(true);
            let name = names.get(&id).copied().unwrap_or("a channel");
            outcome = outcome.and(Err(of(name, failure)));
        }
    }
    outcome
}

/// The same failure, with the name of its channel.
pub fn of(channel: &str, failure: Failure) -> Failure {
    Failure { message: format!("{channel}: {}", failure.message), ..failure }
}
