//! The names of messages to an agent during its turn. The CLI echoes a message by its name when the model reads it, and
//! stores the name in its transcript, so that no message is delivered twice or lost.

use rapport_core::SentMessage;
use rapport_durable::sha256_of;
use uuid::{Builder, Uuid};

/// The first bytes of every such name: a name is a UUID, and no other UUID begins like this.
const MARK: [u8; 4] = *b"said";

/// The name of a message. The same words at the same position have the same name, even in a copy of the conversation.
pub(super) fn name(message: &SentMessage) -> String {
    let position = format!("{}/{}/", message.turn, message.number);
    let digest = sha256_of(&[position.as_bytes(), message.text.as_bytes()]);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    bytes[..MARK.len()].copy_from_slice(&MARK);
    Builder::from_random_bytes(bytes).into_uuid().to_string()
}

/// Whether a message has such a name.
pub(super) fn is_name(uuid: &str) -> bool {
    Uuid::try_parse(uuid).is_ok_and(|uuid| uuid.as_bytes().starts_with(&MARK))
}

#[cfg(test)]
mod tests {
    use rapport_core::TurnId;

    use super::*;

    #[test]
    fn a_name_is_of_the_words_and_their_place() {
        let said = |number, text: &str| SentMessage { turn: TurnId(2), number, text: text.into() };
        assert_eq!(name(&said(1, "a")), name(&said(1, "a")));
        assert_ne!(name(&said(1, "a")), name(&said(2, "a")));
        assert_ne!(name(&said(1, "a")), name(&said(1, "b")));
        assert!(is_name(&name(&said(1, "a"))));
        assert!(!is_name(&Uuid::nil().to_string()) && !is_name(""));
    }
}
