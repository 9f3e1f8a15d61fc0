//! Time and unique names: the two things that the core cannot make itself.

use rapport_core::ConversationId;

pub use rapport_door::Clock;

/// A new unique name for a conversation.
pub fn new_conversation() -> ConversationId {
    ConversationId::new(uuid::Uuid::new_v4().to_string())
}
