//! How messages reach an agent that is at work in a conversation: the modes, and the limits of the messages that wait.
//! `session/chat/queue.rs` has the messages that wait.

use std::fmt;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

/// What happens to a message that comes while the agent works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueMode {
    /// The agent reads it at its next step. What it did not read in its turn is its next turn.
    #[default]
    Steer,
    /// It waits, and is a turn of its own.
    Followup,
    /// It waits, and all that wait are one turn.
    Collect,
    /// The agent reads it at its next step. What it did not read in its turn is a turn of its own.
    SteerBacklog,
    /// The turn is interrupted, and continues with it.
    Interrupt,
}

impl QueueMode {
    /// All modes.
    pub const ALL: [Self; 5] =
        [Self::Steer, Self::Followup, Self::Collect, Self::SteerBacklog, Self::Interrupt];

    /// Its name in settings, commands and logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Steer => "steer",
            Self::Followup => "followup",
            Self::Collect => "collect",
            Self::SteerBacklog => "steer-backlog",
            Self::Interrupt => "interrupt",
        }
    }

    /// The mode of this name; `queue` is another name of `steer`.
    pub fn of_word(word: &str) -> Option<Self> {
        match word {
            "queue" => Some(Self::Steer),
            word => Self::ALL.into_iter().find(|mode| mode.word() == word),
        }
    }

    /// Whether messages reach the agent during its turn.
    pub(crate) fn steers(self) -> bool {
        matches!(self, Self::Steer | Self::SteerBacklog | Self::Interrupt)
    }

    /// Whether messages that wait become a turn only when no more of them come.
    pub(crate) fn debounces(self) -> bool {
        matches!(self, Self::Followup | Self::Collect | Self::SteerBacklog)
    }
}

/// Which message gives way when too many wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DropPolicy {
    /// The oldest one is dropped.
    Old,
    /// The new one is refused.
    New,
    /// The oldest one is dropped, and the agent reads its beginning.
    #[default]
    Summarize,
}

impl DropPolicy {
    /// All policies.
    pub const ALL: [Self; 3] = [Self::Old, Self::New, Self::Summarize];

    /// Its name in settings, commands and logs.
    pub fn word(self) -> &'static str {
        match self {
            Self::Old => "old",
            Self::New => "new",
            Self::Summarize => "summarize",
        }
    }

    /// The policy of this name.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.word() == word)
    }
}

/// How messages reach the agent of a conversation while it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueTerms {
    /// What happens to a message.
    pub mode: QueueMode,
    /// How long no message may have come before those that wait become a turn.
    pub debounce: SignedDuration,
    /// The maximum number of messages of people that wait.
    pub cap: u32,
    /// Which one gives way when there are more.
    pub drop: DropPolicy,
}

impl Default for QueueTerms {
    fn default() -> Self {
        Self {
            mode: QueueMode::default(),
            debounce: SignedDuration::from_secs(1),
            cap: 20,
            drop: DropPolicy::default(),
        }
    }
}

impl QueueTerms {
    pub(crate) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// These terms with a change.
    pub(crate) fn changed(&self, change: &QueueChange) -> Self {
        Self {
            mode: change.mode.unwrap_or(self.mode),
            debounce: change.debounce.unwrap_or(self.debounce),
            cap: change.cap.unwrap_or(self.cap),
            drop: change.drop.unwrap_or(self.drop),
        }
    }
}

impl fmt::Display for QueueTerms {
    /// As one types it: `collect debounce:2s cap:25 drop:old`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, debounce, cap, drop } = self;
        write!(f, "{} debounce:{debounce:#} cap:{cap} drop:{}", mode.word(), drop.word())
    }
}

/// A change of these terms. `None` means no change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct QueueChange {
    /// What happens to a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<QueueMode>,
    /// How long no message may have come before those that wait become a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub debounce: Option<SignedDuration>,
    /// The maximum number of messages of people that wait.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cap: Option<u32>,
    /// Which one gives way when there are more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<DropPolicy>,
}

impl QueueChange {
    /// The change to exactly these terms.
    pub fn to(terms: QueueTerms) -> Self {
        let QueueTerms { mode, debounce, cap, drop } = terms;
        Self { mode: Some(mode), debounce: Some(debounce), cap: Some(cap), drop: Some(drop) }
    }

    /// Reads a change as it is typed: `collect debounce:2s cap:25 drop:old`, in any order, each part at most once.
    /// `default` and `reset` are the terms with which the conversation began.
    pub fn parse(typed: &str, at_start: QueueTerms) -> Result<Self, QueueSyntax> {
        let words: Vec<_> = typed.split_whitespace().collect();
        if let [word] = words[..]
            && matches!(word.to_lowercase().as_str(), "default" | "reset")
        {
            return Ok(Self::to(at_start));
        }
        let mut change = Self::default();
        for word in words {
            let wrong = || QueueSyntax { word: word.to_owned() };
            let lower = word.to_lowercase();
            match lower.split_once(':') {
                None => set(&mut change.mode, QueueMode::of_word(&lower)),
                Some(("debounce", time)) => set(&mut change.debounce, duration(time)),
                Some(("cap", number)) => set(&mut change.cap, number.parse().ok().filter(|cap| *cap > 0)),
                Some(("drop", policy)) => set(&mut change.drop, DropPolicy::of_word(policy)),
                Some(_) => None,
            }
            .ok_or_else(wrong)?;
        }
        Ok(change)
    }
}

impl fmt::Display for QueueChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = self.mode.map(|mode| mode.word().to_owned());
        let debounce = self.debounce.map(|time| format!("debounce:{time:#}"));
        let cap = self.cap.map(|cap| format!("cap:{cap}"));
        let drop = self.drop.map(|policy| format!("drop:{}", policy.word()));
        let parts: Vec<_> = [mode, debounce, cap, drop].into_iter().flatten().collect();
        write!(f, "messages to the working agent: {}", parts.join(" "))
    }
}

/// Sets a part that was not set before.
fn set<T>(part: &mut Option<T>, value: Option<T>) -> Option<()> {
    let value = value.filter(|_| part.is_none())?;
    *part = Some(value);
    Some(())
}

/// A time such as `2s`, `500ms` or `1m`, up to an hour.
fn duration(text: &str) -> Option<SignedDuration> {
    let time: SignedDuration = text.parse().ok()?;
    (!time.is_negative() && time <= SignedDuration::from_hours(1)).then_some(time)
}

/// A word that is not a part of a queue's terms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{word}\" is not understood here. Say a mode (steer, followup, collect, steer-backlog, interrupt), \
     debounce:2s, cap:25, drop:old|new|summarize, each at most once; or default"
)]
pub struct QueueSyntax {
    /// The word.
    pub word: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LEAD-5: the terms as they are typed.
    #[test]
    fn lead_5_the_terms_of_a_queue_are_read_as_they_are_typed() {
        let began = QueueTerms { mode: QueueMode::Collect, cap: 7, ..QueueTerms::default() };
        let read = |typed: &str| QueueChange::parse(typed, began);
        let terms = QueueTerms::default();
        let all = read("Collect debounce:2s cap:25 drop:OLD").unwrap();
        assert_eq!(terms.changed(&all).to_string(), "collect debounce:2s cap:25 drop:old");
        assert_eq!(read(&terms.changed(&all).to_string()).unwrap(), all);
        assert_eq!(terms.changed(&read("cap:3").unwrap()), QueueTerms { cap: 3, ..terms });
        assert_eq!(terms.changed(&read("default").unwrap()), began);
        assert_eq!(read("queue").unwrap().mode, Some(QueueMode::Steer));
        assert_eq!(read("debounce:500ms").unwrap().debounce, Some(SignedDuration::from_millis(500)));
        for wrong in
            ["loud", "cap:0", "cap:x", "cap:1 cap:2", "debounce:-1s", "debounce:2h", "drop:all", "a:b"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        for mode in QueueMode::ALL {
            assert_eq!(read(mode.word()).unwrap().mode, Some(mode));
            let json = serde_json::to_value(mode).unwrap();
            assert_eq!(json, mode.word());
        }
    }
}
