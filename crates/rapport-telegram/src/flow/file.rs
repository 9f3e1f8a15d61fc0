//! The file of a planned task, for people and tools: written from the log whenever it changes, gone when it is over.

use std::path::{Path, PathBuf};

use crate::room::Room;
use rapport_core::{InteractiveFile, SessionId};

use super::chat_state::ChatState;

/// How such a file's name ends.
pub const ENDING: &str = "-interactive.json";

/// The file of a room.
pub fn path(folder: &Path, room: Room) -> PathBuf {
    match room.topic {
        Some(topic) => folder.join(format!("{}_{topic}{ENDING}", room.chat)),
        None => folder.join(format!("{}{ENDING}", room.chat)),
    }
}

/// The room a file is of, by its name.
pub fn room(name: &str) -> Option<Room> {
    let name = name.strip_suffix(ENDING)?;
    let (chat, topic) = name.split_once('_').map_or((name, None), |(chat, topic)| (chat, Some(topic)));
    Some(Room { chat: chat.parse().ok()?, topic: topic.map(str::parse).transpose().ok()? })
}

impl ChatState {
    /// Writes the file of a session, where it is the one its room has.
    pub(super) fn file(&self, id: &SessionId) {
        let Some(shown) = self.sessions.get(id).filter(|shown| shown.at_home && shown.presenter.is_planned())
        else {
            return;
        };
        let is_newest = self.rooms.get(&shown.room).is_some_and(|room| room.plan() == Some(id));
        if !is_newest {
            return;
        }
        let path = path(&self.folder, shown.room);
        let session = shown.presenter.session();
        let file = InteractiveFile::of(session, shown.room.chat)
            .filter(|file| !session.is_over() && !file.questions.is_empty());
        // Chats are the same for every project that is served; the file says whose plan it is.
        let project = Some(session.created().project.clone());
        let file = file.map(|file| InteractiveFile { project, ..file });
        match file.map(|file| serde_json::to_vec_pretty(&file)) {
            Some(Ok(bytes)) => self.writer.replace(path, bytes),
            Some(Err(_)) => {}
            None => self.writer.remove(path),
        }
    }
}
