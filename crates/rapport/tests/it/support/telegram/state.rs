//! The whole state of the server: chats and their messages, the updates for the bot, and the bot's calls.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::chat::{Author, Came, Chat, ChatKind, ChatMessage, Content, Sound, Standing, Topic, Version};
use super::faults::Faults;
use super::keyboard::Markup;
use super::rates::{Limiter, Rates};
use super::refusal::Refusal;
use super::request::Upload;
use super::text::Formatted;
use super::updates::Updates;

/// The token of the only bot there is.
pub(crate) const TOKEN: &str = "4242424242:AAF-strict-token_for-the_test-server0";
/// The id of the bot.
pub(crate) const BOT_ID: i64 = 4_242_424_242;
/// Its name with the at sign left out.
pub(crate) const BOT_NAME: &str = "rapport_test_bot";

/// The state of the server.
pub(crate) struct State {
    /// The chats, by id.
    pub(crate) chats: BTreeMap<i64, Chat>,
    /// Every message of every chat, in the order they came.
    pub(crate) messages: Vec<ChatMessage>,
    /// Every call, in the order they came.
    pub(crate) calls: Vec<Call>,
    pub(crate) callbacks: Vec<Callback>,
    /// What the bot was seen doing ("typing"), and in which chat and topic.
    pub(crate) actions: Vec<(i64, Option<i32>, String)>,
    /// How the bot reacted to which message of which chat.
    pub(crate) reactions: BTreeMap<(i64, i32), String>,
    /// What a well-made bot would not have done.
    pub(crate) violations: Vec<Violation>,
    /// The commands, by scope and language.
    pub(crate) commands: BTreeMap<String, Value>,
    /// Where updates are sent.
    pub(crate) webhook: Option<Webhook>,
    /// How many requests came while the server was hanging.
    pub(crate) hung: u32,
    /// How often a file was fetched, or was to be.
    pub(crate) downloads: u32,
    pub(super) updates: Updates,
    pub(super) limiter: Limiter,
    pub(super) faults: Faults,
    pub(super) callback_lifetime: Duration,
    pub(super) webhook_retry: Duration,
    pub(super) privacy: Privacy,
    moment: u64,
    next_private_id: i32,
    next_callback: u64,
}

/// A call of the bot.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    /// Its place in the order of everything that happened.
    pub(crate) moment: u64,
    /// When it came.
    pub(crate) at: Instant,
    /// The method, spelled as documented.
    pub(crate) method: String,
    /// What was passed.
    pub(crate) parameters: Map<String, Value>,
    /// The files that came along.
    pub(crate) files: Vec<Upload>,
    /// What came of it.
    pub(crate) outcome: Outcome,
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Nothing yet.
    Open,
    /// It was done, and the bot was told.
    Done(Value),
    /// It was done, and the bot was not told.
    DoneUnheard(Value),
    /// It was not done, and the bot was told why.
    Refused(Refusal),
    /// It was not done, and the bot was not told.
    Lost,
}

/// A tap on a button.
#[derive(Clone, Debug)]
pub(crate) struct Callback {
    /// The id of the query.
    pub(crate) id: String,
    /// Who tapped.
    pub(crate) by: i64,
    /// The button's data.
    pub(crate) data: String,
    /// When.
    pub(crate) at: Instant,
    /// Whether it can still be answered.
    pub(crate) expired: bool,
    /// How the bot answered.
    pub(crate) answer: Option<Answer>,
}

/// How the bot answered a tap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What the person is shown; empty for nothing.
    pub(crate) text: String,
    /// Whether they have to close it.
    pub(crate) alert: bool,
}

/// What a well-made bot does not do, though Telegram may take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// It sent before the time it had been told to wait was over.
    Early {
        /// The method.
        method: String,
        /// The chat.
        chat: i64,
    },
    /// It passed a parameter that the method does not have.
    UnknownParameter {
        /// The method.
        method: String,
        /// The parameter, with the way to it.
        parameter: String,
    },
    /// It passed something of the wrong type.
    WrongType {
        /// The method.
        method: String,
        /// Why it cannot be read.
        why: String,
    },
    /// Buttons that nobody sees: with no label, or too many.
    ButtonsDropped(Vec<String>),
    /// Entities that nobody sees, because there were too many.
    EntitiesDropped(usize),
}

/// Where updates are sent.
#[derive(Clone, Debug)]
pub(crate) struct Webhook {
    pub(crate) url: String,
    /// What the header has to say.
    pub(crate) secret: String,
    /// How many at once, as the bot said.
    pub(crate) max_connections: i64,
    /// What last went wrong, and when.
    pub(crate) last_error: Option<(i64, String)>,
}

/// Which messages of groups reach the bot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// All.
    Off,
    /// Commands, mentions and replies to it only.
    On,
}

impl State {
    /// A world without anybody.
    pub(crate) fn new() -> Self {
        Self {
            chats: BTreeMap::new(),
            messages: Vec::new(),
            calls: Vec::new(),
            callbacks: Vec::new(),
            actions: Vec::new(),
            reactions: BTreeMap::new(),
            violations: Vec::new(),
            commands: BTreeMap::new(),
            webhook: None,
            hung: 0,
            downloads: 0,
            updates: Updates::new(),
            limiter: Limiter::new(Rates::Real),
            faults: Faults::default(),
            callback_lifetime: Duration::from_secs(30),
            webhook_retry: Duration::from_millis(50),
            privacy: Privacy::Off,
            moment: 0,
            next_private_id: 100,
            next_callback: 5_100_000_000_000_000_001,
        }
    }

    /// The next place in the order of everything.
    pub(crate) fn tick(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    /// The messages of a chat and topic, oldest first, those that are gone left out.
    pub(crate) fn messages_in(
        &self,
        chat: i64,
        topic: Option<i32>,
    ) -> impl DoubleEndedIterator<Item = &ChatMessage> {
        self.messages
            .iter()
            .filter(move |message| message.chat == chat && !message.deleted)
            .filter(move |message| topic.is_none() || message.topic == topic)
    }

    /// One message, unless it is gone.
    pub(crate) fn message(&self, chat: i64, id: i32) -> Option<&ChatMessage> {
        self.messages_in(chat, None).find(|message| message.id == id)
    }

    /// What is in a file, by its id.
    pub(crate) fn file(&self, id: &str) -> Option<&[u8]> {
        let (rest, message) = id.rsplit_once('-')?;
        let (_, chat) = rest.split_once('-')?;
        self.message(chat.parse().ok()?, message.parse().ok()?)?.content.bytes()
    }

    pub(super) fn message_mut(&mut self, chat: i64, id: i32) -> Option<&mut ChatMessage> {
        self.messages.iter_mut().find(|message| message.chat == chat && message.id == id && !message.deleted)
    }

    /// Adds a chat, unless it is there.
    pub(super) fn add_chat(&mut self, id: i64, name: &str, kind: ChatKind) {
        let (name, topics) = (name.to_owned(), BTreeMap::new());
        self.chats.entry(id).or_insert(Chat { id, name, kind, bot: Standing::Member, topics });
    }

    /// Adds a topic; its thread is the number of its first message.
    pub(super) fn add_topic(&mut self, chat: i64, name: &str) -> i32 {
        let creator = Author::Person { id: 1, name: "Admin".to_owned() };
        let draft = Draft::new(creator, Content::TopicCreated(name.to_owned()), Formatted::default());
        let thread = self.say(chat, draft);
        self.message_mut(chat, thread).unwrap().topic = Some(thread);
        let topic = Topic { name: name.to_owned(), open: true };
        self.chats.get_mut(&chat).unwrap().topics.insert(thread, topic);
        thread
    }

    /// Puts a message into a chat, and gives its number.
    pub(super) fn say(&mut self, chat: i64, draft: Draft) -> i32 {
        let id = self.next_message(chat);
        let version = Version {
            text: draft.text.text,
            entities: draft.text.entities,
            markup: draft.markup,
            came: Came::New,
            moment: self.tick(),
            at: Instant::now(),
        };
        self.messages.push(ChatMessage {
            id,
            chat,
            topic: draft.topic,
            author: draft.author,
            content: draft.content,
            reply_to: draft.reply_to,
            sound: draft.sound,
            date: now(),
            versions: vec![version],
            deleted: false,
        });
        id
    }

    /// Supergroups count for themselves; all other chats together.
    fn next_message(&mut self, chat: i64) -> i32 {
        match self.chats[&chat].kind {
            ChatKind::Private | ChatKind::Group | ChatKind::Upgraded(_) => {
                self.next_private_id += 1;
                self.next_private_id
            }
            ChatKind::Supergroup | ChatKind::Forum => {
                let said = self.messages.iter().filter(|message| message.chat == chat).count();
                i32::try_from(said).unwrap() + 2
            }
        }
    }

    /// Notes a tap, and gives its id.
    pub(super) fn add_callback(&mut self, by: i64, data: &str) -> String {
        self.next_callback += 1;
        let id = self.next_callback.to_string();
        let (data, at) = (data.to_owned(), Instant::now());
        self.callbacks.push(Callback { id: id.clone(), by, data, at, expired: false, answer: None });
        id
    }
}

/// A message about to be said.
pub(super) struct Draft {
    pub(super) author: Author,
    pub(super) content: Content,
    pub(super) text: Formatted,
    pub(super) markup: Markup,
    pub(super) topic: Option<i32>,
    pub(super) reply_to: Option<i32>,
    pub(super) sound: Sound,
}

impl Draft {
    pub(super) fn new(author: Author, content: Content, text: Formatted) -> Self {
        Self { author, content, text, markup: Markup::None, topic: None, reply_to: None, sound: Sound::Heard }
    }
}

/// Seconds since 1970.
pub(super) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

/// The bot as a user.
pub(super) fn bot() -> Value {
    json!({ "id": BOT_ID, "is_bot": true, "first_name": "Rapport", "username": BOT_NAME })
}
