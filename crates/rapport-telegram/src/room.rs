//! A chat, or a topic in one: the place of a session, converted between the core and Telegram.

use rapport_core::Origin;
use serde::{Deserialize, Serialize};

use crate::CHANNEL;

/// A chat, or a topic in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Room {
    /// The id of the chat.
    pub chat: i64,
    /// The id of the topic, if the chat has topics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<i64>,
}

impl Room {
    /// Whether it is a group, or a topic of one. Telegram gives groups negative ids.
    pub fn is_group(self) -> bool {
        self.chat < 0
    }

    /// The room of a session that began in Telegram.
    pub fn of(origin: &Origin) -> Option<Self> {
        if origin.channel != CHANNEL {
            return None;
        }
        let (chat, topic) = match origin.key.split_once('/') {
            Some((chat, topic)) => (chat, Some(topic.parse().ok()?)),
            None => (origin.key.as_str(), None),
        };
        Some(Self { chat: chat.parse().ok()?, topic })
    }
}

impl From<Room> for Origin {
    fn from(room: Room) -> Self {
        let topic = room.topic.map(|topic| format!("/{topic}")).unwrap_or_default();
        Origin { channel: CHANNEL.into(), key: format!("{}{topic}", room.chat) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_found_again_by_its_key() {
        for room in [Room { chat: 42, topic: None }, Room { chat: -100_123, topic: Some(7) }] {
            assert_eq!(Room::of(&room.into()), Some(room));
        }
        let elsewhere = Origin { channel: "web".into(), key: "42".into() };
        assert_eq!(Room::of(&elsewhere), None);
    }

    /// Older logs contain the ids as numbers.
    #[test]
    fn rooms_of_older_logs_are_understood() {
        for (stored, room) in [
            (r#"{"chat":42}"#, Room { chat: 42, topic: None }),
            (r#"{"chat":-9,"topic":3}"#, Room { chat: -9, topic: Some(3) }),
        ] {
            let origin: Origin = serde_json::from_str(stored).unwrap();
            assert_eq!(Room::of(&origin), Some(room), "{stored}");
        }
    }
}
