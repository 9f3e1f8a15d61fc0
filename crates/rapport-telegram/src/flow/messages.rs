//! What somebody did, and what comes of it: who they are is looked at first, whatever it is.

use crate::room::Room;
use rapport_core::{Act, Aim, QuestionId, Reply, SessionId, TurnCard, TurnCardKind};

use super::callbacks::Tap;
use super::chat_state::{CardKey, ChatState, Input, ShownSession, person};
use super::incoming::{Incoming, Sender, What};
use super::outbound::{Done, NewSession, SessionOp, USE_BUTTONS};
use crate::access::{REFUSAL, Verdict};
use crate::intake::Handled;
use crate::notice::Notice;
use crate::users::Paired;

/// How many messages may wait for the agent of a chat.
const MOST_QUEUED: usize = 50;
const NOT_ASKED: &str = "That question is not asked any more.";
const SOMEBODY_ELSES: &str =
    "This conversation is somebody else's. They can let you in: /allow in reply to a message of yours.";
const TOO_EARLY: &str = "You wrote that before you could see this question, so it is not taken as its answer. Please answer it now ☝️";
const TOO_MANY: &str = "Too many pending messages. Please wait for the current ones to complete.";

/// Somebody who does something, where, and who waits to hear that it cannot be lost any more.
pub(super) struct Visit {
    /// What it is known by.
    pub(super) update: String,
    pub(super) room: Room,
    pub(super) sender: Sender,
    pub(super) done: Done,
}

/// Words that were written while the card they may be for was on its way.
pub(super) struct Early {
    card: CardKey,
    visit: Visit,
    text: String,
    message: i32,
}

impl ChatState {
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
                self.act(Visit { update: id, room, sender, done }, what);
                self.show_refused(room.chat);
            }
            // Somebody who was let in by another for this room may answer there, and nothing else.
            (_, what @ (What::Press { .. } | What::Words { .. })) if is_guest => {
                self.act(Visit { update: id, room, sender, done }, what);
                self.show_refused(room.chat);
            }
            (_, What::Press { query, .. }) => {
                self.toast(query, REFUSAL);
                finished(done);
            }
            (Verdict::Refuse, What::Words { .. } | What::Command { .. } | What::Other { .. }) => {
                if private {
                    self.outbound.say(room, REFUSAL);
                }
                finished(done);
            }
            (Verdict::Ignore, What::Words { .. } | What::Command { .. } | What::Other { .. }) => {
                finished(done)
            }
        }
    }

    fn act(&mut self, visit: Visit, what: What) {
        match what {
            What::Command { name, rest, about } => self.command(visit, &name, &rest, about),
            What::Press { query, data, message, keyboard } => {
                let Visit { room, sender, done, .. } = visit;
                self.press(Tap { room, by: sender.id, query, data, message, seen: keyboard, done });
            }
            What::Words { text, message, reply_to } => self.words(visit, text, message, reply_to),
            What::Other { kind } => self.other(visit, kind),
        }
    }

    /// Says something, and that is all that comes of it.
    pub(super) fn only_say(&self, visit: Visit, words: &str) {
        self.outbound.say(visit.room, words);
        finished(visit.done);
    }

    /// Does in the sessions what somebody wants.
    pub(super) fn carry_out(&self, visit: Visit, ops: Vec<SessionOp>) {
        self.outbound.carry_out(visit.room, person(visit.sender.id), ops, None, visit.done);
    }

    /// Answers a tap, once.
    pub(super) fn toast(&mut self, query: String, words: &str) {
        if self.answered.len() > 10_000 {
            self.answered.clear();
        }
        if self.answered.insert(query.clone()) {
            self.outbound.toast(query, words);
        }
    }

    /// Words: a reply to a card, an answer to a planner's question, or something for the agent.
    fn words(&mut self, visit: Visit, text: String, message: i32, reply_to: Option<i32>) {
        let room = visit.room;
        let replied = reply_to.and_then(|message| self.messages.get(&(room.chat, message)).cloned());
        if let Some(card) = replied {
            return self.answer_words(visit, &card, text);
        }
        if let Some((id, shown)) = self.planning(room)
            && self.may(visit.sender.id, shown)
        {
            if let Some((_, focus)) = shown.presenter.collecting() {
                let card = Self::key(id, focus);
                // Nobody answers what they were never shown.
                if self.is_shown_before(&card, message) {
                    return self.answer_words(visit, &card, text);
                }
                // It is on its way: when it has arrived, it is known which was first.
                if self.pending.contains(&card) && !self.is_stopping {
                    return self.early.push(Early { card, visit, text, message });
                }
                // It is shown to them now.
                if self.refused.contains(&card) {
                    return finished(visit.done);
                }
                return self.only_say(visit, TOO_EARLY);
            }
            if shown.presenter.is_thinking() {
                let words = "One moment, the next questions are being made. /cancel ends the planning.";
                return self.only_say(visit, words);
            }
        }
        self.talk(visit, text);
    }

    /// A card has arrived, or was not taken: what was written meanwhile is looked at again.
    pub(super) fn look_at_early(&mut self, card: &CardKey) {
        for early in self.early.extract_if(.., |early| early.card == *card).collect::<Vec<_>>() {
            self.words(early.visit, early.text, early.message, None);
        }
    }

    /// Nothing is waited for any more.
    pub(super) fn stop_waiting(&mut self) {
        self.is_stopping = true;
        for early in std::mem::take(&mut self.early) {
            self.only_say(early.visit, TOO_EARLY);
        }
    }

    /// Words as the answer to a question.
    fn answer_words(&mut self, visit: Visit, card: &CardKey, text: String) {
        let Some(shown) = self.sessions.get(&card.session) else {
            return self.only_say(visit, NOT_ASKED);
        };
        if !self.may(visit.sender.id, shown) {
            return self.only_say(visit, "Only whoever asked for this task can answer.");
        }
        if !self.is_in_front(card) {
            let answer = super::card::answer(&shown.presenter, &card.question);
            let words = answer.map_or_else(
                || NOT_ASKED.to_owned(),
                |answer| format!("Already answered: {}", super::card::short(&answer, 200)),
            );
            return self.only_say(visit, &words);
        }
        // Words about a plan are what to do instead of it.
        if let Some(turn) = TurnCard::read(&card.question).filter(|turn| turn.kind == TurnCardKind::Review) {
            let act = Act::Skip { folder: turn.folder, message: Some(text) };
            return self.carry_out(visit, vec![SessionOp::Act(card.session.clone(), act)]);
        }
        if !takes_words(shown, &card.question) {
            return self.only_say(visit, USE_BUTTONS);
        }
        let mut items = shown.presenter.session().rounds().flat_map(|round| round.items);
        let question = items.find(|item| item.question.id == card.question).map(|item| item.question);
        // A plain yes or no is one, also where it is typed.
        let reply = match question.and_then(|question| Some((question, question.meant(&text)?))) {
            Some((question, meant)) if self.is_unread(card, question) && meant == "allow" => {
                return self.only_say(visit, "Please tap 📄 Show all first ☝️");
            }
            Some(_) => Reply::Words(vec![text]),
            None => Reply::Text(text),
        };
        let act = Act::Answer { question: Some(card.question.clone()), reply };
        self.carry_out(visit, vec![SessionOp::Act(card.session.clone(), act)]);
    }

    /// Something that is no text of one's own: never an answer.
    fn other(&mut self, visit: Visit, kind: &str) {
        let collecting = self.planning(visit.room).filter(|(_, shown)| self.may(visit.sender.id, shown));
        let question = collecting.and_then(|(_, shown)| {
            let (_, focus) = shown.presenter.collecting()?;
            Some(takes_words(shown, &focus.question))
        });
        let words = match question {
            Some(true) => format!("I cannot take {kind} as an answer. Please tap a button or type it ☝️"),
            Some(false) => format!("I cannot take {kind} as an answer. {USE_BUTTONS}"),
            None => format!("I can only read text, not {kind}."),
        };
        self.only_say(visit, &words);
    }

    /// Something for the agent of this room.
    fn talk(&mut self, visit: Visit, text: String) {
        // A kill may have a message come again that is known already.
        if !self.access.allows(visit.sender.id) || self.requests.contains(&visit.update) {
            return finished(visit.done);
        }
        let chat = self.rooms.get(&visit.room).and_then(|state| state.chat().cloned());
        let chat = chat.and_then(|id| Some((self.sessions.get(&id)?, id)));
        let Some((shown, id)) = chat.filter(|(shown, _)| !shown.presenter.session().is_over()) else {
            let new = NewSession::new(&visit, text, Aim::Chat);
            return self.carry_out(visit, vec![SessionOp::Create(new, None)]);
        };
        if !self.may(visit.sender.id, shown) {
            return self.only_say(visit, SOMEBODY_ELSES);
        }
        if !shown.presenter.focus().is_empty() {
            let words = "The agent waits for an answer ☝️ Tap a button, or reply to its question.";
            return self.only_say(visit, words);
        }
        if shown.presenter.session().queued() >= MOST_QUEUED {
            return self.only_say(visit, TOO_MANY);
        }
        let say = Act::Say { text, id: Some(visit.update.clone()) };
        self.carry_out(visit, vec![SessionOp::Act(id, say)]);
    }

    /// The plan of a room whose answers are being gathered or confirmed.
    pub(super) fn planning(&self, room: Room) -> Option<(&SessionId, &ShownSession)> {
        let id = self.rooms.get(&room)?.plan()?;
        self.sessions.get_key_value(id).filter(|(_, shown)| shown.presenter.is_interactive())
    }

    /// The planned tasks of a room that are not over, whether or not work on them has begun.
    pub(super) fn tasks(&self, room: Room) -> impl Iterator<Item = (&SessionId, &ShownSession)> {
        let is_here =
            move |shown: &ShownSession| shown.room == room && shown.at_home && shown.presenter.is_planned();
        self.sessions.iter().filter(move |(_, shown)| is_here(shown) && !shown.presenter.session().is_over())
    }

    /// What ends the plan of a room that another takes the place of.
    pub(super) fn replaced(&self, room: Room) -> Vec<(SessionId, Act)> {
        let reason = Some("another task takes its place".to_owned());
        self.planning(room).map(|(id, _)| (id.clone(), Act::Cancel { reason })).into_iter().collect()
    }

    fn pair(&mut self, room: Room, sender: Sender, done: Done) {
        let (users, back, since) = (self.users.clone(), self.outbound.back.clone(), self.time());
        tokio::task::spawn_blocking(move || {
            let paired = Paired { id: sender.id, name: sender.name, since };
            let name = paired.name.clone();
            let outcome = users.add(paired).map_err(|error| error.to_string());
            let _ = back.send(Input::Paired { user: sender.id, name, room, outcome, done });
        });
    }

    /// Reads every session: what waited while there was nobody to show it to is theirs now.
    fn look_at_all(&self) {
        let outbound = self.outbound.clone();
        tokio::spawn(async move {
            // Where they cannot be listed now, they are at the next start.
            for id in outbound.sessions.list().await.unwrap_or_default() {
                if let Ok(entries) = outbound.sessions.entries(&id, 0).await {
                    let _ = outbound.back.send(Input::Read(id, entries));
                }
            }
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
                self.look_at_all();
            }
            Err(why) => self.outbound.say(room, &format!("❌ You could not be let in: {why}")),
        }
        finished(done);
    }
}

fn takes_words(shown: &ShownSession, question: &QuestionId) -> bool {
    let mut items = shown.presenter.session().rounds().flat_map(|round| round.items);
    items.any(|item| item.question.id == *question && item.question.free_text)
}

/// Nothing of it has to be kept, or it is kept already.
pub(super) fn finished(done: Done) {
    let _ = done.send(Handled::Durable);
}
