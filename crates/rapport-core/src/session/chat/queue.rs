//! The messages that wait for the agent of a conversation, and the turns that they become.

use jiff::Timestamp;

use crate::answer::By;
use crate::message_queue::{QueueMode, QueueTerms};

/// The title of a turn that consists of messages which waited.
const COLLECTED: &str = "[Queued messages while agent was busy]";
/// The title of the messages that were dropped.
const OVERFLOW: &str = "[Queue overflow]";
/// The maximum length of a dropped message's beginning, in characters.
const LONGEST_BULLET: usize = 160;

/// The messages that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MessageQueue {
    waiting: Vec<WaitingMessage>,
    /// The beginnings of the messages that were dropped since the last turn, if the agent reads them.
    bullets: Vec<String>,
}

/// A message that waits for the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WaitingMessage {
    pub(super) text: String,
    pub(super) id: Option<String>,
    pub(super) by: By,
    pub(super) at: Timestamp,
}

impl WaitingMessage {
    /// Whether Rapport tells a lead something. Such a message is never dropped, and nothing waits for more of them.
    fn is_of_rule(&self) -> bool {
        matches!(self.by, By::Rule { .. })
    }

    /// Whether two messages come from the same place, so that they can be told together.
    fn is_beside(&self, other: &Self) -> bool {
        match (&self.by, &other.by) {
            (By::Person { channel, .. }, By::Person { channel: other, .. }) => channel == other,
            (By::Rule { .. }, By::Rule { .. }) => true,
            (by, other) => by == other,
        }
    }
}

impl MessageQueue {
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn has(&self, id: &str) -> bool {
        self.waiting.iter().any(|message| message.id.as_deref() == Some(id))
    }

    /// Whether no further message of a person fits in.
    pub(super) fn is_full(&self, terms: &QueueTerms) -> bool {
        let of_people = self.waiting.iter().filter(|message| !message.is_of_rule());
        of_people.count() as u64 >= u64::from(terms.cap.max(1))
    }

    /// When the messages become a turn, if any wait.
    pub(super) fn due(&self, terms: &QueueTerms) -> Option<Timestamp> {
        let (first, last) = (self.waiting.first()?, self.waiting.last()?);
        if first.is_of_rule() || !terms.mode.debounces() {
            return Some(last.at);
        }
        Some(last.at.checked_add(terms.debounce).unwrap_or(last.at))
    }

    /// What the agent is told in the next turn, if it is due.
    pub(super) fn next_prompt(&self, terms: &QueueTerms, now: Timestamp) -> Option<String> {
        self.due(terms).filter(|due| *due <= now)?;
        let batch = &self.waiting[..self.batch(terms.mode)];
        let is_titled = terms.mode == QueueMode::Collect && batch.iter().all(|message| !message.is_of_rule());
        let told = if is_titled {
            let blocks = (1..).zip(batch).map(|(n, message)| format!("---\nQueued #{n}\n{}", message.text));
            [COLLECTED.to_owned()].into_iter().chain(blocks).collect::<Vec<_>>()
        } else {
            batch.iter().map(|message| message.text.clone()).collect()
        };
        Some(self.overflow().into_iter().chain(told).collect::<Vec<_>>().join("\n\n"))
    }

    /// The number of messages that the next turn consists of.
    fn batch(&self, mode: QueueMode) -> usize {
        let Some(first) = self.waiting.first() else { return 0 };
        let together = || self.waiting.iter().take_while(|message| message.is_beside(first)).count();
        match mode {
            QueueMode::Steer | QueueMode::Interrupt => self.waiting.len(),
            QueueMode::Collect => together(),
            QueueMode::Followup | QueueMode::SteerBacklog if first.is_of_rule() => together(),
            QueueMode::Followup | QueueMode::SteerBacklog => 1,
        }
    }

    fn overflow(&self) -> Option<String> {
        let bullets: Vec<_> = self.bullets.iter().map(|bullet| format!("- {bullet}")).collect();
        let count = match bullets.len() {
            0 => return None,
            1 => "1 message was".to_owned(),
            more => format!("{more} messages were"),
        };
        let title = format!("{OVERFLOW} {count} dropped, because too many waited. They began:");
        Some([vec![title], bullets].concat().join("\n"))
    }

    /// Applies that a message waits.
    pub(super) fn push(&mut self, message: WaitingMessage) {
        self.waiting.push(message);
    }

    /// Applies that messages of a turn that ended wait, before those that waited already.
    pub(super) fn put_back(&mut self, unread: Vec<WaitingMessage>) {
        self.waiting.splice(0..0, unread);
    }

    /// Applies that a message was withdrawn.
    pub(super) fn withdraw(&mut self, id: &str) {
        self.waiting.retain(|message| message.id.as_deref() != Some(id));
    }

    /// Applies that the oldest message of a person was dropped.
    pub(super) fn drop_oldest(&mut self, is_summarized: bool) {
        let Some(oldest) = self.waiting.iter().position(|message| !message.is_of_rule()) else { return };
        let dropped = self.waiting.remove(oldest);
        self.bullets.extend(is_summarized.then(|| bullet(&dropped.text)));
    }

    /// Applies that a turn began with the first messages.
    pub(super) fn take(&mut self, mode: QueueMode) {
        self.waiting.drain(..self.batch(mode));
        self.bullets.clear();
    }
}

/// The beginning of a message, in one line.
fn bullet(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_BULLET) {
        Some(_) => line.chars().take(LONGEST_BULLET - 1).chain(['…']).collect(),
        None => line,
    }
}
