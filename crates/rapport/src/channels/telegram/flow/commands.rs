//! The commands. They always pass, whatever is being asked.

use rapport_core::{Act, Aim, Room};

use super::button::Button;
use super::came::{finished, is_working};
use super::card::{self, Card, Waiting};
use super::cards::tag;
use super::desk::{Desk, Held, person};
use super::hands::{Deed, Done, Wish};
use super::incoming::Sender;
use super::notes::Guest;

/// What there is, as `/help` and the bot's menu list it.
pub const COMMANDS: [(&str, &str); 8] = [
    ("plan", "plan a task: /plan <task description>"),
    ("status", "what waits for you, the oldest first"),
    ("cancel", "end the planning or the work in this chat"),
    ("new", "begin a new conversation"),
    ("allow", "let somebody answer for you here (in reply to them)"),
    ("deny", "no longer let them (in reply to them)"),
    ("help", "what I can do"),
    ("start", "begin"),
];
const USAGE: &str = "Usage: /plan <task description>";
const GREETING: &str = "I plan tasks with you, let an agent carry them out, and bring its questions to you.";

impl Desk {
    #[expect(clippy::too_many_arguments, reason = "a command is all of this")]
    pub(super) fn command(
        &mut self,
        update: &str,
        room: Room,
        sender: &Sender,
        name: &str,
        rest: &str,
        about: Option<Sender>,
        done: Done,
    ) {
        match name {
            "plan" => return self.plan(update, room, sender, rest, done),
            "cancel" => return self.cancel(room, sender, done),
            "new" => return self.new_chat(room, sender, done),
            "start" | "help" => self.greet(room, GREETING),
            "status" => self.status(room, sender),
            "allow" => self.guest(room, sender, about, rest, Guest::May),
            "deny" => self.guest(room, sender, about, rest, Guest::MayNot),
            _ => self
                .hands
                .say(room, &format!("I do not know /{}. /help lists what I know.", card::short(name, 40))),
        }
        finished(done);
    }

    pub(super) fn greet(&self, room: Room, greeting: &str) {
        self.hands.send(room, &Card::plain(card::help(greeting, &COMMANDS)));
    }

    fn plan(&mut self, update: &str, room: Room, sender: &Sender, task: &str, done: Done) {
        if task.is_empty() {
            self.hands.say(room, USAGE);
            return finished(done);
        }
        // A kill may have a command come again that is carried out already.
        if self.requests.contains(update) {
            return finished(done);
        }
        if let Some((_, held)) = self.planning(room)
            && !self.may(sender.id, held)
        {
            self.hands.say(room, "Somebody else is planning here. Please wait until they are done.");
            return finished(done);
        }
        let (task, request) = (task.to_owned(), Some(update.to_owned()));
        let wish = Wish { task, aim: Aim::Work, room, owner: sender.id, request, grown_from: None };
        let older = self.replaced(room).into_iter().map(|(id, act)| Deed::Act(id, act));
        let deeds = older.chain([Deed::Create(wish, None)]).collect();
        self.type_for(room);
        self.hands.carry_out(room, person(sender.id), deeds, done);
    }

    fn cancel(&mut self, room: Room, sender: &Sender, done: Done) {
        let state = self.rooms.get(&room).cloned().unwrap_or_default();
        let is_going = |id: &rapport_core::SessionId| {
            self.held.get(id).is_some_and(|held| {
                held.mirror.is_interactive() || is_working(held) || held.mirror.session().is_failed()
            })
        };
        let has_turn = |id: &rapport_core::SessionId| {
            self.held.get(id).is_some_and(|held| held.mirror.session().has_turn())
        };
        let target = state.plan().cloned().filter(is_going).or(state.chat().cloned().filter(has_turn));
        let Some((id, held)) = target.and_then(|id| self.held.get(&id).map(|held| (id, held))) else {
            self.hands.say(room, "There is nothing to cancel here.");
            return finished(done);
        };
        if !self.may(sender.id, held) {
            self.hands.say(room, "Only whoever asked for this task can cancel it.");
            return finished(done);
        }
        let deed = Deed::Act(id, Act::Cancel { reason: None });
        self.hands.carry_out(room, person(sender.id), vec![deed], done);
    }

    fn new_chat(&mut self, room: Room, sender: &Sender, done: Done) {
        let chat = self.rooms.get(&room).and_then(|state| state.chat().cloned());
        let Some((id, held)) = chat.and_then(|id| self.held.get(&id).map(|held| (id, held))) else {
            self.hands.say(room, "🆕 A new conversation begins with your next message.");
            return finished(done);
        };
        if !self.may(sender.id, held) {
            self.hands.say(room, "Only whoever began this conversation can end it.");
            return finished(done);
        }
        let deed = Deed::Act(id, Act::Cancel { reason: None });
        self.hands.carry_out(room, person(sender.id), vec![deed], done);
    }

    /// What waits for somebody, the oldest first, with buttons that show it again here.
    fn status(&mut self, room: Room, sender: &Sender) {
        let now = self.time();
        let mut waiting = Vec::new();
        let mut working = Vec::new();
        let mut tags = Vec::new();
        // In a group only what belongs there: the rest is nobody else's business.
        let is_shown = |held: &Held| room.chat > 0 || held.room == room;
        for (id, held) in self.held.iter().filter(|(_, held)| self.may(sender.id, held) && is_shown(held)) {
            let session = held.mirror.session();
            for focus in held.mirror.focus() {
                let key = Self::key(id, focus);
                let Some(round) = session.rounds().find(|round| round.id == focus.round) else { continue };
                let Some(item) = round.items.iter().find(|item| item.question.id == focus.question) else {
                    continue;
                };
                tags.push(((room.chat, tag(&key)), key.clone()));
                waiting.push(Waiting {
                    question: item.question.text.clone(),
                    task: session.created().task.clone(),
                    since: now.duration_since(round.asked_at),
                    data: Button::Jump.data(&tag(&key)),
                });
            }
            if held.mirror.focus().is_empty() && (session.has_turn() || held.mirror.is_thinking()) {
                working.push(session.created().task.clone());
            }
        }
        // Pressed here, wherever their cards are.
        self.tags.extend(tags);
        waiting.sort_by_key(|one| std::cmp::Reverse(one.since));
        self.hands.send(room, &card::waiting(&waiting, &working));
    }

    fn guest(&mut self, room: Room, sender: &Sender, about: Option<Sender>, rest: &str, may: Guest) {
        let by_id = rest.trim().parse().ok().map(|id| Sender { id, name: id.to_string() });
        let Some(guest) = about.or(by_id).filter(|guest| guest.id != sender.id) else {
            self.hands.say(room, "Say /allow or /deny in reply to a message of theirs, or with their id.");
            return;
        };
        self.notes.guest(room, sender.id, guest.id, may);
        let name = card::short(&guest.name, 60);
        let words = match may {
            Guest::May => format!("{name} may now answer for you in this chat. /deny takes that back."),
            Guest::MayNot => format!("{name} may no longer answer for you in this chat."),
        };
        self.hands.say(room, &words);
    }
}
