//! The file of a planned task, for people and tools. It is written whenever the session changes, and removed when the
//! session is over.

use std::path::{Path, PathBuf};

use crate::room::Room;
use rapport_core::{InteractiveFile, SessionId};

use super::effect::Effect;
use super::shown_sessions::ShownSessions;
use super::step_effects::Effects;

/// The suffix of the file name.
pub const ENDING: &str = "-interactive.json";

/// The path of a room's file.
pub fn path(folder: &Path, room: Room) -> PathBuf {
    match room.topic {
        Some(topic) => folder.join(format!("{}_{topic}{ENDING}", room.chat)),
        None => folder.join(format!("{}{ENDING}", room.chat)),
    }
}

/// The room of a file, parsed from its name.
pub fn room(name: &str) -> Option<Room> {
    let name = name.strip_suffix(ENDING)?;
    let (chat, topic) = name.split_once('_').map_or((name, None), |(chat, topic)| (chat, Some(topic)));
    Some(Room { chat: chat.parse().ok()?, topic: topic.map(str::parse).transpose().ok()? })
}

/// Writes the file of a session, if the session is the newest plan of its room.
pub(super) fn write(sessions: &mut ShownSessions, effects: &mut Effects, folder: &Path, id: &SessionId) {
    let Some(shown) = sessions.get(id) else { return };
    let is_newest = sessions.plan(shown.room) == Some(id);
    if !shown.at_home || !shown.presenter.is_planned() || !is_newest {
        return;
    }
    let session = shown.presenter.session();
    let made_of = Some((session.seq(), shown.room));
    if shown.filed == made_of {
        return;
    }
    let path = path(folder, shown.room);
    let file = InteractiveFile::of(session, shown.room.chat)
        .filter(|file| !session.is_over() && !file.questions.is_empty());
    // The same chats serve several projects, so the file names its project.
    let project = Some(session.created().project.clone());
    let file = file.map(|file| InteractiveFile { project, ..file });
    if let Ok(content) = file.map(|file| serde_json::to_vec_pretty(&file)).transpose() {
        effects.want(Effect::Write { path, content });
        if let Some(shown) = sessions.get_mut(id) {
            shown.filed = made_of;
        }
    }
}
