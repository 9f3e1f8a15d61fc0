//! The effects that one step emits, in order. The parts of the chat state add their effects to this list, and execute
//! nothing themselves.

use std::collections::HashSet;

use rapport_core::{Act, SessionId};
use rapport_door::Content;

use super::callbacks::Tap;
use super::card::{Card, thread};
use super::chat_state::person;
use super::effect::{
    AfterContent, AfterOps, AfterSend, Becomes, ContentForm, Effect, SessionOp, Thanks, Ticket,
};
use super::messages::Visit;
use crate::bot_api::ChatAction;
use crate::outgoing::Outgoing;
use crate::room::Room;
use crate::text::Text;

/// The number of answered taps to remember.
const MOST_TAPS: usize = 10_000;

/// The effects of the current step so far, and the taps that earlier steps answered.
#[derive(Debug, Default)]
pub(super) struct Effects {
    list: Vec<Effect>,
    /// Ids of answered callback queries: after a kill, the same tap may come again.
    answered: HashSet<String>,
}

impl Effects {
    /// Ends the step and returns its effects. Messages to quiet chats make no sound.
    pub(super) fn take(&mut self, is_quiet: impl Fn(i64) -> bool) -> Vec<Effect> {
        let hushed = |effect: Effect| match effect {
            Effect::Send { chat, messages, then } if is_quiet(chat) => {
                let messages = messages.into_iter().map(Outgoing::silently).collect();
                Effect::Send { chat, messages, then }
            }
            effect => effect,
        };
        std::mem::take(&mut self.list).into_iter().map(hushed).collect()
    }

    pub(super) fn want(&mut self, effect: Effect) {
        self.list.push(effect);
    }

    /// Marks an update as safe: what has to be kept of it is durable.
    pub(super) fn finish(&mut self, ticket: Ticket) {
        self.want(Effect::Finish(ticket));
    }

    /// Sends a job, regardless of its outcome.
    pub(super) fn send(&mut self, room: Room, what: Outgoing) {
        self.want(Effect::Send { chat: room.chat, messages: vec![what], then: None });
    }

    /// Sends a job, and continues with `then` when the outcome is known.
    pub(super) fn send_then(&mut self, room: Room, what: Outgoing, then: AfterSend) {
        self.want(Effect::Send { chat: room.chat, messages: vec![what], then: Some(then) });
    }

    /// Sends a card whose message is not recorded.
    pub(super) fn send_card(&mut self, room: Room, card: &Card) {
        self.send(room, Outgoing::Message(card.message(room)));
    }

    pub(super) fn say(&mut self, room: Room, words: &str) {
        self.send_card(room, &Card::plain(Text::new().plain(words)));
    }

    /// Shows the "typing" indicator in a room.
    pub(super) fn type_for(&mut self, room: Room) {
        self.send(room, Outgoing::Action { action: ChatAction::Typing, thread: thread(room) });
    }

    /// Removes the buttons of a message.
    pub(super) fn strip(&mut self, room: Room, message: i32) {
        self.send(room, Outgoing::Buttons { message, keyboard: None });
    }

    /// Answers a tap, once.
    pub(super) fn answer_tap(&mut self, query: impl Into<Option<String>>, words: &str) {
        if let Some(query) = query.into().filter(|query| self.is_first_answer(query)) {
            self.want(Effect::AnswerTap { query, words: words.to_owned() });
        }
    }

    /// Whether a tap was not answered yet. From now on it counts as answered.
    pub(super) fn is_first_answer(&mut self, query: &str) -> bool {
        if self.answered.len() > MOST_TAPS {
            self.answered.clear();
        }
        self.answered.insert(query.to_owned())
    }

    /// Answers a tap that has no other effect.
    pub(super) fn only_answer(&mut self, tap: Tap, words: &str) {
        if tap.query.is_none() && !words.is_empty() {
            self.say(tap.room, words);
        }
        self.answer_tap(tap.query, words);
        self.finish(tap.ticket);
    }

    /// Answers a tap on a card whose question is no longer open, and removes the buttons.
    pub(super) fn too_late(&mut self, tap: Tap, words: &str) {
        if let Some(message) = tap.message {
            self.strip(tap.room, message);
        }
        self.only_answer(tap, words);
    }

    /// Replies to an update that has no other effect.
    pub(super) fn only_say(&mut self, visit: &Visit, words: &str) {
        self.say(visit.room, words);
        self.finish(visit.ticket);
    }

    /// Executes the operations on sessions that an update asks for.
    pub(super) fn carry_out(&mut self, visit: &Visit, ops: Vec<SessionOp>) {
        self.operate((visit.room, visit.sender.id), ops, None, visit.ticket);
    }

    /// Acts in a session, and removes the buttons of the message that asked about it.
    pub(super) fn act_and_strip(&mut self, tap: Tap, id: &SessionId, act: Act) {
        let Tap { room, by, query, message, ticket, .. } = tap;
        if let Some(asked) = message {
            self.strip(room, asked);
        }
        self.answer_tap(query, "");
        self.operate((room, by), vec![SessionOp::Act(id.clone(), act)], None, ticket);
    }

    /// Reads content of a session, to be shown in the room of the tap.
    pub(super) fn show_content(&mut self, tap: Tap, id: &SessionId, form: ContentForm, content: Content) {
        let Tap { room, query, ticket, .. } = tap;
        self.answer_tap(query, "");
        let then = AfterContent { room, ticket, form, work: None };
        self.want(Effect::ReadContent { session: id.clone(), content, then });
    }

    /// Executes a person's operations on sessions. A refusal is reported in the room.
    pub(super) fn operate(
        &mut self,
        (room, user): (Room, u64),
        ops: Vec<SessionOp>,
        thanks: Option<Thanks>,
        ticket: Ticket,
    ) {
        self.operate_for((room, user), ops, thanks, ticket, None);
    }

    /// The same, if the message also becomes an answer, a revision or a queued message.
    pub(super) fn operate_for(
        &mut self,
        (room, user): (Room, u64),
        ops: Vec<SessionOp>,
        thanks: Option<Thanks>,
        ticket: Ticket,
        becomes: Option<Becomes>,
    ) {
        let then = AfterOps::Request { room, ticket, thanks, becomes };
        self.want(Effect::Operate { by: person(user), ops, then });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::notes::Notes;

    const HOME: Room = Room { chat: 42, topic: None };

    fn tap(query: Option<&str>) -> Tap {
        Tap {
            room: HOME,
            by: 42,
            query: query.map(str::to_owned),
            data: String::new(),
            message: Some(7),
            seen: None,
            about: None,
            ticket: Ticket(1),
        }
    }

    fn taken(effects: &mut Effects) -> Vec<Effect> {
        effects.take(|_| false)
    }

    fn kinds(effects: &mut Effects) -> Vec<String> {
        taken(effects).iter().map(|effect| rapport_door::variant(effect)).collect()
    }

    #[test]
    fn a_note_keeps_its_place_between_other_effects() {
        let (mut effects, mut notes) = (Effects::default(), Notes::default());
        effects.say(HOME, "before");
        notes.note_announced(&mut effects, &SessionId::new("s1"), 3);
        effects.finish(Ticket(1));
        let kinds = kinds(&mut effects);
        assert_eq!(kinds, ["Send", "Note", "Finish"]);
        assert_eq!(taken(&mut effects), [], "they belong to one step");
    }

    #[test]
    fn a_tap_is_answered_once() {
        let mut effects = Effects::default();
        effects.answer_tap("q".to_owned(), "Done.");
        let answer = Effect::AnswerTap { query: "q".into(), words: "Done.".into() };
        assert_eq!(taken(&mut effects), [answer]);
        effects.answer_tap("q".to_owned(), "Done.");
        effects.only_answer(tap(Some("q")), "Done.");
        assert_eq!(taken(&mut effects), [Effect::Finish(Ticket(1))], "also in a later step");
    }

    /// A typed label has no callback query, so the answer is sent to the room as a message.
    #[test]
    fn a_typed_tap_is_answered_in_its_room() {
        let mut effects = Effects::default();
        effects.only_answer(tap(None), "Nothing is selected.");
        let kinds = kinds(&mut effects);
        assert_eq!(kinds, ["Send", "Finish"]);
        effects.only_answer(tap(None), "");
        assert_eq!(taken(&mut effects), [Effect::Finish(Ticket(1))]);
    }

    #[test]
    fn messages_to_quiet_chats_are_silent() {
        let mut effects = Effects::default();
        let loud = Room { chat: -7, topic: None };
        effects.say(HOME, "hush");
        effects.say(loud, "hello");
        let silent = effects.take(|chat| chat == HOME.chat).into_iter().map(|effect| match effect {
            Effect::Send { messages, .. } => match &messages[..] {
                [Outgoing::Message(message)] => message.silent,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        });
        assert_eq!(silent.collect::<Vec<_>>(), [true, false]);
    }
}
