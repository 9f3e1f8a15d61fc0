//! A group that becomes a supergroup gets another chat id, with the same people and none of the messages. Its state
//! moves there, and open questions are shown again.

use crate::room::Room;
use rapport_core::SessionId;

use super::chat_state::ChatState;
use super::effect::Effect;
use super::file;
use super::incoming::{Incoming, What};

impl ChatState {
    pub(super) fn on_moved(&mut self, from: i64, to: i64) {
        let known = |chat: i64| self.notes.now(Room { chat, topic: None }).chat;
        if from == to || known(from) == to {
            return;
        }
        let here: Vec<SessionId> = self
            .sessions
            .iter()
            .filter(|(_, shown)| shown.room.chat == from)
            .map(|(id, _)| id.clone())
            .collect();
        self.notes.moved(&mut self.effects, from, to, here.iter());
        self.move_rooms(from, to);
        self.cards.move_chat(from, to);
        for id in &here {
            self.cards.refused.retain(|card| card.session != *id);
            if let Some(shown) = self.sessions.get_mut(id) {
                shown.room.chat = to;
                if let Some(busy) = &mut shown.busy {
                    busy.forget_message();
                }
            }
        }
        for id in here {
            self.refresh(&id);
        }
    }

    fn move_rooms(&mut self, from: i64, to: i64) {
        let rooms: Vec<_> = self.rooms.keys().filter(|room| room.chat == from).copied().collect();
        for room in rooms {
            let Some(state) = self.rooms.remove(&room) else { continue };
            let path = file::path(&self.settings.folder, room);
            self.effects.want(Effect::Write { path, content: None });
            let new = self.rooms.entry(Room { chat: to, ..room }).or_default();
            new.plan = new.plan.take().max(state.plan);
            state.chats.into_iter().for_each(|(project, began)| new.began_chat(project, began));
            new.newest = new.newest.take().max(state.newest);
        }
    }

    /// Converts an update of the old chat to one of the new chat. Its message ids mean nothing there.
    pub(super) fn in_new_chat(&self, incoming: Incoming) -> Incoming {
        let room = self.notes.now(incoming.room);
        if room == incoming.room {
            return incoming;
        }
        let what = match incoming.what {
            // Everything in the new chat was shown later.
            What::Words { text, .. } => What::Words { text, message: 0, reply_to: None },
            What::Press { query, data, keyboard, about, .. } => {
                What::Press { query, data, message: None, keyboard, about }
            }
            what @ (What::Command { .. } | What::Other { .. } | What::Edited { .. }) => what,
        };
        Incoming { room, what, ..incoming }
    }
}
