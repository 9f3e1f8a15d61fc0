//! A group that became a supergroup: another chat, with the same people and none of the messages. What is about the group
//! is from then on about the other, and what is open is shown there.

use crate::room::Room;
use rapport_core::SessionId;

use super::chat_state::ChatState;
use super::file;
use super::incoming::{Incoming, What};

impl ChatState {
    pub(super) fn moved(&mut self, from: i64, to: i64) {
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
        self.notes.moved(from, to, here.iter());
        self.move_rooms(from, to);
        self.messages.retain(|(chat, _), _| *chat != from);
        let tags = std::mem::take(&mut self.tags).into_iter();
        self.tags =
            tags.map(|((chat, tag), key)| ((if chat == from { to } else { chat }, tag), key)).collect();
        for id in &here {
            self.refused.retain(|card| card.session != *id);
            if let Some(shown) = self.sessions.get_mut(id) {
                shown.room.chat = to;
            }
            if let Some(busy) = self.busy.get_mut(id) {
                busy.forget_message();
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
            self.writer.remove(file::path(&self.folder, room));
            let new = self.rooms.entry(Room { chat: to, ..room }).or_default();
            new.plan = new.plan.take().max(state.plan);
            new.chat = new.chat.take().max(state.chat);
        }
    }

    /// What somebody did, where it is now. The messages they did it with are not there.
    pub(super) fn in_new_chat(&self, incoming: Incoming) -> Incoming {
        let room = self.notes.now(incoming.room);
        if room == incoming.room {
            return incoming;
        }
        let what = match incoming.what {
            // Whatever is shown there came later.
            What::Words { text, .. } => What::Words { text, message: 0, reply_to: None },
            What::Press { query, data, keyboard, .. } => What::Press { query, data, message: None, keyboard },
            what @ (What::Command { .. } | What::Other { .. }) => what,
        };
        Incoming { room, what, ..incoming }
    }
}
