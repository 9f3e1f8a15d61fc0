//! Moves of chats: a group that becomes a supergroup gets another chat id, with the same people and none of the
//! messages. The state of the group moves there, and open questions are shown again.

use crate::room::Room;

use super::chat_state::ChatState;
use super::effect::Effect;
use super::file;
use super::incoming::{Incoming, What};
use super::notes::Notes;

impl ChatState {
    pub(super) fn on_moved(&mut self, from: i64, to: i64) {
        let known = |chat: i64| self.notes.now(Room { chat, topic: None }).chat;
        if from == to || known(from) == to {
            return;
        }
        let (here, rooms) = self.sessions.move_chat(from, to);
        self.notes.moved(&mut self.effects, from, to, here.iter());
        for room in rooms {
            let path = file::path(&self.settings.folder, room);
            self.effects.want(Effect::Write { path, content: None });
        }
        self.cards.move_chat(from, to, &here);
        self.leads.move_chat(from, to);
        for id in here {
            self.refresh(&id);
        }
    }
}

/// Converts an update of the old chat to one of the new chat. The message ids of the old chat are meaningless in the
/// new one.
pub(super) fn in_new_chat(notes: &Notes, incoming: Incoming) -> Incoming {
    let room = notes.now(incoming.room);
    if room == incoming.room {
        return incoming;
    }
    let what = match incoming.what {
        // Every card in the new chat was shown after this text.
        What::Words { text, .. } => What::Words { text, message: 0, reply_to: None },
        What::Press { query, data, keyboard, about, .. } => {
            What::Press { query, data, message: None, keyboard, about }
        }
        what @ (What::Command { .. } | What::Other { .. } | What::Edited { .. }) => what,
    };
    Incoming { room, what, ..incoming }
}
