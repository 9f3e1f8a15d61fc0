//! Time and fresh names: the two things the core cannot make itself.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use rapport_core::ConversationId;

/// Where the time comes from. Tests bring their own.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The clock on the wall.
    pub fn system() -> Self {
        Self::from_fn(Timestamp::now)
    }

    /// A clock of one's own.
    pub fn from_fn(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// What time it is.
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// A name for a conversation that was never used before.
pub fn new_conversation() -> ConversationId {
    ConversationId::new(uuid::Uuid::new_v4().to_string())
}
