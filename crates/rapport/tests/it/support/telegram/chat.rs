//! Chats as people see them: who is in them, what was said, every version of it, and all that as plain text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Instant;

use serde_json::Value;

use super::keyboard::{Button, Markup};

/// What every picture has in it.
pub(crate) const PHOTO: &[u8] = b"\xff\xd8 a picture";
/// What every voice message has in it.
pub(crate) const VOICE: &[u8] = b"OggS a voice";

#[derive(Clone, Debug)]
pub(crate) struct Chat {
    /// Positive: a person. Negative: a group.
    pub(crate) id: i64,
    /// The person's name or the group's title.
    pub(crate) name: String,
    /// What kind it is.
    pub(crate) kind: ChatKind,
    /// How the bot stands there.
    pub(crate) bot: Standing,
    /// Its topics, by thread.
    pub(crate) topics: BTreeMap<i32, Topic>,
}

/// The kinds of chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChatKind {
    /// With one person.
    Private,
    /// A basic group.
    Group,
    /// A basic group of old; this is what it has become.
    Upgraded(i64),
    Supergroup,
    /// A supergroup with topics.
    Forum,
}

/// How the bot stands in a chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It may write.
    Member,
    /// The person has never written to it.
    Unmet,
    /// The person has blocked it.
    Blocked,
    /// It was thrown out.
    Kicked,
}

/// A topic of a forum.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) name: String,
    /// Whether it takes messages.
    pub(crate) open: bool,
}

/// Who wrote a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Author {
    Bot,
    Person {
        /// Their id.
        id: i64,
        /// Their name.
        name: String,
    },
}

/// What a message is, besides its text or caption.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Text only.
    Text,
    Document {
        /// Its name.
        name: String,
        /// What is in it.
        bytes: Vec<u8>,
    },
    /// A picture, alone or in an album.
    Photo {
        /// The album.
        album: Option<String>,
    },
    /// A voice message.
    Voice,
    /// A sticker, with its emoji.
    Sticker(String),
    /// Text that somebody else had written.
    Forwarded {
        /// Their name.
        from: String,
    },
    /// The first message of a topic.
    TopicCreated(String),
    /// The group is another chat from now on.
    MovedTo(i64),
}

impl Content {
    /// What somebody gets who fetches the file.
    pub(crate) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Content::Document { bytes, .. } => Some(bytes),
            Content::Photo { .. } => Some(PHOTO),
            Content::Voice => Some(VOICE),
            Content::Text
            | Content::Sticker(_)
            | Content::Forwarded { .. }
            | Content::TopicCreated(_)
            | Content::MovedTo(_) => None,
        }
    }
}

/// A message with its history.
#[derive(Clone, Debug)]
pub(crate) struct ChatMessage {
    /// Its number in the chat.
    pub(crate) id: i32,
    pub(crate) chat: i64,
    /// The topic, where there is one.
    pub(crate) topic: Option<i32>,
    /// Who wrote it.
    pub(crate) author: Author,
    /// What it is.
    pub(crate) content: Content,
    /// The message it replies to.
    pub(crate) reply_to: Option<i32>,
    /// Whether it made a sound when it came.
    pub(crate) sound: Sound,
    /// Seconds since 1970.
    pub(crate) date: i64,
    /// What it said, from first to last.
    pub(crate) versions: Vec<Version>,
    /// Whether it is gone.
    pub(crate) deleted: bool,
}

/// Whether a message was heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sound {
    /// The phone made a sound.
    Heard,
    /// It was sent silently.
    Silent,
}

/// How a version came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// As a new message.
    New,
    /// As an edit, which nobody hears.
    Edit,
}

/// What a message said at one time.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    /// Text or caption.
    pub(crate) text: String,
    pub(crate) entities: Vec<Value>,
    /// What it brings along.
    pub(crate) markup: Markup,
    /// How it came.
    pub(crate) came: Came,
    /// Its place in the order of everything that happened.
    pub(crate) moment: u64,
    /// When.
    pub(crate) at: Instant,
}

impl ChatMessage {
    /// What it says now.
    pub(crate) fn now(&self) -> &Version {
        self.versions.last().unwrap()
    }

    /// Its text now.
    pub(crate) fn text(&self) -> &str {
        &self.now().text
    }

    /// The labels of its buttons now, row by row.
    pub(crate) fn buttons(&self) -> Vec<Vec<String>> {
        let label = |button: &Button| button.text.clone();
        self.now().markup.rows().iter().map(|row| row.iter().map(label).collect()).collect()
    }

    /// The button with this label, in the newest version that has one.
    pub(crate) fn button(&self, label: &str) -> Option<&Button> {
        let rows = self.versions.iter().rev().flat_map(|version| version.markup.rows());
        rows.flatten().find(|button| button.text == label)
    }

    /// Whether the bot wrote it.
    pub(crate) fn is_by_bot(&self) -> bool {
        self.author == Author::Bot
    }

    /// Whether it came with something else than buttons under it: such a message cannot be edited.
    pub(crate) fn has_other_markup(&self) -> bool {
        matches!(self.now().markup, Markup::Keyboard(_) | Markup::ForceReply(_))
    }

    /// The part of the text that an entity of this type covers, for each.
    pub(crate) fn marked(&self, kind: &str) -> Vec<String> {
        let units: Vec<u16> = self.text().encode_utf16().collect();
        let part = |entity: &Value| {
            let from = entity["offset"].as_u64().unwrap_or_default() as usize;
            let to = from + entity["length"].as_u64().unwrap_or_default() as usize;
            String::from_utf16_lossy(&units[from..to])
        };
        self.now().entities.iter().filter(|entity| entity["type"] == kind).map(part).collect()
    }
}

/// Messages as one sees them on a screen, oldest first.
pub(crate) fn render<'a>(messages: impl IntoIterator<Item = &'a ChatMessage>) -> String {
    let mut screen = String::new();
    for message in messages {
        let _ = render_one(&mut screen, message);
    }
    if screen.is_empty() { "(nothing was said)\n".to_owned() } else { screen }
}

fn render_one(screen: &mut String, message: &ChatMessage) -> std::fmt::Result {
    let who = match &message.author {
        Author::Bot => "bot",
        Author::Person { name, .. } => name,
    };
    write!(screen, "[{}] {who}", message.id)?;
    if let Some(reply_to) = message.reply_to {
        write!(screen, " (to {reply_to})")?;
    }
    match message.versions.len() {
        1 => {}
        versions => write!(screen, " (edited {}x)", versions - 1)?,
    }
    if message.deleted {
        return writeln!(screen, ": (deleted)");
    }
    match &message.content {
        Content::Text => {}
        Content::Document { name, bytes } => write!(screen, " <document {name}, {} bytes>", bytes.len())?,
        Content::Photo { .. } => write!(screen, " <photo>")?,
        Content::Voice => write!(screen, " <voice>")?,
        Content::Sticker(emoji) => write!(screen, " <sticker {emoji}>")?,
        Content::Forwarded { from } => write!(screen, " <forwarded from {from}>")?,
        Content::TopicCreated(name) => write!(screen, " <topic {name}>")?,
        Content::MovedTo(to) => write!(screen, " <now {to}>")?,
    }
    writeln!(screen, ": {}", message.text().replace('\n', "\n    "))?;
    for row in message.buttons() {
        writeln!(screen, "    [{}]", row.join("] ["))?;
    }
    if let Markup::ForceReply(_) = message.now().markup {
        writeln!(screen, "    (asks for a reply)")?;
    }
    Ok(())
}
