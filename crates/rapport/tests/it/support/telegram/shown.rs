//! Chats, people and messages as the Bot API shows them.

use serde_json::{Value, json};

use super::chat::{Author, Chat, ChatKind, ChatMessage, Content};
use super::state::{State, bot};

/// A message, with the one it replies to.
pub(crate) fn message(state: &State, message: &ChatMessage) -> Value {
    let mut shown = alone(state, message);
    // In a topic, what replies to nothing replies to the topic's first message.
    let answered = message.reply_to.or(message.topic.filter(|topic| *topic != message.id));
    if let Some(answered) = answered.and_then(|id| state.message(message.chat, id)) {
        shown["reply_to_message"] = alone(state, answered);
    }
    shown
}

fn alone(state: &State, message: &ChatMessage) -> Value {
    let version = message.now();
    let mut shown = json!({
        "message_id": message.id,
        "date": message.date,
        "chat": chat(&state.chats[&message.chat]),
        "from": author(&message.author),
    });
    if message.versions.len() > 1 {
        shown["edit_date"] = message.date.into();
    }
    if let Some(topic) = message.topic {
        shown["message_thread_id"] = topic.into();
        shown["is_topic_message"] = true.into();
    }
    if let Some(markup) = version.markup.shown() {
        shown["reply_markup"] = markup;
    }
    let (text, entities) = match &message.content {
        Content::Text | Content::Forwarded { .. } => ("text", "entities"),
        Content::Document { .. }
        | Content::Photo { .. }
        | Content::Voice
        | Content::Sticker(_)
        | Content::TopicCreated(_)
        | Content::MovedTo(_) => ("caption", "caption_entities"),
    };
    if !version.text.is_empty() {
        shown[text] = version.text.clone().into();
    }
    if !version.entities.is_empty() {
        shown[entities] = version.entities.clone().into();
    }
    add_content(&mut shown, message);
    shown
}

fn add_content(shown: &mut Value, message: &ChatMessage) {
    let file = |kind: &str| {
        let id = format!("{kind}-{}-{}", message.chat, message.id);
        json!({ "file_id": id, "file_unique_id": format!("u{id}") })
    };
    let with = |mut file: Value, more: Value| {
        if let (Some(file), Value::Object(more)) = (file.as_object_mut(), more) {
            file.extend(more);
        }
        file
    };
    match &message.content {
        Content::Text => {}
        Content::Document { name, bytes } => {
            shown["document"] =
                with(file("document"), json!({ "file_name": name, "file_size": bytes.len() }));
        }
        Content::Photo { album } => {
            let small = json!({ "file_id": "small", "file_unique_id": "small", "width": 9, "height": 6 });
            shown["photo"] =
                json!([small, with(file("photo"), json!({ "width": 90, "height": 60, "file_size": 900 }))]);
            if let Some(album) = album {
                shown["media_group_id"] = album.clone().into();
            }
        }
        Content::Voice => {
            shown["voice"] = with(file("voice"), json!({ "duration": 3, "mime_type": "audio/ogg" }));
        }
        Content::Sticker(emoji) => {
            let more = json!({
                "type": "regular", "width": 512, "height": 512, "is_animated": false, "is_video": false, "emoji": emoji,
            });
            shown["sticker"] = with(file("sticker"), more);
        }
        Content::Forwarded { from } => {
            shown["forward_origin"] =
                json!({ "type": "hidden_user", "sender_user_name": from, "date": message.date - 60 });
        }
        Content::MovedTo(to) => shown["migrate_to_chat_id"] = json!(to),
        Content::TopicCreated(name) => {
            shown["forum_topic_created"] = json!({ "name": name, "icon_color": 7_322_096 });
        }
    }
}

pub(crate) fn chat(chat: &Chat) -> Value {
    match chat.kind {
        ChatKind::Private => json!({ "id": chat.id, "type": "private", "first_name": chat.name }),
        ChatKind::Group | ChatKind::Upgraded(_) => {
            json!({ "id": chat.id, "type": "group", "title": chat.name })
        }
        ChatKind::Supergroup => json!({ "id": chat.id, "type": "supergroup", "title": chat.name }),
        ChatKind::Forum => {
            json!({ "id": chat.id, "type": "supergroup", "title": chat.name, "is_forum": true })
        }
    }
}

/// Who wrote.
pub(crate) fn author(author: &Author) -> Value {
    match author {
        Author::Bot => bot(),
        Author::Person { id, name } => person(*id, name),
    }
}

pub(crate) fn person(id: i64, name: &str) -> Value {
    json!({ "id": id, "is_bot": false, "first_name": name, "language_code": "en" })
}
