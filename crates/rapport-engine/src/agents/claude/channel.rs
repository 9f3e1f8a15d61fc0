//! The channel to an agent: live, or, if the CLI is too old for that, one process per message.

use std::time::Duration;

use rapport_settings::{Setting, one_of};
use tokio::time::timeout;

use super::command::ClaudeConfig;
use super::one_shot;
use crate::workers::Workplace;

/// The first version with a live channel that supports questions.
pub const LIVE_SINCE: Version = Version(2, 0, 0);

/// The last known version without the question tool on the live channel.
const LAST_WITHOUT_QUESTIONS: Version = Version(2, 0, 47);

/// The first version that keeps a parked call and repeats it when it is resumed.
const DEFERS_SINCE: Version = Version(2, 1, 90);

/// How long a CLI may take for an answer about itself, such as its version.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How to communicate with the agent's CLI.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChannelChoice {
    /// Live if the CLI's version allows it, otherwise print.
    #[default]
    Auto,
    /// Over its live channel.
    Live,
    /// One process per message, for CLIs without a live channel.
    Print,
}

impl Setting for ChannelChoice {
    fn parse(word: &str) -> Result<Self, String> {
        one_of(word, &[("auto", Self::Auto), ("live", Self::Live), ("print", Self::Print)])
    }
}

/// The channel in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CliChannel {
    /// Messages over stdin and stdout while the process runs.
    Live,
    /// One message on the command line of each process.
    Print,
}

/// A version of the CLI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Parses a version from the CLI's output, such as `2.1.325 (Claude Code)`.
    pub fn find(text: &str) -> Option<Self> {
        text.split_whitespace().find_map(|word| {
            let mut numbers = word.trim_start_matches('v').splitn(3, '.');
            let mut number = || numbers.next()?.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok();
            Some(Self(number()?, number()?, number()?))
        })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl ChannelChoice {
    /// The channel for a CLI of this version. If the version is unknown, it is assumed to be new.
    pub fn decide(self, version: Option<Version>) -> CliChannel {
        match self {
            ChannelChoice::Live => CliChannel::Live,
            ChannelChoice::Print => CliChannel::Print,
            ChannelChoice::Auto => match version {
                Some(version) if version < LIVE_SINCE => CliChannel::Print,
                Some(_) | None => CliChannel::Live,
            },
        }
    }

    /// What a CLI of this version does not support, in words.
    pub fn lacks(self, version: Option<Version>) -> Option<String> {
        let version = version.filter(|_| self.decide(version) == CliChannel::Live)?;
        (version <= LAST_WITHOUT_QUESTIONS).then(|| {
            format!(
                "versions {LIVE_SINCE} to {LAST_WITHOUT_QUESTIONS} cannot ask: their agents guess in silence"
            )
        })
    }

    /// The channel for this CLI, and the reason, in words; and how a parked question is answered, if the CLI cannot
    /// defer a call.
    pub(crate) fn explain(self, version: Option<Version>) -> String {
        let why = match (self, version) {
            (ChannelChoice::Live | ChannelChoice::Print, _) => "as agent.channel says".to_owned(),
            (ChannelChoice::Auto, Some(version)) if version < LIVE_SINCE => {
                format!("{version} is older than {LIVE_SINCE}")
            }
            (ChannelChoice::Auto, Some(_)) => format!("{LIVE_SINCE} or newer"),
            (ChannelChoice::Auto, None) => "no version could be read".to_owned(),
        };
        let is_live = self.decide(version) == CliChannel::Live;
        let parked = match version.filter(|version| is_live && *version < DEFERS_SINCE) {
            Some(_) => format!("; before {DEFERS_SINCE}, the answer to a parked question goes in a message"),
            None => String::new(),
        };
        format!("{} ({why}){parked}", self.in_words(version))
    }

    /// The channel for this CLI, in words.
    pub fn in_words(self, version: Option<Version>) -> String {
        match self.decide(version) {
            CliChannel::Live => "asks over the live channel".into(),
            CliChannel::Print => "asks in print mode, answers go in the next message".into(),
        }
    }
}

/// Decides on the channel. Asks the CLI for its version if that matters, in the workplace where it is to run.
pub(super) async fn choose(config: &ClaudeConfig, workplace: &dyn Workplace) -> CliChannel {
    match config.channel {
        ChannelChoice::Auto => config.channel.decide(version(config, workplace).await),
        ChannelChoice::Live | ChannelChoice::Print => config.channel.decide(None),
    }
}

async fn version(config: &ClaudeConfig, workplace: &dyn Workplace) -> Option<Version> {
    let said = timeout(PATIENCE, one_shot::run(config, &["--version"], workplace)).await.ok()?.ok()?;
    Version::find(&said.output)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_and_decide() {
        for (text, version) in [
            ("2.1.325 (Claude Code)\n", Some(Version(2, 1, 325))),
            ("claude v1.0.51-beta.2", Some(Version(1, 0, 51))),
            ("2.0", None),
            ("", None),
            ("command not found", None),
        ] {
            assert_eq!(Version::find(text), version, "{text}");
        }
        for (version, lacks) in [
            (Version(2, 0, 10), true),
            (Version(2, 0, 47), true),
            (Version(2, 0, 77), false),
            (Version(2, 1, 325), false),
            (Version(1, 9, 0), false),
        ] {
            assert_eq!(ChannelChoice::Auto.lacks(Some(version)).is_some(), lacks, "{version}");
        }
        for (version, parks_by_message) in [
            (Version(1, 9, 0), false),
            (Version(2, 0, 77), true),
            (Version(2, 1, 61), true),
            (Version(2, 1, 87), true),
            (DEFERS_SINCE, false),
            (Version(2, 1, 325), false),
        ] {
            let explained = ChannelChoice::Auto.explain(Some(version));
            assert_eq!(explained.contains("parked question"), parks_by_message, "{version}: {explained}");
        }
        for (choice, version, channel) in [
            (ChannelChoice::Auto, Some(Version(1, 9, 999)), CliChannel::Print),
            (ChannelChoice::Auto, Some(LIVE_SINCE), CliChannel::Live),
            (ChannelChoice::Auto, None, CliChannel::Live),
            (ChannelChoice::Print, Some(Version(2, 1, 0)), CliChannel::Print),
            (ChannelChoice::Live, Some(Version(1, 0, 0)), CliChannel::Live),
        ] {
            assert_eq!(choice.decide(version), channel, "{choice:?} {version:?}");
        }
    }
}
