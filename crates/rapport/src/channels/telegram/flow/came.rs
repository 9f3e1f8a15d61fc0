//! What somebody did, and what comes of it: who they are is looked at first, whatever it is.

use rapport_core::{Act, Aim, QuestionId, Reply, Room, SessionId};

use super::desk::{CardKey, Desk, Happened, Held, person};
use super::hands::{Deed, Done, USE_BUTTONS, Wish};
use super::incoming::{Incoming, Sender, What};
use super::press::Tap;
use crate::channels::telegram::access::{REFUSAL, Verdict};
use crate::channels::telegram::intake::Handled;
use crate::channels::telegram::notice::Notice;
use crate::channels::telegram::users::Paired;

/// How many messages may wait for the agent of a chat.
const MOST_QUEUED: usize = 50;
const TOO_MANY: &str = "Too many pending messages. Please wait for the current ones to complete.";

impl Desk {
    pub(super) fn came(&mut self, incoming: Incoming, done: Done) {
        let Incoming { id, room, private, sender, what } = self.in_new_chat(incoming);
        let words = match &what {
            What::Words { text, .. } if private => Some(text.clone()),
            What::Command { name, rest, .. } if private => Some(format!("/{name} {rest}")),
            What::Words { .. } | What::Command { .. } | What::Other { .. } | What::Press { .. } => None,
        };
        let verdict = self.access.judge(sender.id, words.as_deref(), self.time());
        let is_guest = self.notes.is_any_guest(room, sender.id);
        match (verdict, what) {
            (Verdict::Paired, _) => self.pair(room, sender, done),
            (Verdict::Allowed, what) => {
                self.act(&id, room, &sender, what, done);
                self.show_refused(room.chat);
            }
            // Somebody who was let in by another for this room may answer there, and nothing else.
            (_, what @ (What::Press { .. } | What::Words { .. })) if is_guest => {
                self.act(&id, room, &sender, what, done);
                self.show_refused(room.chat);
            }
            (_, What::Press { query, .. }) => {
                self.toast(query, REFUSAL);
                finished(done);
            }
            (Verdict::Refuse, What::Words { .. } | What::Command { .. } | What::Other { .. }) => {
                if private {
                    self.hands.say(room, REFUSAL);
                }
                finished(done);
            }
            (Verdict::Ignore, What::Words { .. } | What::Command { .. } | What::Other { .. }) => {
                finished(done)
            }
        }
    }

    fn act(&mut self, id: &str, room: Room, sender: &Sender, what: What, done: Done) {
        match what {
            What::Command { name, rest, about } => self.command(id, room, sender, &name, &rest, about, done),
            What::Press { query, data, message, keyboard } => {
                self.press(Tap { room, by: sender.id, query, data, message, seen: keyboard, done });
            }
            What::Words { text, reply_to } => self.words(id, room, sender, text, reply_to, done),
            What::Other { kind } => self.other(room, sender, kind, done),
        }
    }

    /// Answers a tap, once.
    pub(super) fn toast(&mut self, query: String, words: &str) {
        if self.answered.len() > 10_000 {
            self.answered.clear();
        }
        if self.answered.insert(query.clone()) {
            self.hands.toast(query, words);
        }
    }

    /// Words: a reply to a card, an answer to a planner's question, or something for the agent.
    fn words(
        &mut self,
        update: &str,
        room: Room,
        sender: &Sender,
        text: String,
        reply_to: Option<i32>,
        done: Done,
    ) {
        let replied = reply_to.and_then(|message| self.messages.get(&(room.chat, message)).cloned());
        if let Some(card) = replied {
            return self.answer_words(room, sender, &card, text, done);
        }
        if let Some((id, held)) = self.planning(room)
            && self.may(sender.id, held)
        {
            if let Some((_, focus)) = held.mirror.collecting() {
                let card = Self::key(id, focus);
                // Nobody answers what they were never shown; it is shown to them now.
                if self.refused.contains(&card) {
                    return finished(done);
                }
                return self.answer_words(room, sender, &card, text, done);
            }
            if held.mirror.is_thinking() {
                self.hands
                    .say(room, "One moment, the next questions are being made. /cancel ends the planning.");
                return finished(done);
            }
        }
        self.talk(update, room, sender, text, done);
    }

    /// Words as the answer to a question.
    fn answer_words(&mut self, room: Room, sender: &Sender, card: &CardKey, text: String, done: Done) {
        let Some(held) = self.held.get(&card.session) else {
            self.hands.say(room, "That question is not asked any more.");
            return finished(done);
        };
        if !self.may(sender.id, held) {
            self.hands.say(room, "Only whoever asked for this task can answer.");
            return finished(done);
        }
        if !self.is_in_front(card) {
            let answer = super::card::answer(&held.mirror, &card.question);
            let words = answer.map_or_else(
                || "That question is not asked any more.".to_owned(),
                |answer| format!("Already answered: {}", super::card::short(&answer, 200)),
            );
            self.hands.say(room, &words);
            return finished(done);
        }
        if !takes_words(held, &card.question) {
            self.hands.say(room, USE_BUTTONS);
            return finished(done);
        }
        let act = Act::Answer { question: Some(card.question.clone()), reply: Reply::Text(text) };
        self.hands.carry_out(room, person(sender.id), vec![Deed::Act(card.session.clone(), act)], done);
    }

    /// Something that is no text of one's own: never an answer.
    fn other(&mut self, room: Room, sender: &Sender, kind: &str, done: Done) {
        let collecting = self.planning(room).filter(|(_, held)| self.may(sender.id, held));
        let question = collecting.and_then(|(_, held)| {
            let (_, focus) = held.mirror.collecting()?;
            Some(takes_words(held, &focus.question))
        });
        let words = match question {
            Some(true) => format!("I cannot take {kind} as an answer. Please tap a button or type it ☝️"),
            Some(false) => format!("I cannot take {kind} as an answer. {USE_BUTTONS}"),
            None => format!("I can only read text, not {kind}."),
        };
        self.hands.say(room, &words);
        finished(done);
    }

    /// Something for the agent of this room.
    fn talk(&mut self, update: &str, room: Room, sender: &Sender, text: String, done: Done) {
        // A kill may have a message come again that is known already.
        if !self.access.allows(sender.id) || self.requests.contains(update) {
            return finished(done);
        }
        let chat = self.rooms.get(&room).and_then(|state| state.chat().cloned());
        let held =
            chat.as_ref().and_then(|id| self.held.get(id)).filter(|held| !held.mirror.session().is_over());
        let deed = match (chat, held) {
            (Some(id), Some(held)) => {
                if !self.may(sender.id, held) {
                    self.hands.say(
                        room,
                        "This conversation is somebody else's. They can let you in: /allow in reply to a message of yours.",
                    );
                    return finished(done);
                }
                if !held.mirror.focus().is_empty() {
                    self.hands.say(
                        room,
                        "The agent waits for an answer ☝️ Tap a button, or reply to its question.",
                    );
                    return finished(done);
                }
                if held.mirror.session().queued() >= MOST_QUEUED {
                    self.hands.say(room, TOO_MANY);
                    return finished(done);
                }
                Deed::Act(id, Act::Say { text, id: Some(update.to_owned()) })
            }
            (Some(_) | None, None) | (None, Some(_)) => {
                let request = Some(update.to_owned());
                let wish =
                    Wish { task: text, aim: Aim::Chat, room, owner: sender.id, request, grown_from: None };
                Deed::Create(wish, None)
            }
        };
        self.hands.carry_out(room, person(sender.id), vec![deed], done);
    }

    /// The plan of a room whose answers are being gathered or confirmed.
    pub(super) fn planning(&self, room: Room) -> Option<(&SessionId, &Held)> {
        let id = self.rooms.get(&room)?.plan()?;
        self.held.get_key_value(id).filter(|(_, held)| held.mirror.is_interactive())
    }

    /// The planned tasks of a room that are not over, whether or not work on them has begun.
    pub(super) fn tasks(&self, room: Room) -> impl Iterator<Item = (&SessionId, &Held)> {
        let is_here = move |held: &Held| held.room == room && held.at_home && held.mirror.is_planned();
        self.held.iter().filter(move |(_, held)| is_here(held) && !held.mirror.session().is_over())
    }

    /// What ends the plan of a room that another takes the place of.
    pub(super) fn replaced(&self, room: Room) -> Vec<(SessionId, Act)> {
        let reason = Some("another task takes its place".to_owned());
        self.planning(room).map(|(id, _)| (id.clone(), Act::Cancel { reason })).into_iter().collect()
    }

    fn pair(&mut self, room: Room, sender: Sender, done: Done) {
        let (users, back, since) = (self.users.clone(), self.hands.back.clone(), self.time());
        tokio::task::spawn_blocking(move || {
            let paired = Paired { id: sender.id, name: sender.name, since };
            let name = paired.name.clone();
            let outcome = users.add(paired).map_err(|error| error.to_string());
            let _ = back.send(Happened::Paired { user: sender.id, name, room, outcome, done });
        });
    }

    pub(super) fn paired(
        &mut self,
        user: (u64, String),
        room: Room,
        outcome: Result<(), String>,
        done: Done,
    ) {
        let (user, name) = user;
        match outcome {
            Ok(()) => {
                self.access.allow(user);
                self.owner = self.owner.or(Some(user));
                let _ = self.notices.send(Notice::LetIn { user, name });
                self.greet(room, "You are in: this bot is yours now.");
            }
            Err(why) => self.hands.say(room, &format!("❌ You could not be let in: {why}")),
        }
        finished(done);
    }
}

fn takes_words(held: &Held, question: &QuestionId) -> bool {
    let mut items = held.mirror.session().rounds().flat_map(|round| round.items);
    items.any(|item| item.question.id == *question && item.question.free_text)
}

/// Nothing of it has to be kept, or it is kept already.
pub(super) fn finished(done: Done) {
    let _ = done.send(Handled::Durable);
}
