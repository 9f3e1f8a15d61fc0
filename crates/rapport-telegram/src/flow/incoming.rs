//! Updates in the terms of the flow: the sender, the room, and the content.

use std::ops::Range;

use crate::bot_api::{
    CallbackQuery, Chat, ChatType, InlineKeyboardMarkup, MemberStatus, Message, MessageOrigin, Update,
    UpdateContent, User,
};
use crate::room::Room;

use super::commands::COMMANDS;

/// The maximum length of a command's name.
const LONGEST_COMMAND: usize = 32;
/// The maximum lengths of a file name before and after its last dot. A character may take four bytes.
const LONGEST_STEM: usize = 40;
const LONGEST_ENDING: usize = 12;

/// A parsed update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The id of the update, for de-duplication.
    pub id: String,
    pub room: Room,
    /// The name that its topic was created with, if it is known.
    pub topic: Option<String>,
    /// Whether the chat is a private one with the bot.
    pub private: bool,
    pub sender: Sender,
    /// The id of the message, or of the message with the button; 0 if it is unknown.
    pub message: i32,
    pub what: What,
    /// The files of the message.
    pub files: Vec<FileRef>,
    /// Whether it consists of several messages that were joined.
    pub is_joined: bool,
}

/// A file that Telegram keeps for the bot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRef {
    /// Telegram's id of the file.
    pub id: String,
    /// A name that is safe as a part of a path, and unique in its chat.
    pub name: String,
    /// The size in bytes, if Telegram gives it.
    pub size: Option<u64>,
    /// Whether the file is a voice message.
    pub is_voice: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sender {
    pub id: u64,
    /// The name that the person chose.
    pub name: String,
}

/// The content of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Command {
        /// The name of the command, without the slash.
        name: String,
        /// The text after the name.
        rest: String,
        /// The author of the message that the command replies to.
        about: Option<Sender>,
    },
    Words {
        text: String,
        /// The id of the message. Later messages have higher ids.
        message: i32,
        /// The message that this one replies to.
        reply_to: Option<i32>,
    },
    /// An edit of an earlier message.
    Edited {
        /// The new text of the message.
        text: String,
    },
    /// A message without text.
    Other {
        /// The kind of message, in a word or two.
        kind: &'static str,
        /// The message that this one replies to.
        reply_to: Option<i32>,
    },
    Press {
        /// The id of the callback query.
        query: String,
        /// The callback data of the button.
        data: String,
        /// The message with the button, if Telegram gives it.
        message: Option<i32>,
        /// The buttons of that message, as the person saw them.
        keyboard: Option<InlineKeyboardMarkup>,
        /// The person's own text that the message replies to.
        about: Option<Quoted>,
    },
}

/// A person's own message, to which another message replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quoted {
    pub message: i32,
    pub text: String,
}

/// Parses an update; `None` if the bot ignores it. `bot` is the bot's user name.
pub fn read(update: &Update, bot: &str) -> Option<Incoming> {
    match &update.content {
        UpdateContent::Message(message) => said(update.update_id, message, bot),
        UpdateContent::EditedMessage(message) => edited(update.update_id, message, bot),
        UpdateContent::CallbackQuery(query) => pressed(update.update_id, query, bot),
        UpdateContent::MyChatMember(_) => None,
    }
}

/// The old and the new id of a group that became a supergroup. Telegram reports the move in both chats.
pub fn moved(update: &Update) -> Option<(i64, i64)> {
    let UpdateContent::Message(message) = &update.content else { return None };
    let here = message.chat.id;
    let to = message.migrate_to_chat_id.map(|to| (here, to));
    to.or(message.migrate_from_chat_id.map(|from| (from, here)))
}

/// A chat in which the bot may write again, or has more rights than before.
pub fn opened(update: &Update) -> Option<i64> {
    let UpdateContent::MyChatMember(change) = &update.content else { return None };
    match change.new_chat_member.status {
        MemberStatus::Creator
        | MemberStatus::Administrator
        | MemberStatus::Member
        | MemberStatus::Restricted => Some(change.chat.id),
        MemberStatus::Left | MemberStatus::Kicked | MemberStatus::Other => None,
    }
}

/// A topic that a person created or renamed: its room, the person, and the name.
pub fn topic_named(update: &Update) -> Option<(Room, u64, String)> {
    let UpdateContent::Message(message) = &update.content else { return None };
    let created = message.forum_topic_created.as_ref();
    let name = created.or(message.forum_topic_edited.as_ref())?.name.clone()?;
    let by = message.from.as_ref()?.id;
    let thread = message.message_thread_id.unwrap_or(message.message_id);
    Some((Room { chat: message.chat.id, topic: Some(thread.into()) }, by, name))
}

/// The name that the topic of a message was created with. A message in a topic replies to the one that created the
/// topic.
fn topic_name(message: &Message) -> Option<String> {
    let first = message.reply_to_message.as_deref()?;
    let is_first = message.message_thread_id == Some(first.message_id);
    first.forum_topic_created.as_ref().filter(|_| is_first)?.name.clone()
}

fn said(update: u32, message: &Message, bot: &str) -> Option<Incoming> {
    let sender = message.from.as_ref().filter(|user| !user.is_bot).map(sender)?;
    let text = message.text.as_deref().or(message.caption.as_deref());
    let what = match (text, message.forward_origin.as_ref()) {
        (Some(text), None) => words(message, text, bot)?,
        // Forwarded text is never a command. The agent is told who wrote it.
        (Some(text), Some(origin)) if is_addressed(message, bot) => What::Words {
            text: format!("Forwarded from {}:\n\n{text}", author(origin)),
            message: message.message_id,
            reply_to: None,
        },
        (None, _) if is_addressed(message, bot) => {
            let reply_to = replied(message).map(|reply| reply.message_id);
            What::Other { kind: kind(message)?, reply_to }
        }
        (Some(_) | None, _) => return None,
    };
    let id = format!("telegram:{bot}:{update}");
    let (private, is_joined) = (is_private(&message.chat), !message.joined.is_empty());
    let files = [message].into_iter().chain(&message.joined).filter_map(file).collect();
    let (room, topic, message) = (room(message), topic_name(message), message.message_id);
    Some(Incoming { id, room, topic, private, sender, message, what, files, is_joined })
}

fn edited(update: u32, message: &Message, bot: &str) -> Option<Incoming> {
    let sender = message.from.as_ref().filter(|user| !user.is_bot).map(sender)?;
    let text = message.text.as_deref().or(message.caption.as_deref())?;
    let (id, room, private) = (update.to_string(), room(message), is_private(&message.chat));
    let what = What::Edited { text: without_mention(text, bot) };
    let (number, files) = (message.message_id, file(message).into_iter().collect());
    let (topic, is_joined) = (topic_name(message), false);
    let incoming = Incoming { id, room, topic, private, sender, message: number, what, files, is_joined };
    is_addressed(message, bot).then_some(incoming)
}

/// The author of a forwarded message.
fn author(origin: &MessageOrigin) -> String {
    let user = origin.sender_user.as_ref().map(|user| sender(user).name);
    let chat = origin.sender_chat.as_ref().or(origin.chat.as_ref());
    let name = user.or_else(|| origin.sender_user_name.clone()).or_else(|| chat?.title.clone());
    name.unwrap_or_default()
}

fn words(message: &Message, text: &str, bot: &str) -> Option<What> {
    let reply = replied(message);
    // In a group, people also reply to each other; such a reply does not answer a card.
    let is_ours = |reply: &&Message| is_private(&message.chat) || is_from(reply, bot);
    let as_words = is_addressed(message, bot).then(|| What::Words {
        text: without_mention(text, bot),
        message: message.message_id,
        reply_to: reply.filter(is_ours).map(|reply| reply.message_id),
    });
    let Some(command) = text.strip_prefix('/') else { return as_words };
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let (name, addressee) = name.split_once('@').unwrap_or((name, bot));
    let is_known = COMMANDS.iter().any(|(known, _)| name.eq_ignore_ascii_case(known));
    // A text such as a path is an answer, and so is any reply to the bot that is not one of its commands.
    if !is_known && (!can_be_command(name) || reply.is_some_and(|reply| is_from(reply, bot))) {
        return as_words;
    }
    let about = reply.and_then(|reply| reply.from.as_ref()).filter(|user| !user.is_bot).map(sender);
    let command = What::Command { name: name.to_lowercase(), rest: rest.trim().to_owned(), about };
    addressee.eq_ignore_ascii_case(bot).then_some(command)
}

/// The message that another one replies to. In a topic, every message formally replies to the one that created the
/// topic; that does not count.
fn replied(message: &Message) -> Option<&Message> {
    let reply = message.reply_to_message.as_deref();
    reply.filter(|reply| message.message_thread_id != Some(reply.message_id))
}

/// Whether a message is for the bot: in a private chat every message is, in a group replies to the bot and mentions of
/// it.
fn is_addressed(message: &Message, bot: &str) -> bool {
    let text = message.text.as_deref().or(message.caption.as_deref()).unwrap_or_default();
    is_private(&message.chat)
        || replied(message).is_some_and(|reply| is_from(reply, bot))
        || mention(text, bot).is_some()
}

/// The range of the first mention of the bot in a text.
fn mention(text: &str, bot: &str) -> Option<Range<usize>> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let marks = text.match_indices('@').map(|(at, _)| at);
    let mut names = marks.map(|at| {
        let name = &text[at + 1..];
        at..at + 1 + name.find(|c| !is_name(c)).unwrap_or(name.len())
    });
    names.find(|range| !bot.is_empty() && text[range.start + 1..range.end].eq_ignore_ascii_case(bot))
}

/// The text without the mention of the bot.
fn without_mention(text: &str, bot: &str) -> String {
    match mention(text, bot) {
        Some(Range { start, end }) => format!("{}{}", &text[..start], &text[end..]).trim().to_owned(),
        None => text.to_owned(),
    }
}

/// Whether Telegram recognises this as a command.
fn can_be_command(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=LONGEST_COMMAND).contains(&name.len()) && name.chars().all(is_letter)
}

fn is_from(message: &Message, bot: &str) -> bool {
    let name = message.from.as_ref().and_then(|user| user.username.as_deref());
    name.is_some_and(|name| name.eq_ignore_ascii_case(bot))
}

fn pressed(update: u32, query: &CallbackQuery, bot: &str) -> Option<Incoming> {
    let (room, private, message) = match &query.message {
        Some(message) => (room(message), is_private(&message.chat), Some(message.message_id)),
        None => {
            let room = Room { chat: i64::try_from(query.from.id).ok()?, topic: None };
            (room, true, None)
        }
    };
    let seen = query.message.as_deref();
    let keyboard = seen.and_then(|message| message.reply_markup.clone());
    let about = seen
        .and_then(replied)
        // A forwarded text is not an answer of the person who forwarded it.
        .filter(|said| said.forward_origin.is_none())
        .filter(|said| said.from.as_ref().is_some_and(|author| author.id == query.from.id));
    let about = about.and_then(|said| {
        let text = said.text.as_deref().or(said.caption.as_deref())?;
        Some(Quoted { message: said.message_id, text: without_mention(text, bot) })
    });
    let data = query.data.clone().unwrap_or_default();
    let what = What::Press { query: query.id.clone(), data, message, keyboard, about };
    let id = update.to_string();
    let (sender, files) = (sender(&query.from), Vec::new());
    let message = message.unwrap_or_default();
    Some(Incoming { id, room, topic: None, private, sender, message, what, files, is_joined: false })
}

fn room(message: &Message) -> Room {
    let in_topic = message.is_topic_message == Some(true);
    let topic = message.message_thread_id.filter(|_| in_topic).map(i64::from);
    Room { chat: message.chat.id, topic }
}

fn is_private(chat: &Chat) -> bool {
    chat.type_field == ChatType::Private
}

fn sender(user: &User) -> Sender {
    let last = user.last_name.as_deref().unwrap_or_default();
    Sender { id: user.id, name: format!("{} {last}", user.first_name).trim().to_owned() }
}

/// The file of a message. Of a picture, it is the largest size.
fn file(message: &Message) -> Option<FileRef> {
    let photo = message.photo.as_ref().and_then(|sizes| sizes.last());
    let kinds = [
        (photo, "photo.jpg"),
        (message.voice.as_ref(), "voice.ogg"),
        (message.video.as_ref(), "video.mp4"),
        (message.video_note.as_ref(), "video.mp4"),
        // Telegram sends an animation as a document as well, so this comes first.
        (message.animation.as_ref(), "animation.mp4"),
        (message.audio.as_ref(), "sound.mp3"),
        (message.document.as_ref(), "file"),
    ];
    let (file, usual) = kinds.into_iter().find_map(|(file, usual)| Some((file?, usual)))?;
    let name = safe_name(file.file_name.as_deref().unwrap_or(usual));
    let (id, name) = (file.file_id.clone(), format!("{}-{name}", message.message_id));
    Some(FileRef { id, name, size: file.file_size, is_voice: message.voice.is_some() })
}

/// A file name without characters that have a meaning in a path, a shell or a text.
fn safe_name(name: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let safe = |text: &str, most: usize| -> String {
        text.chars().map(|c| if is_safe(c) { c } else { '-' }).take(most).collect()
    };
    match name.rsplit_once('.') {
        Some((stem, ending)) => format!("{}.{}", safe(stem, LONGEST_STEM), safe(ending, LONGEST_ENDING)),
        None => safe(name, LONGEST_STEM),
    }
}

/// The kind of a message without text, if a person sent it.
fn kind(message: &Message) -> Option<&'static str> {
    let kinds = [
        (message.photo.is_some(), "a photo"),
        (message.voice.is_some(), "a voice message"),
        (message.sticker.is_some(), "a sticker"),
        (message.video.is_some() || message.video_note.is_some(), "a video"),
        (message.animation.is_some(), "an animation"),
        (message.audio.is_some(), "a sound"),
        (message.document.is_some(), "a file"),
        (message.contact.is_some(), "a contact"),
        (message.location.is_some() || message.venue.is_some(), "a place"),
        (message.poll.is_some(), "a poll"),
        (message.dice.is_some(), "a die"),
    ];
    kinds.into_iter().find_map(|(is, kind)| is.then_some(kind))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{What, read, safe_name};

    /// File names from outside cannot point to another directory.
    #[test]
    fn names_of_files_are_safe() {
        for (name, safe) in [
            ("plan.pdf", "plan.pdf"),
            ("../../.ssh/id_rsa", "..-..-.ssh-id_rsa"),
            ("a b;rm -rf ~.sh", "a-b-rm--rf--.sh"),
            ("über\u{202e}gpj.exe", "über-gpj.exe"),
            ("nul\0\n.txt", "nul--.txt"),
        ] {
            assert_eq!(safe_name(name), safe, "{name:?}");
        }
        assert!(safe_name(&"ü.".repeat(300)).len() < 200);
    }

    /// The text that a tap on a message refers to, if that message replies to one with these fields.
    fn about(words: &Value) -> Option<String> {
        let user = json!({ "id": 42, "is_bot": false, "first_name": "Anna" });
        let chat = json!({ "id": 42, "type": "private" });
        let mut said = json!({ "message_id": 1, "date": 1, "chat": chat, "from": user });
        said.as_object_mut().unwrap().extend(words.as_object().unwrap().clone());
        let on = json!({ "message_id": 2, "date": 2, "chat": chat, "reply_to_message": said });
        let query = json!({ "id": "q", "from": user, "message": on, "data": "d" });
        let update = serde_json::from_value(json!({ "update_id": 1, "callback_query": query })).unwrap();
        match read(&update, "ra_bot").unwrap().what {
            What::Press { about, .. } => about.map(|said| said.text),
            other => panic!("{other:?}"),
        }
    }

    /// Otherwise the forwarded "yes" of another person would become an answer of the person who forwarded it.
    #[test]
    fn a_tap_brings_back_only_words_of_whoever_taps() {
        assert_eq!(about(&json!({ "text": "yes" })).as_deref(), Some("yes"));
        assert_eq!(about(&json!({ "caption": "yes", "photo": [] })).as_deref(), Some("yes"));
        let origin = json!({ "type": "hidden_user", "sender_user_name": "Bert", "date": 1 });
        assert_eq!(about(&json!({ "text": "yes", "forward_origin": origin })), None);
    }
}
