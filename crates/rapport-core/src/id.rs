//! Ids. Each is its own type, so that the compiler tells a question's id from a round's.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// Wraps the name without checking it.
            pub fn new(name: impl Into<String>) -> Self {
                Self(name.into())
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

text_id! {
    /// A session within its store: a date and a slug, such as `20260124-add-user-auth`.
    SessionId
}
impl SessionId {
    /// Whether a name contains the beginning of a session's id: a day and a dash. A client with such a name could be
    /// taken for a lead, which is named after its session.
    pub fn is_in(name: &str) -> bool {
        let begins = |bytes: &[u8]| bytes[..8].iter().all(u8::is_ascii_digit) && bytes[8] == b'-';
        name.as_bytes().windows(9).any(begins)
    }
}
text_id! {
    /// A question within its session: `q1`, `q2`, ...
    QuestionId
}
text_id! {
    /// One tool call of an agent: where an answer has to arrive.
    CallId
}
text_id! {
    /// An agent's own conversation, by which it can be resumed.
    ConversationId
}
number_id! {
    /// A round of questions within its session, from 1.
    RoundId
}
number_id! {
    /// A turn of an agent within its session, from 1.
    TurnId
}
