//! A person with a phone, who types, taps, replies, and sees the bot's messages.
//!
//! Acts happen at once, so a person can be as quick as a test likes; messages of the bot are waited for.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use super::Shared;
use super::chat::{self, Author, Came, ChatKind, ChatMessage, Content, Standing, Version};
use super::keyboard::Markup;
use super::shown;
use super::state::{BOT_NAME, Draft, Privacy, State, bot, now};
use super::text::{Formatted, length};

/// A person in a chat.
pub(crate) struct Person {
    shared: Arc<Shared>,
    pub(crate) id: i64,
    pub(crate) name: String,
    /// Where they are.
    pub(crate) chat: i64,
    /// In which topic.
    pub(crate) topic: Option<i32>,
    /// When they last did something.
    acted: AtomicU64,
}

/// A tap on a button.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tap {
    /// The id of the callback query.
    pub(crate) id: String,
}

impl Person {
    pub(super) fn new(shared: Arc<Shared>, id: i64, name: &str) -> Self {
        Self { shared, id, name: name.to_owned(), chat: id, topic: None, acted: AtomicU64::new(0) }
    }

    /// The same person in a group, and in one of its topics.
    pub(crate) fn in_group(&self, chat: i64, topic: Option<i32>) -> Self {
        Self { chat, topic, ..Self::new(self.shared.clone(), self.id, &self.name) }
    }

    /// Writes a message; its number.
    pub(crate) fn types(&self, text: &str) -> i32 {
        self.sends(Content::Text, text, None)
    }

    /// Writes a reply to a message.
    pub(crate) fn replies_to(&self, message: i32, text: &str) -> i32 {
        self.sends(Content::Text, text, Some(message))
    }

    /// Waits until the bot asks for a reply, and gives it, as phones then do by themselves.
    #[track_caller]
    pub(crate) fn replies_when_asked(&self, text: &str) -> impl Future<Output = i32> {
        let asked = self.waits("being asked for a reply".to_owned(), |person, state| {
            let asks = |message: &&ChatMessage| matches!(message.now().markup, Markup::ForceReply(_));
            person.on_screen(state).rfind(asks).map(|message| message.id)
        });
        async move { self.replies_to(asked.await, text) }
    }

    /// Sends a picture.
    pub(crate) fn sends_photo(&self, caption: &str) -> i32 {
        self.sends(Content::Photo { album: None }, caption, None)
    }

    /// Sends several pictures at once, with words below the first.
    pub(crate) fn sends_album(&self, pictures: usize, caption: &str) {
        let album = format!("album-{}", self.shared.look(|state| state.messages.len()));
        for picture in 0..pictures {
            let caption = if picture == 0 { caption } else { "" };
            self.sends(Content::Photo { album: Some(album.clone()) }, caption, None);
        }
    }

    /// Sends a voice message.
    pub(crate) fn sends_voice(&self) -> i32 {
        self.sends(Content::Voice, "", None)
    }

    /// Sends a sticker.
    pub(crate) fn sends_sticker(&self, emoji: &str) -> i32 {
        self.sends(Content::Sticker(emoji.to_owned()), "", None)
    }

    /// Sends a file.
    pub(crate) fn sends_document(&self, name: &str, bytes: &[u8], caption: &str) -> i32 {
        self.sends(Content::Document { name: name.to_owned(), bytes: bytes.to_vec() }, caption, None)
    }

    /// Forwards what somebody else wrote.
    pub(crate) fn forwards(&self, from: &str, text: &str) -> i32 {
        self.sends(Content::Forwarded { from: from.to_owned() }, text, None)
    }

    /// Has the bot told that the group is another chat now, as it is when somebody makes it a supergroup.
    pub(crate) fn has_moved(&self, to: i64) -> i32 {
        self.sends(Content::MovedTo(to), "", None)
    }

    /// Changes a message of their own.
    pub(crate) fn edits_message(&self, message: i32, text: &str) {
        let version = |moment| Version {
            text: text.to_owned(),
            entities: commands(text),
            markup: Markup::None,
            came: Came::Edit,
            moment,
            at: std::time::Instant::now(),
        };
        self.acts(|state, moment| {
            let edited = state.message_mut(self.chat, message).unwrap();
            edited.versions.push(version(moment));
            self.tell(state, "edited_message", message);
        });
    }

    /// Taps the button with this label, on the newest card that shows it; waits until one does.
    #[track_caller]
    pub(crate) fn taps(&self, label: &str) -> impl Future<Output = Tap> {
        let label = label.to_owned();
        let found = self.waits(format!("a button {label:?}"), move |person, state| {
            let mut cards = person.on_screen(state).rev().filter(|message| message.is_by_bot());
            cards.find_map(|card| {
                let button = card.now().markup.rows().iter().flatten().find(|button| button.text == label)?;
                Some((card.id, button.data.clone()?))
            })
        });
        async move {
            let (card, data) = found.await;
            self.taps_data_on(card, &data)
        }
    }

    /// Taps a button of a card as it was when it was seen, even if it has no buttons any more.
    #[track_caller]
    pub(crate) fn taps_on(&self, card: &ChatMessage, label: &str) -> Tap {
        match card.button(label) {
            Some(button) => self.taps_data_on(card.id, button.data.as_deref().unwrap_or_default()),
            None => panic!("no button {label:?} on\n{}", chat::render([card])),
        }
    }

    /// Sends this data, as if a button of the newest message of the bot had it.
    pub(crate) fn taps_data(&self, data: &str) -> Tap {
        let newest =
            |state: &State| self.on_screen(state).rfind(|message| message.is_by_bot()).map(|card| card.id);
        let card = self.shared.look(newest).unwrap_or_default();
        self.taps_data_on(card, data)
    }

    /// Sends this data, as if this card had such a button.
    pub(crate) fn taps_data_on(&self, card: i32, data: &str) -> Tap {
        self.acts(|state, _| {
            let id = state.add_callback(self.id, data);
            let message = match state.message(self.chat, card) {
                Some(message) => shown::message(state, message),
                // What is gone is shown as no more than its place.
                None => {
                    json!({ "chat": shown::chat(&state.chats[&self.chat]), "message_id": card, "date": 0 })
                }
            };
            let query = json!({
                "id": id,
                "from": shown::person(self.id, &self.name),
                "message": message,
                "chat_instance": (self.chat ^ 0x5bd1_e995).to_string(),
                "data": data,
            });
            state.updates.add("callback_query", query);
            Tap { id }
        })
    }

    /// Waits until the bot has said this, in a new message or an edit, since the person last did something.
    #[track_caller]
    pub(crate) fn sees(&self, text: &str) -> impl Future<Output = ChatMessage> {
        let text = text.to_owned();
        self.waits(format!("{text:?}"), move |person, state| {
            let acted = person.acted.load(Ordering::SeqCst);
            let says = |version: &Version| version.moment > acted && version.text.contains(&text);
            let mut all = person.on_screen(state).rev().filter(|message| message.is_by_bot());
            all.find(|message| message.versions.iter().any(says)).cloned()
        })
    }

    /// Waits until the newest message of the bot has this text, or has it already.
    #[track_caller]
    pub(crate) fn sees_last(&self, text: &str) -> impl Future<Output = ChatMessage> {
        let text = text.to_owned();
        self.waits(format!("{text:?} in the newest message"), move |person, state| {
            let newest = person.on_screen(state).rfind(|message| message.is_by_bot())?;
            newest.text().contains(&text).then(|| newest.clone())
        })
    }

    /// Whether this is on the screen now.
    pub(crate) fn shows(&self, text: &str) -> bool {
        self.shared.look(|state| self.on_screen(state).any(|message| message.text().contains(text)))
    }

    /// Whether a button with this label is on the screen.
    pub(crate) fn on_screen_button(&self, label: &str) -> bool {
        self.shared.look(|state| {
            let mut cards = self.on_screen(state).filter(|message| message.is_by_bot());
            cards.any(|card| card.now().markup.rows().iter().flatten().any(|button| button.text == label))
        })
    }

    /// Waits until no button has this label any more.
    #[track_caller]
    pub(crate) fn sees_no_button(&self, label: &str) -> impl Future<Output = ()> {
        let label = label.to_owned();
        self.waits(format!("no button {label}"), move |person, state| {
            let mut cards = person.on_screen(state).filter(|message| message.is_by_bot());
            let rows = |card: &ChatMessage| {
                card.now().markup.rows().iter().flatten().any(|button| button.text == label)
            };
            (!cards.any(rows)).then_some(())
        })
    }

    /// What the button with this label says, the so many'th on the newest card that has one, from 0.
    pub(crate) fn on_screen_data(&self, label: &str, place: usize) -> String {
        let found = self.shared.look(|state| {
            let cards = self.on_screen(state).rev().filter(|message| message.is_by_bot());
            let mut found = cards.filter_map(|card| {
                let rows = card.now().markup.rows();
                let all = rows.iter().flatten().filter(|button| button.text == label);
                all.filter_map(|button| button.data.clone()).nth(place)
            });
            found.next()
        });
        found.unwrap_or_else(|| panic!("no button {label:?}"))
    }

    /// Waits until there is a card with buttons; the newest one.
    #[track_caller]
    pub(crate) fn card(&self) -> impl Future<Output = ChatMessage> {
        self.waits("a card with buttons".to_owned(), Self::newest_card)
    }

    /// The labels of the newest card's buttons, row by row.
    pub(crate) fn buttons(&self) -> Vec<Vec<String>> {
        self.shared.look(|state| self.newest_card(state)).map(|card| card.buttons()).unwrap_or_default()
    }

    /// Waits for the bot's answer to the person's last tap; what it says.
    #[track_caller]
    pub(crate) fn toast(&self) -> impl Future<Output = String> {
        let mine = |state: &State| state.callbacks.iter().rfind(|callback| callback.by == self.id).cloned();
        let id = self.shared.look(mine).map(|callback| callback.id).unwrap_or_default();
        self.answer_to(id)
    }

    /// Waits for the bot's answer to this tap.
    #[track_caller]
    pub(crate) fn toast_of(&self, tap: &Tap) -> impl Future<Output = String> {
        self.answer_to(tap.id.clone())
    }

    #[track_caller]
    fn answer_to(&self, id: String) -> impl Future<Output = String> {
        self.waits(format!("an answer to the tap {id}"), move |_, state| {
            let tapped = state.callbacks.iter().find(|callback| callback.id == id)?;
            tapped.answer.as_ref().map(|answer| answer.text.clone())
        })
    }

    /// The chat as the person sees it.
    pub(crate) fn screen(&self) -> String {
        self.shared.look(|state| chat::render(self.on_screen(state)))
    }

    /// Stops the bot from writing to them.
    pub(crate) fn blocks_the_bot(&self) {
        self.changes_standing(Standing::Blocked, "member", "kicked");
    }

    /// Lets it write again.
    pub(crate) fn unblocks_the_bot(&self) {
        self.changes_standing(Standing::Member, "kicked", "member");
    }

    fn changes_standing(&self, standing: Standing, was: &str, is: &str) {
        self.acts(|state, _| {
            let chat = state.chats.get_mut(&self.id).unwrap();
            chat.bot = standing;
            let member = |status: &str| match status {
                "kicked" => json!({ "user": bot(), "status": status, "until_date": 0 }),
                _ => json!({ "user": bot(), "status": status }),
            };
            let change = json!({
                "chat": shown::chat(chat),
                "from": shown::person(self.id, &self.name),
                "date": now(),
                "old_chat_member": member(was),
                "new_chat_member": member(is),
            });
            state.updates.add("my_chat_member", change);
        });
    }

    fn sends(&self, content: Content, text: &str, reply_to: Option<i32>) -> i32 {
        self.acts(|state, _| {
            let author = Author::Person { id: self.id, name: self.name.clone() };
            let text = Formatted { text: text.to_owned(), entities: commands(text), dropped: 0 };
            let draft = Draft { reply_to, topic: self.topic, ..Draft::new(author, content, text) };
            let id = state.say(self.chat, draft);
            if let Some(chat) = state.chats.get_mut(&self.chat).filter(|chat| chat.bot == Standing::Unmet) {
                chat.bot = Standing::Member;
            }
            if self.reaches_the_bot(state, id) {
                self.tell(state, "message", id);
            }
            id
        })
    }

    fn reaches_the_bot(&self, state: &State, id: i32) -> bool {
        let message = state.message(self.chat, id);
        let text = message.map(|message| message.text().to_owned()).unwrap_or_default();
        let to_bot = message
            .and_then(|message| message.reply_to)
            .and_then(|answered| state.message(self.chat, answered))
            .is_some_and(ChatMessage::is_by_bot);
        let by_telegram = message.is_some_and(|message| matches!(message.content, Content::MovedTo(_)));
        state.privacy == Privacy::Off
            || state.chats[&self.chat].kind == ChatKind::Private
            || text.starts_with('/')
            || text.contains(&format!("@{BOT_NAME}"))
            || to_bot
            || by_telegram
    }

    fn tell(&self, state: &mut State, kind: &str, id: i32) {
        let message = state.message(self.chat, id).map(|message| shown::message(state, message));
        state.updates.add(kind, message.unwrap_or_default());
    }

    /// Does something, and remembers when.
    fn acts<T>(&self, act: impl FnOnce(&mut State, u64) -> T) -> T {
        self.shared.change(|state| {
            let moment = state.tick();
            let done = act(state, moment);
            self.acted.store(state.tick(), Ordering::SeqCst);
            done
        })
    }

    #[track_caller]
    fn waits<T>(
        &self,
        what: String,
        mut look: impl FnMut(&Self, &State) -> Option<T>,
    ) -> impl Future<Output = T> {
        self.shared.wait_for(format!("{what}, for {}", self.name), move |state| look(self, state))
    }

    fn on_screen<'a>(&self, state: &'a State) -> impl DoubleEndedIterator<Item = &'a ChatMessage> {
        state.messages_in(self.chat, self.topic)
    }

    fn newest_card(&self, state: &State) -> Option<ChatMessage> {
        self.on_screen(state).rfind(|message| !message.now().markup.rows().is_empty()).cloned()
    }
}

/// Telegram marks commands by itself.
fn commands(text: &str) -> Vec<Value> {
    let mut entities = Vec::new();
    let mut at = 0;
    for word in text.split_inclusive(char::is_whitespace) {
        let command = word.trim_end();
        let name = command.strip_prefix('/').unwrap_or_default();
        if name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            let kept = |c: &char| c.is_ascii_alphanumeric() || *c == '_' || *c == '@';
            let marked = name.chars().take_while(kept).count() + 1;
            entities.push(json!({ "type": "bot_command", "offset": at, "length": marked }));
        }
        at += length(word);
    }
    entities
}
